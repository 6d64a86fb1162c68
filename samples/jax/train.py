"""A perceptron with Adam, written out, compiled by XLA."""
import common
import jax
import numpy as np
from jax import numpy as jnp

WIDE, NARROW = 1024, 10


def loss(parameters, batch, labels):
    hidden = jnp.maximum(batch @ parameters["first"], 0)
    scores = jax.nn.log_softmax(hidden @ parameters["second"])
    return -jnp.mean(jnp.take_along_axis(scores, labels[:, None], axis=1))


@jax.jit
def step(parameters, first, second, batch, labels):
    gradients = jax.grad(loss)(parameters, batch, labels)
    first = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, first, gradients)
    second = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, second, gradients)
    update = jax.tree.map(lambda p, m, v: p - 0.001 * m / (jnp.sqrt(v) + 1e-8), parameters, first,
                          second)
    return update, first, second


def main():
    common.device()
    shapes = {"first": (256, WIDE), "second": (WIDE, NARROW)}
    state = [{name: jax.device_put(np.zeros(shape, np.float32)) for name, shape in shapes.items()}
             for _ in range(3)]
    size = 3 * sum(-(-4 * a * b // 256) * 256 for a, b in shapes.values())
    common.check(common.in_use() == size, f"parameters and moments: {common.in_use()}, not {size}")
    batch = jax.device_put(np.zeros((64, 256), np.float32))
    labels = jax.device_put(np.zeros(64, np.int32))
    for _ in range(5):
        state = step(*state, batch, labels)
    jax.block_until_ready(state)
    held = common.in_use()
    common.check(size < held < 2 * size, f"still only those and the batch: {held}")
    del state, batch, labels
    common.check(common.in_use() < held - size + 4096, f"in the end: {common.in_use()}")


main()
