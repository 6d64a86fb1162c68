#!/usr/bin/env python3
"""TensorFlow's chunks, operations and calls, by a model of its libraries.

    run_tensorflow.py CASE
"""
import json
import os
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


def record(name):
    program = os.path.abspath("train.py")
    with open(program, "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(library=LIBRARY, name=name))
    result = harness.run_recorded("1G", "t.vscope", sys.executable, program)
    check_equal(result.returncode, 0, f"status of the program, which said {result.stderr}")
    analyze("check", "t.vscope")
    told = json.loads(analyze("report", "--json", "t.vscope"))
    return {pool["name"]: pool for device in told["devices"] for pool in device["pools"]}


def get_sites():
    told = json.loads(analyze("sites", "--json", "t.vscope"))
    return {site["site"]: site for device in told["devices"] for site in device["sites"]}


def chunks_are_blocks():
    pools = record("chunks")
    pool = pools["TensorFlow GPU_0_bfc"]
    check_equal((pool["allocs"], pool["frees"], pool["bytes_allocated"], pool["live_at_end_bytes"],
                 pool["ooms"]), (2, 1, MIB + 1024, MIB, 1), "the pool")
    sites = get_sites()
    for op in ("MatMul (output)", "Conv2D"):
        check(any(name.startswith(f"{op} in train.py:5 train_step < train.py:6 <module>")
                  for name in sites), f"{op} among {list(sites)}")


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
    check(any(name.startswith("gradient_tape/MatMul (temp) in train.py:5 train_step")
              for name in get_sites()), f"the caller's line among {list(get_sites())}")


harness.main(lambda name: globals()[name]())
