"""NVIDIA's CUDA runtimes, as PyPI has them: which releases, and where their files are.

A wheel is a zip file: nothing is installed, no dependency is followed. What was downloaded stays.
"""
import glob
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass


@dataclass(frozen=True)
class Release:
    major: int
    minor: int

    @property
    def name(self):
        return f"{self.major}.{self.minor}"

    @property
    def version(self):
        """As CUDA counts: 12090."""
        return self.major * 1000 + self.minor * 10

    @property
    def soname(self):
        return "libcudart.so.11.0" if self.major == 11 else f"libcudart.so.{self.major}"

    @property
    def packages(self):
        if self.major < 13:
            return [f"nvidia-cuda-runtime-cu{self.major}=={self.name}.*"]
        # Since 13 the headers for compilers are a package of their own.
        return [f"nvidia-cuda-runtime=={self.name}.*", f"nvidia-cuda-crt=={self.name}.*"]


RELEASES = [Release(11, minor) for minor in (7, 8)] + \
           [Release(12, minor) for minor in (0, 1, 2, 3, 4, 5, 6, 8, 9)] + \
           [Release(13, minor) for minor in range(5)]


class Missing(Exception):
    """A release that cannot be had."""


@dataclass(frozen=True)
class Files:
    release: Release
    include: str
    library: str
    version: str  # of the package: 12.9.79


def unpack(folder):
    for wheel in glob.glob(os.path.join(folder, "*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder)
        os.unlink(wheel)


def fetch(release, work):
    """The files of a release, from the work folder or from PyPI."""
    folder = os.path.join(work, f"runtime-{release.name}")
    stamp = os.path.join(folder, "packages.txt")
    wanted = " ".join(release.packages)
    if not os.path.exists(stamp) or open(stamp, encoding="utf-8").read() != wanted:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        result = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--retries", "2",
             "--only-binary", ":all:", "--disable-pip-version-check", "--dest", folder,
             *release.packages], capture_output=True, text=True)
        if result.returncode:
            lines = [line for line in result.stderr.splitlines() if line.startswith("ERROR")]
            raise Missing(lines[-1] if lines else "pip could not download it")
        unpack(folder)
        with open(stamp, "w", encoding="utf-8") as file:
            file.write(wanted)
    return find_files(release, folder)


def find_files(release, folder):
    def one(pattern):
        found = glob.glob(os.path.join(folder, "**", pattern), recursive=True)
        if not found:
            raise Missing(f"its package has no {pattern}")
        return found[0]

    include = os.path.dirname(one("cuda_runtime_api.h"))
    info = [name for name in os.listdir(folder)
            if name.startswith("nvidia_cuda_runtime") and name.endswith(".dist-info")]
    version = info[0].removesuffix(".dist-info").rpartition("-")[2]
    return Files(release, include, one(release.soname), version)
