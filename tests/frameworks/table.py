"""Writes what ran into docs/compatibility.md: one table for each release, between marks of its own."""
import os
import re

WAYS = {"alone": "no nvidia-* package installed", "beside": "nvidia-* packages installed"}

HEAD = """\
# What runs on softgpu

Written by `./dev test-frameworks`; do not edit it by hand. Each row is a program in `samples/`,
run by the framework's unmodified wheel from PyPI, through `softgpu-run`: once without any `nvidia-*`
package, once with their folders in place, full of libraries that end a program which loads them.
Each program checks that it came to its end and that the framework's own memory numbers are what
they must be.
"""


def section(release, results):
    lines = [f"## {release.framework} {release.version} (CUDA {release.cuda})", "",
             "| program | " + " | ".join(WAYS[way] for way in results) + " |",
             "|---|" + "---|" * len(results)]
    for program in release.programs:
        cells = ("yes" if results[way][program.name] is None else "**no**" for way in results)
        lines.append(f"| {program.name} | " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def write(path, ran):
    """Sections of releases that were not tried this time stay."""
    old = {}
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for part in re.split(r"^(?=## )", file.read(), flags=re.M)[1:]:
                old[part.splitlines()[0]] = part.rstrip("\n") + "\n"
    for release, results in ran:
        text = section(release, results)
        old[text.splitlines()[0]] = text
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join([HEAD, *(old[title] for title in sorted(old))]))
