"""Runs real frameworks on softgpu: wheels from PyPI, small training programs, stand-ins for the rest.

usage: run.py --stage DIR --work DIR [--write FILE] [torch|tensorflow|jax|cupy|rmm]...

Each release of releases.py is installed into a folder of its own below --work, once, without any
nvidia-* package, and every program of samples/FRAMEWORK runs in it through softgpu-run. Then again
with folders in place as the nvidia-* packages would make them, full of libraries that end the
program when they are loaded: the stand-ins must be in front of those.

PyTorch's programs run once more under `vramscope run`: recorded.py compares the trace with torch's own
books, beside.py looks whether torch goes on as if we were not there.
Last, the stacks of PyTorch's blocks are compared with those that it recorded itself (stacks.py), and
TensorFlow's chunks with its own numbers (tf_books.py), with those of its allocators when a program of ours
drives them (tf_chunks.py), and with what training programs know of themselves (tf_questions.py); tf_beside.py
looks whether it goes on as if we were not there.
JAX's memory is compared with its own numbers, too (jax_books.py).
CuPy and RMM, which do not run on softgpu, are imported, and their callbacks driven (checked.py).

A framework that cannot be had here is skipped, aloud. What ran is written into --write.
"""
import argparse
import concurrent.futures
import os
import subprocess
import sys
import time

import beside
import checked
import fake_nvidia
import jax_books
import recorded
import releases
import stacks
import table
import tf_beside
import tf_books
import tf_chunks
import tf_questions
from install import Skipped, install

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TIMEOUT = 300  # seconds; a hang, not a measurement


def last_lines(text, count):
    return "\n".join("    " + line for line in text.strip().splitlines()[-count:])


def environment(program):
    """Of the caller only what has nothing to do with GPUs."""
    kept = {name: value for name, value in os.environ.items()
            if not name.startswith(("SOFTGPU_", "VRAMSCOPE_", "PYTORCH_", "TORCH_", "CUDA_", "TF_",
                                    "XLA_", "JAX_", "LD_"))}
    return kept | {"PYTHONDONTWRITEBYTECODE": "1"} | program.environment


def run_program(release, program, folder, stage):
    """None if it went well, else what it said."""
    command = [os.path.join(stage, "bin", "softgpu-run"), *program.options, "--",
               os.path.join(folder, "bin", "python"),
               os.path.join(ROOT, "samples", release.framework,
                            (program.script or program.name) + ".py")]
    try:
        done = subprocess.run(command, env=environment(program), stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired as late:
        return f"hangs\n{last_lines((late.stdout or b'').decode(errors='replace'), 20)}"
    if done.returncode:
        return f"exit status {done.returncode}\n{last_lines(done.stdout, 30)}"
    if fake_nvidia.MARK in done.stdout:
        return f"loaded an NVIDIA library\n{last_lines(done.stdout, 30)}"
    return None


def run_all(release, folder, stage, jobs):
    """{program name: None or what it said}"""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        futures = {program.name: pool.submit(run_program, release, program, folder, stage)
                   for program in release.programs}
        return {name: future.result() for name, future in futures.items()}


def run_recorded(release, folder, options):
    """({mode: None or what went wrong}, numbers compared) of a framework whose books we can compare."""
    if release.framework != "torch":
        return {}, 0
    work = os.path.join(options.work, "recorded")
    os.makedirs(work, exist_ok=True)
    kept = environment(releases.Program("", []))
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        modes = {mode.name: pool.submit(recorded.judge_mode, mode, folder, options.stage, work, kept)
                 for mode in recorded.MODES}
        checks = {name: pool.submit(beside.judge_check, name, folder, options.stage, work, kept)
                  for name in beside.CHECKS}
        wrong = {name: future.result()[0] for name, future in modes.items()}
        wrong |= {f"beside us: {name}": future.result() for name, future in checks.items()}
        return wrong, sum(future.result()[1] for future in modes.values())


def report_recorded(release, results, compared):
    """Says how it went; the number of failures."""
    failures = {name: text for name, text in results.items() if text}
    if results:
        print(f"{release.framework} {release.version} recorded: {len(results) - len(failures)} of "
              f"{len(results)} runs went well, {compared} numbers are the framework's own")
    for name, text in failures.items():
        print(f"  FAILED {name}: {text}")
    return len(failures)


def run_release(release, options):
    """Returns ({way: {program: None or what it said}}, seconds, what run_recorded returns)."""
    folder = install(release, options.work)
    begin = time.monotonic()
    results = {}
    for way, with_packages in (("alone", False), ("beside", True)):
        fake_nvidia.remove(folder)
        if with_packages:
            fake_nvidia.place(folder, os.path.join(options.work, "fake-nvidia"),
                              os.path.join(options.stage, "lib", "vramscope", "softgpu"))
        results[way] = run_all(release, folder, options.stage, options.jobs)
    fake_nvidia.remove(folder)
    seconds = time.monotonic() - begin
    return results, seconds, run_recorded(release, folder, options)


def report(release, results, seconds):
    """Says how it went; the number of failures."""
    failures = [(name, way, text) for way, programs in results.items()
                for name, text in programs.items() if text]
    total = sum(len(programs) for programs in results.values())
    print(f"{release.framework} {release.version}: {total - len(failures)} of {total} runs went well "
          f"({seconds:.0f} s)")
    for name, way, text in failures:
        print(f"  FAILED {name} ({table.WAYS[way]}): {text}")
    return len(failures)


def compare_stacks(release, options):
    """Says whether stacks are PyTorch's own; the number of failures."""
    if release.framework != "torch":
        return 0
    is_good, text = stacks.run(install(release, options.work), options.stage)
    print(f"  {'' if is_good else 'FAILED '}stacks: {text}")
    return 0 if is_good else 1


def compare_books(release, options):
    """Says whether TensorFlow's chunks are what it says of them; the number of failures."""
    if release.framework != "tensorflow":
        return 0
    folder, work = install(release, options.work), os.path.join(options.work, "recorded")
    return (tf_books.compare(folder, options.stage, work) +
            tf_chunks.compare(folder, options.stage, work) +
            tf_questions.compare(folder, options.stage) +
            tf_beside.compare(folder, options.stage, work))


def compare_jax(release, options):
    """(the number of failures, what goes into the table)"""
    if release.framework != "jax":
        return 0, ""
    return jax_books.compare(install(release, options.work), options.stage,
                             os.path.join(options.work, "recorded"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stage", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--write")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("frameworks", nargs="*")
    options = parser.parse_args()
    options.stage, options.work = os.path.abspath(options.stage), os.path.abspath(options.work)
    known = sorted({release.framework for release in releases.RELEASES + releases.CHECKED})
    if not set(options.frameworks) <= set(known):
        parser.error(f"frameworks are {', '.join(known)}")
    os.makedirs(options.work, exist_ok=True)
    failures = 0
    for release in releases.RELEASES:
        if options.frameworks and release.framework not in options.frameworks:
            continue
        try:
            results, seconds, books = run_release(release, options)
        except Skipped as reason:
            print(f"SKIP {release.framework} {release.version}: {reason}")
            continue
        failures += report(release, results, seconds) + report_recorded(release, *books)
        failures += compare_stacks(release, options) + compare_books(release, options)
        wrong, more = compare_jax(release, options)
        failures += wrong
        if options.write:
            table.write(options.write, [(release, results, more)])
    looked_at = checked.run(options.frameworks, options.stage, options.work)
    failures += sum(wrong is not None for _, wrong in looked_at)
    if options.write and looked_at:
        table.write(options.write, [], looked_at)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
