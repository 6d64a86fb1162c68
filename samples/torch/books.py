"""torch's own books, printed as facts: what its allocator says about itself, for whoever compares.

Nothing here knows of a profiler. Facts come from torch.cuda.memory_snapshot and memory_stats; those
of a failure are taken at the failure itself, by the observer that torch calls before it raises.
"""
import ctypes
import json

import torch

import common

OUT_OF_MEMORY = 2  # CUDA's number for it


def is_free(block):
    return block["state"] == "inactive"


def is_whole(segment):
    """No block in use: torch gives it back before it lets a request fail."""
    return all(is_free(block) for block in segment["blocks"])


def state():
    """Where the pool stands now."""
    segments = torch.cuda.memory_snapshot()
    blocks = [block for segment in segments for block in segment["blocks"] if not is_free(block)]
    holes = [block["size"] for segment in segments if not is_whole(segment)
             for block in segment["blocks"] if is_free(block)]
    return {
        "reserved_bytes": sum(segment["total_size"] for segment in segments),
        "segments": len(segments),
        "live_bytes": sum(block["size"] for block in blocks),
        "blocks": len(blocks),
        "hole_bytes": sum(holes),
        "holes": len(holes),
        "largest_hole_bytes": max(holes, default=0),
        "releasable_bytes": sum(segment["total_size"] for segment in segments if is_whole(segment)),
    }


def beside_holes(tensors):
    """Which of these keep a hole from growing: their number and the bytes of their blocks."""
    wanted = {tensor.data_ptr() for tensor in tensors}
    found = []
    for segment in torch.cuda.memory_snapshot():
        free = [is_free(block) for block in segment["blocks"]]
        around = [False, *free, False]
        found += [block["size"] for i, block in enumerate(segment["blocks"])
                  if not free[i] and block["address"] in wanted and (around[i] or around[i + 2])]
    return {"beside_holes": len(found), "beside_holes_bytes": sum(found)}


def block_bytes(tensors):
    """What the allocator set aside for these."""
    wanted = {tensor.data_ptr() for tensor in tensors}
    return sum(block["size"] for segment in torch.cuda.memory_snapshot()
               for block in segment["blocks"] if block["address"] in wanted and not is_free(block))


class Failures:
    """Notes the state of the pool at the first request that fails for good."""

    def __init__(self, more=dict):
        self.more = more  # called at the failure: facts that only the program knows
        self.first = None
        torch._C._cuda_attach_out_of_memory_observer(self.note)

    def note(self, _device, segment_size, _total, driver_free):
        """segment_size: what torch asked the driver for in the end, larger than the request."""
        if self.first is None:
            self.first = state() | {"segment_bytes": segment_size,
                                    "driver_free_bytes": driver_free} | self.more()
        self.more = None  # torch keeps its observers: nothing may hang on them


def run_out(step):
    """Steps that keep the same each, until one fails: live bytes after each that did not, what each
    added, and the failure."""
    failures, live = Failures(), []
    while failures.first is None:
        try:
            step()
        except torch.OutOfMemoryError:
            continue
        live.append(torch.cuda.memory_allocated())
    growth = {after - before for before, after in zip(live, live[1:])}
    common.equal(len(growth), 1, "each step keeps the same")
    return live, growth.pop(), failures.first


def ask_driver(size):
    """What another library in the same process does: it knows nothing of torch's pool. CUDA's answer."""
    address = ctypes.c_uint64()
    return ctypes.CDLL("libcuda.so.1").cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(size))


def counts():
    """From the start of the process."""
    stats = torch.cuda.memory_stats()
    return {
        "allocs": stats["allocation.all.allocated"],
        "frees": stats["allocation.all.freed"],
        "bytes_allocated": stats["allocated_bytes.all.allocated"],
        "segments_taken": stats["segment.all.allocated"],
        "ooms": stats["num_ooms"],
        "retries": stats["num_alloc_retries"],
    }


def finish(facts):
    """The last line of a program whose own tensors are gone."""
    common.clear()
    print(json.dumps(facts | {"end": state() | counts()}))
