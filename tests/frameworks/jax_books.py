"""JAX's memory in a trace against what JAX says itself: an independent judge.

usage: jax_books.py VENV STAGE WORK    one line for each allocator, and for each difference

jax/books.py runs under `vramscope run --softgpu` and leaves what `device.memory_stats()` says in the
trace, as marks. The trace is read by the reader of oracle.py, which shares nothing with the analyzer.

  each buffer    (cuda_async) bytes in use, their peak, number of allocations, the largest: those of
                 the blocks of the driver's pool
  pool           (the others) bytes that the allocator holds, and their peak: those of the segments;
                 with pre-allocation also JAX's limit

  nothing        (platform of old releases) each buffer is a segment, and JAX keeps no books

Which of them an allocator is, is written in MODES and OLD and not guessed from the trace.
"""
import json
import os
import subprocess
import sys

import oracle

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "jax", "books.py")
TIMEOUT = 300  # seconds; a hang, not a measurement
KEYS = ("bytes_in_use", "peak_bytes_in_use", "num_allocs", "largest_alloc_size", "bytes_limit",
        "pool_bytes", "peak_pool_bytes")
VMM = 5
REGION = 2 << 20  # a BFC takes at least that at a time; what is less, XLA took beside it
CARD = 4 << 30
USUAL_SHARE = 0.75

ALLOCATOR, PREALLOCATE = "XLA_PYTHON_CLIENT_ALLOCATOR", "XLA_PYTHON_CLIENT_PREALLOCATE"
FRACTION = "XLA_PYTHON_CLIENT_MEM_FRACTION"
WAYS = ["arrays", "kept", "compiled", "full"]

# name: (how it is judged, options of run, variables, share taken in advance or None)
MODES = {
    "default": ("pool", [], {}, USUAL_SHARE),
    "default, half of the card": ("pool", [], {FRACTION: "0.5"}, 0.5),
    "default, growing": ("pool", [], {PREALLOCATE: "false"}, None),
    "bfc": ("pool", [], {ALLOCATOR: "bfc"}, USUAL_SHARE),
    "platform": ("pool", [], {ALLOCATOR: "platform"}, None),
    "cuda_async": ("buffers", [], {ALLOCATOR: "cuda_async"}, None),
    "--jax-allocator": ("buffers", ["--jax-allocator"], {}, None),
    "--jax-allocator=platform": ("pool", ["--jax-allocator=platform"], {}, None),
}

OLD = {("0.6.2", "platform"): "nothing", ("0.6.2", "--jax-allocator=platform"): "nothing"}


class Memory:
    """What is held of some kinds of memory, and how much it was at most since begin()."""

    def __init__(self, kinds, least):
        self.kinds, self.least = kinds, least
        self.live = {}
        self.bytes = self.peak = self.count = self.largest = 0

    def begin(self):
        self.peak, self.count, self.largest = self.bytes, 0, 0

    def add(self, kind, address, size):
        if kind in self.kinds and size >= self.least:
            self.live[address] = size
            self.bytes += size
            self.peak = max(self.peak, self.bytes)
            self.count += 1
            self.largest = max(self.largest, size)

    def remove(self, kind, address):
        if kind in self.kinds:
            self.bytes -= self.live.pop(address, 0)


