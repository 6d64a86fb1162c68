"""The five questions as real TensorFlow programs: what vramscope says of each, against TensorFlow's books.

usage: tf_questions.py VENV STAGE    one line for each program, and for each difference

A program in CHECKS (samples/tensorflow) ends with a line of JSON: facts that it knows from TensorFlow itself,
or by how it is made. They share nothing with the recorder or the analyzer.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

from case import Case, Verdict, check_derived_steps, check_verdict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CARD = "4G"
JOBS = 2  # a process of TensorFlow takes up to 2 GB
TIMEOUT = 300  # seconds; a hang, not a measurement

# The pool at an out-of-memory, in words of `pools[].then` and of samples/tensorflow/books.py.
STATE = {"held_bytes": "reserved_bytes", "block_bytes": "live_bytes", "blocks": "blocks",
         "requested_bytes": "requested_bytes", "hole_bytes": "hole_bytes", "holes": "holes",
         "largest_hole_bytes": "largest_hole_bytes"}


class DeviceCase(Case):
    """TensorFlow may have a pool of pinned memory beside the one of the device."""

    def pool_of(self, device):
        return next(pool for pool in device["pools"] if pool["name"] == "TensorFlow GPU_0_bfc")


def check_always(case):
    """What holds of every program: nothing lost, and the peak is TensorFlow's."""
    case.equal((case.report["complete"], case.report["lost_events"]), (True, 0), "complete, lost")
    case.equal(case.device["peak_live_bytes"], case.facts["peak_live_bytes"], "peak")
    case.equal(case.ask("check")["wrong"], 0, "vramscope check: wrong")


def check_map(case):
    """The pool at its out-of-memory is as TensorFlow's own memory map has it."""
    frag = case.ask("frag", "--at", "oom")["devices"][0]
    case.same(case.pool_of(frag)["then"], case.facts["oom"], STATE)
    return frag


def check_varying_lengths(case):
    found, frag = case.device["last_oom"], check_map(case)
    case.equal((found["cause"], found["requested_bytes"], found["pool"]),
               ("fragmentation", case.facts["wanted_bytes"], case.pool["name"]), "cause, size, pool")
    keepers = [site for site in frag["neighbours"] if case.is_from(site, "self.bank.append")]
    case.equal(sum(site["blocks"] for site in keepers), case.facts["kept"],
               "features beside holes")


def check_kept_outputs(case):
    facts = case.facts
    case.equal(case.device["last_oom"]["cause"], "retention", "cause")
    case.equal(case.pool["limit_bytes"], facts["limit_bytes"], "limit")
    retained = case.ask("retained")["devices"][0]["retained"]
    growing = [site for site in retained["sites"] if site["growing"]]
    case.equal([site["bytes_per_step"] for site in growing], [facts["kept_bytes_per_step"]],
               "bytes a step of what grows")
    for site in growing:
        case.check(case.is_from(site, "self.history.append"), f"it is kept elsewhere: {site['site']}")
    check_words(case)


def check_words(case):
    """TensorFlow's dump, which the launcher had it write: it is told, and says what we do."""
    text = subprocess.run([case.vramscope, "why", case.trace], capture_output=True, text=True,
                          timeout=TIMEOUT, check=True).stdout
    said = re.search(r"says (\d+) chunks in use, (\d+) bytes \((\d+) requested\); (\d+) free, (\d+) "
                     r"bytes, the largest (\d+); fragmentation ([\d.]+)", " ".join(text.split()))
    if not said:
        case.differences.append("TensorFlow's dump is not told")
        return
    then = case.pool_of(case.ask("frag", "--at", "oom")["devices"][0])["then"]
    case.equal([int(number) for number in said.groups()[:6]],
               [then[name] for name in ("blocks", "block_bytes", "requested_bytes", "holes",
                                        "hole_bytes", "largest_hole_bytes")], "our map")
    case.check(abs(float(said[7]) - then["fragmentation"]) < 0.001, "another fragmentation")


def check_full_pool(case):
    facts, found = case.facts, case.device["last_oom"]
    case.equal((found["cause"], found["pool"], found["requested_bytes"], found["free_bytes"]),
               ("pool", None, facts["wanted_bytes"], facts["driver_free_bytes"]),
               "cause, pool, size, free")
    then = case.pool_of(case.ask("frag", "--at", "oom")["devices"][0])["then"]
    case.equal(then["block_bytes"], facts["live_bytes"], "live in the pool")
    case.check(then["releasable_bytes"] >= facts["wanted_bytes"] - facts["driver_free_bytes"],
               f"not enough to give back: {then['releasable_bytes']}")


