#!/usr/bin/env python3
"""Runs that were killed, or ended with a card that was nearly full: each has its verdict.

    run_ending.py CASE
"""
import json
import os
import resource
import signal

import harness
from harness import HOSTS, VRAMSCOPE, analyze, check, check_equal

HOST = os.path.join(HOSTS, "e2e_ending")
CARD = "1G"  # 320 MiB of it are the context's


def judge(at_once, kept, how, status, limit=None):
    """The verdicts of `why`, which are those of `report` as well; and what both say in words."""
    def set_limits():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if limit:
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))

    result = harness.subprocess.run(
        [VRAMSCOPE, "run", f"--softgpu={CARD}", "-o", "run.vscope", "--", HOST, str(at_once),
         str(kept), how], env=harness.ENVIRONMENT, preexec_fn=set_limits, capture_output=True,
        text=True, timeout=120, check=False)
    check_equal(result.returncode, status, f"status: {result.stderr}")
    told = json.loads(analyze("why", "--json", "run.vscope"))
    check_equal(told["complete"], status == 0, "it ended in order")
    check_equal(harness.report("run.vscope")["devices"][0]["verdicts"], told["verdicts"],
                "verdicts of the report")
    return told["verdicts"], analyze("report", "run.vscope"), analyze("why", "run.vscope")


def expect(run, occasion, verdict, line, remedy, not_remedies=()):
    verdicts, *texts = run
    check_equal([(found["occasion"], found["verdict"]) for found in verdicts],
                [(occasion, verdict)], "verdicts")
    found = verdicts[0]
    remedies = [each["id"] for each in found["remedies"]]
    check(remedy in remedies, f"{remedy} is advised: {remedies}")
    for name in not_remedies:
        check(name not in remedies, f"{name} is not advised: {remedies}")
    where = found["evidence"]["where"]
    check_equal(sum(where[part] or 0 for part in (
        "live_bytes", "rounding_bytes", "hole_bytes", "cached_bytes", "outside_bytes",
        "not_taken_bytes", "not_seen_bytes")), where["total_bytes"], "sum of the card")
    for text in texts:
        check(f"cause: {verdict.upper()}" in text, f"the cause is said: {text}")
        if line:
            number = source_line(line)
            check(f"e2e_ending.c:{number}" in text, f"line {number} is named: {text}")


def source_line(words):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "e2e_ending.c"),
              encoding="utf-8") as file:
        number, = (i for i, line in enumerate(file, 1) if words in line)
    return number


def killed_with_a_full_card():
    expect(judge(640, 0, "kill", -signal.SIGKILL), "killed", "capacity", "/* all at once */",
           "smaller-pieces", ["free", "end-others"])


def killed_while_it_grew():
    expect(judge(64, 36, "kill", -signal.SIGKILL), "killed", "retention",
           "/* kept in every step */", "free", ["smaller-pieces", "end-others"])


def killed_with_an_empty_card():
    expect(judge(64, 0, "kill", -signal.SIGKILL), "killed", "unknown", None, "host-memory",
           ["smaller-pieces", "free", "end-others"])


def killed_by_a_limit_of_the_system():
    expect(judge(640, 0, "cpu", -signal.SIGKILL, limit=1), "killed", "capacity",
           "/* all at once */", "host-memory", ["free"])


def killed_after_it_ran_out():
    expect(judge(640, 0, "oom", -signal.SIGKILL), "failure", "capacity", "/* all at once */",
           "smaller-request", ["free", "host-memory"])


def ended_with_a_full_card():
    expect(judge(640, 0, "return", 0), "near-full", "capacity", "/* all at once */",
           "smaller-pieces", ["free", "host-memory"])


def ended_while_it_grew():
    expect(judge(64, 16, "return", 0), "growing", "retention", "/* kept in every step */",
           "free", ["smaller-pieces", "host-memory"])


def ended_with_room():
    verdicts, report, why = judge(64, 0, "return", 0)
    check_equal(verdicts, [], "verdicts")
    check("cause:" not in report + why, "no cause is named")
    check("NOTHING RAN OUT" in why, "that is said")


harness.main(lambda name: globals()[name]())
