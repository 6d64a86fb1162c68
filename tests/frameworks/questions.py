"""The five questions as real training programs: what vramscope says of each, against torch's books.

usage: questions.py --stage DIR --work DIR

A program in CHECKS ends with a line of JSON: facts that it knows from torch itself, or by how it is
made. They share nothing with the recorder or the analyzer. Each runs under `vramscope run --softgpu`
in every release of torch that releases.py names; what differs is printed.
"""
import argparse
import collections
import concurrent.futures
import json
import os
import subprocess
import sys
import tempfile
import time

import releases
from case import Case, Verdict, check_derived_steps, check_verdict
from install import Skipped, install
from run import ROOT, environment

TIMEOUT = 300  # seconds; a hang, not a measurement


# The state of the pool, in words of `pools[].then` and of samples/torch/books.py.
STATE = {"held_bytes": "reserved_bytes", "segments": "segments", "block_bytes": "live_bytes",
         "blocks": "blocks", "hole_bytes": "hole_bytes", "holes": "holes",
         "largest_hole_bytes": "largest_hole_bytes", "releasable_bytes": "releasable_bytes"}


def check_always(case):
    """What holds of every program: nothing lost, all counts and peaks are torch's own."""
    facts, end = case.facts, case.facts["end"]
    case.equal((case.report["complete"], case.report["lost_events"]), (True, 0), "complete, lost")
    case.same(case.pool, end, {"allocs": "allocs", "frees": "frees", "ooms": "ooms",
                               "bytes_allocated": "bytes_allocated",
                               "live_at_end_bytes": "live_bytes", "live_at_end_count": "blocks"})
    case.same(case.device, facts, {"peak_live_bytes": "peak_live_bytes",
                                   "peak_reserved_bytes": "peak_reserved_bytes"})
    case.equal(case.device["reserved_at_end_bytes"], end["reserved_bytes"], "reserved at the end")
    case.same(case.ask("peak")["devices"][0], facts, {"peak_live_bytes": "peak_live_bytes"})
    case.equal(case.ask("check")["wrong"], 0, "vramscope check: wrong")


def segment_of(size):
    """What torch asks the driver for when a request of this size fits nowhere."""
    small, large = 1 << 20, 10 << 20
    if size < large:
        return 2 << 20 if size <= small else 20 << 20
    return (size + (2 << 20) - 1) >> 21 << 21


def check_oom(case):
    """The pool at its out-of-memory, which torch's observer looked at too."""
    oom = case.facts["oom"]
    found = case.device["last_oom"]
    case.equal(segment_of(found["requested_bytes"]), oom["segment_bytes"], "bytes requested")
    case.equal(found["pool"], case.pool["name"], "the pool that failed")
    case.equal(found["free_bytes"], oom["driver_free_bytes"], "free as the driver says")
    frag = case.ask("frag", "--at", "oom")["devices"][0]
    case.same(case.pool_of(frag)["then"], oom, STATE)
    return found, frag


def check_varying_lengths(case):
    facts = case.facts
    found, frag = check_oom(case)
    case.equal(found["cause"], "fragmentation", "cause")
    case.same(found, facts["oom"], {"hole_bytes": "hole_bytes",
                                    "largest_hole_bytes": "largest_hole_bytes"})
    keepers = [site for site in frag["neighbours"]
               if case.is_from(site, "self.bank.append(hidden")]
    case.equal(sum(site["blocks"] for site in keepers), facts["oom"]["beside_holes"],
               "features beside holes")
    case.equal(sum(site["bytes"] for site in keepers), facts["oom"]["beside_holes_bytes"],
               "their bytes")


def check_kept_losses(case):
    facts = case.facts
    found, _ = check_oom(case)
    case.equal(found["cause"], "retention", "cause")
    retained = case.ask("retained")["devices"][0]["retained"]
    case.equal(retained["growing"], True, "growing")
    case.equal(retained["bytes_per_step"], facts["kept_bytes_per_step"], "bytes a step")
    growing = [site for site in retained["sites"] if site["growing"]]
    case.equal(sum(site["bytes_per_step"] for site in growing), facts["kept_bytes_per_step"],
               "bytes a step, by sites")
    for site in growing:
        case.check(case.is_from(site, "self.history.append"),
                   f"a growing site is not on the way to the history: {site['site']}")


