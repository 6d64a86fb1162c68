"""What recording adds to TensorFlow's allocator."""
import glob
import json
import os
import re

from measuring import BenchError, Command, NotBuilt, best, measure, run, table
from page import Part, Target

CARD = "8G"
LOOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow_loop.py")


def find_tensorflow(bench):
    """The newest release that ./dev test-frameworks installed."""
    folder = os.path.join(os.path.dirname(bench.build), "frameworks")
    found = [os.path.dirname(path) for path in glob.glob(os.path.join(folder, "tensorflow-*",
                                                                      "installed.txt"))]
    if not found:
        raise NotBuilt("no tensorflow in build/frameworks: ./dev test-frameworks tensorflow "
                       "installs one")
    return max(found, key=lambda path: [int(n) for n in re.findall(r"\d+", os.path.basename(path))])


def count_events(bench, nr_rounds):
    """Chunks given out and taken back in a round; those of the start, which are few, included."""
    report = json.loads(run(Command((bench.vramscope, "report", "--json",
                                     bench.path("bench.vscope")))).output)
    pools = [pool for device in report["devices"] for pool in device["pools"]]
    if report["lost_events"] or not report["complete"]:
        raise BenchError(f"{report['lost_events']} events lost, complete: {report['complete']}")
    return sum(pool["allocs"] + pool["frees"] for pool in pools) / nr_rounds


def measure_tensorflow(bench):
    folder = find_tensorflow(bench)
    python = os.path.join(folder, "bin", "python")
    launcher = os.path.join(os.path.dirname(bench.vramscope), "softgpu-run")
    arguments = (bench.pick(10, 4), bench.pick(100, 50))
    commands = {"plain": Command((launcher, "-m", CARD, "--", python, LOOP, *arguments)),
                "with stacks": bench.recorded(python, LOOP, *arguments,
                                              options=[f"--softgpu={CARD}"])}
    results = measure(commands, bench.pick(5, 1))
    nr_events = count_events(bench, results["with stacks"][-1].number("rounds"))
    plain, added = {}, {}
    for what in ("loop", "cpu"):
        plain[what] = best(results["plain"], lambda result, what=what: result.number(what))
        with_us = best(results["with stacks"], lambda result, what=what: result.number(what))
        added[what] = (with_us - plain[what]) / nr_events
    return Part(
        lines=[f"{nr_events:,.0f} events a round, in {plain['loop'] / 1e6:.0f} ms without us.", "",
               *table(("added to each", "ns", "CPU ns"),
                      [("`vramscope run`", f"{added['loop']:.0f}", f"{added['cpu']:.0f}")])],
        targets=[Target("added time per event of TensorFlow's BFC allocator, with stacks", "1 us",
                        f"{added['loop'] / 1000:.2f} us ({added['cpu'] / 1000:.2f} us of CPU time)")],
        versions={"tensorflow": os.path.basename(folder).removeprefix("tensorflow-")})
