"""Runs out after some epochs: outputs of the validation are kept for a plot, each with its graph.

Nothing is marked, and nothing grows while an epoch trains. torch.no_grad() around the validation
would have kept the outputs alone.
"""
import torch
from torch import nn

import books
import common

INPUTS, HIDDEN, CLASSES, BATCH = 256, 1024, 16, 512
STEPS, BATCHES = 20, 6


class Training:
    def __init__(self):
        self.model = nn.Sequential(nn.Linear(INPUTS, HIDDEN), nn.ReLU(), nn.Linear(HIDDEN, HIDDEN),
                                   nn.ReLU(), nn.Linear(HIDDEN, CLASSES)).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
        self.outputs = []

    def train(self):
        for _ in range(STEPS):
            inputs = torch.randn(BATCH, INPUTS, device="cuda")
            classes = torch.randint(0, CLASSES, (BATCH,), device="cuda")
            self.optimizer.zero_grad()
            nn.functional.cross_entropy(self.model(inputs), classes).backward()
            self.optimizer.step()

    def validate(self):
        outputs = []
        for _ in range(BATCHES):
            inputs = torch.randn(BATCH, INPUTS, device="cuda")
            outputs.append(self.model(inputs))
        self.outputs.append(torch.cat(outputs))

    def epoch(self):
        self.train()
        self.validate()


def run():
    training = Training()
    live, growth, failure = books.run_out(training.epoch)
    return {"epochs": len(live), "kept_bytes_per_epoch": growth, "oom": failure}


def main():
    facts = run()
    activations = BATCHES * 2 * common.rounded(BATCH * HIDDEN * 4)
    common.check(facts["kept_bytes_per_epoch"] >= activations, "the activations are kept")
    books.finish(facts | {"peak_live_bytes": torch.cuda.max_memory_allocated(),
                          "peak_reserved_bytes": torch.cuda.max_memory_reserved()})


main()
