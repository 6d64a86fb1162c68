#!/usr/bin/env python3
"""Programs under `vramscope run --cupti`: one case for each name below.

    run_cupti.py CASE
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))
import harness  # noqa: E402
from harness import (HOSTS, SHIM, SOFTGPU_RUN, VRAMSCOPE, analyze, check,  # noqa: E402
                     check_equal, own_lines, run)

BYPASS = os.path.join(HOSTS, "e2e_bypass")
SUBSCRIBER = os.path.join(HOSTS, "e2e_subscriber")
LIBRARY = os.path.join(os.path.dirname(SHIM), "libvramscope-cupti.so")


def record(*command, options=("--cupti",), env=None, status=0):
    """Our lines on stderr but the last, stdout, and the report of the trace."""
    result = run(VRAMSCOPE, "run", "--softgpu=8G", *options, "-o", "t.vscope", "--", *command,
                 env=env)
    check_equal(result.returncode, status, f"status ({result.stderr})")
    ours, others = own_lines(result.stderr)
    check_equal(others, [], "lines of others on stderr")
    return ours[:-1], result.stdout, harness.report("t.vscope")


def get_hidden(stdout):
    return int(stdout.split("hidden_events=")[1])


def kinds(story):
    return {kind: {key: value for key, value in counts.items()}
            for kind, counts in story["devices"][0]["memory_kinds"].items()}


def calls_past_the_hooks_are_counted_exactly():
    for arguments in (("all",), ("pairs", "100"), ("threads", "4")):
        lines, stdout, story = record(BYPASS, *arguments)
        check_equal(lines, [], "lines on stderr")
        check_equal(story["seen_only_by_cupti"], get_hidden(stdout), f"{arguments}: only CUPTI")
        check_equal(story["cupti"], "recorded", "what became of CUPTI")
        check_equal((story["lost_events"], story["unmatched_frees"]), (0, 0), "repairs")


def without_cupti_they_are_missing():
    # What proves that the calls do get past the hooks.
    _, stdout, hooked = record(BYPASS, "pairs", "100", options=())
    check_equal(hooked["seen_only_by_cupti"], 0, "seen only by CUPTI")
    _, _, both = record(BYPASS, "pairs", "100")
    check_equal(both["driver_events"] - hooked["driver_events"], get_hidden(stdout),
                "events that the hooks miss")
    check_equal(kinds(both)["device"]["allocs"], 200, "allocations")
    check_equal(kinds(hooked)["device"]["allocs"], 100, "allocations by the hooks")


def cupti_alone_sees_the_same():
    _, _, both = record(BYPASS, "all")
    _, _, alone = record(BYPASS, "all", options=("--cupti", "--no-hooks"))
    check_equal(kinds(alone), kinds(both), "kinds of memory")
    check_equal(alone["seen_only_by_cupti"], alone["driver_events"], "seen only by CUPTI")
    check_equal(alone["driver_events"], both["driver_events"], "events")


def stacks_begin_at_the_program():
    for options in (("--cupti",), ("--cupti", "--no-hooks")):
        record(BYPASS, "all", options=options)
        text = analyze("sites", "t.vscope")
        check("e2e_bypass.c" in text and "take_hidden" in text, f"the caller is in sites:\n{text}")
        text = analyze("peak", "--json", "t.vscope")
        for name in ("libcupti", "libcuda.so", "libvramscope"):
            check(name not in text, f"{name} is no part of a stack:\n{text}")


def report_says_it():
    _, stdout, _ = record(BYPASS, "pairs", "100")
    result = run(VRAMSCOPE, "run", "--softgpu=8G", "--cupti", "-o", "u.vscope", "--", BYPASS,
                 "pairs", "100")
    check("vramscope: 401 events in u.vscope" in result.stderr, f"the launcher: {result.stderr}")
    text = analyze("report", "t.vscope")
    check(f"{get_hidden(stdout)} of 401 events of the driver were seen only by CUPTI" in text,
          f"the report says how many:\n{text}")
    record(BYPASS, "pairs", "100", options=("--cupti", "--no-hooks"))
    text = analyze("report", "t.vscope")
    check("CUPTI alone (hooks off): 401 events" in text, f"the report says it:\n{text}")


def first_subscriber_keeps_cupti():
    lines, stdout, story = record(SUBSCRIBER, "linked", "first")
    check_equal(stdout, "result=0 told=10\n", "what the program was told")
    check_equal(len(lines), 1, f"one line on stderr: {lines}")
    check("another tool has it" in lines[0], lines[0])
    check(story["cupti"].startswith("off: another tool"), story["cupti"])
    check_equal(kinds(story)["device"]["allocs"], 10, "allocations")


def later_subscriber_gets_cupti():
    for how in ("linked", "looked-up"):
        lines, stdout, story = record(SUBSCRIBER, how, "later")
        check_equal(stdout, "result=0 told=10\n", f"what the program was told ({how})")
        check_equal(lines, ["vramscope: the program subscribes to CUPTI itself: calls past the "
                            "hooks are not seen from here on"], "the line on stderr")
        check_equal(kinds(story)["device"]["allocs"], 20, "allocations")
        text = analyze("report", "t.vscope")
        check("CUPTI only until the program subscribes" in text, text)


def later_subscriber_ends_a_recording_by_cupti_alone():
    lines, _, story = record(SUBSCRIBER, "linked", "later", options=("--cupti", "--no-hooks"))
    check("no call of CUDA is recorded from here on" in lines[0], lines[0])
    check_equal(kinds(story)["device"]["allocs"], 10, "allocations")


def finalize_is_survived():
    lines, stdout, story = record(SUBSCRIBER, "linked", "later", "finalize")
    check_equal(stdout, "result=0 told=0\n", "what the program says")
    check("the program ends CUPTI" in lines[0], lines[0])
    check_equal(kinds(story)["device"]["allocs"], 20, "allocations")


def missing_cupti_is_one_line():
    lines, _, story = record(BYPASS, "pairs", "5",
                             env={"VRAMSCOPE_CUPTI_LIBRARY": "/no/such.so"})
    check_equal(lines, ["vramscope: without CUPTI: VRAMSCOPE_CUPTI_LIBRARY=/no/such.so "
                        "cannot be used"], "the line on stderr")
    check_equal(story["cupti"], "off: no CUPTI was found", "what became of CUPTI")
    check_equal(kinds(story)["device"]["allocs"], 5, "allocations by the hooks")
    result = run(VRAMSCOPE, "run", "--softgpu=8G", "--cupti", "--no-hooks", "-o", "u.vscope",
                 "--", BYPASS, "pairs", "5", env={"VRAMSCOPE_CUPTI_LIBRARY": "/no/such.so"})
    check("vramscope: nothing is recorded: " in result.stderr, result.stderr)


def every_release_serves():
    wanted = None
    for release in ("libcupti.so.11.8", "libcupti.so.12", "libcupti.so.13"):
        _, stdout, story = record(BYPASS, "all", env={"VRAMSCOPE_CUPTI_LIBRARY": release})
        check_equal(story["seen_only_by_cupti"], get_hidden(stdout), f"{release}: only CUPTI")
        check(wanted in (None, kinds(story)), f"{release}: the same numbers")
        wanted = kinds(story)
        facts = analyze("info", "t.vscope")
        check(release in facts, f"info names {release}:\n{facts}")


def another_injected_tool_keeps_its_place():
    result = run(VRAMSCOPE, "run", "--softgpu=8G", "--cupti", "-o", "t.vscope", "--", BYPASS,
                 "pairs", "5", env={"CUDA_INJECTION64_PATH": "/some/tool.so"})
    ours, _ = own_lines(result.stderr)
    check("another tool has CUPTI (CUDA_INJECTION64_PATH=/some/tool.so)" in ours[0], ours[0])
    check_equal(kinds(harness.report("t.vscope"))["device"]["allocs"], 5, "allocations")


def injection_alone_brings_the_recorder():
    # Where nothing can be preloaded: the driver loads us, and we the recorder.
    result = run(SOFTGPU_RUN, "-m", "8G", BYPASS, "all",
                 env={"CUDA_INJECTION64_PATH": LIBRARY, "VRAMSCOPE_OUTPUT": "t.vscope"})
    check_equal((result.returncode, result.stderr), (0, ""), "status and stderr")
    story = harness.report("t.vscope")
    _, _, both = record(BYPASS, "all")
    check_equal(kinds(story), kinds(both), "kinds of memory")
    check_equal(story["seen_only_by_cupti"], story["driver_events"], "seen only by CUPTI")


def pools_are_read_from_records():
    env = {"VRAMSCOPE_CUPTI_POOLS": "1"}
    _, _, with_records = record(os.path.join(harness.SAMPLES, "async"), env=env)
    _, _, without = record(os.path.join(harness.SAMPLES, "async"))
    check_equal(kinds(with_records), kinds(without), "kinds of memory")
    names = ("peak_reserved_bytes", "peak_live_bytes")
    check_equal([with_records["devices"][0][name] for name in names],
                [without["devices"][0][name] for name in names], "what pools held")


def children_are_seen_too():
    lines, _, _ = record("/bin/sh", "-c", f"{BYPASS} pairs 3; true")
    check_equal(lines, [], "lines on stderr")
    check_equal(harness.report("t.vscope")["seen_only_by_cupti"], 6, "seen only by CUPTI")


if __name__ == "__main__":
    harness.main(lambda case: globals()[case]())
