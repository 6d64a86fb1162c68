"""PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync: the driver's pools instead of torch's."""
import torch
from torch import nn

import common


def main():
    common.equal(torch.cuda.get_allocator_backend(), "cudaMallocAsync", "backend")
    kept = torch.empty(100 << 20, dtype=torch.uint8, device="cuda")
    common.equal(torch.cuda.memory_allocated(), 100 << 20, "memory_allocated")
    common.check(common.driver_used() >= 100 << 20, "the driver's own count has it")
    del kept

    model = nn.Linear(1024, 1024).cuda()
    optimizer = common.train(model, lambda: (torch.randn(64, 1024, device="cuda"),
                                             torch.randint(0, 1024, (64,), device="cuda")))
    common.clear()
    del model, optimizer
    common.clear()
    common.equal(torch.cuda.memory_allocated(), 0, "memory_allocated in the end")
    torch.cuda.empty_cache()
    common.check_driver(0)


main()
