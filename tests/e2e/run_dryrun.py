#!/usr/bin/env python3
"""`vramscope dryrun`: what it says of programs that fit, do not, fail otherwise, or use no GPU.

    run_dryrun.py CASE
"""
import json
import os
import signal

import harness
from harness import HOSTS, VRAMSCOPE, check, check_equal, iec

DRY = os.path.join(HOSTS, "e2e_dry")
MIB = 1 << 20
GIB = 1 << 30
T4 = 15094 * MIB  # common/profile.def
T4_CONTEXT = 104 * MIB


def dryrun(*words, gpu="t4", options=(), status=0):
    """Runs e2e_dry; returns its own output, and the report: stderr without the line of run."""
    result = harness.run(VRAMSCOPE, "dryrun", "--gpu", gpu, "-o", "dry.%p.vscope", *options, "--",
                         DRY, *words)
    check_equal(result.returncode, status, f"exit status; {result.stderr}")
    return result.stdout, harness.own_lines(result.stderr)[1]


def judge(*words, gpu="t4", status=0):
    """The same as JSON."""
    dryrun(*words, gpu=gpu, options=("--json", "--report", "report.json"), status=status)
    with open("report.json", encoding="utf-8") as file:
        return json.load(file)


def find(lines, heading):
    """The only line that begins with heading, without it."""
    found = [line[len(heading):].strip() for line in lines if line.startswith(heading)]
    check_equal(len(found), 1, f"lines that begin with {heading} in {lines}")
    return found[0]


def program_that_fits():
    words = ("must", "1000", "must", "500", "drop", "must", "200")
    _, lines = dryrun(*words)
    left = T4 - T4_CONTEXT - 1500 * MIB
    check_equal(find(lines, "DRY RUN"), f"FITS: {iec(left)} of {iec(T4)} are left", "verdict")
    check_equal(find(lines, "MEMORY"),
                f"{iec(T4)} = {iec(T4_CONTEXT)} context + {iec(1500 * MIB)} reserved at the peak "
                f"({iec(1500 * MIB)} live) + {iec(left)} left", "sum")
    check_equal(find(lines, "SIMULATED"),
                f"Tesla T4 (t4): {iec(T4)}, compute capability 7.5, 40 multiprocessors of 1024 "
                f"threads, context {iec(T4_CONTEXT)}, addresses as on Linux", "card")
    check("kernels did not run" in find(lines, "NOT REAL"), "what is not real is said")
    report = judge(*words)
    check_equal((report["schema"], report["simulated"], report["fits"], report["verdict"],
                 report["exit_status"], report["signal"], report["first_oom"]),
                ("vramscope.dryrun/0", True, True, "fits", 0, None, None), "JSON")
    card = report["cards"][0]
    check_equal([card[name] for name in ("total_bytes", "processes", "context_bytes",
                                         "peak_live_bytes", "peak_reserved_bytes", "left_bytes",
                                         "ooms")],
                [T4, 1, T4_CONTEXT, 1500 * MIB, 1500 * MIB, left, 0], "card")
    check_equal(report["profile"]["card"], "t4", "profile")


def program_that_does_not_fit():
    words = ("must", "12000", "step", "3", "must", "4000")
    _, lines = dryrun(*words, status=1)
    check_equal(lines[0], "e2e_dry: cannot go on", "the program's own stderr comes first")
    verdict = find(lines, "DRY RUN")
    free = T4 - T4_CONTEXT - 12000 * MIB
    check(verdict.startswith("DOES NOT FIT: out of memory at "), verdict)
    check(f" in forward of step 3: {iec(4000 * MIB)} asked, {iec(free)} free on the card; it ended "
          "with status 1" in verdict, verdict)
    check(any("asked by" in line and "e2e_dry.c" in line for line in lines), "who asked is said")
    report = judge(*words, status=1)
    first = report["first_oom"]
    check_equal((report["fits"], report["verdict"], report["exit_status"]),
                (False, "does-not-fit", 1), "JSON")
    check_equal([first[name] for name in ("device", "step", "phase", "requested_bytes",
                                          "free_bytes", "api")],
                [0, 3, "forward", 4000 * MIB, free, "cudaMalloc"], "the first out-of-memory")
    check("take" in first["site"], f"its stack: {first['site']}")


def program_that_dies_of_want_of_memory():
    report = judge("may", "20000", "abort", status=-signal.SIGABRT)
    check_equal((report["fits"], report["verdict"], report["exit_status"], report["signal"]),
                (False, "does-not-fit", None, signal.SIGABRT), "JSON")


def program_that_goes_on_without():
    _, lines = dryrun("may", "20000", "must", "10")
    check(find(lines, "DRY RUN").startswith("RUNS OUT OF MEMORY, and goes on: "), lines)
    report = judge("may", "20000", "must", "10")
    check_equal((report["fits"], report["verdict"]), (None, "went-on"), "JSON")
    check_equal(report["first_oom"]["requested_bytes"], 20000 * MIB, "what failed")


def first_of_several_failures_is_named():
    report = judge("may", "20000", "may", "30000", "may", "40000", "exit", "3", status=3)
    check_equal((report["first_oom"]["requested_bytes"], report["cards"][0]["ooms"]),
                (20000 * MIB, 3), "the first, and how many")


