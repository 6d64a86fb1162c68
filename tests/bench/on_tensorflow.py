"""What recording adds to TensorFlow's allocator."""
import glob
import json
import os
import random
import re

from measuring import BenchError, Command, NotBuilt, best, median, run, table
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


def count_events(bench, nr_steps):
    """Chunks given out and taken back in a step; those of the start, which are few, included."""
    report = json.loads(run(Command((bench.vramscope, "report", "--json",
                                     bench.path("bench.vscope")))).output)
    pools = [pool for device in report["devices"] for pool in device["pools"]]
    if report["lost_events"] or not report["complete"]:
        raise BenchError(f"{report['lost_events']} events lost, complete: {report['complete']}")
    return sum(pool["allocs"] + pool["frees"] for pool in pools) / nr_steps


MODES = {"eager": "operation by operation", "graph": "as a `tf.function`"}
NAMES = {"loop": "time", "thread": "CPU time of its thread", "cpu": "CPU time of all threads"}


def measure_mode(bench, python, launcher, mode):
    """({"plain": [Result, ...], "with stacks": ...}, events of a step)"""
    arguments = (mode, bench.pick(6, 3), bench.pick(100, 50))
    commands = {"plain": Command((launcher, "-m", CARD, "--", python, LOOP, *arguments)),
                "with stacks": bench.recorded(python, LOOP, *arguments,
                                              options=[f"--softgpu={CARD}"])}
    results = {name: [] for name in commands}
    chance = random.Random(1)
    for _ in range(bench.pick(9, 1)):
        for name, command in commands.items():
            command.env["PYTHONHASHSEED"] = "0"  # the same work in each process
            # What lies in front of the stack decides where everything lies, and that how fast it is.
            command.env["BENCH_PADDING"] = "x" * chance.randrange(4096)
            results[name].append(run(command))
    return results, count_events(bench, results["with stacks"][-1].number("steps"))


def compare(results, what, nr_events):
    """(best less best, median less median, middle of the differences of neighbours, the least, the most) in ns per event"""
    plain, with_us = ([result.number(what) for result in results[name]]
                      for name in ("plain", "with stacks"))
    differences = [(b - a) / nr_events for a, b in zip(plain, with_us)]
    return ((min(with_us) - min(plain)) / nr_events, (median(with_us) - median(plain)) / nr_events,
            median(differences), min(differences), max(differences))


def measure_tensorflow(bench):
    folder = find_tensorflow(bench)
    python = os.path.join(folder, "bin", "python")
    launcher = os.path.join(os.path.dirname(bench.vramscope), "softgpu-run")
    rows, told = [], []
    for mode, text in MODES.items():
        results, nr_events = measure_mode(bench, python, launcher, mode)
        plain = best(results["plain"], lambda result: result.number("loop"))
        for what, name in NAMES.items():
            least, middle, pairs, low, high = compare(results, what, nr_events)
            rows.append((text, f"{nr_events:,.0f}", f"{plain / 1e6:.2f}", name, f"{least:.0f}",
                         f"{middle:.0f}", f"{pairs:.0f}", f"{low:.0f} to {high:.0f}"))
            if what == "loop":
                told.append(f"{text}: {least / 1000:.2f} us (medians {middle / 1000:.2f} us)")
    return Part(
        lines=[f"ns added to an event, {bench.pick(9, 1)} processes of each, in turns:", "",
               *table(("step", "events", "ms without us", "", "best less best",
                       "median less median", "median of pairs", "of them"), rows)],
        targets=[Target("added time per event of TensorFlow's BFC allocator, with stacks", "1 us",
                        "; ".join(told))],
        versions={"tensorflow": os.path.basename(folder).removeprefix("tensorflow-")})
