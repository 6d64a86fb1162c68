"""A training step captured as a CUDA graph, with a memory pool of its own, and replayed."""
import torch
from torch import nn

import common


def main():
    model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256)).cuda()
    inputs = torch.randn(8, 256, device="cuda")
    optimizer = torch.optim.AdamW(model.parameters(), capturable=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        model(inputs).sum().backward()
        optimizer.step()

    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)

    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    pools = {segment["segment_pool_id"] for segment in torch.cuda.memory_snapshot()}
    common.check(any(pool != (0, 0) for pool in pools), "the graph has a pool of its own")
    before = torch.cuda.memory_allocated()
    for _ in range(10):
        graph.replay()
    torch.cuda.synchronize()
    common.equal(torch.cuda.memory_allocated(), before, "replaying allocates nothing")
    common.check_driver(torch.cuda.memory_reserved())

    graphed = torch.cuda.make_graphed_callables(
        nn.Linear(256, 256).cuda(), (torch.randn(8, 256, device="cuda", requires_grad=True),))
    graphed(torch.randn(8, 256, device="cuda", requires_grad=True)).sum().backward()


main()
