#!/usr/bin/env python3
"""What libnvidia-ml.so.1 exports is what nvml.h declares: every version of every function, without
symbol versions, and nothing else.

usage: test_nvml_names.py C_COMPILER NM NVML_INCLUDE_DIR LIBRARY
"""
import re
import subprocess
import sys

# Names of old headers that nvml.h only knows as macros for new ones.
OLD = {"nvmlGetBlacklistDeviceCount", "nvmlGetBlacklistDeviceInfoByIndex"}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=True, **options).stdout


def declared(compiler, include, *defines):
    """What the compiler sees, so not the way the generator looks at the header."""
    text = run(compiler, "-E", "-P", "-I", include, *defines, "-x", "c", "-",
               input="#include <nvml.h>\n")
    return set(re.findall(r"\b(nvml[A-Z]\w*)\s*\([^()]*\)\s*;", text))


def main():
    compiler, nm, include, library = sys.argv[1:]
    names = declared(compiler, include)
    names |= declared(compiler, include, "-DNVML_NO_UNVERSIONED_FUNC_DEFS")
    exported = {line.split()[-1] for line in run(nm, "-D", "--defined-only", library).splitlines()}
    print(f"{len(names)} functions declared, {len(exported)} symbols exported")
    problems = [f"not exported: {name}" for name in sorted(names - exported)]
    problems += [f"exported: {name}" for name in sorted(exported - names - OLD)]
    if len(names) < 300:
        problems.append("too few functions found in nvml.h")
    print("\n".join(problems))
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
