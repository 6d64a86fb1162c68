"""Every name of a list is exported under its version node, and what is written is in a list.

usage: test_math_names.py READELF MATH_DIR LIBRARY_DIR

A written function that is in no list would be hidden by the version script, and nobody would notice.
"""
import glob
import os
import re
import subprocess
import sys


def read_list(path):
    with open(path, encoding="ascii") as file:
        lines = [line.split() for line in file if not line.startswith("#")]
    sonames = [line[1:3] for line in lines if line[0] == "soname"]
    sonames += [[line[1], line[1]] for line in lines if line[0] == "part"]
    return sonames, {line[0] for line in lines if line[0] not in ("soname", "part")}


def exported(readelf, path):
    text = subprocess.run([readelf, "--dyn-syms", "-W", path], text=True, capture_output=True,
                          check=True).stdout
    rows = [line.split() for line in text.splitlines()]
    return {row[7] for row in rows if len(row) == 8 and row[3] in ("FUNC", "OBJECT")
            and row[6] != "UND"}


def written(folder):
    names = set()
    for path in glob.glob(os.path.join(folder, "*.c")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        names |= set(re.findall(r"^SG_MATH_API\([^,]*,\s*(\w+),", text, re.M))
        names |= set(re.findall(r"^SG_MATH_ALIAS\((\w+),", text, re.M))
    return names


def main():
    readelf, folder, libraries = sys.argv[1:]
    wrong, listed = [], set()
    for path in sorted(glob.glob(os.path.join(folder, "names", "*.txt"))):
        sonames, names = read_list(path)
        listed |= names
        for soname, node in sonames:
            suffix = "" if node == "-" else "@@" + node
            found = exported(readelf, os.path.join(libraries, soname))
            missing = {name + suffix for name in names} - found
            strange = {name for name in found if name.split("@")[0] not in names | {node}}
            wrong += [f"{soname} lacks {name}" for name in sorted(missing)]
            wrong += [f"{soname} has {name}" for name in sorted(strange)]
            print(f"{soname}: {len(names)} names")
    wrong += [f"{name} is written and in no list" for name in sorted(written(folder) - listed)]
    print("\n".join(wrong))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
