#!/usr/bin/env python3
"""Every CUDA release that PyPI has, against our list of hooks.

    run.py --stage STAGE --work WORK --include CUDA_INCLUDE [--write FILE] [RELEASE...]

For each: the hooks exist as we take them for (hooks_exist.py), nothing new gives or takes memory
(new_symbols.py), and NVIDIA's own runtime finds our hooks and ends as without us (real_runtime.py).
RELEASE: 12.9; all of them by default. CUPTI of each release: cupti_releases.py.
"""
import argparse
import os
import re
import sys

import hooks_exist
import new_symbols
import real_runtime
from headers import Headers, find_functions, expand
from hook_list import HookList
from releases import RELEASES, Missing, fetch

HERE = os.path.dirname(os.path.abspath(__file__))
BEGIN, END = "<!-- begin test-matrix -->", "<!-- end test-matrix -->"
TITLE = "## CUDA runtimes of NVIDIA"
HEAD = """\
Written by `./dev test-matrix`; do not edit it by hand. NVIDIA's packages of each release, from PyPI: the functions that we hook
are declared there with the types we take them to have, and exported with the release's version; whatever else may give
or take memory is known (`tests/matrix/known_names.py` says why it needs no hook); and the runtime itself, shared, and static where the package has that, run on softgpu's
driver up to its refusal, finds our functions where it looks for the driver's, and ends as it does without us.

| release | package | hooks it has | look-ups of the driver | of them ours | good |
|---|---|---|---|---|---|
"""


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stage", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--include", required=True, help="headers that the recorder is built with")
    parser.add_argument("--write")
    parser.add_argument("releases", nargs="*")
    arguments = parser.parse_args()
    names = {release.name for release in RELEASES}
    for name in arguments.releases:
        if name not in names:
            parser.error(f"no release {name}: {' '.join(release.name for release in RELEASES)}")
    return arguments


class Reference(Headers):
    """What the recorder is compiled with: NVIDIA's headers, and what we declare beside them."""

    def __init__(self, include):
        super().__init__(include)
        text = expand(include, os.path.join(HERE, "../../preload/cuda_headers.h"))
        self.driver = find_functions(text, "CUresult", "cu")


def try_release(release, arguments, reference, hooks, bench):
    """(what is wrong, row of the table, headers)"""
    files = fetch(release, arguments.work)
    headers = Headers(files.include)
    wrong = hooks_exist.check(files, headers, reference, hooks)
    wrong += new_symbols.check(release, headers, hooks)
    told, nr_lookups, nr_ours = real_runtime.check(bench, files, hooks)
    wrong += told
    has, of = hooks_exist.count(release, hooks)
    row = f"| {release.name} | {files.version} | {has} of {of} | {nr_lookups} | {nr_ours} | " + \
          ("**no**" if wrong else "yes") + " |"
    return wrong, row, headers


def write(path, rows):
    """Our section stands between marks of its own; what else is in the file stays."""
    section = f"{TITLE}\n\n{BEGIN}\n{HEAD}" + "\n".join(rows) + f"\n{END}\n"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    pattern = re.escape(TITLE) + r"\n\n" + re.escape(BEGIN) + ".*?" + re.escape(END) + "\n"
    if re.search(pattern, text, re.S):
        text = re.sub(pattern, lambda _: section, text, flags=re.S)
    else:
        start = text.index("\n## ") + 1
        text = text[:start] + section + "\n" + text[start:]
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main():
    arguments = parse()
    os.makedirs(arguments.work, exist_ok=True)
    hooks, reference = HookList(), Reference(arguments.include)
    bench = real_runtime.Bench(arguments.stage, arguments.work)
    rows, seen, nr_wrong, nr_missing = [], [], 0, 0
    for release in RELEASES:
        if arguments.releases and release.name not in arguments.releases:
            continue
        try:
            wrong, row, headers = try_release(release, arguments, reference, hooks, bench)
        except Missing as error:
            print(f"{release.name}: cannot be had: {error}")
            nr_missing += 1
            continue
        print(row)
        for text in wrong:
            print(f"  {text}")
        nr_wrong += len(wrong)
        rows.append(row)
        seen.append(headers)
    if not arguments.releases and not nr_missing:
        for text in new_symbols.check_known(seen):
            print(f"  {text}")
            nr_wrong += 1
        if arguments.write:
            write(arguments.write, rows)
    print(f"{len(rows)} releases, {nr_missing} that cannot be had, {nr_wrong} mistakes")
    return 1 if nr_wrong or nr_missing else 0


if __name__ == "__main__":
    sys.exit(main())
