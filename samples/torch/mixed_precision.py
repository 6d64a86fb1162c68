"""Autocast with float16 and a scaler, with bfloat16, and attention in half precision."""
import torch
from torch import nn
from torch.nn import functional

import common


def attention(dtype):
    """The shapes for which torch takes its fused kernels or, on some cards, cuDNN's."""
    inputs = [torch.randn(2, 4, 128, 64, device="cuda", dtype=dtype, requires_grad=True)
              for _ in range(3)]
    output = functional.scaled_dot_product_attention(*inputs, is_causal=True)
    common.equal(output.shape, inputs[0].shape, "shape of the attention")
    output.sum().backward()
    common.check(all(x.grad is not None and x.grad.dtype == dtype for x in inputs), "gradients")


def main():
    model = nn.Sequential(nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 10)).cuda()

    def batch():
        return torch.randn(64, 256, device="cuda"), torch.randint(0, 10, (64,), device="cuda")

    scaler = torch.amp.GradScaler("cuda")
    optimizer = common.train(model, batch, autocast=torch.float16, scaler=scaler)
    optimizer = common.train(model, batch, autocast=torch.bfloat16, optimizer=optimizer)
    del scaler
    common.check_resident(model, optimizer)
    for dtype in (torch.float16, torch.bfloat16):
        attention(dtype)

    half = model.half()
    common.check_resident(half, torch.optim.SGD(half.parameters()) if optimizer is None else optimizer)
    del model, half, optimizer
    common.check_nothing_left()


main()
