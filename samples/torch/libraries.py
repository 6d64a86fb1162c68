"""Every mathematics library torch calls: products, solvers, transforms, sparse, recurrent, compiled."""
import torch
from torch import nn

import common


def products():
    a, b = torch.randn(8, 32, 64, device="cuda"), torch.randn(8, 64, 16, device="cuda")
    common.equal(torch.bmm(a, b).shape, (8, 32, 16), "bmm")
    common.equal(torch.addmm(a[0, :, 0], a[0], b[0].expand(64, 16)[:, :1].expand(64, 32)).shape,
                 (32, 32), "addmm")
    nn.functional.gelu(nn.Linear(64, 64).cuda()(a)).sum().backward()
    for dtype in (torch.float64, torch.complex64, torch.float16, torch.bfloat16):
        common.equal((a[0].to(dtype) @ b[0].to(dtype)).dtype, dtype, "dtype of a product")


def solvers():
    matrix = torch.eye(16, device="cuda").expand(4, 16, 16).contiguous()
    common.equal(torch.linalg.cholesky(matrix).shape, (4, 16, 16), "cholesky")
    common.equal(torch.linalg.solve(matrix, matrix).shape, (4, 16, 16), "solve")
    common.equal(torch.linalg.svd(matrix[0])[1].shape, (16,), "svd")
    common.equal(torch.linalg.eigh(matrix[0])[0].shape, (16,), "eigh")
    common.equal(torch.linalg.qr(matrix[0])[0].shape, (16, 16), "qr")
    common.equal(torch.linalg.inv(matrix).shape, (4, 16, 16), "inverse")


def transforms():
    signal = torch.randn(4, 1000, device="cuda")
    common.equal(torch.fft.rfft(signal).shape, (4, 501), "rfft")
    common.equal(torch.fft.irfft(torch.fft.rfft(signal), n=1000).shape, (4, 1000), "irfft")
    common.equal(torch.fft.fft2(torch.randn(8, 8, device="cuda")).shape, (8, 8), "fft2")


def sparse():
    matrix = torch.eye(64).to_sparse_csr().cuda()
    common.equal((matrix @ torch.ones(64, 8, device="cuda")).shape, (64, 8), "sparse times dense")
    common.equal((matrix @ torch.ones(64, device="cuda")).shape, (64,), "sparse times vector")


def recurrent():
    for kind in (nn.LSTM, nn.GRU, nn.RNN):
        layer = kind(24, 16, num_layers=2, bidirectional=True).cuda()
        layer(torch.randn(5, 3, 24, device="cuda"))[0].sum().backward()
        common.check(all(p.grad is not None for p in layer.parameters()), f"gradients of {kind}")


def compiled_at_run_time():
    common.equal(torch.special.bessel_j0(torch.ones(16, device="cuda")).shape, (16,), "bessel_j0")


def data_dependent():
    """Nothing was computed, so nothing is found; what matters is that it ends."""
    values = torch.zeros(100, device="cuda")
    values.nonzero(), values[values > 1], torch.unique(values), values.sort(), values.topk(3)
    torch.multinomial(torch.ones(4, device="cuda"), 2)
    torch.randperm(8, device="cuda")
    nn.utils.clip_grad_norm_([nn.Parameter(values)], 1.0)
    common.check(len(str(values)) > 0, "a tensor can be printed")


def main():
    for part in (products, solvers, transforms, sparse, recurrent, compiled_at_run_time,
                 data_dependent):
        part()
        print(f"{part.__name__}: done", flush=True)


main()
