#!/usr/bin/env python3
"""The traces of this folder are read for ever as they were read first.

usage: test_data.py TRACE_SUMS READ_TRACE    NAME.said beside NAME.vscope is what is said of it
"""

import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def find_traces():
    for folder, _, names in sorted(os.walk(HERE)):
        for name in sorted(names):
            if name.endswith(".vscope"):
                yield os.path.join(folder, name)


def ask(*command):
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    if run.returncode:
        print(*command, "->", run.returncode, run.stderr)
    return run.stdout.splitlines()


def main():
    ours, theirs = sys.argv[1:]
    nr_traces = nr_failed = 0
    for path in find_traces():
        said = ask(ours, "say", path)
        with open(path.removesuffix(".vscope") + ".said", encoding="utf-8") as file:
            expected = file.read().splitlines()
        same = said == expected
        # What is good, both readers read alike.
        if same and said[-1].split(", ")[1:2] == ["not damaged"]:
            same = ask(sys.executable, "-B", theirs, path) == said[:-1]
        nr_traces += 1
        if not same:
            nr_failed += 1
            print(os.path.relpath(path, HERE), *said, sep="\n  ")
    print(f"{nr_traces} traces, {nr_failed} of them not read as before")
    return nr_failed > 0 or not nr_traces


if __name__ == "__main__":
    sys.exit(main())
