"""Which block is what: at three moments of a step, the role of every block that is in use.

usage: categories.py plain|sgd|accumulate|checkpoint|mixed|closure|prefetch

A program that trains knows its parameters, gradients, moments and inputs, and autograd tells what it
saves. Each moment is marked by a request that the driver refuses: that can be found again later.
"""
import sys

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import books
import common

WORDS, WIDTH, LENGTH, BATCH, LAYERS = 1000, 128, 64, 16, 2
STEPS, LOOKED_AT = 6, 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, LAYERS)
        self.mix = nn.Conv1d(WIDTH, WIDTH, 3, padding=1)
        self.norm = nn.BatchNorm1d(WIDTH)
        self.head = nn.Linear(WIDTH, WORDS)
        self.is_saving = False  # memory, by making activations again

    def forward(self, words):
        hidden = self.embedding(words)
        for layer in self.layers.layers:
            hidden = checkpoint(layer, hidden, use_reentrant=False) if self.is_saving else layer(hidden)
        hidden = hidden.transpose(1, 2)
        hidden = hidden + torch.sigmoid(self.norm(self.mix(hidden)))
        return self.head(hidden.transpose(1, 2)).flatten(0, 1)


def address(tensor):
    return tensor.untyped_storage().data_ptr()


class Moments:
    """Roles of all blocks in use, by their addresses."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.saved = {}
        self.found = {}

    def save(self, tensor):
        self.saved[address(tensor)] = "activation"
        return tensor

    def roles(self, inputs, activations):
        roles = self.saved | {address(t): "activation" for t in activations}
        roles |= {address(t): "input" for t in inputs}
        roles |= {address(t): "optimizer" for t in common.optimizer_tensors(self.optimizer)}
        roles |= {address(p.grad): "gradient" for p in self.model.parameters() if p.grad is not None}
        return roles | {address(t): "parameter" for t in [*self.model.parameters(),
                                                          *self.model.buffers()]}

    def note(self, name, inputs, activations=()):
        roles = self.roles(inputs, activations)
        self.found[name] = {block["address"]: roles.get(block["address"], "other")
                            for segment in torch.cuda.memory_snapshot()
                            for block in segment["blocks"] if not books.is_free(block)}


def mark():
    books.ask_driver(1 << 50)


def make_batch():
    return (torch.randint(0, WORDS, (BATCH, LENGTH), device="cuda"),
            torch.randint(0, WORDS, (BATCH * LENGTH,)).cuda())


class Training:
    def __init__(self, variant):
        self.variant = variant
        self.model = Model().cuda()
        self.model.is_saving = variant == "checkpoint"
        kind = {"sgd": torch.optim.SGD, "closure": torch.optim.LBFGS}.get(variant, torch.optim.AdamW)
        self.optimizer = kind(self.model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda", enabled=variant == "mixed")
        self.moments = Moments(self.model, self.optimizer)
        self.next = make_batch()

    def take_batch(self):
        if self.variant != "prefetch":
            return make_batch()
        batch, self.next = self.next, make_batch()
        return batch

    def pass_through(self, is_looked_at):
        """Forward and backward. What is alive besides: inputs, and results."""
        words, targets = self.take_batch()
        with torch.autograd.graph.saved_tensors_hooks(self.moments.save, lambda tensor: tensor), \
                torch.autocast("cuda", enabled=self.variant == "mixed"):
            output = self.model(words)
            loss = nn.functional.cross_entropy(output, targets)
        inputs = [words, targets, *(self.next if self.variant == "prefetch" else ())]
        if is_looked_at:
            self.moments.note("forward", inputs, (output, loss))
            mark()  # after forward
        self.moments.saved.clear()
        self.scaler.scale(loss).backward()
        if is_looked_at:
            self.moments.note("backward", inputs, (output, loss))
            mark()  # after backward
        return inputs, (output, loss)

    def step(self, is_looked_at):
        if self.variant == "accumulate":
            self.pass_through(False)
        if self.variant == "closure":
            self.optimizer.step(lambda: self.pass_through(False)[1][1])
        rest = self.pass_through(is_looked_at)
        if self.variant != "closure":
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
        if is_looked_at:
            self.moments.note("optimizer", *rest)
            mark()  # after optimizer
        self.optimizer.zero_grad()


def run(variant):
    training = Training(variant)
    if variant != "prefetch":
        training.next = None
    for i in range(STEPS):
        training.step(i == LOOKED_AT)
    for name, roles in training.moments.found.items():
        common.check(len(set(roles.values()) - {"other"}) >= 3, f"roles after {name}: {roles}")
    return training.moments.found


def main():
    facts = {"moments": run(sys.argv[1] if len(sys.argv) > 1 else "plain")}
    books.finish(facts | {"peak_live_bytes": torch.cuda.max_memory_allocated(),
                          "peak_reserved_bytes": torch.cuda.max_memory_reserved()})


main()
