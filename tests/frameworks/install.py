"""Installs a framework's wheels from PyPI, without any nvidia-* package, into a folder of its own.

usage: install.py --work DIR FRAMEWORK

Installs the newest release of releases.py, unless it is there, and prints its folder.
"""
import argparse
import os
import shutil
import subprocess
import sys

import releases


class Skipped(Exception):
    """The framework cannot be had here; says why."""


def pip_install(python, arguments):
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
               "--only-binary", ":all:", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        raise Skipped(f"pip cannot install {' '.join(arguments)}: {(lines or ['?'])[0]}")


def announce(release, folder):
    download = f"{release.download} to download, " if release.download else ""
    print(f"installing {release.framework} {release.version} from PyPI into "
          f"{os.path.relpath(folder)}: {download}{release.disk} on the disk",
          file=sys.stderr, flush=True)


def install(release, work):
    """The folder of the virtual environment, made if it is not there. The stamp is written last."""
    folder = os.path.join(work, f"{release.framework}-{release.version}")
    stamp = os.path.join(folder, "installed.txt")
    wanted = "\n".join(release.wheels + release.others)
    if os.path.exists(stamp):
        with open(stamp, encoding="utf-8") as file:
            if file.read() == wanted:
                return folder
    announce(release, folder)
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = os.path.join(folder, "bin", "python")
    pip_install(python, ["--no-deps", *release.wheels])
    pip_install(python, release.others)
    with open(stamp, "w", encoding="utf-8") as file:
        file.write(wanted)
    return folder


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--work", required=True)
    parser.add_argument("framework")
    options = parser.parse_args()
    release = next(r for r in releases.RELEASES if r.framework == options.framework)
    os.makedirs(options.work, exist_ok=True)
    try:
        print(install(release, os.path.abspath(options.work)))
    except Skipped as reason:
        sys.exit(str(reason))


if __name__ == "__main__":
    main()
