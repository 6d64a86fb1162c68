"""What the analyzer takes: events a second, memory, the way to an instant, against heaptrack's."""
import os
import random
import shutil

from against_heaptrack import Heaptrack
from measuring import BenchError, Command, best, cpu, measure, run, table, wall
from page import Part, Target

MILLION = 1_000_000
LIVE, SITES = 100_000, 50_000
LIVE_OF_HOLES = 20_000
LEAST_RATE = 10    # million events a second: peak and retained, from the file to the result
LEAST_HOLES = 5    # million events a second: with the largest hole after every event
LEAST_RATIO = 10   # times as fast as heaptrack_interpret and heaptrack_print
MOST_RSS = 200     # MiB
MOST_SEEK_MS = 100
NR_INSTANTS = 20


def make_trace(bench, name, nr_events, nr_live, nr_sites):
    """(path, number of events) of a trace by make_bench_trace."""
    path = bench.path(name)
    made = run(Command((bench.program("make_bench_trace"), path, nr_events, nr_live, nr_sites)))
    return path, int(made.number("events"))


def make_training(bench, nr_events):
    """The same by make_long_trace of tests/index: a training with 360 sites, 3,000 blocks alive."""
    path = bench.path("train.vscope")
    run(Command((os.path.join(bench.build, "tests", "make_long_trace"), path, nr_events)))
    return path, bench.info("train.vscope")["events"]


def rate(nr_events, ns):
    return nr_events / ns * 1000


def measure_analyzer(bench):
    nr_wanted, nr_rounds = bench.pick(10, 1) * MILLION, bench.pick(5, 2)
    traces = {"training, 3,000 alive, 360 sites": make_training(bench, nr_wanted),
              "20,000 alive, 1,000 sites": make_trace(bench, "holes.vscope", nr_wanted,
                                                      LIVE_OF_HOLES, 1000),
              "100,000 alive, 50,000 sites": make_trace(bench, "live.vscope", nr_wanted, LIVE,
                                                        SITES)}
    rows, rates = [], {}
    for name, (path, nr_events) in traces.items():
        results = measure({
            "peak": Command((bench.vramscope, "peak", "--no-index", path)),
            "retained": Command((bench.vramscope, "retained", "--no-index", path)),
            "holes": Command((bench.program("bench_holes"), path))}, nr_rounds)
        for part in ("peak", "retained"):
            rates[name, part] = rate(nr_events, best(results[part], wall))
        rates[name, "holes"] = rate(nr_events, min(result.number("read")
                                                   for result in results["holes"]))
        rows.append((name, *(f"{rates[name, part]:.1f}"
                             for part in ("peak", "retained", "holes"))))
    train, holes = list(traces)[:2]
    return Part(
        lines=["Million events a second, from the file to the result:", "",
               *table(("trace", "`peak`", "`retained`", "all measures, largest hole after every "
                       "event"), rows)],
        targets=[Target("peak + retained accounting, from file to result",
                        f"at least {LEAST_RATE} M events/s",
                        f"{rates[train, 'peak']:.1f} M/s by peak, "
                        f"{rates[train, 'retained']:.1f} M/s by retained; with 20,000 alive "
                        f"{rates[holes, 'retained']:.1f} M/s"),
                 Target("largest hole after every event, 20k live blocks",
                        f"at least {LEAST_HOLES} M events/s",
                        f"{rates[holes, 'holes']:.1f} M/s, with all other measures")])


def find_interpreter(heaptrack):
    folder = os.path.join(os.path.dirname(heaptrack.library), "libexec")
    path = os.path.join(folder, "heaptrack_interpret")
    if not os.access(path, os.X_OK) or not shutil.which("heaptrack_print"):
        raise BenchError("heaptrack_interpret and heaptrack_print are not installed")
    return path