def check_kept_outputs(case):
    """Nothing is marked: epochs are told by what repeats."""
    facts = case.facts
    found, _ = check_oom(case)
    case.equal(found["cause"], "retention", "cause")
    retained = case.ask("retained")["devices"][0]["retained"]
    case.equal((retained["unit"], retained["growing"]), ("round", True), "unit, growing")
    case.equal(retained["bytes_per_step"], facts["kept_bytes_per_epoch"], "bytes a round")
    case.check(abs(retained["boundaries"] - facts["epochs"]) <= 1,
               f"{retained['boundaries']} rounds of {facts['epochs']} epochs")


def check_driver_oom(case):
    """The last out-of-memory is not torch's: the driver had nothing left, and torch's pool did."""
    facts, found = case.facts, case.device["last_oom"]
    case.equal((found["pool"], found["requested_bytes"]), (None, facts["wanted_bytes"]),
               "pool and bytes requested")
    case.equal(found["free_bytes"], facts["driver_free_bytes"], "free as the driver says")
    case.equal(found["releasable_bytes"], facts["then"]["releasable_bytes"], "releasable")
    case.equal(case.device["ooms"], facts["end"]["ooms"] + 1, "out-of-memories")
    frag = case.ask("frag")["devices"][0]
    case.same(case.pool_of(frag)["then"], facts["then"], STATE)
    return found


def check_full_pool(case):
    case.equal(check_driver_oom(case)["cause"], "pool", "cause")


def check_greedy(case):
    facts = case.facts
    check_driver_oom(case)
    case.equal(case.device["where"]["live_bytes"], facts["then"]["live_bytes"], "live, of the card")
    takers = [site for site in case.ask("sites")["devices"][0]["sites"]
              if case.is_from(site, "torch.empty(size")]
    case.equal([(site["allocs"], site["bytes_allocated"]) for site in takers],
               [(1, facts["reserved_at_start_bytes"])], "taken at the start")


# What `why` must say of the last out-of-memory: see case.py.
VERDICTS = {
    "varying_lengths": Verdict("fragmentation", "self.bank.append(hidden",
                               ["expandable-segments", "move-pins"], ["smaller-batch"]),
    "kept_losses": Verdict("retention", "self.history.append", ["keep-numbers", "no-grad"],
                           ["expandable-segments", "smaller-batch"]),
    "kept_outputs": Verdict("retention", "outputs.append(self.model", ["keep-numbers", "no-grad"],
                            ["expandable-segments", "smaller-batch", "load-less"]),
    "full_pool": Verdict("pool", "model(torch.randn(batch", ["empty-cache"], ["smaller-batch", "expandable-segments"]),
    "greedy": Verdict("preallocation", "torch.empty(size", ["take-less"], ["empty-cache"]),
    "phases": Verdict("capacity", "self.model(inputs)",
                      ["smaller-batch", "accumulate", "mixed-precision", "checkpoint"],
                      ["expandable-segments", "smaller-model"]),
}


# A visit of a phase, in words of `phases` and of samples/torch/phases.py.
VISIT = {"live_at_begin_bytes": "begin_bytes", "live_at_end_bytes": "end_bytes",
         "peak_live_bytes": "peak_bytes", "peak_reserved_bytes": "peak_reserved_bytes"}


def check_phases(case):
    """Each visit that we tell of, and the peaks over all of them."""
    facts, failed = case.facts, case.facts["failed"]
    found, _ = check_oom(case)
    case.equal(found["at"]["phase"], failed["phase"], "phase of the failure")
    case.equal(case.device["peak_live_at"]["phase"], facts["peak_phase"], "phase of the peak")
    phases = {phase["path"]: phase for phase in case.ask("phases")["devices"][0]["phases"]}
    case.equal(list(phases), list(dict.fromkeys(row["phase"] for row in facts["phases"])), "phases")
    for name, phase in phases.items():
        rows = [row for row in facts["phases"] if row["phase"] == name]
        case.same(phase["first"], rows[0], VISIT)
        if name == failed["phase"]:
            rows.append(failed)
        else:
            case.same(phase["last"], rows[-1], VISIT)
        case.equal(phase["visits"], len(rows), f"visits of {name}")
        for ours, theirs in (("peak_live_bytes", "peak_bytes"),
                             ("peak_reserved_bytes", "peak_reserved_bytes")):
            case.equal(phase[ours], max(row[theirs] for row in rows), f"{ours} in {name}")


