"""TensorFlow's chunks in a trace against what TensorFlow says itself: an independent judge.

usage: tf_books.py VENV STAGE WORK    one line for each way to run, and for each difference

tensorflow/books.py runs under `vramscope run --softgpu` and leaves TensorFlow's own numbers in the
trace, as marks. The trace is read by the reader of oracle.py, which shares nothing with the analyzer;
bytes in use and their peak must be those of the chunks at every mark.

The last mode needs no GPU, nor anything that looks like one: TF_CPU_ALLOCATOR_USE_BFC makes TensorFlow
divide its memory of the host by the same allocator, and VRAMSCOPE_HOST_POOLS records it.
"""
import concurrent.futures
import json
import os
import re
import subprocess
import sys

import oracle

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "tensorflow", "books.py")
TYPES = os.path.join(HERE, "..", "..", "analyzer", "element_types.def")
TELL_TYPES = """
import json
import tensorflow as tf
names = {}
for number in range(1, 100):
    try:
        names[number] = tf.dtypes.as_dtype(number).name
    except (TypeError, KeyError):
        pass
print(json.dumps(names))
"""
DRIVER = 1  # owner of a pool
NO_DEVICE = -1  # of a pool: memory of the host
JOBS = 2  # a process of TensorFlow takes up to 2 GB
TIMEOUT = 300  # seconds; a hang, not a measurement

HOST = "host memory, without a GPU"
MODES = [
    ("pre-allocated", {}),
    ("growing", {"TF_FORCE_GPU_ALLOW_GROWTH": "true"}),
    ("logical device", {"BOOKS_LIMIT": "1024"}),
    ("cuda_malloc_async", {"TF_GPU_ALLOCATOR": "cuda_malloc_async"}),
    (HOST, {"BOOKS_DEVICE": "CPU:0", "TF_CPU_ALLOCATOR_USE_BFC": "1", "VRAMSCOPE_HOST_POOLS": "1"}),
]
WAYS = ["eager", "compiled", "keras_fit", "kept"]


def flatten(recorded):
    """(type, pool, address, size) of blocks; of the driver's pools too, and names of marks."""
    for kind, fields in recorded.events:
        if kind == oracle.ALLOC and fields[0] == oracle.ASYNC:
            yield oracle.BLOCK_ALLOC, fields[2], fields[-2], fields[-1]
        elif kind == oracle.FREE and fields[0] == oracle.ASYNC:
            yield oracle.BLOCK_FREE, None, fields[-1], 0
        elif kind == oracle.BLOCK_ALLOC:
            yield kind, fields[0], fields[2], fields[3]
        elif kind == oracle.BLOCK_FREE:
            yield kind, fields[0], fields[2], 0
        elif kind == oracle.MARK:
            yield kind, recorded.names.get(fields[0], ""), 0, 0


def judge(path, wanted_device):
    """(numbers compared, differences)"""
    recorded = oracle.Recorded(path)
    pools = {number for number, (owner, device, name) in recorded.pools.items()
             if (name.startswith("TensorFlow") or owner == DRIVER) and device == wanted_device}
    blocks = {}
    live = peak = compared = 0
    differences = []
    if len(pools) != 1:
        differences.append(f"pools of the device: {len(pools)}")
    for kind, pool, address, size in flatten(recorded):
        if kind == oracle.BLOCK_ALLOC and pool in pools:
            if address in blocks:
                differences.append(f"{address:#x} was given out twice")
            blocks[address] = size
            live += size
            peak = max(peak, live)
        elif kind == oracle.BLOCK_FREE and (pool in pools or pool is None):
            if address not in blocks:
                differences.append(f"{address:#x} was freed and never given out")
            live -= blocks.pop(address, 0)
        elif kind == oracle.MARK and pool.startswith("books "):
            said = [int(number) for number in pool.split()[1:]]
            compared += 2
            if said != [live, peak]:
                differences.append(f"TensorFlow says {said}, the trace has {[live, peak]}")
    if not compared:
        differences.append("nothing was compared")
    return compared, differences


def run(venv, stage, work, name, settings):
    file = "".join(c if c.isalnum() else "-" for c in name)
    trace = os.path.join(work, f"{os.path.basename(venv)}-{file}.vscope")
    options = [] if name == HOST else ["--softgpu=8G"]
    command = [os.path.join(stage, "bin", "vramscope"), "run", *options, "-o", trace, "--",
               os.path.join(venv, "bin", "python"), "-B", PROGRAM, *WAYS]
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", **settings)
    done = subprocess.run(command, env=environment, capture_output=True, text=True,
                          errors="replace", timeout=TIMEOUT, check=False)
    if done.returncode:
        return 0, [f"ended with {done.returncode}: {done.stderr[-300:]}"]
    return judge(trace, NO_DEVICE if name == HOST else 0)


def compare_types(venv):
    """Names of types: (numbers compared, differences). Later releases have more of them."""
    with open(TYPES, encoding="utf-8") as file:
        ours = {int(number): name for number, name in
                re.findall(r'^VS_ELEMENT_TYPE\((\d+), "(\w+)"\)$', file.read(), re.M)}
    done = subprocess.run([os.path.join(venv, "bin", "python"), "-B", "-c", TELL_TYPES],
                          env=dict(os.environ, TF_CPP_MIN_LOG_LEVEL="3"), capture_output=True,
                          text=True, errors="replace", timeout=TIMEOUT, check=False)
    if done.returncode:
        return 0, [f"types: ended with {done.returncode}: {done.stderr[-300:]}"]
    theirs = {int(number): name for number, name in
              json.loads(done.stdout.splitlines()[-1]).items()}
    return len(theirs), [f"type {number}: {ours.get(number)}, {name} by TensorFlow"
                         for number, name in theirs.items() if ours.get(number) != name]


def compare(venv, stage, work):
    """How many ways went wrong."""
    failures = 0
    os.makedirs(work, exist_ok=True)
    compared, differences = compare_types(venv)
    print(f"  names of types: {compared} compared, {len(differences)} differences")
    for difference in differences:
        print(f"    {difference}")
    failures += bool(differences) or not compared
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        results = pool.map(lambda mode: run(venv, stage, work, *mode), MODES)
    for (name, _), (compared, differences) in zip(MODES, results):
        print(f"  books, {name}: {compared} numbers, {len(differences)} differences")
        for difference in differences[:10]:
            print(f"    {difference}")
        failures += bool(differences)
    return failures


if __name__ == "__main__":
    sys.exit(1 if compare(*sys.argv[1:4]) else 0)
