#!/usr/bin/env python3
"""Who holds the memory of a device: what NVML says, and what becomes of it in a report.

    run_meminfo.py CASE
"""
import json
import os
import subprocess

import harness
from harness import HOSTS, VRAMSCOPE, analyze, check, check_equal

HOST = os.path.join(HOSTS, "e2e_meminfo")
MIB = 1 << 20
CONTEXT = 96 * MIB
OWN = 256 * MIB
THEIRS = 384 * MIB
CARD = {"SOFTGPU_CARD": f"meminfo-{os.getpid()}", "SOFTGPU_CONTEXT": "96M",
        "SOFTGPU_MEMORY": "2G",
        # Time decides nothing here, but in the case of an NVML that hangs.
        "VRAMSCOPE_MEMINFO_WAIT": "60000"}


class Holder:
    """Another process that holds THEIRS on a device of the same card."""

    def __init__(self, device=0, env=None):
        self.process = subprocess.Popen(
            [harness.SOFTGPU_RUN, HOST, str(device), str(THEIRS), "wait"],
            env={**harness.ENVIRONMENT, **CARD, **(env or {})}, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)

    def __enter__(self):
        check_equal(self.process.stdout.readline(), "ready\n", "the holder")
        return self.process.pid

    def __exit__(self, *_):
        self.process.communicate()


def record(how, device=0, options=(), env=None):
    result = harness.run(VRAMSCOPE, "run", "--softgpu=2G", "-o", "t.vscope", *options, "--", HOST,
                         str(device), str(OWN), how, env={**CARD, **(env or {})})
    check_equal((result.returncode, result.stdout.splitlines()[0]), (0, "ready"), "the program")
    return result


def get_where(*options):
    told = json.loads(analyze("report", "--json", *options, "t.vscope"))
    return told["devices"][0]["where"]


def get_fact():
    for line in analyze("info", "t.vscope").splitlines():
        if line.startswith("nvml"):
            return line[4:].strip()
    return None


def check_split(where, context, others, unknown, unexplained):
    check_equal((where["context_bytes"], where["other_process_bytes"],
                 where["unknown_holder_bytes"], where["unexplained_bytes"]),
                (context, others, unknown, unexplained), "context, others, unknown, unexplained")
    parts = ("live_bytes", "hole_bytes", "cached_bytes", "context_bytes", "other_process_bytes",
             "unknown_holder_bytes", "unexplained_bytes", "not_taken_bytes")
    check_equal(sum(where[part] or 0 for part in parts), where["total_bytes"], "the sum of all")


def context_is_told():
    record("fail")
    where = get_where()
    check_split(where, CONTEXT, 0, None, 0)
    check_equal(where["holders"], [], "others")
    check("580" in get_fact(), "the version of NVML")
    # Without a failure, too.
    record("return")
    check_split(get_where("--at", "peak"), CONTEXT, 0, None, 0)


def others_hold_exactly_that():
    with Holder() as pid:
        record("fail")
    where = get_where()
    check_split(where, CONTEXT, THEIRS + CONTEXT, None, 0)
    check_equal(where["holders"],
                [{"pid": pid, "name": "e2e_meminfo", "bytes": THEIRS + CONTEXT}], "who they are")
    text = analyze("report", "t.vscope")
    check(f"480 MiB by e2e_meminfo (pid {pid})" in text, "the report names it")
    check("other processes 0.47" in text, "and how much it has")


def foreign_numbers_are_nobody():
    """In a container no number means anything, and ours is not among them."""
    with Holder():
        record("fail", env={"SOFTGPU_NVML": "container"})
    where = get_where()
    check_split(where, CONTEXT, None, THEIRS + CONTEXT, 0)
    check_equal(where["holders"], [], "others")
    check("unknown holder 0.47" in analyze("report", "t.vscope"), "the report says so")


