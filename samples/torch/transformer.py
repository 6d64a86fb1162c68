"""A language model of two layers: embedding, attention, output."""
import torch
from torch import nn

import common

WORDS, WIDTH, LENGTH, BATCH = 1000, 128, 64, 8


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.head(self.layers(self.embedding(words))).flatten(0, 1)


def batch():
    return (torch.randint(0, WORDS, (BATCH, LENGTH), device="cuda"),
            torch.randint(0, WORDS, (BATCH * LENGTH,), device="cuda"))


def main():
    model = Model().cuda()
    optimizer = common.train(model, batch, steps=10)
    common.check_resident(model, optimizer)
    peak = torch.cuda.max_memory_allocated()
    logits = BATCH * LENGTH * WORDS * 4
    common.check(peak > torch.cuda.memory_allocated() + logits, "the peak has the logits")

    # Recomputing the layers in the backward pass needs less at once.
    torch.cuda.reset_peak_memory_stats()
    for _ in range(3):
        words, targets = batch()
        hidden = model.embedding(words)
        for layer in model.layers.layers:
            hidden = torch.utils.checkpoint.checkpoint(layer, hidden, use_reentrant=False)
        nn.functional.cross_entropy(model.head(hidden).flatten(0, 1), targets).backward()
        optimizer.step()
        optimizer.zero_grad()
        del hidden
    common.check(torch.cuda.max_memory_allocated() < peak, "checkpointing lowers the peak")

    del model, optimizer, words, targets, layer
    common.check_nothing_left()


main()
