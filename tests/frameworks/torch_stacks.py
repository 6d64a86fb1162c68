"""A program for PyTorch whose every allocation has a stack that is known from elsewhere.

usage: torch_stacks.py OUT      under vramscope run; stack_oracle.py compares

OUT gets torch's own history with its Python frames, and for each backward() the stack that called
it, with the sizes that only this one asks for.
"""
import ctypes
import json
import os
import sys
import threading
import time

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

calls = []  # {"frames": stack of a backward(), "width": of its tensors}
WIDTH = 1024  # floats: each call has its own multiple of it


def get_frames(frame):
    frames = []
    while frame:
        frames.append([frame.f_code.co_name, frame.f_code.co_filename, frame.f_lineno])
        frame = frame.f_back
    return frames


def note(frame, width):
    calls.append({"frames": get_frames(frame), "width": width})
    return True


class Scale(torch.autograd.Function):
    """A step whose backward is Python, and allocates there."""

    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        extra = torch.empty_like(grad)
        return grad * 2 + extra.zero_()


class Failing(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.clone()

    @staticmethod
    def backward(ctx, grad):
        torch.empty_like(grad)
        raise RuntimeError("on purpose")


def make(width, rows=1):
    return torch.ones(rows, width * WIDTH, device="cuda", requires_grad=True)


def make_loss(x):
    return (x * 3 + 1).relu().sum()


def plain_backward(width):
    loss = make_loss(make(width))
    note(sys._getframe(), width) and loss.backward()


def grad_call(width):
    x = make(width)
    loss = make_loss(x)
    note(sys._getframe(), width) and torch.autograd.grad(loss, [x])


def custom_backward(width):
    loss = make_loss(Scale.apply(make(width)))
    note(sys._getframe(), width) and loss.backward()


def hooks(width):
    x = make(width)
    y = x * 2
    y.register_hook(lambda grad: grad * 2)
    loss = make_loss(y)
    note(sys._getframe(), width) and loss.backward()


def nested(width):
    x = make(width)
    y = checkpoint(lambda t: (t * 3).relu() + 1, x, use_reentrant=True)
    loss = make_loss(y)
    note(sys._getframe(), width) and loss.backward()


def deeper(depth, function, width):
    return deeper(depth - 1, function, width) if depth else function(width)


def failing(width):
    loss = make_loss(Failing.apply(make(width)))
    try:
        note(sys._getframe(), width) and loss.backward()
    except RuntimeError:
        pass


def out_of_memory(width):
    class Greedy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            return torch.empty(1 << 42, device="cuda")

    loss = make_loss(Greedy.apply(make(width)))
    try:
        note(sys._getframe(), width) and loss.backward()
    except RuntimeError:
        pass


def forward_only():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 8)).cuda()
    with torch.no_grad():
        for _ in range(2):
            model(torch.ones(16, 64, device="cuda"))
    [torch.empty(100, device="cuda") for _ in range(3)]
    list(map(lambda n: torch.zeros(n, device="cuda"), (1000, 2000)))
    sorted([3, 1], key=lambda n: torch.ones(n, device="cuda").sum().item())


def work(barrier, first, nr):
    for i in range(nr):
        barrier.wait()
        plain_backward(first + 2 * i)


def together():
    """Two at once: one of them, or the right one, but never the other one."""
    barrier = threading.Barrier(2)
    threads = [threading.Thread(target=work, args=(barrier, 200 + k, 40)) for k in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def fail_and_die(width):
    """A thread that is left by an exception, and ends."""
    thread = threading.Thread(target=failing, args=(width,))
    thread.start()
    thread.join()
    # Python is done with it; the system, and what is said when it really ends, may not be.
    while os.path.exists(f"/proc/self/task/{thread.native_id}"):
        time.sleep(0.001)


def main():
    mark = ctypes.CDLL(None).vramscope_mark
    torch.cuda.init()
    torch.cuda.memory._record_memory_history(context="all", stacks="python", max_entries=1_000_000)
    forward_only()
    certain = []
    for function, width in ((plain_backward, 3), (grad_call, 5), (custom_backward, 7), (hooks, 9),
                            (nested, 11), (plain_backward, 13), (failing, 15), (plain_backward, 17),
                            (out_of_memory, 19), (grad_call, 21), (fail_and_die, 23),
                            (plain_backward, 25)):
        certain.append(width)
        function(width)
    # After an exception, from further inside than it was.
    for width in (31, 33, 35):
        failing(width)
        deeper(9, plain_backward, width + 20)
        certain += [width, width + 20]
    together()
    plain_backward(299)
    certain.append(299)
    mark(b"end")
    history = torch.cuda.memory._snapshot()["device_traces"][0]
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"version": torch.__version__, "calls": calls, "certain": certain, "unit": WIDTH * 4,
                   "history": [{"address": entry["addr"], "size": entry["size"],
                                "frames": [[frame["name"], frame["filename"], frame["line"]]
                                           for frame in entry["frames"]]}
                               for entry in history if entry["action"] == "alloc"]}, file)


main()
