"""The allocators XLA_PYTHON_CLIENT_ALLOCATOR chooses between: arrays come and go with each."""
import common
import jax
import numpy as np
from jax import numpy as jnp


def main():
    common.device()
    for _ in range(3):
        arrays = [jax.device_put(np.zeros((1 << 20) + i, np.float32)) for i in range(8)]
        total = sum(jnp.sum(a) for a in arrays)
        total.block_until_ready()
        del arrays, total


main()
