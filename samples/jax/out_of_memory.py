"""Runs out of memory, catches it, and goes on."""
import common
import jax
import numpy as np

PIECE = 64 << 20


def main():
    device = common.device()
    limit = device.memory_stats()["bytes_limit"]
    data = np.zeros(PIECE, np.uint8)
    kept = []
    try:
        while True:
            kept.append(jax.device_put(data))
            kept[-1].block_until_ready()
            common.check(len(kept) < 1000, "the memory ends")
    except RuntimeError as error:
        common.check("RESOURCE_EXHAUSTED" in str(error), f"what the error says: {error}")
    common.check(len(kept) == limit // PIECE, f"{len(kept)} pieces in {limit}")
    common.check(common.in_use() == len(kept) * PIECE, "all of it is counted")
    kept.clear()
    common.check(common.in_use() == 0, f"all of it went back: {common.in_use()}")
    again = jax.device_put(data)
    common.check(common.in_use() == PIECE and again is not None, "and goes on")


main()
