"""Fills the memory with cached blocks of the wrong size: torch gives them back and asks again.

Nothing runs out here: the driver refuses a request, torch empties its cache, and the second try is
served. Then a request that no retry can serve fails, is caught, and a smaller one takes its place.
"""
import os

import torch

import common

PIECE = 96 << 20

# Pages of two neighbours make one block: nothing need be given back.
EXPANDABLE = "expandable_segments:True" in os.environ.get("PYTORCH_CUDA_ALLOC_CONF", "")


def fill():
    """Pieces until little is left; the last request goes to the driver and is served."""
    free, _ = torch.cuda.mem_get_info()
    return [torch.empty(PIECE, dtype=torch.uint8, device="cuda") for _ in range(free // PIECE)]


def main():
    torch.empty(1, device="cuda")
    pieces = fill()
    count = len(pieces)
    del pieces  # all cached: the driver has nothing left
    large = torch.empty(2 * PIECE, dtype=torch.uint8, device="cuda")
    statistics = torch.cuda.memory_stats()
    common.equal(statistics["num_alloc_retries"], 0 if EXPANDABLE else 1, "num_alloc_retries")
    common.equal(statistics["num_ooms"], 0, "num_ooms")
    del large

    size = (count + 2) * PIECE
    tries = 0
    while True:
        try:
            kept = torch.empty(size, dtype=torch.uint8, device="cuda")
            break
        except torch.OutOfMemoryError:
            tries += 1
            size //= 2
    common.equal(tries, 1, "requests that were too large")
    common.equal(torch.cuda.memory_stats()["num_ooms"], 1, "num_ooms in the end")
    del kept
    common.check_nothing_left()


main()
