#!/usr/bin/env python3
"""One sample with every set of sources: hooks, CUPTI, NVTX. What is counted must not depend on who
saw it; without hooks and CUPTI nothing is.

    run_sources.py NAME MEMORY [PROGRAM]
"""
import glob
import itertools
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
import harness  # noqa: E402
from harness import SAMPLES, VRAMSCOPE, check, check_equal, run  # noqa: E402

# Where threads or processes race, peaks depend on who comes first.
RACING = ("threads", "ipc")


def get_totals(trace, name):
    """All that is counted in a trace, and nothing that is measured."""
    story = harness.report(trace)
    devices = []
    for device in story["devices"]:
        totals = {key: value for key, value in device.items() if isinstance(value, int)}
        totals["kinds"] = device["memory_kinds"]
        totals["pools"] = [{key: value for key, value in pool.items()
                            if isinstance(value, (int, str))} for pool in device["pools"]]
        devices.append(drop(totals, name in RACING))
    for field in ("lost_events", "overlaps", "orphan_blocks", "unmatched_frees"):
        check_equal(story[field], 0, field)
    return devices, story


def drop(value, is_racing):
    # When something was is measured, not counted.
    if isinstance(value, dict):
        return {key: drop(item, is_racing) for key, item in value.items()
                if not key.endswith("_ns") and not (is_racing and "peak" in key)}
    if isinstance(value, list):
        return [drop(item, is_racing) for item in value]
    return value


def record(name, memory, program, hooks, cupti, nvtx):
    for old in glob.glob("t.vscope*"):
        os.remove(old)
    command = [VRAMSCOPE, "run", f"--softgpu={memory}", "-o", "t.vscope"]
    command += [] if hooks else ["--no-hooks"]
    command += ["--cupti"] if cupti else []
    command += [] if hooks or cupti else ["--no-pools"]
    # Somebody else has NVTX then.
    env = {"SOFTGPU_DEVICES": "2"} if name == "multi" else {}
    env.update({} if nvtx else {"NVTX_INJECTION64_PATH": "/nobody"})
    return run(*command, "--", program, env=env)


def main(name, memory, program=None):
    program = program or os.path.join(SAMPLES, name)
    wanted = None
    for hooks, cupti, nvtx in itertools.product((True, False), repeat=3):
        text = f"hooks {hooks}, CUPTI {cupti}, NVTX {nvtx}"
        result = record(name, memory, program, hooks, cupti, nvtx)
        traces = sorted(glob.glob("t.vscope*"))
        if not hooks and not cupti:
            check_equal(traces, [], f"{text}: traces")
            check("nothing was recorded" in result.stderr, f"{text}: {result.stderr!r} says so")
            continue
        told = [get_totals(trace, name) for trace in traces]
        totals = sorted((devices for devices, _ in told), key=repr)
        if wanted is None:
            wanted = (result.returncode, result.stdout, totals)
            check(totals and totals[0], f"{text}: something was recorded")
        check_equal(result.returncode, wanted[0], f"{text}: status")
        check_equal(totals, wanted[2], f"{text}: totals")
        for _, story in told:
            only = story["driver_events"] if not hooks else 0
            check_equal(story["seen_only_by_cupti"], only, f"{text}: seen only by CUPTI")


if __name__ == "__main__":
    harness.main(main)
