#!/usr/bin/env python3
"""TensorFlow's chunks, operations and calls, by a model of its libraries.

    run_tensorflow.py CASE
"""
import json
import os
import re
import sys

import harness
from harness import HOSTS, analyze, check, check_equal

LIBRARY = os.path.join(HOSTS, "libe2e_tensorflow.so")
MIB = 1 << 20
PROGRAM = """
import ctypes
library = ctypes.CDLL({library!r})
def train_step():
    library.run_case({name!r}.encode())
train_step()
"""


NR_STEPS = 40
# What is called from each line takes so many bytes there, in a step.
PROGRAM_HERE = """
import ctypes
library = ctypes.CDLL({library!r})
def log():
    library.allocate_here()
call_back = ctypes.CFUNCTYPE(None)(log)
def operation(function):
    library.run_here(function)
def train_step():
    operation(None)
    operation(call_back)
    library.allocate_here()
for _ in range({nr_steps}):
    train_step()
"""


def record(name, text=PROGRAM, **variables):
    program = os.path.abspath("train.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write(text.format(library=LIBRARY, name=name, nr_steps=NR_STEPS))
    result = harness.run_recorded("1G", "t.vscope", sys.executable, program,
                                  env=variables)
    check_equal(result.returncode, 0, f"status of the program, which said {result.stderr}")
    analyze("check", "t.vscope")
    told = json.loads(analyze("report", "--json", "t.vscope"))
    return {pool["name"]: pool for device in told["devices"] for pool in device["pools"]}


def list_sites():
    told = json.loads(analyze("sites", "--json", "t.vscope"))
    return [site for device in told["devices"] for site in device["sites"]]


def get_sites():
    return {site["site"]: site for site in list_sites()}


def chunks_are_blocks():
    pools = record("chunks")
    pool = pools["TensorFlow GPU_0_bfc"]
    check_equal((pool["allocs"], pool["frees"], pool["bytes_allocated"], pool["live_at_end_bytes"],
                 pool["ooms"]), (2, 1, MIB + 1024, MIB, 1), "the pool")
    then = json.loads(analyze("frag", "--json", "--at", "peak", "t.vscope"))["devices"][0]["pools"][0]["then"]
    check_equal((then["block_bytes"], then["requested_bytes"], then["runs"]),
                (MIB + 1024, MIB + 1000, 1), "chunks, what was asked for, runs of functions")
    sites = get_sites()
    for op, name, region in (("MatMul (output, float32)", "MatMul", "output"),
                             ("Conv2D (float32)", "Conv2D", None)):
        found = [site for text, site in sites.items()
                 if text.startswith(f"{op} in train.py:5 train_step < train.py:6 <module>")]
        check(found, f"{op} among {list(sites)}")
        check_equal(found[0]["operation"], {"name": name, "region": region, "dtype": "float32"},
                    "the operation")


def allocators_are_pools():
    pools = record("allocators")
    # That of the host alone is none of ours.
    check_equal(sorted(pools), ["TensorFlow GPU_0_bfc",
                                "TensorFlow a name that is longer than a short one",
                                "TensorFlow second"], "pools")
    check_equal([pool["bytes_allocated"] for _, pool in sorted(pools.items())], [256, 512, 1024],
                "their bytes")


def executors_work_for_a_line():
    record("executor")
    check(any(name.startswith("gradient_tape/MatMul (temp, float32) in train.py:5 train_step")
              for name in get_sites()), f"the caller's line among {list(get_sites())}")


def calls_share_the_lines_around_them():
    """What is allocated inside of a call, before and after Python was called back, and outside of one."""
    record("here", PROGRAM_HERE)
    bytes_by_line = {}
    for site in list_sites():  # of a line there are two: the calls in C differ
        found = re.search(r"in (train\.py:\d+ .*)", site["site"])
        if found:
            bytes_by_line[found[1]] = bytes_by_line.get(found[1], 0) + site["bytes_allocated"]
    step = "train.py:14 <module>"
    check_equal(bytes_by_line, {
        f"train.py:8 operation < train.py:10 train_step < {step}": NR_STEPS * 768,
        f"train.py:8 operation < train.py:11 train_step < {step}": NR_STEPS * 768,
        f"train.py:5 log < train.py:8 operation < train.py:11 train_step < {step}": NR_STEPS * 1024,
        f"train.py:12 train_step < {step}": NR_STEPS * 1024,
    }, "bytes from each line")


def limits_are_told():
    pools = record("limited")
    pool = pools["TensorFlow GPU_0_bfc"]
    check_equal(pool["limit_bytes"], 1200 * MIB, "limit")
    told = json.loads(analyze("info", "--json", "t.vscope"))
    check_equal(told["facts"]["tensorflow.pool.GPU_0_bfc"],
                f"limit {1200 * MIB} bytes, taken as they are needed", "how it takes memory")
    device, = json.loads(analyze("report", "--json", "t.vscope"))["devices"]
    check_equal((device["ooms"], pool["ooms"]), (1, 1), "out-of-memories")
    check_equal(sum(group["recovered"] for group in device["failures"]), 6,
                "requests that were tried again with less")
    text = analyze("why", "t.vscope")
    check("1 chunks in use, 1280 bytes (0 requested); 1 free" in " ".join(text.split()),
          f"what TensorFlow wrote, in {text}")


def users_dumps_stay():
    """Who has them written somewhere keeps them there."""
    record("limited", TF_BFC_MEMORY_DUMP=os.path.abspath("mine"))
    check(os.path.exists("mine_GPU_0_bfc.1234"), f"the user's dump among {os.listdir()}")
    check("chunks in use" not in analyze("why", "t.vscope"), "nothing was taken from it")


harness.main(lambda name: globals()[name]())
