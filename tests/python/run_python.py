#!/usr/bin/env python3
"""Stacks of Python, as vramscope recorded them, against what Python says of itself.

    run_python.py VERSION

VERSION: 3.8 to 3.14, or "system". Skips (77) where there is no such interpreter.
"""
import glob
import json
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../e2e")]

import harness
import interpreters
import judge
from harness import analyze, check, check_equal

PROGRAM = os.path.join(HERE, "oracle_program.py")


def record(trace, interpreter, *arguments, options=()):
    """Runs a program of Python's; returns vramscope's own lines but for the last."""
    result = harness.run(harness.VRAMSCOPE, "run", "--softgpu=8G", "-o", trace, *options, "--",
                         *interpreter, *arguments, env={"PYTHONDONTWRITEBYTECODE": "1"})
    ours, others = harness.own_lines(result.stderr)
    check_equal((result.returncode, others), (0, []), f"status and stderr of {arguments}")
    return ours[:-1]


def get_sites(trace):
    return judge.read_sites(analyze("sites", "--json", "--top", "1000000", trace))


def check_none(lines, text):
    check(not lines, f"{text}: {len(lines)} differences, of which\n" +
          "\n".join(line[:1500] for line in lines[:5]))


def get_short_stacks(trace):
    # Complaints are the user's: a stack that is cut is only a note.
    checks = json.loads(analyze("check", "--json", trace))["checks"]
    return next(row["count"] for row in checks if row["name"] == "short_stacks")


def every_stack_is_what_python_says(interpreter, version):
    said = record("all.vscope", interpreter, PROGRAM, "all.notes")
    check_equal(said, [], "what vramscope says of its own")
    notes, sites = judge.read_notes("all.notes"), get_sites("all.vscope")
    check_none(judge.compare(notes, sites), "frames of Python")
    check_none(judge.compare_order(sites, version), "their places in the stack")
    if not judge.has_evaluator(sites):
        print("the evaluator of this build is in pieces: frames of Python stand together")
    deep = {str(note["frames"][:judge.MAX_FRAMES]) for note in notes
            if len(note["frames"]) > judge.MAX_FRAMES}
    check(deep, "there are stacks that are too deep")
    check(get_short_stacks("all.vscope") >= len(deep), "stacks that are too deep are said to be cut")
    return len(notes)


def depth_at_the_limit_is_not_cut(interpreter, version):
    """256 frames are all of them; one more is said."""
    record("depth.vscope", interpreter, PROGRAM, "depth.notes", "depth_near_the_limit")
    notes = judge.read_notes("depth.notes")
    lengths = {len(note["frames"]) for note in notes}
    check({judge.MAX_FRAMES, judge.MAX_FRAMES + 1} <= lengths, f"depths around the limit: {lengths}")
    deep = {str(note["frames"][:judge.MAX_FRAMES]) for note in notes
            if len(note["frames"]) > judge.MAX_FRAMES}
    # Before 3.11 each frame of Python has some of C, of which there are too many as well.
    if version >= (3, 11):
        check_equal(get_short_stacks("depth.vscope"), len(deep), "stacks that are said to be cut")


def switches_of_the_interpreter(interpreter, version):
    switches = [["-OO"], ["-X", "dev"]]
    if version >= (3, 12):
        switches.append(["-X", "perf"])
    if version >= (3, 11):
        switches.append(["-X", "frozen_modules=off"])
    for switch in switches:
        name = re.sub(r"\W", "", "".join(switch))
        record(name + ".vscope", [*interpreter, *switch], PROGRAM, name + ".notes")
        check_none(judge.compare(judge.read_notes(name + ".notes"), get_sites(name + ".vscope")),
                   f"frames of Python with {switch}")


def switches_of_vramscope(interpreter, _version):
    cases = ["plain_calls", "calls_from_c", "threads", "deep_recursion_under_a_callback"]
    record("off.vscope", interpreter, PROGRAM, "off.notes", *cases, options=["--no-python"])
    check(not any(judge.get_python(site) for site in get_sites("off.vscope")),
          "--no-python leaves Python out")
    record("short.vscope", interpreter, PROGRAM, "short.notes", *cases, options=["--stack-depth", "5"])
    sites = get_sites("short.vscope")
    check_none(judge.compare(judge.read_notes("short.notes"), sites, max_frames=10),
               "frames of Python with --stack-depth 5")
    check(all(len(judge.get_real_frames(site)) <= 15 for site in sites),
          "--stack-depth 5: at most 5 frames, and 10 of Python")
    record("none.vscope", interpreter, PROGRAM, "none.notes", *cases, options=["--no-stacks"])
    check(not any(site["stack"] for site in get_sites("none.vscope")), "--no-stacks: none")


def children(interpreter, _version):
    for kind, nr in (("fork", 4), ("spawn", 3)):
        record(f"{kind}.%p.vscope", interpreter, os.path.join(HERE, "oracle_children.py"),
               f"{kind}.notes", kind)
        paths = glob.glob(f"{kind}.notes.*")
        check_equal(len(paths), nr, f"processes of {kind}")
        for path in paths:
            trace = f"{kind}.{path.rsplit('.', 1)[1]}.vscope"
            check_none(judge.compare(judge.read_notes(path), get_sites(trace)),
                       f"frames of Python in a process of {kind}")


