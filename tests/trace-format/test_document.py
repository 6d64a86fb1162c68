#!/usr/bin/env python3
"""docs/trace-format.md is right if a reader written from it alone finds what ours finds.

usage: test_document.py TRACE_SUMS
"""

import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDS = os.path.join(HERE, "../../trace-format/record.def")


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def count_types():
    with open(RECORDS, encoding="utf-8") as file:
        return sum(line.startswith("VS_RECORD(") for line in file)


def main():
    ours = sys.argv[1]
    nr_types = count_types()
    failed = False
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([ours, "make", folder], check=True)
        for name in ("whole", "plain", "killed", "early"):
            path = os.path.join(folder, name + ".vscope")
            expected = lines(ours, "sum", path)
            found = lines(sys.executable, "-B", os.path.join(HERE, "read_trace.py"), path)
            same = expected == found and len(found) == nr_types
            print(f"{name}: {len(found)} types of records, {'the same' if same else 'NOT THE SAME'}")
            if not same:
                print("ours:  ", *expected, sep="\n  ")
                print("theirs:", *found, sep="\n  ")
                failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
