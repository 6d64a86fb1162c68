"""Writes what ran into docs/compatibility.md: one table for each release, between marks of its own."""
import os
import re

WAYS = {"alone": "no nvidia-* package installed", "beside": "nvidia-* packages installed"}

HEAD = """\
# Which releases were tried, and how

Written by `./dev test-frameworks`; do not edit it by hand. What can be said of a release is one of

- **run here**: programs in `samples/`, run by the framework's unmodified wheel from PyPI, through
  `softgpu-run`: once without any `nvidia-*` package, once with their folders in place, full of
  libraries that end a program which loads them. Each checks that it came to its end and that the
  framework's own memory numbers are what they must be.
- **symbols and layout checked**: the real package was imported under `vramscope run`, what we use of
  it was found, and what it would call was called by hand and is in the trace. Nothing was allocated:
  it carries NVIDIA's runtime, which takes no simulated driver.
- **not checked**: any release that is not in this table.
"""


CHECKED = "imported, callbacks registered, called by hand, and found in the trace"


def section(release, results, more=""):
    lines = [f"## {release.framework} {release.version} (CUDA {release.cuda})", "",
             "| program | " + " | ".join(WAYS[way] for way in results) + " |",
             "|---|" + "---|" * len(results)]
    for program in release.programs:
        cells = ("yes" if results[way][program.name] is None else "**no**" for way in results)
        lines.append(f"| {program.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n" + (f"\n{more}" if more else "")


def checked_section(release, wrong):
    return (f"## {release.framework} {release.version} (CUDA {release.cuda})\n\n"
            f"{'**Not** ' if wrong else ''}{CHECKED}.\n")


def states(sections):
    """The table at the top, from what the sections say."""
    lines = ["| release | state |", "|---|---|"]
    for title in sorted(sections):
        if not re.fullmatch(r"## \S+ [\d.]+ \(CUDA \d+\)", title):
            continue  # of other tests
        text = sections[title]
        if CHECKED in text:
            state = "symbols and layout checked"
        else:
            nr_programs = len(re.findall(r"^\| (?!program)\w.* (?:yes|\*\*no\*\*) \|$", text, re.M))
            state = f"run here: {nr_programs} programs"
        state += ", **not all went well**" if "**no**" in text.lower() or "**Not**" in text else ""
        lines.append(f"| {title[3:]} | {state} |")
    return "\n".join([*lines, "| any other | not checked |"]) + "\n"


def write(path, ran, checked=()):
    """Sections of releases that were not tried this time stay. ran: arguments of section()"""
    old = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for part in re.split(r"^(?=## )", file.read(), flags=re.M)[1:]:
                old[part.splitlines()[0]] = part.rstrip("\n") + "\n"
    for text in [section(*entry) for entry in ran] + [checked_section(*entry) for entry in checked]:
        old[text.splitlines()[0]] = text
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([HEAD, states(old), *(old[title] for title in sorted(old))]))
