"""An array on each of two devices, and one that is spread over both."""
import common
import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def main():
    devices = jax.devices() if common.device() else []
    common.check(len(devices) == 2, f"two devices: {devices}")
    data = np.zeros((1024, 1024), np.float32)
    arrays = [jax.device_put(data, device) for device in devices]
    jax.block_until_ready(arrays)
    for device in devices:
        common.check(common.in_use(device) == data.nbytes, f"{common.in_use(device)} on {device}")
    del arrays
    spread = jax.device_put(data, NamedSharding(Mesh(np.array(devices), "x"), PartitionSpec("x")))
    spread.block_until_ready()
    for device in devices:
        common.check(common.in_use(device) == data.nbytes // 2, f"half of it on {device}")


main()
