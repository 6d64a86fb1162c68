"""Whether TensorFlow goes on as if we were not there: its log and its own profiler.

usage: tf_beside.py VENV STAGE WORK

Programs run with softgpu alone and under `vramscope run`. What they write must be the same but for our line,
apart from what is different in any two runs: times, numbers of processes and addresses, and the order in which
threads write.
"""
import concurrent.futures
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TIMEOUT = 300  # seconds; a hang, not a measurement

PROGRAMS = {
    "log": os.path.join(ROOT, "samples", "tensorflow", "train.py"),
    "log of an out-of-memory": os.path.join(ROOT, "samples", "tensorflow", "out_of_memory.py"),
    "profiler": os.path.join(HERE, "tensorflow", "profiled.py"),
}

# Of glog, of older releases, and of any other line.
STAMPS = [r"^[IWEF]\d{4} [\d:.]+ +\d+ ", r"^\d{4}-\d\d-\d\d [\d:.]+: ", r"0x[0-9a-f]+|\b[0-9a-f]{8,}\b",
          r"\d+(\.\d+)?(ms|us|s)\b", r"\b\d{9,}\b", r"/tmp/\S+"]


def plain(text):
    """The lines that do not differ between any two runs, sorted."""
    lines = []
    for line in text.splitlines():
        for stamp in STAMPS:
            line = re.sub(stamp, "", line)
        lines.append(line.strip())
    return sorted(line for line in lines if line)


def run(command):
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("TF_", "VRAMSCOPE_", "SOFTGPU_"))}
    return subprocess.run(command, env=environment | {"PYTHONDONTWRITEBYTECODE": "1"},
                          capture_output=True, text=True, errors="replace", timeout=TIMEOUT,
                          check=False)


def judge(venv, stage, work, name, program):
    """What is wrong, or None."""
    python = os.path.join(venv, "bin", "python")
    alone = run([os.path.join(stage, "bin", "softgpu-run"), "-m", "4G", "--", python, program])
    here = run([os.path.join(stage, "bin", "vramscope"), "run", "--softgpu=4G", "-o",
                os.path.join(work, f"beside-{name.replace(' ', '-')}.vscope"), "--", python, program])
    if alone.returncode or here.returncode:
        return f"status {alone.returncode} and {here.returncode}: {here.stderr[-500:]}"
    ours = [line for line in here.stderr.splitlines() if line.startswith("vramscope: ")]
    if len(ours) != 1:
        return f"{len(ours)} lines of ours: {ours}"
    if "False" in alone.stdout:
        return f"the profiler saw nothing: {alone.stdout}"
    if plain(here.stdout) != plain(alone.stdout):
        return f"it prints {here.stdout!r} instead of {alone.stdout!r}"
    with_us = plain("\n".join(line for line in here.stderr.splitlines() if line not in ours))
    without = plain(alone.stderr)
    if with_us != without:
        return "\n".join([*("    only with us: " + line for line in with_us if line not in without),
                          *("    only without: " + line for line in without if line not in with_us),
                          f"    {len(with_us)} lines with us, {len(without)} without"][:10])
    return None


def compare(venv, stage, work):
    """How many programs went wrong."""
    os.makedirs(work, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        texts = pool.map(lambda item: judge(venv, stage, work, *item), PROGRAMS.items())
    wrong = {name: text for name, text in zip(PROGRAMS, texts) if text}
    print(f"  beside us: {len(PROGRAMS) - len(wrong)} of {len(PROGRAMS)} programs say what they say "
          "alone")
    for name, text in wrong.items():
        print(f"    FAILED {name}: {text}")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(1 if compare(*sys.argv[1:4]) else 0)
