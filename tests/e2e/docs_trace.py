#!/usr/bin/env python3
"""The trace that the documents' pictures are made of is what the sample does today.

    docs_trace.py RETIME_TRACE DOCS_TRACE
    docs_trace.py RETIME_TRACE DOCS_TRACE --write     makes it so
"""
import json
import os
import shutil
import sys

import harness
from harness import SAMPLES, analyze, check, check_equal

MEMORY = "2G"


def record(retime):
    """A new one, in the current folder."""
    result = harness.run_recorded(MEMORY, "raw.vscope", os.path.join(SAMPLES, "train"))
    check_equal(result.returncode, 1, "the sample runs out of memory")
    result = harness.run(retime, "raw.vscope", "train.vscope", "train")
    check_equal((result.returncode, result.stderr), (0, ""), "retime_trace")
    return "train.vscope"


def describe(trace):
    """All that can be on a picture: every cell of a fine grid, and what the report says."""
    analyze("heatmap", "--width", "300", "--height", "200", "-o", "cells.csv", trace)
    with open("cells.csv", encoding="utf-8") as file:
        cells = file.read()
    told = {command: json.loads(analyze(command, "--json", "--no-index", trace))
            for command in ("report", "phases")}
    for one in told.values():
        for key in ("trace", "version"):
            one.pop(key, None)
    return cells, json.dumps(told).replace(json.dumps(trace)[1:-1], "TRACE")


def check_docs_trace(retime, docs_trace, *options):
    made = record(retime)
    if options == ("--write",):
        shutil.copyfile(made, docs_trace)
        return
    shutil.copyfile(docs_trace, "docs.vscope")
    ours, theirs = describe("docs.vscope"), describe(made)
    check(ours[0].count("\n") > 10000, "there is something to compare")
    hint = "docs/images/train.vscope is not what the sample does: run ./dev pictures"
    check(ours[0] == theirs[0], hint + " (cells)")
    check(ours[1].replace("docs.vscope", "train.vscope") == theirs[1], hint + " (report)")


harness.main(check_docs_trace)
