"""Uses memory in the ways that JAX has, and writes down what JAX itself says of it.

usage: books.py WAY...      under vramscope run; jax_books.py judges the trace

After every step JAX's own numbers go into the trace as two marks: "look N" where they hold, and then
"books N" with the numbers, of device 0; "none" if JAX has none for its allocator. JAX frees on threads of its own: numbers count only if they
are the same before and after the mark, and are waited for.
"""
import ctypes
import gc
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3,
                                "samples", "jax"))

import common  # noqa: E402  (samples/jax: also answers JAX's question for a device file)
import jax  # noqa: E402
import numpy as np  # noqa: E402
from jax import numpy as jnp  # noqa: E402

MIB = 1 << 20
STEPS = 5
KEYS = ("bytes_in_use", "peak_bytes_in_use", "num_allocs", "largest_alloc_size", "bytes_limit",
        "pool_bytes", "peak_pool_bytes")

mark = ctypes.CDLL(None).vramscope_mark
number = 0


def stats():
    """None: this allocator keeps no books."""
    return common.device().memory_stats()


def observe():
    global number
    gc.collect()
    for _ in range(500):
        before = stats()
        mark(f"look {number}".encode())
        if stats() == before:
            break
        time.sleep(0.01)
        number += 1
    else:
        raise SystemExit("JAX's numbers never come to rest")
    said = " ".join(str(before.get(key, -1)) for key in KEYS) if before else "none"
    mark(f"books {number} {said}".encode())
    number += 1


def settle():
    """Until what was dropped has been freed."""
    gc.collect()
    last = None
    for _ in range(500):
        now = stats()
        if now == last:
            return
        last = now
        time.sleep(0.02)


def arrays():
    """Come and go, in sizes that no allocator likes."""
    kept = []
    for i in range(8):
        kept.append(jax.device_put(np.zeros(MIB + 1000 * i + 1, np.float32)))
        if i % 3 == 2:
            del kept[0]
        jax.block_until_ready(kept)
        settle()
        observe()


def kept():
    """One more with every step."""
    found = []
    for i in range(STEPS):
        found.append(jax.block_until_ready(jnp.full((i + 1, 100, 1000), i, jnp.float32)))
        settle()
        observe()


def compiled():
    """A step of training, by XLA, with its temporary memory."""
    @jax.jit
    def step(weights, batch):
        gradient = jax.grad(lambda w: jnp.mean(jnp.tanh(batch @ w) ** 2))(weights)
        return weights - 0.1 * gradient

    weights = jax.device_put(np.zeros((512, 512), np.float32))
    batch = jax.device_put(np.zeros((64, 512), np.float32))
    for _ in range(STEPS):
        weights = jax.block_until_ready(step(weights, batch))
        settle()
        observe()


def full():
    """Runs out, and goes on."""
    held = []
    try:
        while True:
            held.append(jax.device_put(np.zeros(256 * MIB, np.uint8)))
            held[-1].block_until_ready()
    except RuntimeError as error:
        common.check("RESOURCE_EXHAUSTED" in str(error), f"what the error says: {error}")
    settle()
    observe()
    held.clear()
    settle()
    observe()


def main():
    common.device()
    mark(b"begin")
    observe()
    for way in sys.argv[1:]:
        globals()[way]()
        settle()
        observe()


main()
