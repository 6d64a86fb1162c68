"""One AdamW step of a model of 3.2 billion parameters, in less than 1 GiB of host memory."""
import resource

import torch
from torch import nn

import common

WIDTH, LAYERS = 4096, 24
HOST_LIMIT = 1 << 30


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.up = nn.Linear(WIDTH, 4 * WIDTH, device="cuda")
        self.down = nn.Linear(4 * WIDTH, WIDTH, device="cuda")

    def forward(self, x):
        return x + self.down(nn.functional.gelu(self.up(x)))


def main():
    model = nn.Sequential(*[Layer() for _ in range(LAYERS)])
    count = sum(p.numel() for p in model.parameters())
    common.check(count > 3_200_000_000, f"{count} parameters")
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.randn(64, WIDTH, device="cuda")).sum().backward()
    optimizer.step()
    common.clear()
    common.equal(torch.cuda.memory_allocated(), 4 * common.tensor_bytes(model.parameters()),
                 "parameters, gradients and two moments")
    host = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    common.check(host < HOST_LIMIT, f"{host} bytes of host memory")
    print(f"parameters={count} device={torch.cuda.memory_allocated()} host={host}")


main()
