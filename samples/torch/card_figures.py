"""Sizes that torch and its libraries choose by what the card is: a dry run is as good as these.

Each is a formula or a figure that was seen on real cards (docs/dry-run.md). The card is the one the
program is started on: tests/frameworks/releases.py has several.
"""
import os

import torch
from torch import nn
from torch.nn import functional

import common

MIB = 1 << 20
ELEMENTS = 5_000_000  # so many that a sum keeps every multiprocessor busy, and no more


def allocations(function):
    """Requested sizes, in order."""
    torch.cuda.synchronize()
    torch.cuda.memory._record_memory_history(max_entries=100000)
    function()
    torch.cuda.synchronize()
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    return [entry["size"] for trace in snapshot["device_traces"] for entry in trace
            if entry["action"] == "alloc"]


def release():
    return tuple(int(part) for part in torch.__version__.split("+")[0].split(".")[:2])


def check_workspace(card):
    """cuBLAS: 32 MiB at compute capability 9.0, and since 2.15 from there on; else 8 MiB and some."""
    is_large = card.major == 9 or (card.major > 9 and release() >= (2, 15))
    matrix = torch.zeros(64, 64, device="cuda")
    common.equal(allocations(lambda: matrix @ matrix), [64 * 64 * 4, 32 * MIB if is_large else 8519680],
                 "what a matrix product allocates")


def check_sort(card):
    """CUB chooses by the newest code in the wheel that the card can run: 8.9 runs that of 8.6."""
    embedding = nn.Embedding(1000, 64).cuda()
    indices = torch.zeros(4096, dtype=torch.long, device="cuda")
    sizes = allocations(lambda: embedding(indices).sum().backward())
    expected = {(2, 15): (72191, 71167), (2, 8): (84479, 83455)}.get(release())
    if expected:
        common.check(expected[card.major >= 9] in sizes, f"temporary memory of a sort: {sizes}")
        common.check(expected[card.major < 9] not in sizes, f"that of other cards: {sizes}")


def check_reduction(card):
    """A sum has one partial result for each block of 512 threads that fits the card at once."""
    numbers = torch.zeros(ELEMENTS, device="cuda")
    blocks = card.multi_processor_count * (card.max_threads_per_multi_processor // 512)
    common.equal(allocations(numbers.sum), [4, 4 * blocks, 4], "what a sum allocates")


def check_attention(card):
    """Half precision goes by way of cuDNN from 9.0 on, where torch prefers that: nothing is refused."""
    shape = (2, 8, 256, 64)
    for dtype in (torch.float16, torch.bfloat16):
        if dtype == torch.bfloat16 and card.major < 8:
            continue
        query = torch.zeros(shape, device="cuda", dtype=dtype, requires_grad=True)
        out = functional.scaled_dot_product_attention(query, query, query, is_causal=True)
        out.sum().backward()
        common.equal(query.grad.shape, query.shape, "shape of the gradient")


def check_convolution():
    """Its workspace is what the user says; nothing by default."""
    said = int(os.environ.get("SOFTGPU_CUDNN_WORKSPACE", "0"))
    layer = nn.Conv2d(16, 32, 3).cuda()
    images = torch.zeros(8, 16, 32, 32, device="cuda")
    sizes = allocations(lambda: layer(images))
    common.equal(sizes, [8 * 32 * 30 * 30 * 4] + ([said] if said else []), "what a convolution allocates")


def check_addresses():
    """Linux: large segments begin at multiples of 32 MiB, the later below the earlier."""
    torch.cuda.empty_cache()
    kept = [torch.empty(size * MIB, dtype=torch.uint8, device="cuda") for size in (40, 100, 32)]
    addresses = [tensor.data_ptr() for tensor in kept]
    common.equal([address % (32 * MIB) for address in addresses], [0, 0, 0], "where segments begin")
    common.check(addresses == sorted(addresses, reverse=True), "segments go downwards")


def main():
    card = torch.cuda.get_device_properties(0)
    free, total = torch.cuda.mem_get_info()
    common.equal(total, card.total_memory, "capacity")
    common.check(0 < total - free < total // 8, "a context takes a little of it")
    check_workspace(card)
    check_sort(card)
    check_reduction(card)
    check_attention(card)
    check_convolution()
    check_addresses()


if __name__ == "__main__":
    main()
