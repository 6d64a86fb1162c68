#!/usr/bin/env python3
"""What no sample shows: programs without CUDA, without the launcher, that end badly, that are long
or still running, that start others, or that have names like ours.

    run_case.py CASE
"""
import glob
import json
import os
import re
import resource
import signal
import subprocess

import harness
from harness import HOSTS, SAMPLES, SHIM, VRAMSCOPE, analyze, check, check_equal

HOST = os.path.join(HOSTS, "e2e_host")
MIB = 1 << 20


def device_counts(trace, status=0):
    return harness.report(trace, status)["devices"][0]["memory_kinds"]["device"]


def check_host(trace, pairs):
    """All that e2e_host did is in the trace."""
    counts = device_counts(trace)
    check_equal((counts["allocs"], counts["frees"]), (pairs + 3, pairs), "allocs and frees")
    check_equal(counts["live_at_end_bytes"], 6 * MIB, "bytes alive at the end")


def no_cuda_leaves_no_trace():
    result = harness.run(VRAMSCOPE, "run", "-o", "ls.vscope", "--", "ls", "/")
    plain = harness.run("ls", "/")
    ours, others = harness.own_lines(result.stderr)
    check_equal((result.returncode, result.stdout, others), (0, plain.stdout, []), "ls")
    check_equal(len(ours), 1, "lines of vramscope's own")
    check("nothing was recorded" in ours[0], f"the note says so: {ours[0]}")
    check_equal(os.listdir("."), [], "files that are left")


def preload_works_without_the_launcher():
    trace = os.path.abspath("own.vscope")
    env = {"LD_PRELOAD": SHIM, "VRAMSCOPE_OUTPUT": trace}
    result = harness.run_plain("1G", HOST, "10", "return", env=env)
    check_equal((result.returncode, result.stdout), (0, "done\n"), "the program")
    check_host(trace, 10)
    check_equal([name for name in os.listdir(".") if name.endswith(".live")], [], "live files")


def ends(how, status):
    trace = f"{how}.vscope"
    plain = harness.run_plain("1G", HOST, "1000", how)
    recorded = harness.run_recorded("1G", trace, HOST, "1000", how)
    check_equal(plain.returncode, status, "how it ends")
    check_equal((recorded.returncode, recorded.stdout), (status, "done\n"), "under vramscope")
    check_equal(os.listdir("."), [trace], "the pair of files is one")
    check_host(trace, 1000)
    os.remove(trace)
    # Without the launcher nobody makes one file of the pair: readers take both.
    env = {"LD_PRELOAD": SHIM, "VRAMSCOPE_OUTPUT": os.path.abspath(trace)}
    check_equal(harness.run_plain("1G", HOST, "1000", how, env=env).returncode, status, "preloaded")
    check(os.path.exists(f"{trace}.live"), "the live file stays")
    check_host(trace, 1000)


def trace_survives_underscore_exit():
    ends("_exit", 5)


def trace_survives_abort():
    ends("abort", -signal.SIGABRT)


def trace_survives_sigkill():
    ends("kill", -signal.SIGKILL)


def trace_survives_sigsegv():
    ends("segv", -signal.SIGSEGV)


def without_times(story):
    """The log has nanoseconds, the trace microseconds."""
    if isinstance(story, dict):
        return {key: without_times(value) for key, value in story.items()
                if not key.endswith("_ns")}
    return [without_times(value) for value in story] if isinstance(story, list) else story


def what_is_said(trace):
    """A report, but for the name of the trace, and for what hangs on the last nanosecond.

    A log has times to the nanosecond, a trace to the microsecond: where a sixteenth of the time
    ends between two events that are that near, one of them may change sides.
    """
    story = harness.report(trace)
    del story["trace"]
    for device in story["devices"]:
        if device["retained"]["unit"] == "interval":
            del device["retained"]
    return without_times(story)


def verdicts(trace):
    """What is not ok: name of the check -> verdict and count."""
    checks = json.loads(analyze("check", "--json", trace))["checks"]
    return {one["name"]: (one["verdict"], one["count"]) for one in checks
            if one["verdict"] != "ok"}


def killed_program_is_recovered():
    env = {"LD_PRELOAD": SHIM, "VRAMSCOPE_OUTPUT": os.path.abspath("killed.vscope")}
    status = harness.run_plain("1G", HOST, "1000", "kill", env=env).returncode
    check_equal(status, -signal.SIGKILL, "how it ends")
    said = what_is_said("killed.vscope")
    check_equal(verdicts("killed.vscope"), {"end": ("note", 1)}, "what is not ok with the pair")
    line = analyze("recover", "-o", "copy.vscope", "killed.vscope")
    check(re.fullmatch(r"killed\.vscope: [0-9 ]+ events? from the log, 0 lost, 0 unfinished; "
                       r"in copy\.vscope\n", line), f"it says what it did: {line}")
    check(os.path.exists("killed.vscope.live"), "with -o the log stays")
    analyze("recover", "killed.vscope.live")
    check_equal(sorted(os.listdir(".")), ["copy.vscope", "killed.vscope"], "files that are left")
    for trace in ("killed.vscope", "copy.vscope"):
        check_equal(what_is_said(trace), said, f"the report of {trace}")
        check_equal(verdicts(trace), {"end": ("note", 1)}, f"what is not ok with {trace}")
        check_equal(analyze("recover", trace), f"{trace}: nothing to do\n", "again")


