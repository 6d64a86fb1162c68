"""Data loaders whose workers are forked, and spawned, beside training on the device."""
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((32,), float(i)), i % 4


def main():
    model = nn.Linear(32, 4).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for context in ("fork", "spawn"):
        seen = 0
        for inputs, targets in DataLoader(Numbers(), 16, num_workers=2, pin_memory=True,
                                          multiprocessing_context=context):
            nn.functional.cross_entropy(model(inputs.cuda()), targets.cuda()).backward()
            optimizer.step()
            optimizer.zero_grad()
            seen += len(inputs)
        assert seen == 64, f"{seen} samples from workers that were made by {context}"


if __name__ == "__main__":
    main()
