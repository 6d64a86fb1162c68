"""Memory is full but hardly used: the largest batch was looked for, and the pool kept what that took.

Then a small batch is trained. torch would reuse what its pool holds, or give it back; another
library in the same process, which asks the driver itself, gets nothing.
"""
import torch
from torch import nn
from torch.cuda import nvtx

import books
import common

WIDTH, LAYERS = 1024, 4
FIRST_BATCH, SMALL_BATCH = 256, 32


def make_model():
    layers = []
    for _ in range(LAYERS):
        layers += [nn.Linear(WIDTH, WIDTH), nn.GELU()]
    return nn.Sequential(*layers).cuda()


def step(model, optimizer, batch):
    with nvtx.range("step"):
        model(torch.randn(batch, WIDTH, device="cuda")).square().mean().backward()
        optimizer.step()
        optimizer.zero_grad()


def find_largest_batch(model, optimizer):
    """The last one that worked, by doubling."""
    batch = FIRST_BATCH
    while True:
        try:
            step(model, optimizer, 2 * batch)
            batch *= 2
        except torch.OutOfMemoryError:
            return batch


def run():
    model = make_model()
    optimizer = torch.optim.AdamW(model.parameters())
    failures = books.Failures()
    largest = find_largest_batch(model, optimizer)
    step(model, optimizer, largest)  # what was given back for the failed one is taken again
    step(model, optimizer, SMALL_BATCH)
    driver_free, total = torch.cuda.mem_get_info()
    wanted = total // 4
    then = books.state()
    common.check(driver_free < wanted <= driver_free + then["releasable_bytes"], "it would fit")
    common.equal(books.ask_driver(wanted), books.OUT_OF_MEMORY, "what the driver says")
    resident = [*model.parameters(), *common.optimizer_tensors(optimizer)]
    return {"largest_batch": largest, "wanted_bytes": wanted, "driver_free_bytes": driver_free,
            "resident_bytes": books.block_bytes(resident), "then": then, "oom": failures.first}


def main():
    facts = run()
    then = facts["then"]
    common.check(then["live_bytes"] * 4 < then["reserved_bytes"], "little of the pool is in use")
    books.finish(facts | {"peak_live_bytes": torch.cuda.max_memory_allocated(),
                          "peak_reserved_bytes": torch.cuda.max_memory_reserved()})


main()
