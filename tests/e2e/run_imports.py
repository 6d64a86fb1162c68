#!/usr/bin/env python3
"""The import hook for Python programs: CuPy and RMM, by models of both, and what it leaves alone.

    run_imports.py CASE
"""
import glob
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(1, os.path.join(os.path.dirname(HERE), "python"))

import harness  # noqa: E402
import interpreters  # noqa: E402
from harness import SHIM, VRAMSCOPE, analyze, check, check_equal  # noqa: E402

MODELS = os.path.join(HERE, "models")
HOOK = os.path.join(os.path.dirname(SHIM), "python")
KIB, MIB = 1 << 10, 1 << 20
DEVICE_FILES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg")

CUPY = """
import threading
import cupy
pool = cupy.cuda.MemoryPool()
def make(size):
    return pool.malloc(size)
kept = [make(1 << 20), make(1000)]
del kept[1]
def work():
    kept.append(make(2 << 20))
thread = threading.Thread(target=work)
thread.start()
thread.join()
try:
    make(3 << 20)
except MemoryError:
    print("caught")
kept.pop().free()
"""

RMM = """
import rmm
import rmm.mr
own = rmm.mr.PoolMemoryResource(rmm.mr.CudaMemoryResource(), 4 << 20)
rmm.mr.set_current_device_resource(own)
assert rmm.mr.get_current_device_resource() is own
assert rmm.mr.get_per_device_resource(0) is own
def make(size):
    return rmm.DeviceBuffer(size=size)
kept = [make(1 << 20), make(1000)]
del kept[1]
try:
    make(4 << 20)
except MemoryError:
    print("caught")
kept.clear()
"""


def write(name, text):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text)
    return os.path.abspath(name)


def run(text, *options, python=(sys.executable,), env=None, status=0):
    """Runs the program under vramscope; (stdout, stderr without ours, the pools, by name)"""
    if os.path.exists("t.vscope"):
        os.remove("t.vscope")
    result = harness.run(VRAMSCOPE, "run", "--softgpu=1G", "-o", "t.vscope", *options, "--", *python,
                         "-B", write("train.py", text), env={"PYTHONPATH": MODELS, **(env or {})})
    check_equal(result.returncode, status, f"status of the program, which said {result.stderr}")
    pools = {}
    if os.path.exists("t.vscope"):
        analyze("check", "t.vscope")
        told = json.loads(analyze("report", "--json", "t.vscope"))
        pools = {pool["name"]: pool for device in told["devices"] for pool in device["pools"]}
    errors = [line for line in result.stderr.splitlines()
              if "t.vscope" not in line and "no CUDA call was seen" not in line]
    return result.stdout, errors, pools


def get_counts(pool):
    return tuple(pool[name] for name in ("allocs", "frees", "bytes_allocated", "live_at_end_bytes",
                                         "ooms"))


def get_sites():
    told = json.loads(analyze("sites", "--json", "t.vscope"))
    return [site["site"] for device in told["devices"] for site in device["sites"]]


def get_facts():
    return json.loads(analyze("info", "--json", "t.vscope"))["facts"]


def check_cupy(**how):
    stdout, errors, pools = run(CUPY, **how)
    check_equal((stdout, errors), ("caught\n", []), "what the program said")
    allocs, frees, allocated, _, ooms = get_counts(pools["CuPy"])
    check_equal((allocs, allocated, ooms), (3, 3 * MIB + KIB, 1), "CuPy's blocks")
    # What is left when the program ends is freed by the interpreter, or not.
    check(frees >= 2, f"{frees} frees")


def cupy_blocks_are_recorded():
    check_cupy()
    told = json.loads(analyze("report", "--json", "t.vscope"))
    check_equal(told["orphan_blocks"], 0, "blocks outside of memory of the driver")
    check_equal(told["devices"][0]["peak_reserved_bytes"], 4 * MIB, "bytes of the segment")
    sites = get_sites()
    for place in ("train.py:6 make < train.py:7 <module>", "train.py:6 make < train.py:10 work"):
        check(any(place in site for site in sites), f"{place} among {sites}")
    check(not any("vramscope_imports" in site or "postprocess" in site for site in sites),
          f"the hook is no part of {sites}")
    facts = get_facts()
    check_equal((facts["cupy.version"], facts["cupy.blocks"]),
                ("14.0.model", "recorded, by a MemoryHook"), "facts")


def rmm_pools_are_recorded():
    stdout, errors, pools = run(RMM)
    check_equal((stdout, errors), ("caught\n", []), "what the program said")
    check_equal(get_counts(pools["RMM"]), (2, 2, MIB + KIB, 0, 1), "RMM's blocks")
    check(any("train.py:9 make < train.py:10 <module>" in site for site in get_sites()),
          f"the line among {get_sites()}")
    check_equal(get_facts()["rmm.version"], "26.model", "fact")


