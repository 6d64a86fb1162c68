"""The same events of malloc under heaptrack, and of CUDA on a driver that does nothing under us."""
import glob
import gzip
import itertools
import math
import os
import shutil
import subprocess

from measuring import (BenchError, Command, best, cpu, measure, median, run, table, version_of,
                       wall)
from page import Part, Target

DEPTHS = (5, 20, 60)
# 8, 1,024 and 5,000 stacks. The target is about few and many, as its prototype was measured.
STACKS = ("few", "many", "most")
TARGET_STACKS = ("few", "many")
THREADS = (1, 2, 8)
# Pairs of the run that stands for start and end of a program. Both are a multiple of all THREADS.
NR_START = 1000
NR_PAIRS = 400_000
MOST_TIME = 0.25
MOST_BYTES = {"train": 1.5, "random": 4}


class Heaptrack:
    """Three ways to run it, from the cheapest to the one that people type."""

    def __init__(self, bench):
        script = shutil.which("heaptrack")
        if not script:
            raise BenchError("heaptrack is not installed")
        self.output = bench.path("heaptrack.out")
        self.library = os.path.join(os.path.dirname(os.path.realpath(script)),
                                    "../lib/heaptrack/libheaptrack_preload.so")
        # As its launcher chooses.
        self.packer = "zstd" if shutil.which("zstd") else "gzip"
        self.version = f"{version_of('heaptrack')} with {self.packer}"

    def write_raw(self, *arguments):
        """Its library alone: the raw file, not compressed."""
        return Command(arguments, outputs=[self.output],
                       env={"LD_PRELOAD": self.library, "DUMP_HEAPTRACK_OUTPUT": self.output})

    def compress_raw(self, *arguments):
        return Command(("heaptrack", "--raw", "-o", self.output, *arguments),
                       outputs=[self.output])

    def interpret(self, *arguments):
        return Command(("heaptrack", "-o", self.output, *arguments), outputs=[self.output])

    def check(self, nr_allocs):
        """Of compress_raw, which ran last."""
        path, = glob.glob(glob.escape(self.output) + "*")
        with subprocess.Popen((self.packer, "-dc", path), stdout=subprocess.PIPE) as process:
            nr_seen = sum(line.startswith(b"+ ") for line in process.stdout)
        if nr_seen < nr_allocs:
            raise BenchError(f"heaptrack saw {nr_seen} of {nr_allocs} allocations")


def loop(result):
    return result.number("loop")


