"""Runs out although enough is free: batches of sentences that get longer, and a bank of features.

Each batch leaves the features of its last words in a bank, for a loss that compares batches. They
come to lie wherever the batch's activations left room, and when those are gone they stand between
holes. A longer batch fits into none of them.
"""
import torch
from torch import nn
from torch.cuda import nvtx

import books
import common

WORDS, WIDTH, LAYERS, CLASSES = 8192, 256, 3, 16
BATCH, WINDOW = 64, 64  # sentences; words of each whose features are kept
FIRST_LENGTH, LONGER = 64, 8


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 4 * WIDTH, bias=False)
        self.down = nn.Linear(4 * WIDTH, WIDTH, bias=False)

    def forward(self, hidden):
        return hidden + self.down(nn.functional.gelu(self.up(self.norm(hidden))))


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        self.layers = nn.Sequential(*[Layer() for _ in range(LAYERS)])

    def forward(self, words):
        return self.layers(self.embedding(words))


class Training:
    def __init__(self):
        self.encoder, self.head = Encoder(), nn.Linear(WIDTH, CLASSES)
        # Before anything is on the card: what this imports takes seconds, which would fill pictures.
        self.optimizer = torch.optim.AdamW([*self.encoder.parameters(), *self.head.parameters()])
        self.encoder.cuda(), self.head.cuda()
        self.bank = []

    def keep_features(self, hidden):
        self.bank.append(hidden[:, -WINDOW:].detach().clone())

    def step(self, length):
        words = torch.randint(0, WORDS, (BATCH, length), device="cuda")
        classes = torch.randint(0, CLASSES, (BATCH * length,), device="cuda")
        hidden = self.encoder(words)
        self.keep_features(hidden)
        loss = nn.functional.cross_entropy(self.head(hidden).flatten(0, 1), classes)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def run():
    training = Training()
    failures = books.Failures(lambda: books.beside_holes(training.bank))
    steps = 0
    while failures.first is None:
        length = FIRST_LENGTH + steps * LONGER
        try:
            with nvtx.range("step"):
                training.step(length)
            steps += 1
        except torch.OutOfMemoryError:
            pass
    kept = common.tensor_bytes(training.bank)
    common.equal(kept, len(training.bank) * BATCH * WINDOW * WIDTH * 4, "bytes in the bank")
    return {"steps": steps, "failed_length": length, "kept": len(training.bank), "kept_bytes": kept,
            "oom": failures.first}


def main():
    facts = run()
    oom, wanted = facts["oom"], facts["oom"]["segment_bytes"]
    common.check(oom["hole_bytes"] >= wanted, "enough is free")
    common.check(oom["largest_hole_bytes"] < wanted, "in no piece")
    common.check(oom["driver_free_bytes"] < wanted, "and the driver has no more")
    books.finish(facts | {"peak_live_bytes": torch.cuda.max_memory_allocated(),
                          "peak_reserved_bytes": torch.cuda.max_memory_reserved()})


main()
