"""A data loader with worker processes and pinned memory."""
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import common


def main():
    data = TensorDataset(torch.randn(256, 32), torch.randint(0, 4, (256,)))
    model = nn.Linear(32, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = 0
    for persistent in (False, True):
        for inputs, targets in DataLoader(data, 32, shuffle=True, num_workers=2, pin_memory=True,
                                          persistent_workers=persistent):
            common.check(inputs.is_pinned(), "the batch is pinned")
            inputs, targets = inputs.cuda(non_blocking=True), targets.cuda(non_blocking=True)
            nn.functional.cross_entropy(model(inputs), targets).backward()
            optimizer.step()
            optimizer.zero_grad()
            batches += 1
    common.equal(batches, 16, "batches")
    del inputs, targets
    common.check_resident(model, optimizer)
    pinned = torch.cuda.host_memory_stats() if hasattr(torch.cuda, "host_memory_stats") else None
    common.check(pinned is None or pinned["allocated_bytes.peak"] > 0, "pinned memory was counted")


if __name__ == "__main__":
    main()