class Case:
    """One depth, kind of stacks and number of threads."""

    def __init__(self, bench, depth, stacks, nr_threads, nr_pairs=NR_PAIRS):
        self.bench = bench
        self.nr_pairs = NR_START + bench.pick(nr_pairs, nr_pairs // 4)
        self.arguments = (depth, stacks, nr_threads)

    def commands(self, wrappers):
        """Each program with few and with all pairs. wrappers: {name: (program, wrap)}."""
        return {(name, nr_pairs): wrap(self.bench.program(program), *self.arguments, nr_pairs)
                for name, (program, wrap) in wrappers.items()
                for nr_pairs in (NR_START, self.nr_pairs)}

    def measure(self, wrappers, nr_rounds):
        self.results = measure(self.commands(wrappers), nr_rounds)

    def per_pair(self, name, get):
        """ns per pair, of the pairs by which the long run is longer than the short one."""
        long_one = best(self.results[name, self.nr_pairs], get)
        return (long_one - best(self.results[name, NR_START], get)) / (self.nr_pairs - NR_START)

    def added(self, name, plain, get):
        return self.per_pair(name, get) - self.per_pair(plain, get)


def ratio(ours, theirs):
    """Not a number where a profiler seems to cost nothing: the machine was busy with others."""
    return ours / theirs if theirs > 0 else math.nan


def wrappers_of(bench, **heaptracks):
    wrappers = {"malloc": ("bench_pairs_malloc", bench.plain),
                "cuda": ("bench_pairs_cuda", bench.plain),
                "vramscope": ("bench_pairs_cuda", bench.recorded)}
    return wrappers | {name: ("bench_pairs_malloc", wrap) for name, wrap in heaptracks.items()}


# Groups of columns of the large table: what they are called, what is measured, beside whom.
GROUPS = (("written", wall, "heaptrack"), ("loop", loop, "heaptrack"), ("CPU", cpu, "heaptrack"),
          ("loop, its library alone", loop, "library"))


def case_row(case):
    """Numbers of the large table: heaptrack, vramscope and their ratio, for each of GROUPS."""
    row = []
    for _, get, other in GROUPS:
        theirs = case.added(other, "malloc", get)
        ours = case.added("vramscope", "cuda", get)
        row += [theirs, ours, ratio(ours, theirs)]
    return row


def ratios_of(rows, name, kinds):
    """Of the cases with these kinds of stacks, in the group of that name."""
    column = 3 * [group[0] for group in GROUPS].index(name) + 2
    return [row[column] for (_, stacks, _), row in rows.items() if stacks in kinds]


def summarize(rows, name):
    """Of the target's cases, and of the others."""
    ratios = ratios_of(rows, name, TARGET_STACKS)
    others = ratios_of(rows, name, set(STACKS) - set(TARGET_STACKS))
    return (f"median {median(ratios):.2f}, {min(ratios):.2f} to {max(ratios):.2f}; with 5,000 "
            f"stacks {median(others):.2f}, {min(others):.2f} to {max(others):.2f}")


def measure_cases(bench, heaptrack):
    # compress_raw last: its file is looked at afterwards.
    wrappers = wrappers_of(bench, library=heaptrack.write_raw, heaptrack=heaptrack.compress_raw)
    rows, problems = {}, []
    for key in itertools.product(DEPTHS, STACKS, THREADS):
        case = Case(bench, *key)
        case.measure(wrappers, bench.pick(5, 2))
        rows[key] = case_row(case)
        # It takes a while: a word now and then.
        print(*format_row(key, rows[key]), sep="\t", flush=True)
        try:
            bench.check_trace(2 * case.nr_pairs)
            heaptrack.check(case.nr_pairs)
        except BenchError as error:
            problems.append(f"{key}: {error}")
    if problems:
        raise BenchError("\n".join(problems))
    return rows


def measure_ways(bench, heaptrack):
    """The ways to run heaptrack, at one depth and with one thread; and the ratio to each.

    Its launcher takes so long to start and to end that it takes more pairs to see past it.
    """
    ways = {"its library alone": heaptrack.write_raw,
            "`heaptrack --raw`": heaptrack.compress_raw,
            "`heaptrack`": heaptrack.interpret}
    rows, ratios = [], {name: [] for name in ways}
    for stacks in TARGET_STACKS:
        case = Case(bench, 20, stacks, 1, 2 * NR_PAIRS)
        case.measure(wrappers_of(bench, **ways), bench.pick(5, 2))
        ours = case.added("vramscope", "cuda", wall)
        for name in ways:
            theirs = case.added(name, "malloc", wall)
            ratios[name].append(ratio(ours, theirs))
            rows.append((stacks, name, f"{theirs:.0f}", f"{ours:.0f}", f"{ratios[name][-1]:.2f}"))
    return table(("stacks", "heaptrack by", "heaptrack", "vramscope", "ratio"), rows), ratios


def format_row(key, row):
    return (*key, *(f"{number:.2f}" if i % 3 == 2 else f"{number:.0f}"
                    for i, number in enumerate(row)))


def measure_pairs(bench):
    heaptrack = Heaptrack(bench)
    rows = measure_cases(bench, heaptrack)
    ways, way_ratios = measure_ways(bench, heaptrack)
    ratios = ratios_of(rows, "written", STACKS)
    loop_ratios = ratios_of(rows, "loop, its library alone", STACKS)
    if not bench.is_quick and math.isnan(sum(ratios) + sum(loop_ratios)
                                         + sum(sum(way_ratios.values(), []))):
        raise BenchError("the machine is too busy to measure on")
    heads = ["depth", "stacks", "threads"]
    for what, _, _ in GROUPS:
        heads += [f"{what}: heaptrack", "vramscope", "ratio"]
    measured = (f"*written*: {summarize(rows, 'written')}; at depth 20, few and many: "
                + "; ".join(f"{few:.2f} and {many:.2f} of {name}"
                            for name, (few, many) in way_ratios.items()))
    return Part(
        lines=["Added ns per pair:", "",
               *table(heads, [format_row(key, row) for key, row in rows.items()]), "",
               "Ways to run heaptrack, at depth 20, one thread, added ns per pair until written:",
               "", *ways],
        targets=[Target("added time per alloc/free pair, drained to disk, against heaptrack",
                        f"{MOST_TIME}x", measured),
                 Target("the same in the program's loop, drained beside it, against heaptrack's "
                        "library alone", f"{MOST_TIME}x (a prototype: 0.18x)",
                        f"*loop*: {summarize(rows, 'loop, its library alone')}")],
        versions={"heaptrack": heaptrack.version})


def get_gzipped_size(path):
    copy = path + ".gz"
    with open(path, "rb") as file, gzip.open(copy, "wb", compresslevel=6) as packed:
        shutil.copyfileobj(file, packed)
    return os.path.getsize(copy)


def measure_bytes(bench):
    heaptrack = Heaptrack(bench)
    nr_wanted = bench.pick(1_000_000, 200_000)
    rows, targets = [], []
    for kind in ("train", "random"):
        recorded = run(bench.recorded(bench.program("bench_sequence_cuda"), kind, nr_wanted))
        nr_events = int(recorded.number("events"))
        bench.check_trace(nr_events)
        ours = os.path.getsize(bench.path("bench.vscope")) / nr_events
        tracked = run(heaptrack.write_raw(bench.program("bench_sequence_malloc"), kind, nr_wanted))
        if int(tracked.number("events")) != nr_events:
            raise BenchError("the two programs do not do the same")
        raw = os.path.getsize(heaptrack.output) / nr_events
        theirs = get_gzipped_size(heaptrack.output) / nr_events
        rows.append((kind, f"{nr_events:,}", f"{raw:.2f}", f"{theirs:.2f}", f"{ours:.2f}",
                     f"{ours / theirs:.2f}"))
        targets.append(Target(f"bytes per event, {kind}", MOST_BYTES[kind], f"{ours:.2f}"))
    return Part(
        lines=["Bytes per event:", "",
               *table(("sequence", "events", "heaptrack, raw", "heaptrack, gzipped", "vramscope",
                       "ratio"), rows)],
        targets=targets,
        versions={"heaptrack": heaptrack.version})
