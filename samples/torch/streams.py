"""Side streams: blocks that another stream still uses are given back later (record_stream)."""
import torch
from torch import nn

import common


def main():
    side = torch.cuda.Stream()
    model = nn.Linear(512, 512).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(5):
        batch = torch.randn(64, 512, device="cuda")
        with torch.cuda.stream(side):
            copied = torch.empty_like(batch)
            copied.copy_(batch)
            batch.record_stream(side)
            scratch = torch.empty(3 << 20, dtype=torch.uint8, device="cuda")
        del batch
        copied.record_stream(torch.cuda.current_stream())
        model(copied).sum().backward()
        del copied, scratch
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()
    common.check_resident(model, optimizer)
    del model, optimizer
    common.check_nothing_left()


main()