def rmm_reinitialize_is_seen():
    _, errors, pools = run("""
import rmm
rmm.reinitialize(pool_allocator=True, initial_pool_size=2 << 20, devices=[0])
kept = rmm.DeviceBuffer(size=512 << 10)
assert type(rmm.mr.get_current_device_resource()).__name__ == "PoolMemoryResource"
del kept
""")
    check_equal((errors, pools["RMM"]["allocs"], pools["RMM"]["bytes_allocated"]),
                ([], 1, 512 * KIB), "RMM's blocks")


def rmm_without_a_pool_stays_as_it_is():
    stdout, errors, pools = run("""
import gc, weakref
import rmm, rmm.mr as mr
plain, ordered = mr.CudaMemoryResource(), mr.CudaAsyncMemoryResource()
for own in (plain, ordered, mr.StatisticsResourceAdaptor(plain), mr.PoolMemoryResource(ordered)):
    mr.set_current_device_resource(own)
    assert mr.current() is own, own
    rmm.DeviceBuffer(size=1 << 20)
own = mr.StatisticsResourceAdaptor(mr.PoolMemoryResource(plain))
mr.set_current_device_resource(own)
assert mr.current() is not own and mr.get_current_device_resource() is own
gone = weakref.ref(own)
mr.set_current_device_resource(plain)
del own
gc.collect()
print(gone())
""")
    check_equal((stdout, errors), ("None\n", []), "a resource that is replaced is not kept")
    check_equal(pools.get("RMM", {"allocs": 0})["allocs"], 0, "blocks")


def errors_do_not_reach_the_program():
    stdout, errors, pools = run(CUPY, env={"MODEL_CUPY_REFUSES": "1"})
    check_equal((stdout, errors, pools),
                ("caught\n", ["vramscope: what cupy does is not recorded: RuntimeError: no hooks "
                              "today"], {}), "one line, and the program goes on")


def strangers_of_the_same_name_are_left_alone():
    for name in ("cupy", "rmm", "jax"):
        write(name + ".py", "value = 7\n")
    text = "import cupy, rmm, jax; print(cupy.value + rmm.value + jax.value)\n"
    check_equal(run(text, env={"PYTHONPATH": ""}), ("21\n", [], {}), "what the program said")


def options_leave_the_hook_out():
    for option in ("--no-python-hook", "--no-pools"):
        stdout, errors, pools = run(CUPY + "import os\nprint(os.environ['PYTHONPATH'])\n", option)
        check_equal((stdout, errors, pools), (f"caught\n{MODELS}\n", [], {}), option)


def interpreters_without_site_go_without():
    start = f"import sys; sys.path.append({MODELS!r})\n"
    for option in ("-S", "-I", "-E"):
        stdout, errors, pools = run(start + CUPY, python=(sys.executable, option))
        check_equal((stdout, errors, pools), ("caught\n", [], {}), option)


def program_sees_no_difference():
    text = """
import sys
print(sys.path[1:], len(sys.meta_path), [n for n in sys.modules if "ctypes" in n])
print("sitecustomize" in sys.modules and getattr(sys.modules["sitecustomize"], "own", None))
"""
    script = write("plain.py", text)
    plain = harness.run(sys.executable, "-B", script, env={"PYTHONPATH": MODELS})
    stdout, errors, _ = run(text)
    path, rest = plain.stdout.split("]", 1)
    check(stdout.startswith(path), f"the path is {stdout}, was {path}")
    check_equal(errors, [], "what it said")
    check(" [" not in rest.splitlines()[0] or rest.splitlines()[0].endswith("[]"),
          f"modules without us: {rest}")
    check(stdout.splitlines()[0].endswith("[]"), f"modules with us: {stdout}")


def own_sitecustomize_still_runs():
    os.mkdir("site")
    write("site/sitecustomize.py", "import sys\nown = 7\nsys.stderr.write('customized\\n')\n")
    own = {"PYTHONPATH": os.path.abspath("site") + ":" + MODELS}
    text = "import sitecustomize\nprint(sitecustomize.own, sitecustomize.__file__)\n" + CUPY
    stdout, errors, pools = run(text, env=own)
    check_equal((stdout, errors), (f"7 {os.path.abspath('site/sitecustomize.py')}\ncaught\n",
                                   ["customized"]), "what both said")
    check_equal(pools["CuPy"]["allocs"], 3, "blocks")
    # Its error is told by Python, as without us.
    write("site/sitecustomize.py", "raise RuntimeError('no customs')\n")
    plain = harness.run(sys.executable, "-B", "-c", "print(1)", env=own)
    _, errors, _ = run("print(1)", env=own)
    check_equal(errors, plain.stderr.splitlines(), "what Python says of its error")
    check("no customs" in plain.stderr, f"that it fails: {plain.stderr}")


