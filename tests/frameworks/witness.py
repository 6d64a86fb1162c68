"""Runs a program of samples/torch, and writes down what torch itself says about its memory.

usage: witness.py OUT PROGRAM [ARGUMENT]...      under vramscope run

After every step of an optimizer, and in the end, a mark "witness N" goes into the trace (through
vramscope.h's function, which is in the process), and torch's statistics and live blocks go into
OUT; in the end also torch's own history of every allocation and free. oracle.py compares both.
"""
import ctypes
import gc
import json
import runpy
import sys

import torch
from torch.optim import optimizer

NATIVE = "native"  # the allocator that has a history


def live_blocks():
    """{device: [[address, size of the block, is a free of it pending, is its pool private], ...]}"""
    blocks = {}
    for segment in torch.cuda.memory_snapshot():
        address = segment["address"]
        for block in segment["blocks"]:
            if block["state"] != "inactive":
                blocks.setdefault(segment["device"], []).append(
                    [block.get("address", address), block["size"],
                     block["state"] == "active_pending_free",
                     tuple(segment["segment_pool_id"]) != (0, 0)])
            address += block["size"]
    return blocks


class Witness:
    def __init__(self, path):
        self.path = path
        self.instants = []
        self.mark = ctypes.CDLL(None).vramscope_mark
        self.reset = torch.cuda.reset_peak_memory_stats
        self.is_native = torch.cuda.get_allocator_backend() == NATIVE

    def observe(self, *_):
        """What is allocated and reserved now."""
        self.mark(f"witness {len(self.instants)}".encode())
        devices = range(torch.cuda.device_count())
        instant = {"stats": {}, "blocks": None}
        for device in devices:
            stats = torch.cuda.memory_stats(device)
            instant["stats"][device] = {
                "allocated": stats["allocated_bytes.all.current"],
                "allocated_peak": stats["allocated_bytes.all.peak"],
                "reserved": stats["reserved_bytes.all.current"],
                "reserved_peak": stats["reserved_bytes.all.peak"],
                "ooms": stats["num_ooms"],
            }
        # Looking at the blocks asks the driver which frees are done: not in a capture.
        if self.is_native and not torch.cuda.is_current_stream_capturing():
            instant["blocks"] = live_blocks()
        self.instants.append(instant)

    def reset_peaks(self, device=None):
        device = torch.cuda.current_device() if device is None else torch.device("cuda", device).index
        self.mark(f"reset {device}".encode())
        self.reset(device)

    def history(self):
        if not self.is_native:
            return []
        traces = torch.cuda.memory._snapshot()["device_traces"]
        return [[[entry["action"], entry.get("addr", entry.get("device_free")), entry["size"]]
                 for entry in trace] for trace in traces]

    def run(self, program):
        torch.cuda.init()
        if self.is_native:
            torch.cuda.memory._record_memory_history(context=None, max_entries=10_000_000)
        torch.cuda.reset_peak_memory_stats = self.reset_peaks
        optimizer.register_optimizer_step_post_hook(self.observe)
        runpy.run_path(program, run_name="__main__")
        gc.collect()
        gc.disable()  # nothing is to be freed between the last mark and the history
        self.observe()
        with open(self.path, "w", encoding="utf-8") as file:
            json.dump({"version": torch.__version__, "native": self.is_native,
                       "instants": self.instants, "history": self.history()}, file)


def main():
    out, program = sys.argv[1:3]
    sys.argv = sys.argv[2:]
    sys.path[0] = program.rpartition("/")[0]
    Witness(out).run(program)


if __name__ == "__main__":
    main()
