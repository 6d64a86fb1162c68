"""Runs out after some steps: the validation losses are kept as tensors, to be plotted in the end.

Each of them holds the graph it was computed by, and the graph holds every activation that a
backward pass would have needed: nobody calls one. loss.item() would have kept a number.
"""
import torch
from torch import nn
from torch.cuda import nvtx

import books
import common

INPUTS, HIDDEN, CLASSES, BATCH = 512, 2048, 64, 512


class Training:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN),
                                   nn.ReLU(), nn.Linear(HIDDEN, CLASSES)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.history = []

    def loss(self):
        inputs = torch.randn(BATCH, INPUTS, device="cuda")
        classes = torch.randint(0, CLASSES, (BATCH,), device="cuda")
        return nn.functional.cross_entropy(self.model(inputs), classes)

    def train(self):
        self.loss().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def validate(self):
        self.history.append(self.loss())

    def step(self):
        with nvtx.range("step"):
            self.train()
            self.validate()


def run():
    training = Training()
    live, growth, failure = books.run_out(training.step)
    return {"steps": len(live), "kept": len(training.history), "kept_bytes_per_step": growth,
            "live_after_last_step_bytes": live[-1], "oom": failure}


def main():
    facts = run()
    # Both hidden layers before and after the ReLU share no memory; the loss and its like are small.
    activations = 2 * common.rounded(BATCH * HIDDEN * 4) + common.rounded(BATCH * INPUTS * 4)
    common.check(facts["kept_bytes_per_step"] >= activations, "the activations are kept")
    books.finish(facts | {"peak_live_bytes": torch.cuda.max_memory_allocated(),
                          "peak_reserved_bytes": torch.cuda.max_memory_reserved()})


main()
