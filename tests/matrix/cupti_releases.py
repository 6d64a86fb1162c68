#!/usr/bin/env python3
"""NVIDIA's own libcupti of every CUDA release, as packages on PyPI have it, opened by our library.

    cupti_releases.py --build BUILD --stage STAGE --work FOLDER [RELEASE...]

BUILD has cupti_probe, STAGE an installed tree; packages are kept in FOLDER. For each release (11.7
to 13.4, or those named), without softgpu:

  - the functions of CUPTI that we call are there, and the library says its version;
  - the callbacks that would be asked for are those that the release's own cupti_driver_cbid.h has
    under the same names, and each function that its headers know and we record is among them;
  - subscribing ends where there is no device: with an error that is said in one line, and the
    program goes on.

From 13.3 on, a libcupti tells neither its version nor the names of its callbacks before there is a
subscriber: then the numbers of the headers we are built with are compared. That of 13.2 ends the
program at the first call where it cannot start: there, it must not be called.

Prints a table. Status 0 if all of it holds, 1 if not, 77 if nothing can be downloaded.
"""
import argparse
import glob
import os
import re
import subprocess
import sys
import zipfile

# Package, and its releases: the newest of each is taken.
PACKAGES = (
    ("nvidia-cuda-cupti-cu11", ("11.7", "11.8")),
    ("nvidia-cuda-cupti-cu12", ("12.0", "12.1", "12.2", "12.3", "12.4", "12.5", "12.6", "12.8",
                                "12.9")),
    ("nvidia-cuda-cupti", ("13.0", "13.1", "13.2", "13.3", "13.4")),
)
# What CUPTI has for a function under another name: preload/told_calls.c.
OTHER_NAMES = {"cuMemHostAlloc_v2": "cuMemHostAlloc"}


def fetch(work, package, release):
    """The folder of an unpacked package, or None."""
    folder = os.path.join(work, f"cupti-{release}")
    stamp = os.path.join(folder, "unpacked")
    if os.path.exists(stamp):
        return folder
    os.makedirs(folder, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "2",
               "--only-binary", ":all:", "--disable-pip-version-check", "--dest", folder,
               f"{package}=={release}.*"]
    if subprocess.run(command, check=False).returncode:
        return None
    wheel = glob.glob(os.path.join(folder, "*.whl"))[0]
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if re.search(r"/libcupti\.so[.\d]*$|/cupti_(driver_cbid|version)\.h$", name):
                archive.extract(name, folder)
    os.remove(wheel)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(os.path.basename(wheel) + "\n")
    return folder


def find(folder, pattern):
    found = [path for path in glob.glob(os.path.join(folder, "**", "*"), recursive=True)
             if re.search(pattern, path)]
    return found[0] if found else None


def read_header(folder):
    """Numbers of the driver's functions by name, and the version, as the release's headers say."""
    numbers = {}
    with open(find(folder, r"/cupti_driver_cbid\.h$"), encoding="utf-8") as file:
        for match in re.finditer(r"CUPTI_DRIVER_TRACE_CBID_(cu\w+)\s*=\s*(\d+)", file.read()):
            numbers[match[1]] = int(match[2])
    with open(find(folder, r"/cupti_version\.h$"), encoding="utf-8") as file:
        version = int(re.search(r"#define CUPTI_API_VERSION\s+(\d+)", file.read())[1])
    return numbers, version


# Where it cannot start, its error path calls itself until the stack is full.
DANGEROUS = ("13.2",)


def probe(build, library):
    """What cupti_probe says of a library: lists by the first word of the line."""
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("LD_", "SOFTGPU_", "VRAMSCOPE_", "CUDA_"))}
    environment["VRAMSCOPE_CUPTI_LIBRARY"] = library
    result = subprocess.run([os.path.join(build, "tests", "cupti", "cupti_probe")],
                            env=environment, stdin=subprocess.DEVNULL, capture_output=True,
                            text=True, check=False, timeout=120)
    said = {"callback": [], "missing": [], "optional": []}
    for line in result.stdout.splitlines():
        word, rest = line.split(" ", 1)
        said.setdefault(word, []).append(rest)
    return said, result


