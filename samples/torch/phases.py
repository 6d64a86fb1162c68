"""In which phase does it run out? Ranges around init, data, forward, backward and optimizer.

torch's peak is asked for and set back at the end of each. With a small batch the optimizer has the
peak, for it makes its moments when it is first called; then the batch doubles until it fails.
"""
import contextlib

import torch
from torch import nn
from torch.cuda import nvtx

import books
import common

WIDTH, LAYERS, FIRST_BATCH = 1024, 8, 64


class Phases:
    """Each range with the peak that torch saw in it."""

    def __init__(self):
        self.open = []
        self.rows = []
        self.failed = None

    @contextlib.contextmanager
    def __call__(self, name):
        self.open.append(name)
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        with nvtx.range(name):
            yield
        self.rows.append({"phase": "/".join(self.open), "begin_bytes": before,
                          "end_bytes": torch.cuda.memory_allocated(),
                          "peak_bytes": torch.cuda.max_memory_allocated(),
                          "peak_reserved_bytes": torch.cuda.max_memory_reserved()})
        self.open.pop()

    def note_failure(self):
        """The phase that fails has no end to be noted at."""
        self.failed = {"phase": "/".join(self.open),
                       "peak_bytes": torch.cuda.max_memory_allocated(),
                       "peak_reserved_bytes": torch.cuda.max_memory_reserved()}
        return {}

    def highest(self, what):
        """The first phase that had the most."""
        return max([*self.rows, self.failed], key=lambda row: row[what])


class Training:
    def __init__(self, phase):
        self.phase = phase
        with phase("init"):
            layers = []
            for _ in range(LAYERS):
                layers += [nn.Linear(WIDTH, WIDTH, bias=False), nn.GELU()]
            self.model = nn.Sequential(*layers).cuda()
            self.optimizer = torch.optim.AdamW(self.model.parameters())

    def step(self, batch):
        with self.phase("data"):
            inputs = torch.randn(batch, WIDTH, device="cuda")
            targets = torch.randn(batch, WIDTH, device="cuda")
        with self.phase("forward"):
            loss = nn.functional.mse_loss(self.model(inputs), targets)
        with self.phase("backward"):
            loss.backward()
        with self.phase("optimizer"):
            self.optimizer.step()
            self.optimizer.zero_grad()


def run():
    phases = Phases()
    training = Training(phases)
    first_step = len(phases.rows)
    batch = FIRST_BATCH
    training.step(batch)
    first = phases.rows[first_step:]
    training.step(batch)
    failures = books.Failures(phases.note_failure)
    while failures.first is None:
        batch *= 2
        try:
            training.step(batch)
        except torch.OutOfMemoryError:
            pass
    top = max(first, key=lambda row: row["peak_bytes"])
    common.equal(top["phase"], "optimizer", "the phase with the peak of the first step")
    peak = phases.highest("peak_bytes")
    return {"phases": phases.rows, "failed": phases.failed, "failed_batch": batch,
            "oom": failures.first, "peak_phase": peak["phase"],
            "peak_live_bytes": peak["peak_bytes"],
            "peak_reserved_bytes": phases.highest("peak_reserved_bytes")["peak_reserved_bytes"]}


books.finish(run())
