"""DistributedDataParallel over NCCL: one rank, and as many ranks as devices."""
import os
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn

import common


def run(rank, world, port):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", rank=rank, world_size=world)
    # With more than one rank no comparison of the models at the start: ranks of a simulated NCCL
    # do not hear of each other.
    model = nn.parallel.DistributedDataParallel(nn.Linear(256, 256).cuda(), device_ids=[rank],
                                                init_sync=world == 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        model(torch.randn(8, 256, device="cuda")).sum().backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=False)
    value = torch.full((4,), 7.0).cuda()
    gathered = [torch.zeros(4, device="cuda") for _ in range(world)]
    dist.all_gather(gathered, value)
    dist.all_reduce(value)
    common.equal(value.cpu().tolist(), [7.0] * 4, "what this rank brought in")
    torch.cuda.synchronize()
    # Nor do they wait for each other: the first one, which has the store, must end last.
    store = dist.distributed_c10d._get_default_store()
    store.add("done", 1)
    while rank == 0 and store.add("done", 0) < world:
        time.sleep(0.01)
    dist.destroy_process_group()


def free_port():
    import socket
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


if __name__ == "__main__":
    common.equal(torch.cuda.device_count(), 2, "devices")
    mp.spawn(run, (1, free_port()), nprocs=1)
    mp.spawn(run, (2, free_port()), nprocs=2)
