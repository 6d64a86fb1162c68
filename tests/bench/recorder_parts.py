"""What the recorder costs by itself: stacks, a hook, the drain, memory, instructions, Python."""
import glob
import os
import re
import sys

import page
from measuring import (BenchError, Command, NotBuilt, best, cpu, measure, median, run, table,
                       version_of, wall)
from page import Part, Target

MILLION = 1_000_000


def run_programs(bench, *names):
    """What programs that print tables of their own print, word for word."""
    found = [name for name in names if bench.has_program(name)]
    if not found:
        raise NotBuilt("not built: " + ", ".join(names))
    env = {"LD_LIBRARY_PATH": bench.softgpu}
    return [run(bench.plain(bench.program(name), env=env)).output.strip("\n") for name in found]


def put_programs(*names):
    """A part that consists of such programs."""
    def measure_programs(bench):
        outputs = run_programs(bench, *names)
        return Part(lines=[line for output in outputs
                           for line in ("```", *output.splitlines(), "```")])
    return measure_programs


def judge_stacks(bench):
    """What the referee says of a Python program: libunwind walks every stack that we capture."""
    tests = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unwind")
    found = glob.glob(os.path.join(bench.build, "tests", "unwind", "*stack_probe*.so"))
    if not found:
        raise NotBuilt("not built: stack_probe, which is for x86-64")
    return run(Command((sys.executable, os.path.join(tests, "test_unwind_python.py"), found[0],
                        bench.pick(1000, 40)))).output.strip()


def measure_stack(bench):
    output, = run_programs(bench, "bench_stack")
    judged = judge_stacks(bench)
    # A ratio is the last number of its line: of a depth in C. In Python there are two.
    known = re.findall(r"^vs_stack_hear .* ([\d.]+)$", output, re.M)
    in_c = re.findall(r"^vs_stack_capture .* ([\d.]+)$", output, re.M)
    in_python = re.findall(r"^ +\d+ +\d+ +\d+ +\d+ +([\d.]+) +\d+ +([\d.]+)$", output, re.M)
    targets = [Target("stack capture, hot, against a frame-pointer walk", "2x",
                      f"{', '.join(known)} as recorded; {', '.join(in_c)} walked anew"),
               Target("stack capture in Python, against unw_backtrace", "0.4x",
                      f"{', '.join(known for known, _ in in_python)} as recorded; "
                      f"{', '.join(walked for _, walked in in_python)} walked anew; {judged}"
                      if in_python else "")]
    return Part(lines=["```", *output.splitlines(), "```", "",
                       f"`test_unwind_python.py`, each compared with libunwind's steps: {judged}."],
                targets=[target for target in targets if target.measured])


def measure_record(bench):
    program = bench.program("bench_record")
    if not bench.has_program("bench_record"):
        raise NotBuilt("not built: bench_record, which is for x86-64")
    results = measure({"with": bench.recorded(program, options=["--no-stacks"]),
                       "without": bench.plain(program)}, bench.pick(5, 1))

    def get(name, number):
        return median([result.number(number) for result in results[name]])

    added = get("with", "hooked") - get("with", "direct")
    reads, fenced = get("with", "reads"), get("with", "fenced_reads")
    rows = [("call, hooked", get("with", "hooked"), get("without", "hooked")),
            ("call, direct", get("with", "direct"), get("without", "direct")),
            ("**added by the hook**", added, get("without", "hooked") - get("without", "direct")),
            ("call, hooked, no pauses", get("with", "steady"), get("without", "steady")),
            ("rdtsc, twice", reads, get("without", "reads")),
            ("lfence and rdtsc, twice", fenced, get("without", "fenced_reads"))]
    return Part(
        lines=["ns per event:", "",
               *table(("", "under `vramscope run --no-stacks`", "without it"),
                      [(name, f"{one:.1f}", f"{other:.1f}") for name, one, other in rows])],
        targets=[Target("record without stack, against two rdtsc reads", "1.5x",
                        f"{added / fenced:.2f} of fenced reads, {added / reads:.2f} of bare ones")])