def race(interpreter, _version):
    said = record("race.vscope", interpreter, os.path.join(HERE, "oracle_race.py"), "race.notes", "2")
    check_equal(said, [], "what vramscope says of its own")
    wanted = {tuple(map(tuple, note["frames"])): (note["count"], note["bytes"])
              for note in judge.read_notes("race.notes")}
    got = judge.group((judge.get_python(site), site["allocs"], site["bytes_allocated"])
                      for site in get_sites("race.vscope"))
    check_equal(got, wanted, "stacks of a race, how often, and bytes")
    return sum(count for count, _ in wanted.values())


def every_line_is_what_python_says(interpreter, _version):
    """Tables of much code, each instruction of it."""
    harness.run(*interpreter, os.path.join(HERE, "dump_lines.py"), "tables", "lines")
    with open("tables", encoding="ascii") as tables:
        done = subprocess.run([os.path.join(harness.HOSTS, "table_lines")], stdin=tables,
                              capture_output=True, text=True, check=True)
    with open("lines", encoding="ascii") as file:
        wanted = file.read().splitlines()
    got = done.stdout.splitlines()
    check_equal(len(got), len(wanted), "code objects")
    different = [i for i, line in enumerate(wanted) if got[i] != line]
    check_equal(different[:5], [], "code objects with other lines")
    nr = sum(line.count(" ") for line in wanted)
    check(nr > 30000, "there are many instructions")
    return nr


# What is said of libraries that look like a Python, by model_python.c.
STRANGERS = {
    "old": "this Python is older than 3.8",
    "new": "this Python is newer than this vramscope knows",
    "pypy": "this is PyPy",
    "debug": "this Python was built for debugging",
    "free": "this Python is a free-threaded one",
    "odd": "this Python is newer than this vramscope knows",
    "empty": "this Python is older than 3.8",
    **{f"garbage_3_{minor}": "its frames are not where they are in other builds of this version"
       for minor in range(8, 15)},
}


def strangers():
    """One line each, and everything else goes on."""
    for name, reason in STRANGERS.items():
        result = harness.run(harness.VRAMSCOPE, "run", "--softgpu=1G", "-o", f"{name}.vscope", "--",
                             os.path.join(harness.HOSTS, "model_host"),
                             os.path.join(harness.HOSTS, f"model_{name}.so"))
        ours, others = harness.own_lines(result.stderr)
        check_equal((result.returncode, others), (0, []), f"status and stderr with {name}")
        check_equal(ours[:-1], [f"vramscope: no Python lines in stacks: {reason}"], f"said of {name}")
        sites = get_sites(f"{name}.vscope")
        check_equal(sum(site["allocs"] for site in sites), 100, f"allocations with {name}")
        check(all(site["stack"] for site in sites), f"stacks with {name}")
    print(f"{len(STRANGERS)} libraries that are no known Python: one line each")


EMBEDDED = """alloc(1000)
def f():
    alloc(2000)
f()
list(map(lambda n: alloc(3000 + n), [1])); [(lambda: alloc(3002))()]
"""


def embedding(interpreter, _version):
    """A program in C that loads libpython for itself alone."""
    text = ("import sysconfig as s, os; "
            "print(os.path.join(s.get_config_var('LIBDIR'), s.get_config_var('INSTSONAME') or ''))")
    library = harness.run(*interpreter, "-c", text).stdout.strip()
    if ".so" not in library or not os.path.exists(library):
        print("this Python is no library: it cannot be embedded")
        return
    home = harness.run(*interpreter, "-c", "import sys; print(sys.base_prefix)").stdout.strip()
    result = harness.run(harness.VRAMSCOPE, "run", "--softgpu=8G", "-o", "embedded.vscope", "--",
                         os.path.join(harness.HOSTS, "embedding_host"), library, EMBEDDED,
                         env={"PYTHONHOME": home})
    ours, others = harness.own_lines(result.stderr)
    check_equal((result.returncode, others, ours[:-1]), (0, [], []), "status and stderr, embedded")
    got = {site["bytes_allocated"]: [frame[2] for frame in judge.get_python(site)]
           for site in get_sites("embedded.vscope")}
    check_equal(got, {1000: [1], 2000: [3, 4], 3001: [5, 5], 3002: [5, 5]}, "lines of sizes, embedded")


CASES = (every_line_is_what_python_says, every_stack_is_what_python_says, depth_at_the_limit_is_not_cut, switches_of_the_interpreter,
         switches_of_vramscope, children, race, embedding)


def main(version, *names):
    if version == "strangers":
        return strangers()
    path = interpreters.find(version)
    if not path:
        print(f"there is no CPython {version} here")
        os.chdir("/")
        sys.exit(77)
    text = harness.run(path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])").stdout
    number = tuple(map(int, text.split(".")))
    for case in CASES:
        if names and case.__name__ not in names:
            continue
        nr = case([path], number[:2])
        print(f"CPython {text.strip()}, {case.__name__}: 0 differences" + (f" in {nr}" if nr else ""))


harness.main(main)
