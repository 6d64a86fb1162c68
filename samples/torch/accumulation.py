"""Gradients of four small batches: they stay between steps, the peak is that of a small batch."""
import torch
from torch import nn

import common


def peak(model, batch_size, accumulate):
    torch.cuda.reset_peak_memory_stats()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    common.train(model, lambda: (torch.randn(batch_size, 512, device="cuda"),
                                 torch.randint(0, 10, (batch_size,), device="cuda")),
                 steps=2 * accumulate, optimizer=optimizer, accumulate=accumulate)
    common.clear()
    return torch.cuda.max_memory_allocated()


def main():
    model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 10)).cuda()
    whole = peak(model, 4096, 1)
    parts = peak(model, 1024, 4)
    common.check(parts < whole, f"peak with accumulation {parts}, without {whole}")

    model(torch.randn(8, 512, device="cuda")).sum().backward()
    common.clear()
    common.equal(torch.cuda.memory_allocated(), 2 * common.tensor_bytes(model.parameters()),
                 "parameters and gradients")
    model.zero_grad(set_to_none=True)
    common.equal(torch.cuda.memory_allocated(), common.tensor_bytes(model.parameters()),
                 "parameters alone")
    del model
    common.check_nothing_left()


main()
