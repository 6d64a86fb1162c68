"""What recording adds to TensorFlow's allocator."""
import glob
import json
import os
import re

from measuring import BenchError, Command, NotBuilt, best, measure, median, run, table
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


def compare_pairs(results, what, nr_events):
    """(best of all less best of all, middle of the differences of neighbours, the least, the most) in ns per event"""
    plain, with_us = ([result.number(what) for result in results[name]]
                      for name in ("plain", "with stacks"))
    differences = [(b - a) / nr_events for a, b in zip(plain, with_us)]
    return ((min(with_us) - min(plain)) / nr_events, median(differences), min(differences),
            max(differences))


def measure_tensorflow(bench):
    folder = find_tensorflow(bench)
    python = os.path.join(folder, "bin", "python")
    launcher = os.path.join(os.path.dirname(bench.vramscope), "softgpu-run")
    arguments = (bench.pick(6, 4), bench.pick(100, 50))
    commands = {"plain": Command((launcher, "-m", CARD, "--", python, LOOP, *arguments)),
                "with stacks": bench.recorded(python, LOOP, *arguments,
                                              options=[f"--softgpu={CARD}"])}
    for command in commands.values():
        command.env["PYTHONHASHSEED"] = "0"  # the same work in each process
    results = measure(commands, bench.pick(9, 1))
    nr_events = count_events(bench, results["with stacks"][-1].number("steps"))
    plain = best(results["plain"], lambda result: result.number("loop"))
    names = {"loop": "time", "thread": "CPU time of its thread", "cpu": "CPU time of all threads"}
    added = {what: compare_pairs(results, what, nr_events) for what in names}
    return Part(
        lines=[f"{nr_events:,.0f} events a step, in {plain / 1e6:.2f} ms without us. "
               f"{len(results['plain'])} processes of each, in turns. ns added to an event:", "",
               *table(("", "best less best", "median of pairs", "of them"),
                      [(names[what], f"{row[0]:.0f}", f"{row[1]:.0f}", f"{row[2]:.0f} to {row[3]:.0f}")
                       for what, row in added.items()])],
        targets=[Target("added time per event of TensorFlow's BFC allocator, with stacks", "1 us",
                        f"{added['loop'][0] / 1000:.2f} us ({added['thread'][0] / 1000:.2f} us of "
                        f"CPU time); median of pairs {added['loop'][1] / 1000:.2f} us "
                        f"({added['thread'][1] / 1000:.2f} us)")],
        versions={"tensorflow": os.path.basename(folder).removeprefix("tensorflow-")})
