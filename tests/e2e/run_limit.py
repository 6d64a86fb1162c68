#!/usr/bin/env python3
"""Traces that may not grow (--max-size): the beginning goes, what is known of the end stays.

    run_limit.py CASE
"""
import json
import os
import random
import re
import resource
import signal
import subprocess
import time

import harness
from harness import HOSTS, SHIM, VRAMSCOPE, analyze, check, check_equal

HOST = os.path.join(HOSTS, "e2e_limit")
MIB = 1 << 20
NR_KILLS = 8


def record(trace, rounds, *options, how="return"):
    return harness.run(VRAMSCOPE, "run", "--softgpu=2G", "-o", trace, *options, "--", HOST,
                       str(rounds), how)


def get_live(result):
    return int(re.fullmatch(r"live (\d+)\n", result.stdout)[1])


def get_end(trace):
    """What is there at the end; addresses from the lowest one on, for no two runs have the same."""
    state = json.loads(analyze("map", "--at", "end", "--json", trace))
    for key in ("trace", "command", "events", "driver_events", "duration_ns", "dropped_events"):
        state.pop(key, None)
    text = json.dumps(state)
    lowest = min(int(found, 16) for found in re.findall(r'"0x([0-9a-f]+)"', text))
    text = re.sub(r'"time_ns": \d+', "", text)
    return re.sub(r'"0x([0-9a-f]+)"', lambda found: str(int(found[1], 16) - lowest), text)


def get_live_of_kinds(trace):
    device = harness.report(trace)["devices"][0]
    kinds = {name: (kind["live_at_end_bytes"], kind["live_at_end_count"])
             for name, kind in device["memory_kinds"].items()}
    pools = {pool["name"]: pool["live_at_end_bytes"] for pool in device["pools"]
             if "live_at_end_bytes" in pool}
    return kinds, pools


def end_is_that_of_the_whole():
    whole = record("whole.vscope", 20000)
    small = record("small.vscope", 20000, "--max-size=1M")
    check_equal((whole.returncode, small.returncode), (0, 0), "the programs")
    check_equal(get_live(whole), get_live(small), "what the program has")
    check_equal(len(harness.own_lines(small.stderr)[0]), 1, "lines of vramscope's own")
    check(os.path.getsize("whole.vscope") > 3 * MIB, "the whole is large")
    check(os.path.getsize("small.vscope") <= 1.5 * MIB, "the other one is not")
    check_equal(get_end("small.vscope"), get_end("whole.vscope"), "the map of the end")
    check_equal(get_live_of_kinds("small.vscope"), get_live_of_kinds("whole.vscope"),
                "what is live at the end")
    check_equal(sorted(name for name in os.listdir(".") if not name.endswith(".index")),
                ["small.vscope", "whole.vscope"], "files")
    told = json.loads(analyze("info", "--json", "small.vscope"))
    total = json.loads(analyze("info", "--json", "whole.vscope"))["events"]
    check(0 < told["dropped_events"] < total, "some events were dropped")
    # The snapshot's own events are in both numbers.
    check(told["events"] + told["dropped_events"] >= total, "no event is missing")
    for command in ("info", "report"):
        check("were dropped (--max-size)" in analyze(command, "small.vscope"),
              f"{command} says that the beginning is missing")
    analyze("check", "small.vscope")


def small_trace_is_left_alone():
    record("small.vscope", 10, "--max-size=1M")
    check_equal(json.loads(analyze("info", "--json", "small.vscope"))["dropped_events"], 0,
                "events that were dropped")


def too_small_a_size_is_refused():
    for size, text in (("100K", "less than 1 MiB"), ("x", "is not a size")):
        result = record("none.vscope", 10, f"--max-size={size}")
        check_equal(result.returncode, 2, "exit status")
        check(text in result.stderr, f"the line says why: {result.stderr}")


def start_alone(rounds):
    """Without the launcher, which would fold what is left."""
    env = {**harness.ENVIRONMENT, "VRAMSCOPE_OUTPUT": "killed.vscope",
           "VRAMSCOPE_MAX_SIZE": str(MIB), "LD_PRELOAD": SHIM}
    command = [harness.SOFTGPU_RUN, "-m", "2G", HOST, str(rounds), "wait"]
    return subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stdin=subprocess.PIPE)


def check_state(trace):
    """Nothing is missing between the events that are there, and none is there twice."""
    told = json.loads(analyze("info", "--json", "--no-index", trace))
    for field in ("lost_events", "overlaps", "orphan_blocks", "unmatched_frees"):
        check_equal(told[field], 0, field)
    check(not told["damaged"], "nothing is damaged")
    return told


def get_file():
    """Which file the trace is; None while there is none."""
    try:
        return os.stat("killed.vscope").st_ino
    except FileNotFoundError:
        return None


def wait_until_shortened(program):
    """However long that takes: another file then has the trace's name."""
    first = None
    while first is None or get_file() == first:
        check(program.poll() is None, "the program runs")
        first = first or get_file()
        time.sleep(0.01)


def kills_lose_nothing():
    random.seed(os.getpid())
    nr_shortened = 0
    for i in range(NR_KILLS):
        program = start_alone(100000000)
        if i % 2:
            wait_until_shortened(program)
        time.sleep(random.uniform(0, 0.7))
        program.send_signal(signal.SIGKILL)
        program.wait()
        program.stdin.close()
        if not os.path.exists("killed.vscope"):
            continue
        if os.path.getsize("killed.vscope") == 0:
            # In the middle of its first call, which has not returned: there is nothing to lose yet.
            for name in os.listdir("."):
                os.unlink(name)
            continue
        before = check_state("killed.vscope")
        nr_shortened += before["dropped_events"] > 0
        check_equal(harness.run(VRAMSCOPE, "recover", "killed.vscope").returncode, 0, "recover")
        after = check_state("killed.vscope")
        check_equal(after["events"], before["events"], "events after the recovery")
        os.unlink("killed.vscope")
        check_equal([name for name in os.listdir(".") if not name.endswith(".index")], [],
                    "files that are left")
    check(nr_shortened > 0, "some of them had been shortened")


def running_trace_can_be_read():
    program = start_alone(100000000)
    try:
        wait_until_shortened(program)
        for _ in range(5):
            result = harness.run(VRAMSCOPE, "info", "--json", "killed.vscope")
            told = json.loads(result.stdout)
            check_equal((told["overlaps"], told["unmatched_frees"], told["damaged"]),
                        (0, 0, False), "what is told of a program that runs")
        check(os.path.getsize("killed.vscope") < 2 * MIB, "it stays small")
        check(told["dropped_events"] > 0, "it has been shortened")
    finally:
        program.kill()
        program.wait()
        program.stdin.close()


def run_case(name):
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    globals()[name]()


harness.main(run_case)
