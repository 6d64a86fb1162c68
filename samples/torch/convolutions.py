"""Convolutions through cuDNN's graph API, with batch normalisation, 1 to 3 dimensions, both ways."""
import torch
from torch import nn
from torch.nn import functional

import common


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Conv2d(3, 32, 3, padding=1)
        self.norm = nn.BatchNorm2d(32)
        self.grouped = nn.Conv2d(32, 32, 3, padding=1, groups=4, bias=False)
        self.up = nn.ConvTranspose2d(32, 16, 2, stride=2)
        self.head = nn.Linear(16, 10)

    def forward(self, images):
        x = functional.relu(self.norm(self.first(images)))
        x = functional.max_pool2d(functional.relu(x + self.grouped(x)), 2)
        x = functional.adaptive_avg_pool2d(self.up(x), 1)
        return self.head(x.flatten(1))


def train(channels_last, benchmark):
    torch.backends.cudnn.benchmark = benchmark
    model = Block().cuda()
    if channels_last:
        model = model.to(memory_format=torch.channels_last)
    optimizer = common.train(model, lambda: (torch.randn(16, 3, 32, 32, device="cuda"),
                                             torch.randint(0, 10, (16,), device="cuda")))
    common.check_resident(model, optimizer)


def main():
    common.check(torch.backends.cudnn.is_available(), "cuDNN is there")
    train(channels_last=False, benchmark=False)
    train(channels_last=True, benchmark=True)
    for convolution, shape in ((nn.Conv1d, (4, 8, 100)), (nn.Conv3d, (2, 8, 10, 10, 10))):
        layer = convolution(8, 4, 3).cuda()
        output = layer(torch.randn(shape, device="cuda"))
        common.equal(tuple(output.shape), (shape[0], 4) + tuple(n - 2 for n in shape[2:]), "shape")
        output.sum().backward()
    del layer, output
    common.check_nothing_left()


main()