def running_program_is_not_recovered():
    with harness.start_recorded("1G", "alive.vscope", HOST, "5000", "wait",
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE) as process:
        check_equal(process.stdout.readline(), "done\n", "it is at its work")
        check_equal(verdicts("alive.vscope"), {"end": ("note", 1)}, "what is not ok")
        for options in ([], ["-o", "copy.vscope"]):
            result = harness.run(VRAMSCOPE, "recover", *options, "alive.vscope")
            check_equal((result.returncode, result.stdout), (1, ""), "recovering it")
            check("still being written" in result.stderr, f"it says why: {result.stderr}")
        process.stdin.close()
        check_equal(process.wait(), 0, "it ends as if nobody had tried")
    check_equal(os.listdir("."), ["alive.vscope"], "files that are left")
    check_equal(verdicts("alive.vscope"), {}, "what is not ok at the end")
    check_host("alive.vscope", 5000)


def children_have_traces_of_their_own():
    forker = os.path.join(SAMPLES, "forker")
    plain = harness.run_plain("1G", forker)
    recorded = harness.run_recorded("1G", "forker.%p.vscope", forker)
    ours, others = harness.own_lines(recorded.stderr)
    check_equal((recorded.returncode, others), (plain.returncode, []), "status and stderr")
    check_equal(recorded.stdout, plain.stdout, "output")
    check_equal(len(ours), 1, "lines of vramscope's own")
    wanted = []
    for line in plain.stdout.splitlines():
        fields = dict(field.split("=") for field in line.split())
        wanted.append((int(fields["allocs"]), int(fields["frees"]), int(fields["bytes"])))
    got = []
    for trace in glob.glob("forker.*.vscope"):
        counts = device_counts(trace)
        got.append((counts["allocs"], counts["frees"], counts["bytes_allocated"]))
        check(trace in ours[0], f"{trace} is named")
    check_equal(sorted(got), sorted(wanted), "allocs, frees and bytes of each process")


def memory_of_another_process_is_apart():
    """Each process of the sample has books of its own; each trace has one of them, to the byte."""
    sample = os.path.join(SAMPLES, "ipc")
    plain = harness.run_plain("1G", sample)
    recorded = harness.run_recorded("1G", "ipc.%p.vscope", sample)
    ours, others = harness.own_lines(recorded.stderr)
    check_equal((recorded.returncode, others), (0, plain.stderr.splitlines()), "status and stderr")
    check_equal((plain.returncode, recorded.stdout), (0, plain.stdout), "output")
    check_equal(len(ours), 1, "lines of vramscope's own")
    sections = plain.stdout.split("process=")[1:]
    check_equal([text.split()[0] for text in sections], ["borrower", "lender"], "the processes")
    wanted = [dict(line.split("=") for line in text.split()[1:]) for text in sections]
    got = []
    for trace in glob.glob("ipc.*.vscope"):
        story = harness.report(trace)
        device = story["devices"][0]
        books = {}
        for kind, counts in device["memory_kinds"].items():
            if counts["allocs"] + counts["failed_allocs"]:
                for key in ("allocs", "frees", "failed_allocs", "bytes_allocated", "peak_bytes",
                            "live_at_end_count", "live_at_end_bytes"):
                    books[f"{kind}.{key}"] = str(counts[key])
        got.append(books)
        for field in ("lost_events", "overlaps", "orphan_blocks", "unmatched_frees"):
            check_equal(story[field], 0, field)
        check_equal(device["ooms"], 0, "a handle of freed memory is no out-of-memory")
        if "ipc.allocs" in books:
            # What is open is another's: it is in no sum of this process.
            check_equal(str(device["peak_live_bytes"]), books["device.peak_bytes"], "the peak")
    check_equal(sorted(got, key=str), sorted(wanted, key=str), "books of each process")


def first_process_takes_the_name():
    forker = os.path.join(SAMPLES, "forker")
    harness.run_recorded("1G", "forker.vscope", forker)
    check("forker.vscope" in os.listdir("."), "the name is taken")
    check_equal(len(glob.glob("forker.vscope.*")), 3, "other processes have names of their own")


