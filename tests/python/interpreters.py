"""Which interpreters there are here."""
import glob
import os
import shutil
import subprocess

VERSIONS = ("3.8", "3.9", "3.10", "3.11", "3.12", "3.13", "3.14")


def _is_it(path, version):
    text = "import sys, ctypes; print('%d.%d' % sys.version_info[:2], sys.implementation.name)"
    try:
        result = subprocess.run([path, "-c", text], capture_output=True, text=True, timeout=60)
    except OSError:
        return False
    return result.stdout.split() == [version, "cpython"]


def find(version):
    """The path of a CPython of that release, or None; "system": the distribution's own."""
    if version == "system":
        return "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else None
    named = os.environ.get("VS_TEST_PYTHON_" + version.replace(".", "_"))
    home = os.path.expanduser("~/.pyenv/versions")
    candidates = [named, *sorted(glob.glob(f"{home}/{version}.*/bin/python{version}"), reverse=True),
                  shutil.which("python" + version), shutil.which("python3")]
    for path in candidates:
        if path and _is_it(path, version):
            return path
    return None
