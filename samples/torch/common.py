"""What the programs of this folder share: they train on a simulated GPU and check torch's own numbers.

Kernels compute nothing there, so no loss is looked at. Every number checked here is one that torch
would show on a real card as well.
"""
import gc
import os

import torch

BLOCK = 512  # what torch's allocator rounds to
MODULES = 16 << 20  # at most: variables of the kernels' modules, loaded when they are first used


def check(condition, text):
    if not condition:
        raise SystemExit(f"wrong: {text}")


def equal(found, expected, text):
    check(found == expected, f"{text}: {found} instead of {expected}")


def rounded(size):
    return (size + BLOCK - 1) // BLOCK * BLOCK


def tensor_bytes(tensors):
    return sum(rounded(t.numel() * t.element_size()) for t in tensors)


def optimizer_tensors(optimizer):
    """State on the device; AdamW keeps its step counters on the host."""
    return [value for state in optimizer.state.values() for value in state.values()
            if torch.is_tensor(value) and value.is_cuda]


def clear():
    """Everything torch keeps without a tensor holding it."""
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()
    torch.cuda.synchronize()


def driver_used(device=0):
    """What the driver says is in use beyond the context of this process; modules included."""
    free, total = torch.cuda.mem_get_info(device)
    context = int(os.environ.get("SOFTGPU_CONTEXT", str(318 << 20)))
    return total - free - context


def check_driver(reserved, device=0):
    """The driver has given out what torch has reserved, and what its modules need."""
    modules = driver_used(device) - reserved
    check(0 <= modules <= MODULES, f"the driver's own count: {modules} beyond {reserved} reserved")


def check_resident(model, optimizer, device=0):
    """After a step with grads dropped: the parameters and the optimizer's state, and nothing else."""
    clear()
    tensors = list(model.parameters()) + list(model.buffers()) + optimizer_tensors(optimizer)
    equal(torch.cuda.memory_allocated(device), tensor_bytes(tensors), "memory_allocated")
    check_driver(torch.cuda.memory_reserved(device), device)


def check_nothing_left(device=0):
    clear()
    equal(torch.cuda.memory_allocated(device), 0, "memory_allocated in the end")
    torch.cuda.empty_cache()
    equal(torch.cuda.memory_reserved(device), 0, "memory_reserved in the end")
    check_driver(0, device)


def train(model, batch, steps=5, optimizer=None, loss=None, autocast=None, scaler=None, accumulate=1):
    """The loop everybody writes. Returns the optimizer."""
    optimizer = optimizer or torch.optim.AdamW(model.parameters())
    loss = loss or torch.nn.functional.cross_entropy
    for step in range(steps):
        inputs, targets = batch()
        with torch.autocast("cuda", dtype=autocast, enabled=autocast is not None):
            value = loss(model(inputs), targets) / accumulate
        (scaler.scale(value) if scaler else value).backward()
        if (step + 1) % accumulate == 0:
            if scaler:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    return optimizer
