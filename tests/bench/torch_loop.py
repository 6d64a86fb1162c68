"""A training loop whose kernels cost nothing, run by real torch on softgpu; it times itself.

usage: torch_loop.py plain|python|all ROUNDS STEPS [PICKLE]

python, all: with torch's own history of its memory, stacks of that kind at allocations and frees.
PICKLE: where that history is to be written in the end. Prints "loop NS" and "cpu NS", of the best
round, "pairs N" of a round, and "allocs N" of the whole process.
"""
import os
import sys
import time

import torch
from torch import nn

WORDS, WIDTH, LENGTH, BATCH, LAYERS = 1000, 128, 64, 8, 4
MOST_EVENTS = 1 << 30  # torch allots nothing for them beforehand


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS)
        self.head = nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.head(self.layers(self.embedding(words))).flatten(0, 1)


def train_step(model, optimizer):
    words = torch.randint(0, WORDS, (BATCH, LENGTH), device="cuda")
    targets = torch.randint(0, WORDS, (BATCH * LENGTH,), device="cuda")
    loss = nn.functional.cross_entropy(model(words), targets)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()


def nr_allocs():
    return torch.cuda.memory_stats()["allocation.all.allocated"]


def main():
    history, nr_rounds, nr_steps = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    if history != "plain":
        torch.cuda.memory._record_memory_history(context="all", stacks=history,
                                                 max_entries=MOST_EVENTS)
    model = Model().cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    rounds, pairs = [], set()
    for _ in range(nr_rounds + 1):
        before, wall, cpu = nr_allocs(), time.perf_counter_ns(), time.process_time_ns()
        for _ in range(nr_steps):
            train_step(model, optimizer)
        rounds.append((time.perf_counter_ns() - wall, time.process_time_ns() - cpu))
        pairs.add(nr_allocs() - before)
    rounds = rounds[1:]  # the first one warms up: moments, code, stacks
    print(f"loop {min(wall for wall, _ in rounds)}")
    print(f"cpu {min(cpu for _, cpu in rounds)}")
    print(f"pairs {min(pairs)}")
    if len(sys.argv) > 4:
        torch.cuda.memory._dump_snapshot(sys.argv[4])
        print(f"pickle {os.path.getsize(sys.argv[4])}")
    print(f"allocs {nr_allocs()}")


main()
