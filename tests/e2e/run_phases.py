#!/usr/bin/env python3
"""Phases, steps and epochs, as programs mark them by NVTX and vramscope.py.

    run_phases.py CASE
"""
import json
import os
import sys

import harness
from harness import HOSTS, SHIM, VRAMSCOPE, analyze, check, check_equal

NVTX = os.path.join(HOSTS, "e2e_nvtx")
MARKS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "marks.py")
MIB = 1 << 20


def record(*command, env=None):
    """stdout of a program, our lines of stderr, and the device as `phases --json` has it."""
    result = harness.run_recorded("1G", "t.vscope", *command, env=env)
    ours, others = harness.own_lines(result.stderr)
    check_equal((result.returncode, others), (0, []), "status and stderr of the program")
    analyze("check", "t.vscope")
    told = json.loads(analyze("phases", "--json", "t.vscope"))
    return result.stdout, ours, told["devices"][0]


def rows(device, kind="phases"):
    return {row["path"]: row for row in device[kind]}


def stack_of_a_thread():
    out, ours, device = record(NVTX, "stack")
    check_equal(out, "push 0 1 pop 1 push 1 pop 1 pop 0 none negative\n", "what NVTX returned")
    check_equal(len(ours), 1, "lines of our own")
    phases = rows(device)
    check_equal(sorted(phases), ["outer", "outer > by event", "outer > gr\u00fc\u00dfe \u4f60",
                                 "outer > unnamed"], "paths")
    outer = phases["outer"]
    check_equal((outer["visits"], outer["allocated_bytes"], outer["freed_bytes"],
                 outer["kept_bytes"], outer["peak_live_bytes"], outer["alive_at_end_bytes"]),
                (1, 5 * MIB, MIB, 4 * MIB, 4 * MIB, 0), "outer")
    check_equal(phases["outer > by event"]["kept_bytes"], 4 * MIB, "what 'by event' kept")
    epochs = device["epochs"]["rows"]
    check_equal([(row["first"], row["allocated_bytes"]) for row in epochs],
                [(0, MIB), (1, 2 * MIB), (2, 3 * MIB)], "epochs, by marks")


def domains_are_part_of_the_name():
    out, _, device = record(NVTX, "domains")
    check_equal(out, "push 0 0 1 pop 0 1 0\n", "levels, of each domain its own")
    phases = rows(device)
    check_equal(sorted(phases), [
        "first: registered", "first: registered > default",
        "first: registered > default > first: registered",
        "first: registered > first: registered", "second: w\u00efde"], "paths")
    check_equal(phases["first: registered"]["allocated_bytes"], 3 * MIB, "in the outermost")
    check_equal(phases["first: registered > first: registered"]["allocated_bytes"], 2 * MIB,
                "after the default domain's range was closed around it")
    check_equal(list(rows(device, "ranges")), ["second: plain"], "ranges")


def ranges_end_on_other_threads():
    _, _, device = record(NVTX, "threads")
    ranges, phases = rows(device, "ranges"), rows(device)
    check_equal(sorted(ranges), ["across threads", "early"], "ranges")
    check_equal([row["open"] for row in ranges.values()], [0, 0], "ranges that are open")
    check_equal(ranges["across threads"]["allocated_bytes"], 8 * MIB, "allocated in it")
    check_equal(ranges["early"]["allocated_bytes"], 9 * MIB, "in one that began before the trace")
    check_equal((phases["backward"]["allocated_bytes"], phases["backward"]["derived_bytes"]),
                (9 * MIB, 8 * MIB), "a helper's memory is the open phase's, and said to be")


def nesting_may_be_deep():
    out, _, device = record(NVTX, "deep")
    check_equal(out, "", "levels")
    phases = rows(device)
    check_equal(phases["even"]["allocated_bytes"], MIB, "allocated in the outermost")
    check_equal(phases["even > odd"]["allocated_bytes"], MIB, "allocated one below")
    check_equal(phases["after"]["allocated_bytes"], 2 * MIB, "allocated after all of them")


def names_are_limited():
    _, ours, device = record(NVTX, "many")
    check_equal(len([line for line in ours if "too many names" in line]), 1, "lines that say so")
    phases = rows(device)
    check("other ranges" in phases, "what is beyond has one name")
    check("name number 0 of many" in phases, "what is not keeps its own")
    check_equal(sum(row["visits"] for row in phases.values()), 20001, "visits")


def libraries_have_their_own_instances():
    _, _, device = record(NVTX, "plugins", HOSTS)
    check_equal(sorted(rows(device)), ["main", "main > e2e_nvtx_plugin_a",
                                       "main > e2e_nvtx_plugin_b"], "paths")


