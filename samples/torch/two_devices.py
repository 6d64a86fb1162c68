"""Two devices: a tensor on each, copies between them, a model on both."""
import torch
from torch import nn

import common


def main():
    common.equal(torch.cuda.device_count(), 2, "devices")
    here = torch.arange(1 << 20, device="cuda:0")
    there = here.to("cuda:1")
    for device in (0, 1):
        common.equal(torch.cuda.memory_allocated(device), 8 << 20, f"memory_allocated({device})")
        common.check_driver(torch.cuda.memory_reserved(device), device)
    del here, there
    small = torch.tensor([3, 1, 2])
    common.equal(small.to("cuda:0").to("cuda:1").cpu().tolist(), [3, 1, 2], "what was copied")

    # Half of the model on each, the batch goes through both.
    first, second = nn.Linear(256, 1024).to("cuda:0"), nn.Linear(1024, 10).to("cuda:1")
    optimizer = torch.optim.AdamW([*first.parameters(), *second.parameters()])
    for _ in range(5):
        hidden = first(torch.randn(64, 256, device="cuda:0"))
        second(hidden.to("cuda:1")).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    del hidden
    common.clear()
    for device, part in ((0, first), (1, second)):
        common.equal(torch.cuda.memory_allocated(device), 3 * common.tensor_bytes(part.parameters()),
                     f"parameters and moments on device {device}")

    # A copy of the model on each, gradients brought together.
    parallel = nn.DataParallel(nn.Linear(64, 64).to("cuda:0"))
    parallel(torch.randn(32, 64, device="cuda:0")).sum().backward()
    del first, second, part, optimizer, parallel
    for device in (0, 1):
        common.clear()
        torch.cuda.empty_cache()
        common.equal(torch.cuda.memory_allocated(device), 0, f"memory left on device {device}")


main()
