"""Runs programs plainly and under vramscope, and reads what vramscope says of them.

Where things are comes from the environment, which tests/e2e/CMakeLists.txt sets.
"""
import json
import os
import subprocess
import sys
import tempfile

VRAMSCOPE = os.environ["VS_E2E_VRAMSCOPE"]
SHIM = os.environ["VS_E2E_SHIM"]
SOFTGPU_RUN = os.environ["VS_E2E_SOFTGPU_RUN"]
SAMPLES = os.environ["VS_E2E_SAMPLES"]
HOSTS = os.environ["VS_E2E_HOSTS"]
SOURCES = os.environ["VS_E2E_SOURCES"]

# What the programs and the launchers themselves need; nothing of the tester's own settings.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("VRAMSCOPE_", "SOFTGPU_", "LD_", "CUDA_"))}
ENVIRONMENT["VRAMSCOPE_LIBDIR"] = os.path.dirname(SHIM)
ENVIRONMENT["SOFTGPU_LIBDIR"] = os.environ["VS_E2E_SOFTGPU"]
# Reports are as wide as the terminal; here, wide enough for all.
ENVIRONMENT["COLUMNS"] = "400"


def check(is_true, text):
    """The sentence `text` must hold."""
    if not is_true:
        raise AssertionError(text)


def check_equal(got, wanted, text):
    check(got == wanted, f"{text}: got {got!r}, wanted {wanted!r}")


def run(*command, env=None, timeout=120):
    return subprocess.run(command, env={**ENVIRONMENT, **(env or {})}, timeout=timeout,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          errors="replace")


def run_plain(memory, *command, env=None):
    return run(SOFTGPU_RUN, "-m", memory, *command, env=env)


def run_recorded(memory, trace, *command, env=None):
    return run(VRAMSCOPE, "run", f"--softgpu={memory}", "-o", trace, "--", *command, env=env)


def start_recorded(memory, trace, *command, **options):
    return subprocess.Popen([VRAMSCOPE, "run", f"--softgpu={memory}", "-o", trace, "--", *command],
                            env=ENVIRONMENT, text=True, **options)


def own_lines(stderr):
    """The lines of stderr that are ours, and all others."""
    lines = stderr.splitlines()
    ours = [line for line in lines if line.startswith("vramscope: ")]
    return ours, [line for line in lines if line not in ours]


def analyze(command, *arguments, status=0, env=None):
    result = run(VRAMSCOPE, command, *arguments, env=env)
    check_equal((result.returncode, result.stderr), (status, ""),
                f"status and stderr of vramscope {command}")
    return result.stdout


def report(trace, status=0):
    return json.loads(analyze("report", "--json", trace, status=status))


def line_of(source, text):
    """Number of the only line of a source file that contains text."""
    with open(os.path.join(SOURCES, source), encoding="utf-8") as file:
        numbers = [number for number, line in enumerate(file, 1) if text in line]
    check_equal(len(numbers), 1, f"lines with {text!r} in {source}")
    return numbers[0]


def iec(size):
    """Bytes as a report writes them: three digits."""
    unit = 0
    number = float(size)
    while number >= 999.5 and unit < 4:
        number /= 1024
        unit += 1
    name = ["B", "KiB", "MiB", "GiB", "TiB"][unit]
    if unit == 0 or number >= 99.95:
        return f"{number:.0f} {name}"
    return f"{number:.1f} {name}" if number >= 9.995 else f"{number:.2f} {name}"


def main(function):
    """Runs function(folder, *arguments) in a folder of its own."""
    with tempfile.TemporaryDirectory(prefix="vramscope-e2e.") as folder:
        os.chdir(folder)
        try:
            function(*sys.argv[1:])
        except AssertionError as error:
            # The sentence is the test's result; where it was said helps as well.
            frame = error.__traceback__
            while frame.tb_next and "harness" not in frame.tb_next.tb_frame.f_code.co_filename:
                frame = frame.tb_next
            place = f"{os.path.basename(frame.tb_frame.f_code.co_filename)}:{frame.tb_lineno}"
            print(f"{place}: {error}")
            os.chdir("/")
            sys.exit(1)
        os.chdir("/")
