"""Libraries where the nvidia-* packages have theirs, which end a program that loads them.

The folders are those that the framework's own binaries search (RPATH), so this needs no list of
packages, and nothing of NVIDIA's is fetched.
"""
import glob
import os
import re
import shutil
import subprocess

# Ours are used only where there is no real one (docs/softgpu.md): that may be loaded.
SPARES = ("libnvToolsExt.",)

MARK = "a library of an nvidia package was loaded"

SOURCE = f"""
#include <unistd.h>
__attribute__((constructor)) static void loaded(void)
{{
	static const char text[] = "{MARK}\\n";
	ssize_t written = write(2, text, sizeof(text) - 1);

	(void)written;
	_exit(99);
}}
"""


def site_packages(folder):
    return glob.glob(os.path.join(folder, "lib", "python3*", "site-packages"))[0]


def build(cache, sonames):
    """One for each soname, below @cache."""
    os.makedirs(cache, exist_ok=True)
    for soname in sonames:
        path = os.path.join(cache, soname)
        if not os.path.exists(path):
            subprocess.run(["cc", "-shared", "-fPIC", "-xc", "-", f"-Wl,-soname,{soname}", "-o", path],
                           input=SOURCE, text=True, check=True)


def searched_folders(packages):
    """nvidia/.../lib, as the binaries name it."""
    found = {"nvidia/cudnn/lib"}
    for path in glob.glob(os.path.join(packages, "*", "**", "*.so*"), recursive=True):
        if os.path.islink(path) or os.path.getsize(path) < 1 << 20:
            continue
        dynamic = subprocess.run(["readelf", "-d", path], capture_output=True, text=True,
                                 check=False).stdout
        found |= set(re.findall(r"[/\[:](nvidia/[\w/]+?/lib)\b", dynamic))
    return sorted(found)


def place(folder, cache, standins):
    packages = site_packages(folder)
    sonames = [name for name in os.listdir(standins)
               if re.search(r"\.so\.\d", name) and not name.startswith(SPARES)]
    build(cache, sonames)
    for place_name in searched_folders(packages):
        target = os.path.join(packages, place_name)
        os.makedirs(target, exist_ok=True)
        for soname in sonames:
            shutil.copy(os.path.join(cache, soname), target)


def remove(folder):
    shutil.rmtree(os.path.join(site_packages(folder), "nvidia"), ignore_errors=True)
