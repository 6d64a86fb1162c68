"""A small perceptron, trained; its memory is its parameters and AdamW's two moments."""
import torch
from torch import nn

import common


def main():
    model = nn.Sequential(nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 10)).cuda()
    parameters = common.tensor_bytes(model.parameters())
    common.equal(torch.cuda.memory_allocated(), parameters, "memory of the parameters")

    optimizer = common.train(model, lambda: (torch.randn(64, 256, device="cuda"),
                                             torch.randint(0, 10, (64,), device="cuda")), steps=20)
    common.check_resident(model, optimizer)
    common.equal(torch.cuda.memory_allocated(), 3 * parameters, "parameters and two moments")
    common.check(torch.cuda.max_memory_allocated() >= 4 * parameters, "the peak has the gradients")

    del model, optimizer
    common.check_nothing_left()


main()