def measure_report(bench):
    heaptrack = Heaptrack(bench)
    interpreter = find_interpreter(heaptrack)
    nr_wanted = bench.pick(2 * MILLION, 200_000)
    rows, ratios = [], []
    for kind in ("train", "random"):
        run(bench.recorded(bench.program("bench_sequence_cuda"), kind, nr_wanted, "--fast"))
        nr_events = bench.info()["events"]
        run(heaptrack.write_raw(bench.program("bench_sequence_malloc"), kind, nr_wanted, "--fast"))
        interpreted = bench.path("interpreted")
        script = f"'{interpreter}' < '{heaptrack.output}' > '{interpreted}' && " \
                 f"heaptrack_print -f '{interpreted}'"
        results = measure({
            "heaptrack": Command(("sh", "-c", script)),
            "vramscope": Command((bench.vramscope, "report", bench.path("bench.vscope")),
                                 outputs=[bench.path("bench.vscope.index")])}, bench.pick(3, 1))
        theirs, ours = (best(results[name], wall) for name in ("heaptrack", "vramscope"))
        ratios.append(theirs / ours)
        rows.append((kind, f"{nr_events:,}", f"{theirs / 1e6:.0f}", f"{ours / 1e6:.0f}",
                     f"{ratios[-1]:.1f}"))
    return Part(
        lines=["ms from the recorded file to the report:", "",
               *table(("sequence", "events", "heaptrack_interpret, heaptrack_print",
                       "vramscope report", "times as fast"), rows)],
        targets=[Target("analyzer against heaptrack_interpret and heaptrack_print on the same "
                        "sequence", f"{LEAST_RATIO}x faster",
                        ", ".join(f"{ratio:.1f}x" for ratio in ratios) + " (train, random)")],
        versions={"heaptrack": heaptrack.version})


def measure_long(bench):
    sizes = (bench.pick(10, 1) * MILLION, bench.pick(100, 4) * MILLION)
    rows, peaks = [], []
    for nr_wanted in sizes:
        path, nr_events = make_trace(bench, "long.vscope", nr_wanted, LIVE, SITES)
        first = run(Command((bench.vramscope, "report", path)))
        again = run(Command((bench.vramscope, "retained", "--no-index", path)))
        peaks.append(max(first.rss_mib, again.rss_mib))
        rows.append((f"{nr_events:,}", f"{os.path.getsize(path) / 2**20:.0f}",
                     f"{os.path.getsize(path + '.index') / 2**20:.1f}", f"{first.rss_mib:.0f}",
                     f"{again.rss_mib:.0f}"))
        os.remove(path)
        os.remove(path + ".index")
    return Part(
        lines=[f"{LIVE:,} blocks alive, {SITES:,} sites:", "",
               *table(("events", "trace, MiB", "index, MiB", "RSS of `report`, MiB",
                       "of `retained`, MiB"), rows)],
        targets=[Target("analyzer RSS on 100M events, 100k live, 50k sites",
                        f"{MOST_RSS} MiB, and the same on 10M",
                        f"{peaks[1]:.0f} MiB; {peaks[0]:.0f} MiB on 10M")])


def seek(bench, command, path, instants):
    """ms to the state at each instant, by a command; and of processor time. In order."""
    walls, cpus = [], []
    for at in instants:
        results = measure({"at": Command((bench.vramscope, command, "--at", f"{at:.6f}", path))},
                          bench.pick(5, 1))["at"]
        walls.append(best(results, wall) / 1e6)
        cpus.append(best(results, cpu) / 1e6)
    return sorted(walls), sorted(cpus)


def measure_at(bench):
    sizes = (bench.pick(10, 1) * MILLION, bench.pick(100, 4) * MILLION)
    rows, slowest = [], {}
    for name, make in (
            ("training, 3,000 alive, 360 sites", make_training),
            (f"{LIVE:,} alive, {SITES:,} sites",
             lambda bench, nr: make_trace(bench, "live.vscope", nr, LIVE, SITES))):
        for nr_wanted in sizes:
            path, nr_events = make(bench, nr_wanted)
            run(Command((bench.vramscope, "report", path)))
            end_s = bench.info(os.path.basename(path))["duration_ns"] / 1e9
            chance = random.Random(NR_INSTANTS)
            instants = [chance.random() * end_s for _ in range(NR_INSTANTS)]
            share = os.path.getsize(path + ".index") / os.path.getsize(path)
            for command in ("map", "peak", "frag"):
                walls, cpus = seek(bench, command, path, instants)
                slowest[name] = max(slowest.get(name, 0), walls[-1])
                rows.append((name, f"{nr_events:,}", f"{100 * share:.0f} %", f"`{command} --at`",
                             f"{walls[len(walls) // 2]:.0f}", f"{walls[-1]:.0f}",
                             f"{cpus[len(cpus) // 2]:.0f}", f"{cpus[-1]:.0f}"))
            os.remove(path)
            os.remove(path + ".index")
    return Part(
        lines=[f"ms from the start of the program to its end, at {NR_INSTANTS} instants:", "",
               *table(("trace", "events", "index, of the trace", "command", "median", "slowest",
                       "CPU: median", "slowest"), rows)],
        targets=[Target("`--at` any instant in a 100M-event trace", f"{MOST_SEEK_MS} ms",
                        "; ".join(f"{ms:.0f} ms ({name})" for name, ms in slowest.items()))])
