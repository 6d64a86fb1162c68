"""PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True: virtual memory that grows page by page."""
import torch
from torch import nn

import common

PIECE = 30 << 20


def main():
    pieces = [torch.empty(PIECE, dtype=torch.uint8, device="cuda") for _ in range(10)]
    segments = torch.cuda.memory_snapshot()
    common.check(all(segment["is_expandable"] for segment in segments), "segments are expandable")
    common.equal(torch.cuda.memory_allocated(), 10 * PIECE, "memory_allocated")
    common.check_driver(torch.cuda.memory_reserved())

    # Two neighbours make room for what is larger than either; nothing new is reserved.
    reserved = torch.cuda.memory_reserved()
    del pieces[4:6]
    larger = torch.empty(2 * PIECE, dtype=torch.uint8, device="cuda")
    common.equal(torch.cuda.memory_reserved(), reserved, "memory_reserved")
    del pieces, larger
    torch.cuda.empty_cache()
    common.check_driver(0)

    model = nn.Linear(1024, 1024).cuda()
    optimizer = common.train(model, lambda: (torch.randn(64, 1024, device="cuda"),
                                             torch.randint(0, 1024, (64,), device="cuda")))
    common.check_resident(model, optimizer)
    del model, optimizer
    common.check_nothing_left()


main()
