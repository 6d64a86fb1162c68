"""Packages that do not run on softgpu: imported, their callbacks registered and called by hand.

usage: checked.py STAGE WORK    one line for each release

The wheels come from PyPI without NVIDIA's libraries; what they cannot be imported without is in
releases.CHECKED. FRAMEWORK/callbacks.py runs under `vramscope run`; the trace is read by the reader
of oracle.py and must have what that program was told to say, no more and no less.
"""
import os
import subprocess
import sys

import oracle
import releases
from install import Skipped, install

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 300  # seconds; a hang, not a measurement
BASE = 0x7F00_0000_0000

# Of both callbacks.py.
POOLS = {"cupy": "CuPy", "rmm": "RMM"}
EVENTS = {
    "cupy": [("given", BASE, 1024), ("given", BASE + 1024, 4096), ("taken", BASE, 0),
             ("refused", 0, 1 << 40)],
    "rmm": [("given", BASE, 1024), ("given", BASE + 1024, 4096), ("taken", BASE, 0),
            ("refused", 0, 1 << 40)],
}


def read_events(path, name):
    """What the pool of that name did, in order."""
    recorded = oracle.Recorded(path)
    pools = {number for number, (_, device, pool) in recorded.pools.items()
             if pool == name and device == 0}
    events = []
    for kind, fields in recorded.events:
        if kind == oracle.BLOCK_ALLOC and fields[0] in pools:
            events.append(("given", fields[2], fields[3]))
        elif kind == oracle.BLOCK_FREE and fields[0] in pools:
            events.append(("taken", fields[2], 0))
        elif kind == oracle.BLOCK_FAILED and fields[0] in pools:
            events.append(("refused", 0, fields[2]))
    return events


def check(release, folder, stage, work):
    """None if it went well, else what is wrong."""
    trace = os.path.join(work, f"{release.framework}-{release.version}.vscope")
    os.makedirs(work, exist_ok=True)
    if os.path.exists(trace):
        os.remove(trace)
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("VRAMSCOPE_", "SOFTGPU_", "LD_", "PYTHON"))}
    done = subprocess.run([os.path.join(stage, "bin", "vramscope"), "run", "-o", trace, "--",
                           os.path.join(folder, "bin", "python"), "-B",
                           os.path.join(HERE, release.framework, "callbacks.py")],
                          env=kept, capture_output=True, text=True, errors="replace",
                          timeout=TIMEOUT, check=False)
    if done.returncode or "not recorded" in done.stderr:
        return f"exit status {done.returncode}: {done.stderr[-1000:]}"
    events = read_events(trace, POOLS[release.framework])
    if events != EVENTS[release.framework]:
        return f"the trace has {events}"
    os.remove(trace)
    return None


def run(frameworks, stage, work):
    """[(release, what is wrong or None)], of those that could be had."""
    results = []
    for release in releases.CHECKED:
        if frameworks and release.framework not in frameworks:
            continue
        try:
            folder = install(release, work)
        except Skipped as reason:
            print(f"SKIP {release.framework} {release.version}: {reason}")
            continue
        wrong = check(release, folder, stage, os.path.join(work, "recorded"))
        print(f"{release.framework} {release.version}: "
              f"{f'FAILED {wrong}' if wrong else 'imported, callbacks registered and heard'}",
              flush=True)
        results.append((release, wrong))
    return results


if __name__ == "__main__":
    sys.exit(1 if any(wrong for _, wrong in run([], *map(os.path.abspath, sys.argv[1:3]))) else 0)
