"""Prints every memory event that torch's own profiler sees: the same with and without us."""
import torch
from torch import nn
from torch.profiler import ProfilerActivity, profile


def main():
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 16)).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as watched:
        for _ in range(5):
            model(torch.randn(64, 256, device="cuda")).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    events = [event for event in watched.profiler.kineto_results.events()
              if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    for event in events:
        print(event.device_type(), event.device_index(), event.nbytes())
    print(len(events), "events")


main()