class Judge:
    def __init__(self, way, share):
        self.way, self.share = way, share
        self.memory = (Memory({oracle.ASYNC}, 0) if way == "buffers"
                       else Memory({VMM, oracle.DEVICE_MEMORY}, REGION))
        self.instants = {}
        self.compared, self.differences = 0, []

    def compare(self, what, said, found):
        self.compared += 1
        if said != found:
            self.differences.append(f"{what}: JAX says {said}, the trace has {found}")

    def judge(self, number, said):
        held, peak, count, largest = self.instants[number]
        if self.way == "buffers":
            found = {"bytes_in_use": held, "peak_bytes_in_use": peak, "num_allocs": count,
                     "largest_alloc_size": largest}
        else:
            found = {"pool_bytes": held, "peak_pool_bytes": peak}
        for key, value in found.items():
            self.compare(f"{key} at look {number}", said[key], value)
        if self.share and said["pool_bytes"]:
            self.compare("what is taken in advance", said["bytes_limit"], held)
            self.compare("its share of the card", int(CARD * self.share), held)

    def run(self, recorded):
        for kind, fields in recorded.events:
            if kind == oracle.ALLOC:
                self.memory.add(fields[0], fields[6], fields[7])
            elif kind == oracle.FREE:
                self.memory.remove(fields[0], fields[3])
            elif kind == oracle.MARK:
                self.read_mark(recorded.names.get(fields[0], "").split())
        if not self.compared:
            self.differences.append("nothing was compared")
        return self

    def read_mark(self, words):
        if words[:1] == ["begin"]:
            self.memory.begin()
        elif words[:1] == ["look"]:
            memory = self.memory
            self.instants[words[1]] = (memory.bytes, memory.peak, memory.count, memory.largest)
        elif words[:1] == ["books"] and words[2] == "none":
            self.compare("books", "none", "none" if self.way == "nothing" else self.way)
        elif words[:1] == ["books"]:
            self.judge(words[1], dict(zip(KEYS, map(int, words[2:]))))


def ask(vramscope, trace):
    """What the report says of JAX."""
    done = subprocess.run([vramscope, "report", "--json", trace], capture_output=True, text=True,
                          check=True)
    told = json.loads(done.stdout)
    return told["jax_allocator"], told["devices"][0]["jax"]


def compare_lines(vramscope, trace, judge):
    """Whose memory it is: the line of books.py that makes eight arrays."""
    with open(PROGRAM, encoding="utf-8") as file:
        line = next(i for i, text in enumerate(file, 1) if "MIB + 1000 * i" in text)
    done = subprocess.run([vramscope, "sites", "--json", "--top", "1000", trace], check=True,
                          capture_output=True, text=True)
    sites = [site for site in json.loads(done.stdout)["devices"][0]["sites"]
             if site["domain"] == "device" and site["site"].startswith(f"books.py:{line} arrays ")]
    if judge.way == "pool":
        judge.compare("there is memory of the line", True, bool(sites))
    else:
        judge.compare("allocations of the line", 8, sum(site["allocs"] for site in sites))


def compare_report(vramscope, trace, judge, mode, version):
    _, options, settings, share = MODES[mode]
    chosen, jax = ask(vramscope, trace)
    option = (options[0].partition("=")[2] or "cuda_async") if options else None
    judge.compare("the label", option, chosen)
    judge.compare("the label of the device", bool(option), jax["chosen_by_option"])
    judge.compare("release", version, jax["version"])
    judge.compare("allocator", option or settings.get(ALLOCATOR, "default"), jax["allocator"])
    judge.compare("hidden", judge.way == "pool", jax["buffers_hidden"])
    judge.compare("in advance", int(CARD * share) if share else 0,
                  jax["preallocated_bytes"] if judge.way == "pool" else 0)


def find_blind_spot(recorded, way, share):
    """A change of the trace that the judge does not notice, or None: a block more, or a larger one."""
    kinds = Judge(way, share).memory.kinds
    begin = next(i for i, (kind, fields) in enumerate(recorded.events)
                 if kind == oracle.MARK and recorded.names.get(fields[0]) == "begin")
    first = next(i for i, (kind, fields) in enumerate(recorded.events)
                 if i > begin and kind == oracle.ALLOC and fields[0] in kinds)
    kind, fields = recorded.events[first]
    whole = recorded.events
    for name, changed in (("larger", [(kind, [*fields[:7], fields[7] + 256])]),
                          ("more", [(kind, fields), (kind, [*fields[:6], 4096, REGION])]),
                          ("less", [])):
        recorded.events = whole[:first] + changed + whole[first + 1:]
        is_noticed = Judge(way, share).run(recorded).differences
        recorded.events = whole
        if not is_noticed:
            return name
    return None


