"""A recorded run of a program that knows facts of itself, and what our commands say of it."""
import collections
import json
import os
import subprocess

TIMEOUT = 300  # seconds; a hang, not a measurement


class Case:
    """One recorded run: its facts, and what our commands say. Collects what differs."""

    def __init__(self, vramscope, trace, facts, program):
        self.vramscope, self.trace, self.facts, self.program = vramscope, trace, facts, program
        self.differences = []
        self.roles = collections.Counter()  # (by the program, by us): blocks
        self.report = self.ask("report")
        self.device, = self.report["devices"]
        self.pool = self.pool_of(self.device)

    def ask(self, command, *options):
        done = subprocess.run([self.vramscope, command, "--json", *options, self.trace],
                              capture_output=True, text=True, timeout=TIMEOUT, check=False)
        if done.returncode:
            raise ValueError(f"vramscope {command}: status {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def pool_of(self, device):
        found = [pool for pool in device["pools"] if pool["owner"] == "framework"]
        if len(found) != 1:
            raise ValueError(f"{len(found)} pools of a framework instead of one")
        return found[0]

    def equal(self, found, expected, what):
        if found != expected:
            self.differences.append(f"{what}: {found} instead of {expected}")

    def check(self, holds, what):
        if not holds:
            self.differences.append(what)

    def same(self, ours, theirs, names):
        """names: {ours: theirs} of numbers that must be equal."""
        for name, other in names.items():
            self.equal(ours[name], theirs[other], f"{name} ({other})")

    def line_of(self, text):
        """The number of the only line of the program that has this."""
        with open(self.program, encoding="utf-8") as file:
            found = [i for i, line in enumerate(file, 1) if text in line]
        if len(found) != 1:
            raise ValueError(f"{self.program} has {len(found)} lines with {text!r}")
        return found[0]

    def is_from(self, site, text):
        """Whether a stack leads through that line of the program."""
        line, name = self.line_of(text), os.path.basename(self.program)
        return any(os.path.basename(frame["file"] or "") == name and frame["line"] == line
                   for frame in site["stack"])


# What `why` must say of the last out-of-memory. line: one of the program that the verdict is about, or
# None; advised, not_advised: remedies.
Verdict = collections.namedtuple("Verdict", "verdict line advised not_advised")

# Of `where`: these add up to the card.
PARTS = ("live_bytes", "rounding_bytes", "hole_bytes", "cached_bytes", "outside_bytes", "not_taken_bytes",
         "not_seen_bytes")


def check_verdict(case, expected):
    found = case.ask("why")["verdicts"][0]
    case.equal(found["verdict"], expected.verdict, "verdict")
    case.equal(case.device["verdicts"][0], found, "verdict of the report")
    case.check(found["runner_up"] != expected.verdict, "the runner-up is another one")
    if expected.line:
        case.check(found["evidence"]["about"] and case.is_from(found["evidence"]["about"],
                                                               expected.line),
                   f"the verdict is about {found['evidence']['about']}")
    advised = [remedy["id"] for remedy in found["remedies"]]
    case.equal([name for name in expected.advised if name not in advised], [], "not advised")
    case.equal([name for name in expected.not_advised if name in advised], [], "advised")
    where = found["evidence"]["where"]
    case.equal(sum(where[part] or 0 for part in PARTS), where["total_bytes"], "sum of the card")


def check_derived_steps(case):
    """Steps by the rhythm of requests are those that the program knows of, and grow as fast."""
    retained = case.ask("retained", "--derive-steps")["devices"][0]["retained"]
    case.check(retained["derived"], "steps can be derived")
    if case.differences:
        return
    case.check(retained["derived"]["confidence"] > 0.95, "they are sure")
    case.check(abs(retained["boundaries"] - case.facts["steps"]) <= 1,
               f"{retained['boundaries']} derived steps, {case.facts['steps']} were made")
    if "kept_bytes_per_step" in case.facts:
        case.equal(retained["bytes_per_step"], case.facts["kept_bytes_per_step"], "bytes a derived step")
    elif "kept_bytes" in case.facts:
        case.equal(retained["bytes_per_step"], case.facts["kept_bytes"] // case.facts["kept"],
                   "bytes a derived step")
