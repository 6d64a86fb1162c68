"""The same training under torch's own history of its memory, and under us."""
import glob
import json
import os
import re

from measuring import BenchError, Command, NotBuilt, best, measure, run, table
from page import Part, Target

CARD = "24G"
LOOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "torch_loop.py")
# torch's histories, from the one with everything in it.
HISTORIES = {"all": "native and Python stacks", "python": "Python stacks"}


def find_torch(bench):
    """The newest release that ./dev test-frameworks or ./dev demo torch installed."""
    folder = os.path.join(os.path.dirname(bench.build), "frameworks")
    found = [os.path.dirname(path) for path in glob.glob(os.path.join(folder, "torch-*",
                                                                      "installed.txt"))]
    if not found:
        raise NotBuilt("no torch in build/frameworks: ./dev demo torch installs one")
    return max(found, key=lambda path: [int(n) for n in re.findall(r"\d+", os.path.basename(path))])


def on_softgpu(bench, *arguments, outputs=()):
    launcher = os.path.join(os.path.dirname(bench.vramscope), "softgpu-run")
    return Command((launcher, "-m", CARD, "--", *arguments), outputs=outputs)


def loop(result):
    return result.number("loop")


def cpu(result):
    return result.number("cpu")


def check_trace(bench, result):
    """Every block that torch counted must be in the trace; its size says nothing otherwise."""
    report = json.loads(run(Command((bench.vramscope, "report", "--json",
                                     bench.path("bench.vscope")))).output)
    found = sum(pool["allocs"] for device in report["devices"] for pool in device["pools"])
    wanted = int(result.number("allocs"))
    if found != wanted or report["lost_events"] or not report["complete"]:
        raise BenchError(f"the trace has {found} blocks, torch counts {wanted}; "
                         f"{report['lost_events']} events lost, complete: {report['complete']}")
    return report["events"]


def measure_times(bench, python):
    """({name: [added wall, added CPU] in ns per pair}, what a pair takes without, pairs)"""
    arguments = (bench.pick(10, 3), bench.pick(20, 5))
    commands = {"plain": on_softgpu(bench, python, LOOP, "plain", *arguments),
                "vramscope": bench.recorded(python, LOOP, "plain", *arguments,
                                            options=[f"--softgpu={CARD}"])}
    commands |= {kind: on_softgpu(bench, python, LOOP, kind, *arguments) for kind in HISTORIES}
    results = measure(commands, bench.pick(5, 1))
    nr_pairs = {int(result.number("pairs")) for name in results for result in results[name]}
    if len(nr_pairs) != 1:
        raise BenchError(f"not all runs allocated as often: {sorted(nr_pairs)} pairs")
    nr_pairs = nr_pairs.pop()
    check_trace(bench, results["vramscope"][-1])
    plain = [best(results["plain"], get) / nr_pairs for get in (loop, cpu)]
    added = {name: [best(results[name], get) / nr_pairs - without
                    for get, without in zip((loop, cpu), plain)]
             for name in results if name != "plain"}
    return added, plain, nr_pairs


def measure_sizes(bench, python):
    """(events of the trace, its bytes, {history: bytes of torch's pickle})"""
    arguments = (1, bench.pick(400, 50))
    recorded = run(bench.recorded(python, LOOP, "plain", *arguments,
                                  options=[f"--softgpu={CARD}"]))
    nr_events = check_trace(bench, recorded)
    size = os.path.getsize(bench.path("bench.vscope"))
    pickle = bench.path("history.pickle")
    return nr_events, size, {
        kind: int(run(on_softgpu(bench, python, LOOP, kind, *arguments, pickle,
                                 outputs=[pickle])).number("pickle"))
        for kind in HISTORIES}


def measure_torch(bench):
    folder = find_torch(bench)
    python = os.path.join(folder, "bin", "python")
    added, plain, nr_pairs = measure_times(bench, python)
    nr_events, size, pickles = measure_sizes(bench, python)
    rows = [("`vramscope run`", *(f"{ns / 1000:.2f}" for ns in added["vramscope"]),
             f"{size:,}", f"{size / nr_events:.2f}")]
    rows += [(f"torch's history, {words}", *(f"{ns / 1000:.2f}" for ns in added[kind]),
              f"{pickles[kind]:,}", f"{pickles[kind] / nr_events:.2f}")
             for kind, words in HISTORIES.items()]
    ratios, cpu_ratios = ({kind: added["vramscope"][i] / added[kind][i] for kind in HISTORIES}
                          for i in (0, 1))
    return Part(
        lines=[f"A pair takes {plain[0] / 1000:.2f} us without either ({nr_pairs:,} pairs a round).",
               "Added to each, and what is left on the disk:", "",
               *table(("by", "us per pair", "CPU us per pair", "bytes", "bytes per event"), rows)],
        targets=[Target("added time per alloc/free pair in a training loop, against torch's own "
                        "history with all stacks", "0.2x",
                        f"{ratios['all']:.2f} ({cpu_ratios['all']:.2f} of the CPU time); "
                        f"{ratios['python']:.2f} of its history with Python stacks only"),
                 Target("size of a trace, against the pickle of that history", "1/50",
                        f"1/{pickles['all'] / size:.0f}; 1/{pickles['python'] / size:.0f} of that "
                        "with Python stacks only")],
        versions={"torch": os.path.basename(folder).removeprefix("torch-")})