def program_that_fails_otherwise():
    _, lines = dryrun("must", "100", "exit", "7", status=7)
    check_equal(find(lines, "DRY RUN"),
                "NOT KNOWN: the program ended with status 7, and not for want of memory; numbers "
                "are those until then", "verdict")
    report = judge("must", "100", "exit", "7", status=7)
    check_equal((report["fits"], report["verdict"]), (None, "failed"), "JSON")
    check_equal(report["cards"][0]["peak_live_bytes"], 100 * MIB, "the peak until then")
    _, lines = dryrun("exit", "7", status=7)
    check("it had not used a GPU by then" in find(lines, "DRY RUN"), lines)


def program_without_gpu():
    _, lines = dryrun("say", "hello")
    check(find(lines, "DRY RUN").startswith("NO GPU USED: "), lines)
    report = judge("say", "hello")
    check_equal((report["fits"], report["verdict"], report["cards"], report["profile"]),
                (None, "no-gpu", [], None), "JSON")


def two_devices():
    report = judge("must", "100", "device", "1", "must", "300", gpu="t4x2")
    check_equal((report["fits"], report["profile"]["devices"]), (True, 2), "JSON")
    check_equal([card["peak_reserved_bytes"] for card in report["cards"]],
                [100 * MIB, 300 * MIB], "peaks")
    check_equal([card["left_bytes"] for card in report["cards"]],
                [T4 - T4_CONTEXT - 100 * MIB, T4 - T4_CONTEXT - 300 * MIB], "left")
    report = judge("must", "100", "device", "1", "must", "20000", gpu="t4x2", status=1)
    check_equal((report["fits"], report["first_oom"]["device"]), (False, 1), "on the second")


def two_processes_share_a_card():
    _, lines = dryrun("start", "must", "1000")
    left = T4 - 2 * T4_CONTEXT - 2000 * MIB
    check_equal(find(lines, "DRY RUN"), f"FITS: at least {iec(left)} of {iec(T4)} are left",
                "verdict")
    check("sums over 2 processes" in find(lines, "MEMORY"), lines)
    report = judge("start", "try", "9000", "meet", status=1)
    check_equal((report["fits"], report["cards"][0]["processes"], report["cards"][0]["ooms"]),
                (False, 2, 1), "each fits, both do not")
    check_equal(len(report["traces"]), 2, "traces")


def exit_status_answers():
    options = ("--fits",)
    dryrun("must", "100", options=options, status=0)
    dryrun("must", "20000", options=options, status=4)
    dryrun("must", "100", "exit", "7", options=options, status=5)
    dryrun("may", "20000", options=options, status=5)
    dryrun("say", "nothing", options=options, status=5)


def output_is_the_programs_own():
    stdout, lines = dryrun("say", "one", "must", "10", "say", "two")
    check_equal(stdout, "one\ntwo\n", "stdout")
    stdout, lines = dryrun("say", "one", "must", "10", options=("--report", "report.txt"))
    check_equal((stdout, lines), ("one\n", []), "with the report elsewhere")
    with open("report.txt", encoding="utf-8") as file:
        check("FITS" in file.read(), "the report is in its file")
    check_equal([name for name in os.listdir(".") if name.endswith(".live")], [], "live files")


def sizes_nobody_knows_are_named():
    _, lines = dryrun("must", "10", "fft")
    check(any("cuFFT-work-area 8.00 KiB" in line for line in lines), lines)
    check_equal(judge("must", "10", "fft")["sizes_not_real"],
                [{"name": "cuFFT-work-area", "answered_bytes": 8192}], "JSON")


def settings_are_told():
    result = harness.run(VRAMSCOPE, "dryrun", "--gpu", "t4", "--", DRY, "must", "10",
                         env={"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"})
    lines = result.stderr.splitlines()
    check_equal(find(lines, "SETTINGS"), "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64", "settings")


def size_is_a_card():
    report = judge("must", "100", gpu="1G")
    check_equal((report["profile"]["total_bytes"], report["cards"][0]["left_bytes"]),
                (GIB, GIB - report["profile"]["context_bytes"] - 100 * MIB), "1 GiB")
    report = judge("must", "100", gpu="a100-80g,memory=2G,context=100M")
    check_equal((report["profile"]["compute_capability"], report["cards"][0]["left_bytes"]),
                (80, 2 * GIB - 200 * MIB), "figures of one's own")


def values_read_as_zero():
    """What a kernel should have written must not be what was there before."""
    result = harness.run(VRAMSCOPE, "dryrun", "--gpu", "1G", "--", "sh", "-c",
                         'echo "$SOFTGPU_BACKING $SOFTGPU_EXACT_BELOW $SOFTGPU_BOOL"')
    check_equal(result.stdout, "zero 0 guess\n", "settings")
    result = harness.run(VRAMSCOPE, "dryrun", "--gpu", "1G", "--", "sh", "-c",
                         'echo "$SOFTGPU_BACKING $SOFTGPU_EXACT_BELOW $SOFTGPU_BOOL"',
                         env={"SOFTGPU_BACKING": "exact"})
    check_equal(result.stdout, "exact 0 guess\n", "one's own goes before")


if __name__ == "__main__":
    harness.main(lambda name: globals()[name]())
