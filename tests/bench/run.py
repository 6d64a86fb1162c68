"""Runs the benchmarks and writes what they find into docs/performance.md.

usage: run.py --build FOLDER --stage FOLDER [--quick] [PART...]

FOLDER: of a build, and of what it installed. --quick: a short trial, whose figures are printed
only. How each part measures is said in docs/performance.md.
"""
import argparse
import os
import shutil
import sys
import tempfile

import page
from against_heaptrack import measure_bytes, measure_pairs
from against_torch import measure_torch
from analyzer_parts import measure_analyzer, measure_at, measure_long, measure_report
from cupti_cost import measure_cupti
from measuring import Bench, BenchError, NotBuilt
from on_tensorflow import measure_tensorflow
from pictures import measure_heatmap, measure_html
from recorder_parts import (measure_drain, measure_instructions, measure_python, measure_record,
                            measure_rss, measure_stack, put_programs)


PARTS = {
    "pairs": measure_pairs,
    "stack": measure_stack,
    "record": measure_record,
    "bytes": measure_bytes,
    "columns": put_programs("bench_columns", "bench_bytes"),
    "drain": measure_drain,
    "rss": measure_rss,
    "instructions": measure_instructions,
    "python": measure_python,
    "torch": measure_torch,
    "analyzer": measure_analyzer,
    "report": measure_report,
    "long": measure_long,
    "heatmap": measure_heatmap,
    "html": measure_html,
    "at": measure_at,
    "cupti": measure_cupti,
    "tensorflow": measure_tensorflow,
    "softgpu": put_programs("bench_softgpu"),
}


def read_arguments():
    parser = argparse.ArgumentParser(prog="./dev bench")
    parser.add_argument("--build", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--stage", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--quick", action="store_true",
                        help="a short trial: figures are printed, not written down")
    parser.add_argument("parts", metavar="PART", nargs="*",
                        help="all, or some of: " + ", ".join(PARTS))
    arguments = parser.parse_args()
    unknown = [name for name in arguments.parts if name not in PARTS]
    if unknown:
        parser.error(f"no part '{unknown[0]}': " + ", ".join(PARTS))
    return arguments


def main():
    arguments = read_arguments()
    has_failed = False
    # On the disk, where traces belong: /tmp may be memory.
    folder = tempfile.mkdtemp(prefix="bench.", dir=os.path.abspath(arguments.build))
    try:
        bench = Bench(arguments.build, arguments.stage, folder, arguments.quick)
        for name in arguments.parts or PARTS:
            print(f"== {name}", flush=True)
            try:
                part = PARTS[name](bench)
            except BenchError as error:
                print(f"{name}: {error}", file=sys.stderr)
                # What is left out of everything is no failure; what was asked for is.
                has_failed |= not isinstance(error, NotBuilt) or bool(arguments.parts)
                continue
            print("\n".join(part.lines + [target.line() for target in part.targets]), flush=True)
            if not arguments.quick:
                page.write(page.put_part(page.read(), name, part))
    finally:
        shutil.rmtree(folder)
    sys.exit(has_failed)


if __name__ == "__main__":
    main()
