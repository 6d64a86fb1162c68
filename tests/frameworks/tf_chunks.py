"""The allocators of a TensorFlow wheel, driven by a program of ours, against their chunks in a trace.

usage: tf_chunks.py VENV STAGE WORK [SEED]    one line for each way to run, and for each difference

tensorflow/bfc_storm.cc is compiled with the wheel's own headers and linked with its library. It prints what
the allocators say of themselves (RecordMemoryMap), and leaves a mark in the trace at each of these
instants. The trace is read by the reader of oracle.py; every chunk in use must be a block, with its
address, its size and what was asked for, every free one a hole of the segments at that place, and the other
way round. What the analyzer says of the pools at the last instant must be the same sums.
"""
import hashlib
import json
import os
import subprocess
import sys

import oracle

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.join(HERE, "tensorflow", "bfc_storm.cc")
TIMEOUT = 600  # seconds; a hang, not a measurement
BLOCK_ASKED, POOL_END = 40, 26

# The second needs no GPU, nor anything that looks like one: TensorFlow's own memory of the host.
WAYS = {
    "driver": (["--softgpu=1G"], {}),
    "host": ([], {"VRAMSCOPE_HOST_POOLS": "1"}),
}


class Map:
    """What an allocator said at one instant."""

    def __init__(self, name):
        self.name, self.used, self.free = name, {}, {}


def read_maps(text):
    maps = []
    for line in text.splitlines():
        words = line.split()
        if words[:1] == ["map"]:
            maps.append(Map(words[2]))
        elif words[:1] == ["chunk"]:
            address, size, asked, is_used = map(int, words[1:])
            if is_used:
                maps[-1].used[address] = (size, asked)
            else:
                maps[-1].free[address] = size
    return maps


class Judge:
    """Replays the trace; compares at each mark. has_segments: the memory is the driver's."""

    def __init__(self, trace, maps, has_segments):
        self.recorded = oracle.Recorded(trace)
        self.maps, self.has_segments = maps, has_segments
        self.blocks = {}  # pool: {address: (size, asked)}
        self.segments = {}
        self.last = {}  # thread: (pool, address)
        self.compared, self.differences = 0, []

    def holes(self, blocks):
        """What of the segments is in no block. Regions next to each other are not one for BFC, either."""
        found = {}
        for base, size in self.segments.items():
            at = base
            for address in sorted(a for a in blocks if base <= a < base + size):
                if address > at:
                    found[at] = address - at
                at = address + blocks[address][0]
            if at < base + size:
                found[at] = base + size - at
        return found

    def differ(self, what, ours, theirs):
        self.compared += len(theirs)
        for key in sorted(ours.keys() | theirs.keys()):
            if ours.get(key) != theirs.get(key):
                self.differences.append(f"{what} {key:#x}: {ours.get(key)} in the trace, "
                                        f"{theirs.get(key)} by TensorFlow")

    def compare(self, number):
        said = self.maps[number]
        pools = [pool for pool, (_, _, name) in self.recorded.pools.items()
                 if name == f"TensorFlow {said.name}" and pool in self.blocks]
        blocks = self.blocks[pools[-1]] if pools else {}
        self.differ(f"map {number}, chunk", blocks, said.used)
        if self.has_segments:
            self.differ(f"map {number}, hole", self.holes(blocks), said.free)

    def run(self):
        seen = []
        for kind, thread, fields in self.recorded.by_thread:
            if kind == oracle.ALLOC:
                self.segments[fields[-2]] = fields[-1]
            elif kind == oracle.FREE:
                self.segments.pop(fields[-1], None)
            elif kind == oracle.BLOCK_ALLOC:
                pool, _, address, size = fields
                if address in self.blocks.setdefault(pool, {}):
                    self.differences.append(f"{address:#x} was given out twice")
                self.blocks[pool][address] = (size, size)
                self.last[thread] = pool, address
            elif kind == BLOCK_ASKED:
                pool, address = self.last[thread]
                self.blocks[pool][address] = (self.blocks[pool][address][0], fields[0])
            elif kind == oracle.BLOCK_FREE:
                if not self.blocks[fields[0]].pop(fields[2], None):
                    self.differences.append(f"{fields[2]:#x} was freed and never given out")
            elif kind == oracle.MARK:
                name = self.recorded.names[fields[0]]
                if name.startswith("map "):
                    seen.append(int(name.split()[1]))
                    self.compare(seen[-1])
        if seen != list(range(len(self.maps))) or not seen:
            self.differences.append(f"{len(seen)} marks for {len(self.maps)} maps")
        return self