def find_old():
    """Interpreters from before the hook's time."""
    home = os.path.expanduser("~/.pyenv/versions")
    return [path for version in ("2.7", "3.6", "3.7")
            for path in sorted(glob.glob(f"{home}/{version}.*/bin/python{version}"))[-1:] or
            filter(None, [shutil.which("python" + version)])]


def old_interpreters_start_as_before():
    os.mkdir("site")
    write("site/sitecustomize.py", "own = 7\n")
    for python in find_old():
        stdout, errors, _ = run("import sys, sitecustomize\nprint(sitecustomize.own)\n"
                                "sys.exit(any('vramscope' in name for name in sys.modules))\n",
                                python=(python,), env={"PYTHONPATH": os.path.abspath("site")})
        check_equal((stdout, errors), ("7\n", []), f"what {python} says")
        check_equal(run("print(1)\n", python=(python,)), ("1\n", [], {}), f"{python} without one")
    print(*find_old())


def nothing_happens_without_the_recorder():
    script = write("train.py", CUPY + "print(cupy.cuda.memory_hook.get_memory_hooks())\n")
    done = harness.run(harness.SOFTGPU_RUN, "-m", "1G", sys.executable, "-B", script,
                       env={"PYTHONPATH": f"{HOOK}:{MODELS}"})
    check_equal((done.returncode, done.stdout, done.stderr), (0, "caught\nOrderedDict()\n", ""),
                "what the program said")


def all_interpreters_have_it():
    found = [version for version in interpreters.VERSIONS if interpreters.find(version)]
    check(found, "there is some interpreter")
    for version in found:
        check_cupy(python=(interpreters.find(version),))
        _, errors, pools = run(RMM, python=(interpreters.find(version),))
        check_equal((errors, pools["RMM"]["allocs"]), ([], 2), f"RMM with Python {version}")
    print("Python", *found)


def virtual_environment_has_it():
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "venv"], check=True)
    check_cupy(python=(os.path.abspath("venv/bin/python"),))


def jax_without_a_device_file_gets_a_hint():
    script = write("train.py", "import jax\n")
    for options in ((), ("--json",)):
        result = harness.run(VRAMSCOPE, "dryrun", "--gpu", "t4", *options, "--", sys.executable, "-B",
                             script, env={"PYTHONPATH": MODELS})
        has_file = any(os.path.exists(path) for path in DEVICE_FILES)
        told = "jax-device-file" if options else "HINT          the program imported JAX"
        check_equal(told in result.stderr, not has_file, f"the hint in {result.stderr}")
        check("NO GPU USED" in result.stderr or '"no-gpu"' in result.stderr, "no GPU was used")
    # Without JAX there is none.
    result = harness.run(VRAMSCOPE, "dryrun", "--gpu", "t4", "--", sys.executable, "-B",
                         write("other.py", "pass\n"))
    check("HINT" not in result.stderr, f"no hint in {result.stderr}")


def jax_allocator_is_set_and_labelled():
    text = ("import os\nprint(*[os.environ.get('XLA_PYTHON_CLIENT_' + name) for name in "
            "('ALLOCATOR', 'PREALLOCATE')])\nimport model_cuda\nmodel_cuda.malloc(1 << 20)\n")
    told = "vramscope: --jax-allocator: XLA_PYTHON_CLIENT_ALLOCATOR=bfc is replaced by cuda_async"
    for options, env, wanted, said in (
            ((), {}, "None None", []),
            (("--jax-allocator",), {}, "cuda_async false", []),
            (("--jax-allocator=platform",), {}, "platform None", []),
            (("--jax-allocator",), {"XLA_PYTHON_CLIENT_ALLOCATOR": "bfc"}, "cuda_async false", [told]),
            (("--jax-allocator",), {"XLA_PYTHON_CLIENT_PREALLOCATE": "1"}, "cuda_async 1", [])):
        stdout, errors, _ = run(text, *options, env=env)
        check_equal((stdout, errors), (wanted + "\n", said), f"with {options} and {env}")
        name = wanted.split()[0] if options else None
        label = json.loads(analyze("peak", "--json", "t.vscope"))["jax_allocator"]
        check_equal(label, name, f"label of the trace with {options}")
        check_equal("jax.allocator" in get_facts(), bool(options), "the fact")
        for command in ("report", "peak", "retained", "frag", "sites", "phases"):
            shown = f"note: --jax-allocator={name}: JAX took memory otherwise than it does without"
            check_equal(shown in analyze(command, "t.vscope"), bool(options), f"note of {command}")


harness.main(lambda name: globals()[name]())
