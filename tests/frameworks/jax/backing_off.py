"""Fills a card with a pool that grows, until JAX itself says that memory is out.

usage: backing_off.py      under vramscope run, with XLA_PYTHON_CLIENT_PREALLOCATE=false

Prints how many exceptions there were. The pool asks for more than is left, and takes less.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), *[os.pardir] * 3,
                                "samples", "jax"))

import common  # noqa: E402, F401  (answers JAX's question for a device file)
from jax import numpy as jnp  # noqa: E402

kept, failures = [], 0
while not failures:
    try:
        kept.append(jnp.ones((64 << 20) // 4).block_until_ready())
    except Exception as error:  # its type differs from release to release
        if "RESOURCE_EXHAUSTED" not in str(error):
            raise
        failures += 1
print(failures)
