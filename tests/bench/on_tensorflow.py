"""What recording adds to TensorFlow's allocator."""
import glob
import json
import os
import random
import re

from measuring import BenchError, Command, NotBuilt, median, run, table
from page import Part, Target

CARD = "8G"
LOOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tensorflow_loop.py")
MODES = {"eager": "operation by operation", "graph": "as a `tf.function`"}


def find_tensorflow(bench):
    """The newest release that ./dev test-frameworks installed."""
    folder = os.path.join(os.path.dirname(bench.build), "frameworks")
    found = [os.path.dirname(path) for path in glob.glob(os.path.join(folder, "tensorflow-*",
                                                                      "installed.txt"))]
    if not found:
        raise NotBuilt("no tensorflow in build/frameworks: ./dev test-frameworks tensorflow "
                       "installs one")
    return max(found, key=lambda path: [int(n) for n in re.findall(r"\d+", os.path.basename(path))])


def find_switch(bench):
    path = bench.program("libbench_tensorflow_switch.so")
    if not os.path.exists(path):
        raise NotBuilt("no bench_tensorflow_switch: it is for x86-64")
    return path


def count_events(bench, nr_steps):
    """Chunks given out and taken back in a step; those of the start, which are few, included."""
    report = json.loads(run(Command((bench.vramscope, "report", "--json",
                                     bench.path("bench.vscope")))).output)
    pools = [pool for device in report["devices"] for pool in device["pools"]]
    if report["lost_events"] or not report["complete"]:
        raise BenchError(f"{report['lost_events']} events lost, complete: {report['complete']}")
    return sum(pool["allocs"] + pool["frees"] for pool in pools) / nr_steps


def measure_mode(bench, python, mode):
    """([Result of a process that switches, ...], [of one without us, ...], events of a step)"""
    launcher = os.path.join(os.path.dirname(bench.vramscope), "softgpu-run")
    chance = random.Random(1)
    switched, plain = [], []
    for number in range(bench.pick(12, 2)):
        loop = (python, LOOP, mode, bench.pick(250 if mode == "eager" else 1000, 40), number)
        # In front of our library, which vramscope run puts in front of all others.
        load = ("sh", "-c", 'LD_PRELOAD=$0:$LD_PRELOAD exec "$@"', find_switch(bench))
        commands = [(switched, bench.recorded(*load, *loop, options=[f"--softgpu={CARD}"]))]
        if number % 3 == 0:
            commands.append((plain, Command((launcher, "-m", CARD, "--", *loop))))
        for results, command in commands:
            command.env["PYTHONHASHSEED"] = "0"  # the same work in each process
            # What lies in front of the stack decides where everything lies, and that how fast it is.
            command.env["BENCH_PADDING"] = "x" * chance.randrange(4096)
            results.append(run(command))
    return switched, plain, count_events(bench, switched[-1].number("steps"))


def mean(values):
    return sum(values) / len(values)


def get_interval(values):
    """In which the mean of such values lies in 95 of 100 cases: by drawing as many of them, again and again."""
    chance = random.Random(1)
    means = sorted(mean(chance.choices(values, k=len(values))) for _ in range(10000))
    return means[250], means[-251]


def measure_tensorflow(bench):
    folder = find_tensorflow(bench)
    rows, told = [], []
    for mode, text in MODES.items():
        switched, plain, nr_events = measure_mode(bench, os.path.join(folder, "bin", "python"), mode)
        steps = [median([result.number("step") for result in results]) / 1e6
                 for results in (plain, switched)]
        for column, name in enumerate(("time", "CPU time of its thread")):
            added = [result.rows("added")[0][column] / nr_events for result in switched]
            low, high = get_interval(added)
            rows.append((text, f"{nr_events:.0f}", f"{steps[0]:.2f}", f"{steps[1]:.2f}", name,
                         f"{mean(added):.0f}", f"{low:.0f} to {high:.0f}",
                         f"{min(added):.0f} to {max(added):.0f}"))
            if name == "time":
                told.append(f"{text}: {mean(added) / 1000:.2f} us ({low / 1000:.2f} to "
                            f"{high / 1000:.2f})")
    return Part(
        lines=[f"ns added to an event, {len(switched)} processes of each, {len(plain)} without us:", "",
               *table(("step", "events", "ms, in a process without us", "ms, switched off", "",
                       "added", "with 95 % certainty", "single processes"), rows)],
        targets=[Target("added time per event of TensorFlow's BFC allocator, with stacks", "1 us",
                        "; ".join(told))],
        versions={"tensorflow": os.path.basename(folder).removeprefix("tensorflow-")})
