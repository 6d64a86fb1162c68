#!/usr/bin/env python3
"""The books of section 3.5.4, kept by a reader that was written from the document alone.

usage: test_columns_document.py COLUMNS_LINES
"""

import os
import subprocess
import sys
import tempfile

from read_columns import read_columns
from read_numbers import MASK, Bytes


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "columns")
        output = subprocess.run([sys.argv[1], path], check=True, capture_output=True, text=True)
        with open(path, "rb") as file:
            data = file.read()
    expected = [tuple(map(int, line.split())) for line in output.stdout.splitlines()]
    nr = 0
    for kind, time, thread, fields in read_columns(Bytes(data), len(expected)):
        found = kind, time, thread, sum(fields) & MASK
        if found != expected[nr]:
            print(f"event {nr} is {found}, not {expected[nr]}")
            return 1
        nr += 1
    print(f"{nr} events in {len(data)} bytes, the same")
    return nr != len(expected) or nr == 0


if __name__ == "__main__":
    sys.exit(main())