def measure_drain(bench):
    nr_wanted = bench.pick(2 * MILLION, MILLION // 5)
    rows = []
    for kind in ("train", "random"):
        command = bench.recorded(bench.program("bench_sequence_cuda"), kind, nr_wanted, "--fast",
                                 "--drain")
        results = measure({kind: command}, bench.pick(3, 1))[kind]
        nr_events = int(results[0].number("events"))
        info = bench.info()
        cpu_ns, wall_ns = (min(result.rows("drain")[0][i] for result in results) for i in (0, 1))
        rows.append((kind, f"{nr_events:,}", f"{cpu_ns / nr_events:.0f}",
                     f"{nr_events / cpu_ns * 1000:.2f}", f"{nr_events / wall_ns * 1000:.2f}",
                     info["lost_events"]))
    return Part(
        lines=table(("sequence", "events", "drain, CPU ns per event",
                     "million events a second of its CPU", "million written a second", "lost"),
                    rows))


def get_growth(samples, column):
    """Bytes per million events, from the first million to the last."""
    first, last = samples[0], samples[-1]
    return (last[column] - first[column]) / (last[0] - first[0]) * MILLION


def measure_rss(bench):
    nr_wanted = bench.pick(5, 2) * MILLION
    arguments = [bench.program("bench_sequence_cuda"), "train", nr_wanted, "--rss"]
    if bench.is_quick:
        arguments.append("--fast")
    rows, growth = [], {}
    for name, wrap in (("vramscope", bench.recorded), ("nothing", bench.plain)):
        samples = run(wrap(*arguments)).rows("rss")
        for column, what in ((1, "its own"), (2, "of files")):
            growth[name, what] = get_growth(samples, column)
            rows.append((name, what, *(f"{sample[column] / 1024:.0f}" for sample in samples),
                         f"{growth[name, what] / 1024:+.1f}"))
    heads = ("under", "memory", *(f"{sample[0] / MILLION:.0f} M" for sample in samples),
             "per million events")
    return Part(
        lines=["Resident memory in KiB after so many events:", "", *table(heads, rows)],
        targets=[Target("RSS growth per million events with bounded live set and sites", "0",
                        f"{growth['vramscope', 'its own'] / 1024:+.1f} KiB of its own, "
                        f"{growth['vramscope', 'of files'] / 1024:+.1f} KiB of the log, whose "
                        "size is bounded")])


# ---- Instructions ----

NR_START = 2000
NR_COUNTED = 20_000
COUNTED = "Instructions of a pair in the program's thread:"


def count_instructions(bench, env, nr_pairs):
    """[of the program's thread, of all others], as callgrind counts them."""
    pattern = bench.path("callgrind.out")
    run(Command(("valgrind", "--tool=callgrind", "--separate-threads=yes",
                 f"--callgrind-out-file={pattern}", bench.program("bench_pairs_cuda"),
                 20, "few", 1, nr_pairs), env=env, outputs=[pattern, bench.path("bench.vscope")]))
    counts = [0, 0]
    for path in glob.glob(glob.escape(pattern) + "-*"):
        with open(path, encoding="utf-8", errors="replace") as file:
            total = re.search(r"^(?:totals|summary): (\d+)", file.read(), re.M)
        # The file of thread 1 is that of the program's own thread.
        counts[not path.endswith("-01")] += int(total[1]) if total else 0
    if not counts[0]:
        raise BenchError("callgrind counted nothing")
    return counts


def per_pair(bench, env):
    start = count_instructions(bench, env, NR_START)
    whole = count_instructions(bench, env, NR_START + NR_COUNTED)
    return [(b - a) / NR_COUNTED for a, b in zip(start, whole)]


def get_stored_count():
    found = re.search(re.escape(COUNTED) + r" \*\*(\d+)\*\*",
                      page.get_section(page.read(), "instructions"))
    return int(found[1]) if found else None


def measure_instructions(bench):
    plain = per_pair(bench, {})
    recorded = per_pair(bench, {"LD_PRELOAD": bench.shim,
                                "VRAMSCOPE_OUTPUT": bench.path("bench.vscope")})
    count = round(recorded[0] - plain[0])
    before = get_stored_count()
    if before:
        print(f"instructions: {count} a pair, {count - before:+d} "
              f"({(count - before) / before:+.1%}) against docs/performance.md")
    return Part(
        lines=[f"{COUNTED} **{count}** added by the recorder ({recorded[0]:.0f} with it, "
               f"{plain[0]:.0f} without). The recorder's own thread takes {recorded[1]:.0f} "
               "instructions to write a pair."],
        versions={"valgrind": version_of("valgrind")})


# ---- Python ----

PYTHON_DEPTHS = (4, 20, 60)


def measure_python(bench):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "python_calls.py")
    nr_start, nr_pairs = 1000, bench.pick(100_000, 20_000)
    rows = []
    for depth in PYTHON_DEPTHS:
        commands = {}
        for name, wrap in (("with", bench.recorded), ("without", bench.plain)):
            for nr in (nr_start, nr_start + nr_pairs):
                commands[name, nr] = wrap(sys.executable, script, bench.null_driver, depth, nr)
        results = measure(commands, bench.pick(7, 2))
        row = []
        for get in (wall, cpu):
            plain, whole = ((best(results[name, nr_start + nr_pairs], get)
                             - best(results[name, nr_start], get)) / (2 * nr_pairs)
                            for name in ("without", "with"))
            row += [f"{plain:.0f}", f"{whole:.0f}", f"{whole - plain:.0f}"]
        rows.append((depth, *row))
    heads = ("depth", "without", "with", "added", "CPU: without", "with", "added")
    return Part(
        lines=["ns per event:", "", *table(heads, rows)],
        versions={"Python": sys.version.split()[0]})