def long_run_is_read_quickly_in_little_memory():
    recorded = harness.run_recorded("1G", "long.vscope", HOST, "100000", "return")
    check_equal((recorded.returncode, recorded.stdout), (0, "done\n"), "the program")
    check_host("long.vscope", 100000)
    check_equal(harness.report("long.vscope")["lost_events"], 0, "lost events")
    process = subprocess.Popen([VRAMSCOPE, "report", "long.vscope"], env=harness.ENVIRONMENT,
                               stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = status
    check_equal(status, 0, "status of the report")
    check(usage.ru_maxrss < 50 * 1024, f"{usage.ru_maxrss} KiB of memory are less than 50 MiB")


def running_program_can_be_looked_at():
    with harness.start_recorded("1G", "alive.vscope", HOST, "5000", "wait",
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE) as process:
        check_equal(process.stdout.readline(), "done\n", "it is at its work")
        story = harness.report("alive.vscope")
        check(story["running"], "the report says that it is running")
        check_host("alive.vscope", 5000)
        for command in ("peak", "sites", "map", "info"):
            analyze(command, "alive.vscope")
        process.stdin.close()
        check_equal(process.wait(), 0, "it ends as if nobody had looked")
    check_host("alive.vscope", 5000)
    check(harness.report("alive.vscope")["complete"], "the trace is whole at the end")


def host_keeps_its_own_names():
    names = os.path.join(HOSTS, "e2e_names")
    plain = harness.run_plain("2G", names)
    recorded = harness.run_recorded("2G", "names.vscope", names)
    ours, others = harness.own_lines(recorded.stderr)
    check_equal((plain.returncode, plain.stderr), (0, ""), "the program by itself")
    check_equal((recorded.returncode, recorded.stdout, others), (0, plain.stdout, []),
                "under vramscope")
    check_equal(len(ours), 1, "lines of vramscope's own")
    counts = device_counts("names.vscope")
    check_equal((counts["allocs"], counts["frees"]), (1000, 500), "allocs and frees")
    check("e2e_names.c:" in analyze("sites", "names.vscope"), "stacks are there")


def options_leave_out_what_they_name():
    fragment = os.path.join(SAMPLES, "fragment")
    forker = os.path.join(SAMPLES, "forker")
    books = harness.run_plain("1G", fragment).stdout

    def record(*command):
        result = harness.run(VRAMSCOPE, "run", "--softgpu=1G", *command)
        return result.stdout

    check_equal(record("--no-stacks", "-o", "stacks.vscope", fragment), books, "its output")
    check("process_batch" not in analyze("sites", "stacks.vscope"), "there are no stacks")
    check_equal(harness.report("stacks.vscope")["devices"][0]["ooms"], 1, "the rest is there")
    check_equal(record("--no-pools", "-o", "pools.vscope", fragment), books, "its output")
    check_equal(harness.report("pools.vscope")["devices"][0]["pools"], [], "pools")
    check("device.allocs=%d\n" % device_counts("pools.vscope")["allocs"] in books, "segments stay")
    check_equal(record("--no-hooks", "-o", "hooks.vscope", HOST, "3", "return"), "done\n", "output")
    check(not os.path.exists("hooks.vscope"), "without hooks there is nothing to record")
    record("--stack-depth=1", "-o", "depth.vscope", fragment)
    check("< sample_fragment.c" not in analyze("sites", "depth.vscope"), "stacks are short")
    record("--children=no", "-o", "parent.%p.vscope", forker)
    check_equal(len(glob.glob("parent.*")), 1, "traces without those of children")


def narrow_terminal_loses_no_fact():
    train = os.path.join(SAMPLES, "train")
    harness.run_recorded("2G", "train.vscope", train)
    facts = analyze("report", "train.vscope").split("\n\n")[1].split("asked by")[0].split()
    for width in (60, 80, 132):
        env = {"COLUMNS": str(width)}
        for command in ("report", "peak", "retained", "frag", "sites", "map", "info"):
            for line in analyze(command, "train.vscope", env=env).splitlines():
                check(len(line) <= width, f"{command} keeps to {width} columns: {line}")
        words = analyze("report", "train.vscope", env=env).split("\n\n")[1].split()
        check_equal(words[:len(facts)], facts, f"the out-of-memory in {width} columns")


def arena_is_its_pools_before_that_is_described():
    recorded = harness.run_recorded("2G", "arena.vscope", os.path.join(HOSTS, "e2e_arena"))
    check_equal(recorded.returncode, 0, "the program")
    device = harness.report("arena.vscope")["devices"][0]
    check_equal(device["peak_live_bytes"], 65 * MIB, "what was live at most")
    check_equal(device["peak_reserved_bytes"], 1025 * MIB, "what was taken")
    check_equal([(pool["name"], pool["allocs"]) for pool in device["pools"]], [("arena", 2)],
                "the pools")
    check("65.0 MiB live in 1.00 GiB reserved" in analyze("peak", "arena.vscope"), "peak says so")


def damaged_trace_is_one_clear_line():
    recorded = harness.run_recorded("1G", "good.vscope", HOST, "20000", "return")
    check_equal(recorded.returncode, 0, "the program")
    with open("good.vscope", "rb") as file:
        good = file.read()
    with open("cut.vscope", "wb") as file:
        file.write(good[:len(good) * 2 // 3])
    with open("empty.vscope", "wb") as file:
        pass
    with open("text.vscope", "w", encoding="ascii") as file:
        file.write("this is no trace\n" * 100)
    for name, status in (("cut", 3), ("empty", 1), ("text", 1), ("missing", 1)):
        result = harness.run(VRAMSCOPE, "report", f"{name}.vscope")
        check_equal(result.returncode, status, f"exit status for the {name} trace")
        check_equal(len(result.stderr.splitlines()), 1, f"lines about the {name} trace")


def run_case(name):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    globals()[name]()


harness.main(run_case)
