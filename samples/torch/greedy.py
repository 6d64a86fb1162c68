"""The framework takes nearly everything: a share of the card is reserved before anything is needed.

People do this so that no neighbour takes the memory first: one huge tensor, made and dropped, and
torch's pool has it. The model lies in that one segment, so nothing of it can be given back: another
library in the same process, which asks for a quarter of the card, gets nothing.
"""
import torch
from torch import nn
from torch.cuda import nvtx

import books
import common

SHARE = 0.9  # the setting: of what is free at the start
PAGE = 2 << 20
WIDTH, LAYERS, BATCH, STEPS = 1024, 4, 256, 10


def reserve(share):
    """In whole pages, so that no rounding of torch changes it."""
    free, _ = torch.cuda.mem_get_info()
    size = int(free * share) // PAGE * PAGE
    torch.empty(size, dtype=torch.uint8, device="cuda")
    return size


def train():
    model = nn.Sequential(*[nn.Linear(WIDTH, WIDTH) for _ in range(LAYERS)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(STEPS):
        with nvtx.range("step"):
            inputs = torch.randn(BATCH, WIDTH, device="cuda")
            model(inputs).square().mean().backward()
            optimizer.step()
    free, total = torch.cuda.mem_get_info()
    common.equal(books.ask_driver(total // 4), books.OUT_OF_MEMORY, "what the driver says")
    return {
        "wanted_bytes": total // 4,
        "driver_free_bytes": free,
        "parameter_bytes": books.block_bytes(model.parameters()),
        "gradient_bytes": books.block_bytes(p.grad for p in model.parameters()),
        "optimizer_bytes": books.block_bytes(common.optimizer_tensors(optimizer)),
        "then": books.state(),
    }


def main():
    torch.cuda.init()
    reserved = reserve(SHARE)
    torch.cuda.reset_peak_memory_stats()
    facts = train()
    needed = torch.cuda.max_memory_allocated()
    common.check(needed * 4 < reserved, "most of it is never used")
    books.finish(facts | {"reserved_at_start_bytes": reserved, "needed_bytes": needed,
                          "peak_live_bytes": max(reserved, needed),
                          "peak_reserved_bytes": torch.cuda.max_memory_reserved()})


main()