def run(venv, stage, work, mode, version):
    """(numbers compared, differences)"""
    way, options, settings, share = MODES[mode]
    way = OLD.get((version, mode), way)
    trace = os.path.join(work, f"{os.path.basename(venv)}-{mode.replace(' ', '')}.vscope")
    vramscope = os.path.join(stage, "bin", "vramscope")
    command = [vramscope, "run", f"--softgpu={CARD}", *options, "-o", trace, "--",
               os.path.join(venv, "bin", "python"), "-B", PROGRAM, *WAYS]
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("XLA_", "JAX_", "SOFTGPU_", "VRAMSCOPE_"))}
    done = subprocess.run(command, env=kept | settings, capture_output=True, text=True,
                          errors="replace", timeout=TIMEOUT, check=False)
    if done.returncode:
        return 0, [f"ended with {done.returncode}: {done.stderr[-600:]}"]
    recorded = oracle.Recorded(trace)
    judge = Judge(way, share).run(recorded)
    blind = way != "nothing" and find_blind_spot(recorded, way, share)
    if blind:
        judge.differences.append(f"the judge does not notice: {blind}")
    compare_report(vramscope, trace, judge, mode, version)
    compare_lines(vramscope, trace, judge)
    os.remove(trace)
    return judge.compared, judge.differences


WHAT = {"buffers": "each buffer: bytes in use, peak, number, largest",
        "pool": "the pool: bytes held, peak",
        "nothing": "no memory numbers: JAX keeps no books; only that, and our labels"}


def check_back_off(venv, stage, work):
    """What differs: what JAX gets in smaller pieces has recovered, and what it does not is one failure."""
    trace = os.path.join(work, f"{os.path.basename(venv)}-backing-off.vscope")
    vramscope = os.path.join(stage, "bin", "vramscope")
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("XLA_", "JAX_", "SOFTGPU_", "VRAMSCOPE_"))}
    done = subprocess.run([vramscope, "run", "--softgpu=1G", "-o", trace, "--",
                           os.path.join(venv, "bin", "python"), "-B",
                           os.path.join(HERE, "jax", "backing_off.py")],
                          env=kept | {PREALLOCATE: "false"}, capture_output=True, text=True,
                          errors="replace", timeout=TIMEOUT, check=False)
    if done.returncode:
        return f"ended with {done.returncode}: {done.stderr[-600:]}"
    told = json.loads(subprocess.run([vramscope, "why", "--json", trace], capture_output=True,
                                     text=True, timeout=TIMEOUT, check=True).stdout)
    os.remove(trace)
    failures = sum(verdict["failures"] for verdict in told["verdicts"])
    recovered = sum(device["requests"] for device in told["recovered"])
    if (failures, recovered > 0) != (int(done.stdout.split()[-1]), True):
        return f"{failures} failures, {recovered} recovered; JAX says: {done.stdout}"
    return ""


def compare(venv, stage, work):
    """(how many allocators went wrong, a table of them)"""
    failures = 0
    os.makedirs(work, exist_ok=True)
    version = os.path.basename(venv).rpartition("-")[2]
    rows = ["`device.memory_stats()` after every step, against the trace:", "",
            "| allocator | compared | numbers | differences |", "|---|---|---|---|"]
    for mode in MODES:
        compared, differences = run(venv, stage, work, mode, version)
        print(f"  books, {mode}: {compared} numbers, {len(differences)} differences", flush=True)
        for difference in differences[:10]:
            print(f"    {difference}")
        failures += bool(differences)
        what = WHAT[OLD.get((version, mode), MODES[mode][0])]
        wrong = f"**{len(differences)}**, **no**" if differences else "0"
        rows.append(f"| {mode} | {what} | {compared} | {wrong} |")
    wrong = check_back_off(venv, stage, work)
    print(f"  a pool that backs off: {wrong or 'as JAX says'}", flush=True)
    return failures + bool(wrong), "\n".join(rows) + "\n"


if __name__ == "__main__":
    sys.exit(1 if compare(*sys.argv[1:4])[0] else 0)
