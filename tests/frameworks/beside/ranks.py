"""A rank of torchrun: gradients are averaged over gloo, the model is on the rank's own device."""
import os

import torch
import torch.distributed as dist
from torch import nn


def main():
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    dist.init_process_group("gloo")
    torch.cuda.set_device(rank)
    model = nn.Linear(256, 256).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(8, 256, device="cuda")).sum().backward()
        for parameter in model.parameters():
            gradient = parameter.grad.cpu()
            dist.all_reduce(gradient)
            parameter.grad.copy_(gradient / world)
        optimizer.step()
        optimizer.zero_grad()
    dist.barrier()
    dist.destroy_process_group()


main()
