"""Runs programs plainly and under profilers, in turns, and keeps the best of several rounds.

A noisy machine only ever adds time, so the smallest of several rounds is nearest to the truth; and
what is compared is run in turns, so that a bad minute hits all alike.
"""
import glob
import json
import os
import re
import subprocess
import tempfile
import time

# Nothing of the user's own settings.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("VRAMSCOPE_", "SOFTGPU_", "LD_", "CUDA_"))}


class BenchError(Exception):
    """Something that was to be measured did not work."""


class NotBuilt(BenchError):
    """The program that measures it is not there."""


class Bench:
    """Where things are, and how thoroughly to measure."""

    def __init__(self, build, stage, folder, is_quick):
        self.build = os.path.abspath(build)
        self.vramscope = os.path.abspath(os.path.join(stage, "bin", "vramscope"))
        self.shim = os.path.abspath(os.path.join(stage, "lib", "vramscope", "libvramscope.so"))
        self.softgpu = os.path.join(self.build, "softgpu")
        self.null_driver = os.path.join(self.build, "bench", "null", "libcuda.so.1")
        self.folder = folder
        self.is_quick = is_quick

    def program(self, name):
        return os.path.join(self.build, "bench", name)

    def has_program(self, name):
        return os.access(self.program(name), os.X_OK)

    def pick(self, thorough, quick):
        return quick if self.is_quick else thorough

    def path(self, name):
        return os.path.join(self.folder, name)

    def plain(self, *arguments, env=None):
        return Command(arguments, env)

    def recorded(self, *arguments, options=(), name="bench.vscope"):
        """Under vramscope run; the trace is in self.path(name)."""
        trace = self.path(name)
        return Command((self.vramscope, "run", *options, "-o", trace, "--", *arguments),
                       outputs=[trace])

    def info(self, name="bench.vscope"):
        result = run(Command((self.vramscope, "info", "--json", self.path(name))))
        return json.loads(result.output)

    def check_trace(self, nr_events):
        """A time for a recording that missed something says nothing."""
        info = self.info()
        if not info["complete"] or info["lost_events"] or info["events"] != nr_events:
            raise BenchError(f"the trace has {info['events']} events of {nr_events}, "
                             f"{info['lost_events']} are counted as lost")


class Command:
    def __init__(self, arguments, env=None, outputs=()):
        self.arguments = [str(argument) for argument in arguments]
        self.env = {**ENVIRONMENT, **(env or {})}
        self.outputs = list(outputs)  # files, by the beginning of their names

    def remove_outputs(self):
        for output in self.outputs:
            for path in glob.glob(glob.escape(output) + "*"):
                os.remove(path)


class Result:
    """What one run took, with its words: "name number..." lines on its standard output."""

    def __init__(self, wall_ns, cpu_ns, rss_mib, output):
        self.wall_ns = wall_ns
        self.cpu_ns = cpu_ns
        self.rss_mib = rss_mib
        self.output = output

    def rows(self, name):
        return [[float(word) for word in line.split()[1:]]
                for line in self.output.splitlines() if line.startswith(name + " ")]

    def number(self, name):
        rows = self.rows(name)
        if not rows:
            raise BenchError(f"no '{name}' in the output")
        return rows[0][0]


def run(command):
    """Until the process has ended. Processor time: its own and that of all it waited for."""
    command.remove_outputs()
    start = time.monotonic_ns()
    with tempfile.TemporaryFile(mode="w+") as errors:
        with subprocess.Popen(command.arguments, env=command.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=errors, text=True) as process:
            output = process.stdout.read()
            _, status, usage = os.wait4(process.pid, 0)
            wall_ns = time.monotonic_ns() - start
            process.returncode = os.waitstatus_to_exitcode(status)
        errors.seek(0)
        if process.returncode:
            raise BenchError(f"{' '.join(command.arguments)}: status {process.returncode}\n"
                             + errors.read())
    return Result(wall_ns, int((usage.ru_utime + usage.ru_stime) * 1e9),
                  usage.ru_maxrss / 1024, output)


def measure(commands, nr_rounds):
    """commands: {name: Command}, run in turns. The results of each: {name: [Result, ...]}."""
    results = {name: [] for name in commands}
    for _ in range(nr_rounds):
        for name, command in commands.items():
            results[name].append(run(command))
    return results


def best(results, get):
    return min(get(result) for result in results)


def wall(result):
    return result.wall_ns


def cpu(result):
    return result.cpu_ns


def median(values):
    values = sorted(values)
    middle = len(values) // 2
    return values[middle] if len(values) % 2 else (values[middle - 1] + values[middle]) / 2


def table(heads, rows):
    """Lines of Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]


def version_of(program):
    """What it says of itself."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"\d[\w.]*", said.stdout)
    return found[0] if found else "of an unknown version"