def wsl_tells_no_sizes():
    with Holder():
        record("fail", env={"SOFTGPU_NVML": "wsl"})
    check_split(get_where(), CONTEXT, None, THEIRS + CONTEXT, 0)


def part_of_a_card_is_asked_itself():
    mig = {"SOFTGPU_NVML": "mig"}
    with Holder(env=mig):
        record("fail", env=mig)
    check_split(get_where(), CONTEXT, THEIRS + CONTEXT, None, 0)


def devices_are_told_apart():
    two = {"SOFTGPU_DEVICES": "2"}
    with Holder(env={**two, "CUDA_VISIBLE_DEVICES": "1"}):
        for device, others in ((0, THEIRS + CONTEXT), (1, 0)):
            record("fail", device, env={**two, "CUDA_VISIBLE_DEVICES": "1,0"})
            check_split(get_where("--device", str(device)), CONTEXT, others, None, 0)


def it_can_be_switched_off():
    with Holder():
        record("fail", options=["--no-meminfo"])
    where = get_where()
    check_equal((where["context_bytes"], where["other_process_bytes"], where["sampled_ns"]),
                (None, None, None), "what is not known")
    check_equal(where["outside_bytes"], THEIRS + 2 * CONTEXT, "what the driver told")
    check_equal(get_fact(), "off: not wanted", "the fact")


def record_with(libraries, how, env=None):
    """Without softgpu's launcher: its driver and runtime, and another NVML or none."""
    source = os.environ["VS_E2E_SOFTGPU"]
    os.makedirs("lib", exist_ok=True)
    for name in os.listdir(source):
        if name.startswith(("libcuda.so", "libcudart.so")) and not os.path.exists(f"lib/{name}"):
            os.symlink(os.path.join(source, name), f"lib/{name}")
    path = ":".join([*libraries, os.path.abspath("lib")])
    env = {**CARD, "LD_LIBRARY_PATH": path, **(env or {})}
    plain = harness.run(HOST, "0", str(OWN), how, env=env)
    result = harness.run(VRAMSCOPE, "run", "-o", "t.vscope", "--", HOST, "0", str(OWN), how,
                         env=env)
    check_equal((result.returncode, result.stdout, len(harness.own_lines(result.stderr)[1])),
                (plain.returncode, plain.stdout, 0), "status and output, as without us")
    check_equal(plain.stdout.splitlines()[-1], "done", "the program's end")
    return result


def without_nvml_it_is_said():
    record_with([], "fail")
    check("off: libnvidia-ml.so.1: cannot open" in get_fact(), "the fact")
    check_equal(get_where()["context_bytes"], None, "the context")


def nvml_that_refuses_is_left_alone():
    record_with([os.path.join(HOSTS, "nvml")], "fail", env={"MODEL_NVML": "refuse"})
    check_equal(get_fact(), "off: nvmlInit failed with error 9", "the fact")
    record_with([os.path.join(HOSTS, "nvml")], "fail", env={"MODEL_NVML": "nothing"})
    check_equal((get_fact(), get_where()["context_bytes"]), ("model", None), "what is known")


def nvml_that_hangs_holds_up_nobody():
    for how in ("fail", "fork"):
        record_with([os.path.join(HOSTS, "nvml")], how,
                    env={"MODEL_NVML": "hang", "VRAMSCOPE_MEMINFO_WAIT": "250"})
        check_equal(get_where()["context_bytes"], None, "the context")


def children_are_born_whole():
    result = record("fork")
    check_equal(result.stdout, "ready\ndone\n", "what the program says of its children")
    check_equal(len([name for name in os.listdir(".") if name.endswith(".vscope")]), 1, "traces")


def program_may_use_nvml_itself():
    result = record("nvml")
    check_equal(result.stdout, "ready\ndone\n", "the program's output")
    check_split(get_where("--at", "peak"), CONTEXT, 0, None, 0)


harness.main(lambda name: globals()[name]())