def inject(stage, library):
    """As a driver does it: a program that goes on, and what is said on stderr. The program
    has loaded the library itself."""
    folder = os.path.join(stage, "lib", "vramscope")
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("LD_", "SOFTGPU_", "VRAMSCOPE_", "CUDA_"))}
    environment["LD_PRELOAD"] = f"{folder}/libvramscope.so:{folder}/libvramscope-cupti.so"
    program = ("import ctypes, sys; ctypes.CDLL(sys.argv[1]); library = ctypes.CDLL(None); "
               "print(library.InitializeInjection(), library.InitializeInjection())")
    return subprocess.run([sys.executable, "-c", program, library], env=environment,
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                          timeout=120)


def check_callbacks(said, numbers):
    """What is wrong with the callbacks, as sentences."""
    wrong = []
    found = {}
    for row in said["callback"]:
        number, name = row.split()
        found[name] = int(number)
        if numbers.get(name) != int(number):
            wrong.append(f"{name} is {number}, its header says {numbers.get(name)}")
    for name in said["missing"]:
        if name in numbers and name not in found:
            wrong.append(f"{name} is in the header and was not found")
    for other in OTHER_NAMES:
        if other in numbers and other not in found:
            wrong.append(f"{other} is in the header and was not found")
    return wrong


def check_injection(result, refusal):
    wrong = []
    if (result.returncode, result.stdout) != (0, "1 1\n"):
        wrong.append(f"the program ended with {result.returncode}, {result.stdout!r}")
    lines = result.stderr.splitlines()
    if len(lines) != 1 or not re.search(rf"^vramscope: without CUPTI: {refusal}$",
                                        lines[0] if lines else ""):
        wrong.append(f"stderr of the program is {result.stderr!r}")
    return wrong


def check_release(arguments, package, release):
    """A row of the table, and what is wrong; None: it is not to be had."""
    folder = fetch(arguments.work, package, release)
    if not folder:
        return None
    library = find(folder, r"/libcupti\.so\.\d+(\.\d+)?$")
    name = os.path.basename(library)
    if release in DANGEROUS:
        wrong = check_injection(inject(arguments.stage, library),
                                r"CUPTI of CUDA 13\.2 is not safe to use \(.*\)")
        return [release, name, "-", "-", "not called"], wrong
    numbers, version = read_header(folder)
    said, result = probe(arguments.build, library)
    wrong = []
    if result.returncode:
        return [release, name, "-", "-", "-"], \
            [f"the probe ended with {result.returncode}: {result.stderr.strip()}"]
    # A release that tells its version tells the right one; one that does not tells no names either.
    if said.get("version", [str(version)]) != [str(version)]:
        wrong.append(f"version {said['version']}, its header says {version}")
    if "version" not in said and float(release) < 13.3:
        wrong.append("it does not tell its version")
    wrong += check_callbacks(said, numbers)
    if said["learnt"] != [str(len(said["callback"]))]:
        wrong.append(f"{said['learnt']} callbacks were learnt of {len(said['callback'])}")
    if said["subscribe"][0].startswith("0 "):
        wrong.append("it subscribed although there is no device")
    wrong += check_injection(inject(arguments.stage, library),
                             rf".*/{re.escape(name)} refuses \(\d+, \w+\)")
    return [release, name, said.get("version", ["not told"])[0], str(len(said["callback"])),
            said["subscribe"][0]], wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True)
    parser.add_argument("--stage", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    arguments = parser.parse_args()
    arguments.work = os.path.abspath(arguments.work)
    arguments.stage = os.path.abspath(arguments.stage)
    known = [release for _, releases in PACKAGES for release in releases]
    for release in arguments.releases:
        if release not in known:
            parser.error(f"no release '{release}': {', '.join(known)}")
    rows = [["CUDA", "library", "version", "callbacks", "cuptiSubscribe"]]
    wrong, missing = [], []
    for package, releases in PACKAGES:
        for release in releases:
            if arguments.releases and release not in arguments.releases:
                continue
            checked = check_release(arguments, package, release)
            if not checked:
                missing.append(release)
                continue
            rows.append(checked[0])
            wrong += [f"{release}: {sentence}" for sentence in checked[1]]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, widths)).rstrip())
    for release in missing:
        print(f"{release}: cannot be downloaded")
    for sentence in wrong:
        print(f"WRONG {sentence}")
    if len(rows) == 1:
        return 77
    return 1 if wrong or missing else 0


if __name__ == "__main__":
    sys.exit(main())
