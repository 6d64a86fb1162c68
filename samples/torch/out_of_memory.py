"""Runs out of memory, catches it, and goes on."""
import torch
from torch import nn

import common

PIECE = 64 << 20


def fill():
    kept = []
    try:
        while True:
            kept.append(torch.empty(PIECE, dtype=torch.uint8, device="cuda"))
    except torch.OutOfMemoryError as error:
        common.check("out of memory" in str(error), "what the error says")
    return len(kept)


def main():
    torch.cuda.init()
    torch.empty(1, device="cuda")
    free, _ = torch.cuda.mem_get_info()
    common.equal(fill(), free // PIECE, "pieces until the memory was full")
    statistics = torch.cuda.memory_stats()
    common.equal(statistics["num_ooms"], 1, "num_ooms")
    common.equal(statistics["num_alloc_retries"], 1, "num_alloc_retries")

    # A fraction of the card, enforced by torch itself.
    torch.cuda.empty_cache()
    torch.cuda.set_per_process_memory_fraction(0.5)
    half = fill()
    common.check(0 < half <= free // PIECE // 2 + 5, f"{half} pieces in half of the memory")
    torch.cuda.set_per_process_memory_fraction(1.0)

    model = nn.Linear(1024, 1024).cuda()
    optimizer = common.train(model, lambda: (torch.randn(64, 1024, device="cuda"),
                                             torch.randint(0, 1024, (64,), device="cuda")))
    torch.cuda.empty_cache()
    common.check_resident(model, optimizer)
    del model, optimizer
    common.check_nothing_left()


main()
