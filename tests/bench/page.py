"""docs/performance.md: text by people, and between markers what was measured."""
import dataclasses
import datetime
import os
import re

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/performance.md")


@dataclasses.dataclass
class Target:
    """A row of the table of targets. The name tells it from others."""
    name: str
    at_most: str
    measured: str

    def line(self):
        return f"| {self.name} | {self.at_most} | {self.measured} |"


@dataclasses.dataclass
class Part:
    """What one part of the benchmark found out."""
    lines: list
    targets: list = dataclasses.field(default_factory=list)
    versions: dict = dataclasses.field(default_factory=dict)


def read():
    with open(PATH, encoding="utf-8") as file:
        return file.read()


def write(text):
    with open(PATH, "w", encoding="utf-8") as file:
        file.write(text)


def pattern_of(name):
    return re.compile(rf"(<!-- bench {name} -->\n)(.*?)(<!-- end of {name} -->)", re.S)


def get_section(text, name):
    """What stands between the markers now; nothing if there are none."""
    found = pattern_of(name).search(text)
    return found.group(2) if found else ""


def put_section(text, name, lines):
    content = "".join(line + "\n" for line in lines)
    text, nr = pattern_of(name).subn(lambda found: found[1] + content + found[3], text)
    if nr != 1:
        raise ValueError(f"docs/performance.md has no markers for '{name}'")
    return text


def put_targets(text, targets):
    """Rows that are known keep their place, new ones come last."""
    rows = {}
    for line in get_section(text, "targets").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) == 3 and cells[0] != "what":
            rows[cells[0]] = line
    rows |= {target.name: target.line() for target in targets}
    return put_section(text, "targets",
                       ["| what | at most | measured |", "|---|---|---|", *rows.values()])


def describe_machine():
    model = "unknown processor"
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    return f"{os.cpu_count()} processors ({model})"


def put_part(text, name, part):
    facts = [f"`./dev bench {name}`", datetime.date.today().isoformat(), describe_machine()]
    facts += [f"{program} {version}" for program, version in part.versions.items()]
    text = put_section(text, name, [", ".join(facts) + ".", "", *part.lines])
    return put_targets(text, part.targets) if part.targets else text