LEAST_TOLD = 0.9  # a share of the blocks whose role the program knows


def check_categories(case):
    """A category may be unclear, never wrong; and of what the program knows, most must be told."""
    sites = case.device["failures"]
    for moment, roles in case.facts["moments"].items():
        time, = (site["first_ns"] for site in sites
                 if case.is_from(site, f"mark()  # after {moment}"))
        found = case.ask("peak", "--at", f"{time}ns", "--blocks")["devices"][0]
        blocks = {block["address"]: block["category"] for block in found["blocks"]}
        case.equal(sorted(blocks), sorted(map(int, roles)), f"blocks after {moment}")
        if case.differences:
            return
        table = collections.Counter((role, blocks[int(address)]) for address, role in roles.items())
        case.roles += table
        for (role, category), nr in table.items():
            case.check(category in (role, "unclear") or role == "other",
                       f"after {moment}: {nr} x {role} taken for {category}")
        told = sum(nr for (role, category), nr in table.items() if category == role)
        known = sum(nr for (role, _), nr in table.items() if role != "other")
        case.check(told >= LEAST_TOLD * known, f"after {moment}: {told} of {known} blocks are told")


CHECKS = {
    "varying_lengths": check_varying_lengths,
    "kept_losses": check_kept_losses,
    "kept_outputs": check_kept_outputs,
    "full_pool": check_full_pool,
    "greedy": check_greedy,
    "phases": check_phases,
    "categories": check_categories,
}


# Programs that run several times.
ARGUMENTS = {
    "categories": [(way,) for way in ("plain", "sgd", "accumulate", "checkpoint", "mixed", "closure",
                                      "prefetch")],
}


class Run:
    """One release of torch."""

    def __init__(self, release, options):
        self.folder = install(release, options.work)
        self.python = os.path.join(self.folder, "bin", "python")
        self.vramscope = os.path.join(options.stage, "bin", "vramscope")
        self.environment = environment(releases.Program("", []))

    def record(self, program, argument, trace):
        """The facts that the program printed."""
        command = [self.vramscope, "run", f"--softgpu={releases.QUESTIONS_CARD}", "-o", trace, "--",
                   self.python, program, *argument]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True,
                              timeout=TIMEOUT, check=False)
        if done.returncode:
            raise ValueError(f"status {done.returncode}\n{done.stdout}{done.stderr}")
        return json.loads(done.stdout.splitlines()[-1])

    def compare(self, name, *argument):
        """(what differs, one a line; blocks by their roles)"""
        program = os.path.join(ROOT, "samples", "torch", name + ".py")
        with tempfile.TemporaryDirectory(dir=self.folder) as traces:
            trace = os.path.join(traces, name + ".vscope")
            try:
                case = Case(self.vramscope, trace, self.record(program, argument, trace), program)
                check_always(case)
                CHECKS[name](case)
                if name in VERDICTS:
                    check_verdict(case, VERDICTS[name])
                if "kept" in case.facts:
                    check_derived_steps(case)
            except (ValueError, KeyError, subprocess.TimeoutExpired) as error:
                return f"{type(error).__name__}: {error}", collections.Counter()
        return "\n".join(case.differences), case.roles


def run_release(release, options):
    """The number of runs that went wrong; says what did."""
    run, begin = Run(release, options), time.monotonic()
    names = [(name, *argument) for name in releases.QUESTIONS
             for argument in ARGUMENTS.get(name, [()])]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = dict(zip(names, pool.map(lambda name: run.compare(*name), names)))
    wrong = {name: text for name, (text, _) in results.items() if text}
    roles = sum((roles for _, roles in results.values()), collections.Counter())
    print(f"torch {release.version}, questions: {len(names) - len(wrong)} of {len(names)} runs went "
          f"well ({time.monotonic() - begin:.0f} s)")
    print("  blocks by their role, and by us: " + ", ".join(
        f"{role} as {category} {nr}" for (role, category), nr in sorted(roles.items())))
    for name, text in wrong.items():
        print(f"  FAILED {' '.join(name)}: {text}")
    return len(wrong)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stage", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()
    options.stage, options.work = os.path.abspath(options.stage), os.path.abspath(options.work)
    failures = 0
    for release in releases.RELEASES:
        if release.framework != "torch":
            continue
        try:
            failures += run_release(release, options)
        except Skipped as reason:
            print(f"SKIP torch {release.version}, questions: {reason}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