def nvtx_alone_makes_no_trace():
    result = harness.run(VRAMSCOPE, "run", "--softgpu", "-o", "t.vscope", "--", NVTX, "quiet")
    check_equal((result.returncode, result.stdout), (0, "push 0 pop 0\n"), "the program")
    check_equal(os.listdir("."), [], "files that are left")


def another_tool_keeps_nvtx():
    tool = os.path.join(HOSTS, "e2e_nvtx_tool.so")
    said = "other tool: 1 pushes, 5 pops\n"
    out, ours, device = record(NVTX, "stack", env={"NVTX_INJECTION64_PATH": tool})
    check(out.endswith(said), f"the tool saw all: {out!r}")
    check_equal(len([line for line in ours if "NVTX_INJECTION64_PATH" in line]), 1,
                "lines about it")
    check_equal((device["phases"], device["epochs"]), ([], None), "phases of ours")
    out, ours, device = record(NVTX, "own tool", tool)
    check(out.endswith(said), f"a tool that the program itself names saw all: {out!r}")
    check_equal((len(ours), device["phases"]), (1, []), "our lines and phases")


def old_library_is_still_called():
    linked = os.path.join(HOSTS, "e2e_nvtx_linked")
    out, _, device = record(linked)
    check_equal(out, "0 1 1 0\nlibrary: 7 calls\n", "levels, and the calls that reached it")
    check_equal(sorted(rows(device)), ["linked", "linked > inner"], "paths")
    check_equal(rows(device, "ranges")["range"]["allocated_bytes"], MIB, "allocated in the range")
    check_equal([row["first"] for row in device["epochs"]["rows"]], [7], "epochs")


def run_marks(*arguments):
    """marks.py with the vramscope.py that is installed."""
    env = {"PYTHONPATH": os.environ["VS_E2E_PYTHON"], "PYTHONDONTWRITEBYTECODE": "1"}
    runtime = os.path.join(os.environ["VS_E2E_SOFTGPU"], "libcudart.so")
    return harness.run(*arguments, sys.executable, MARKS, runtime, env=env)


def python_marks_phases():
    result = run_marks(VRAMSCOPE, "run", "--softgpu=1G", "-o", "t.vscope", "--")
    check_equal((result.returncode, result.stdout), (0, "profiled\n"), f"program {result.stderr}")
    device = json.loads(analyze("phases", "--json", "t.vscope"))["devices"][0]
    phases = rows(device)
    check_equal(sorted(phases), ["17", "backward", "decorated \u00fc", "forward", "init",
                                 "raises"], "paths")
    check_equal((phases["init"]["allocated_bytes"], phases["init"]["alive_at_end_bytes"]),
                (10 * MIB, 0), "init, whose weights are freed in the end")
    forward, backward = phases["forward"], phases["backward"]
    check_equal((forward["visits"], forward["allocated_bytes"], forward["kept_bytes"],
                 forward["alive_at_end_bytes"]), (6, 18 * MIB, 18 * MIB, 6 * MIB), "forward")
    check_equal((backward["allocated_bytes"], backward["derived_bytes"], backward["kept_bytes"]),
                (24 * MIB, 24 * MIB, 0), "backward, of a thread without phases")
    check_equal(forward["highest"]["step"], 5, "step with the highest peak")
    steps = device["steps"]["rows"]
    check_equal([row["first"] for row in steps], [0, 1, 2, 3, 4, 5, 99], "steps")
    check_equal([row["alive_at_end_bytes"] for row in steps], 6 * [MIB] + [0], "kept by each")
    check_equal([(row["first"], row["alive_at_end_bytes"]) for row in device["epochs"]["rows"]],
                [(0, 3 * MIB), (1, 3 * MIB)], "epochs")


def python_without_vramscope_does_nothing():
    result = run_marks(harness.SOFTGPU_RUN, "-m", "1G")
    check_equal((result.returncode, result.stdout, result.stderr), (0, "not profiled\n", ""),
                "the program")
    check_equal(os.listdir("."), [], "files that are left")


def preload_alone_takes_nvtx():
    trace = os.path.abspath("own.vscope")
    env = {"LD_PRELOAD": os.path.relpath(SHIM), "VRAMSCOPE_OUTPUT": trace}
    result = harness.run_plain("1G", NVTX, "stack", env=env)
    check_equal(result.returncode, 0, "the program")
    device = json.loads(analyze("phases", "--json", trace))["devices"][0]
    check("outer > by event" in rows(device), "the phases are there")


harness.main(lambda name: globals()[name]())