def check_greedy(case):
    """What it takes: all that it may, at once; or little more than it needs."""
    mode, facts = case.facts["mode"], case.facts
    held = case.pool_of(case.ask("frag", "--at", "peak")["devices"][0])["then"]["held_bytes"]
    needed, limit = facts["needed_bytes"], case.pool["limit_bytes"]
    told = case.ask("info")["facts"]["tensorflow.pool.GPU_0_bfc"]
    how = "taken as they are needed" if mode == "growth" else "taken at once"
    case.equal(told, f"limit {limit} bytes, {how}", "how it takes memory")
    if mode == "growth":
        case.check(needed <= held < 2 * needed + (4 << 20), f"held: {held}, needed: {needed}")
    else:
        case.equal(held, limit, "held")
    if mode == "limit":
        case.equal(limit, facts["limit_bytes"], "limit")
    case.equal(case.device["ooms"], 1 if mode == "default" else 0, "out-of-memories")


def check_phases(case):
    facts, failed = case.facts, case.facts["failed"]
    check_map(case)
    case.equal(case.device["last_oom"]["at"]["phase"], failed["phase"], "phase of the failure")
    case.equal(case.device["peak_live_at"]["phase"], facts["peak_phase"], "phase of the peak")
    phases = {phase["path"]: phase for phase in case.ask("phases")["devices"][0]["phases"]}
    for name in dict.fromkeys(row["phase"] for row in facts["phases"]):
        rows = [row for row in facts["phases"] if row["phase"] == name]
        found = next(phase for path, phase in phases.items() if path.rsplit("/")[-1] == name)
        case.same(found["first"], rows[0], {"live_at_begin_bytes": "begin_bytes",
                                            "live_at_end_bytes": "end_bytes",
                                            "peak_live_bytes": "peak_bytes"})
        rows += [failed] if name == failed["phase"] else []
        case.equal(found["visits"], len(rows), f"visits of {name}")
        case.equal(found["peak_live_bytes"], max(row["peak_bytes"] for row in rows),
                   f"peak in {name}")


CHECKS = {
    ("varying_lengths",): check_varying_lengths,
    ("kept_outputs",): check_kept_outputs,
    ("full_pool",): check_full_pool,
    ("greedy", "default"): check_greedy,
    ("greedy", "growth"): check_greedy,
    ("greedy", "limit"): check_greedy,
    ("phases",): check_phases,
}


# What `why` must say; None: nothing ran out, and there is nothing to explain.
VERDICTS = {
    ("varying_lengths",): Verdict("fragmentation", "self.bank.append",
                                  ["move-pins", "same-sizes", "async-allocator"],
                                  ["smaller-batch", "raise-limit", "expandable-segments"]),
    ("kept_outputs",): Verdict("retention", "self.history.append", ["keep-numbers"],
                               ["raise-limit", "smaller-batch", "function"]),
    ("full_pool",): Verdict("pool", "tf.matmul(tf.zeros([batch, WIDTH]), weight)",
                            ["logical-limit", "smaller-peak"],
                            ["trim", "empty-cache", "smaller-batch", "grow"]),
    ("greedy", "default"): Verdict("preallocation", "layers = [tf.Variable", ["grow", "logical-limit"],
                                   ["raise-limit", "smaller-batch", "end-others"]),
    ("greedy", "growth"): None,
    ("greedy", "limit"): None,
    ("phases",): Verdict("limit", "hidden = tf.nn.relu(tf.matmul(hidden, layer))", ["raise-limit"],
                         ["grow", "smaller-batch", "end-others"]),
}


def check_why(case, name):
    if VERDICTS[name]:
        check_verdict(case, VERDICTS[name])
    else:
        case.equal(case.ask("why")["verdicts"], [], "verdicts")
    if "kept" in case.facts:
        check_derived_steps(case)


def judge(venv, stage, name):
    """What differs, one a line."""
    program = os.path.join(ROOT, "samples", "tensorflow", name[0] + ".py")
    vramscope = os.path.join(stage, "bin", "vramscope")
    environment = os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONDONTWRITEBYTECODE": "1",
                                "PYTHONPATH": os.path.join(stage, "share", "vramscope", "python")}
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "q.vscope")
        done = subprocess.run([vramscope, "run", f"--softgpu={CARD}", "-o", trace, "--",
                               os.path.join(venv, "bin", "python"), program, *name[1:]],
                              env=environment, capture_output=True, text=True, errors="replace",
                              timeout=TIMEOUT, check=False)
        if done.returncode:
            return f"status {done.returncode}\n{done.stderr[-1000:]}"
        try:
            case = DeviceCase(vramscope, trace, json.loads(done.stdout.splitlines()[-1]), program)
            check_always(case)
            CHECKS[name](case)
            check_why(case, name)
        except (ValueError, KeyError, StopIteration) as error:
            return f"{type(error).__name__}: {error}"
    return "\n".join(case.differences)


def compare(venv, stage):
    """How many programs went wrong."""
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        texts = pool.map(lambda name: judge(venv, stage, name), CHECKS)
    wrong = {name: text for name, text in zip(CHECKS, texts) if text}
    print(f"  questions: {len(CHECKS) - len(wrong)} of {len(CHECKS)} programs went well")
    for name, text in wrong.items():
        print(f"    FAILED {' '.join(name)}: {text}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(1 if compare(*sys.argv[1:3]) else 0)