def compile_storm(venv, work):
    """The path of the program."""
    package = next(os.path.join(folder, "tensorflow") for folder in sys_path(venv)
                   if os.path.isdir(os.path.join(folder, "tensorflow", "include")))
    package = os.path.realpath(package)
    # It has the path of its library in it: one of a checkout that is gone is of no use.
    place = hashlib.sha256(package.encode()).hexdigest()[:12]
    program = os.path.join(work, f"{os.path.basename(venv)}-{place}-bfc_storm")
    if os.path.exists(program) and os.path.getmtime(program) > os.path.getmtime(SOURCE):
        return program
    command = ["g++", "-std=c++17", "-O1", "-w", "-D_GLIBCXX_USE_CXX11_ABI=1",
               f"-I{package}/include", "-o", program, SOURCE, f"-L{package}",
               "-l:libtensorflow_framework.so.2", f"-Wl,-rpath,{package}", "-ldl", "-pthread"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ValueError(f"bfc_storm.cc does not compile: {done.stderr[-2000:]}")
    return program


def sys_path(venv):
    done = subprocess.run([os.path.join(venv, "bin", "python"), "-c",
                           "import json, sys; print(json.dumps(sys.path))"],
                          capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def blind_spots(trace, maps, has_segments):
    """Changes of what TensorFlow said that are not noticed."""
    def change_size(said):
        address = next(iter(said.used))
        said.used[address] = (said.used[address][0] + 256, said.used[address][1])

    def change_asked(said):
        address = next(iter(said.used))
        said.used[address] = (said.used[address][0], said.used[address][1] + 1)

    def change_address(said):
        address = next(iter(said.used))
        said.used[address + 256] = said.used.pop(address)

    def change_hole(said):
        said.free[next(iter(said.free))] += 256

    changes = {"size": change_size, "size asked for": change_asked, "address": change_address}
    if has_segments:
        changes["hole"] = change_hole
    busy = next(i for i, said in enumerate(maps) if said.used and said.free)
    for name, change in changes.items():
        copy = Map(maps[busy].name)
        copy.used, copy.free = dict(maps[busy].used), dict(maps[busy].free)
        change(copy)
        changed = maps[:busy] + [copy] + maps[busy + 1:]
        if not Judge(trace, changed, has_segments).run().differences:
            yield f"another {name} is not noticed"


def run(venv, stage, work, way, seed):
    """(numbers compared, differences)"""
    options, settings = WAYS[way]
    trace = os.path.join(work, f"{os.path.basename(venv)}-storm-{way}.vscope")
    command = [os.path.join(stage, "bin", "vramscope"), "run", *options, "-o", trace, "--",
               compile_storm(venv, work), way, str(seed)]
    done = subprocess.run(command, env=os.environ | settings | {"TF_CPP_MIN_LOG_LEVEL": "3"},
                          capture_output=True, text=True, errors="replace", timeout=TIMEOUT,
                          check=False)
    if done.returncode:
        return 0, [f"ended with {done.returncode}: {done.stderr[-300:]}"]
    maps = read_maps(done.stdout)
    judge = Judge(trace, maps, way == "driver").run()
    differences = judge.differences or list(blind_spots(trace, maps, way == "driver"))
    checked = subprocess.run([os.path.join(stage, "bin", "vramscope"), "check", "-q", trace],
                             capture_output=True, text=True, check=False)
    if checked.returncode:
        differences.append(f"vramscope check: {checked.stdout}{checked.stderr}")
    return judge.compared, differences


def compare(venv, stage, work, seeds=(1, 2)):
    """How many runs went wrong."""
    failures = 0
    os.makedirs(work, exist_ok=True)
    for way in WAYS:
        compared, differences = 0, []
        for seed in seeds:
            try:
                nr, found = run(venv, stage, work, way, seed)
            except ValueError as error:
                nr, found = 0, [str(error)]
            compared, differences = compared + nr, differences + found
        print(f"  chunks of its allocators in memory of the {way}: {compared} compared, "
              f"{len(differences)} differences")
        for difference in differences[:10]:
            print(f"    {difference}")
        failures += bool(differences)
    return failures


if __name__ == "__main__":
    sys.exit(1 if compare(*sys.argv[1:4], *([(int(sys.argv[4]),)] if sys.argv[4:] else [])) else 0)
