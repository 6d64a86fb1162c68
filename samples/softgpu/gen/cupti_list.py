#!/usr/bin/env python3
"""Print the names that NVIDIA's CUPTI libraries export: what cupti/cupti_names.txt holds.

usage: cupti_list.py 11=LIBRARY 12=LIBRARY 13=LIBRARY

By hand, when a release is added, with libraries from the packages that cmake/cupti.cmake names.
"""
import re
import subprocess
import sys


def main():
    releases = {}
    for argument in sys.argv[1:]:
        release, library = argument.split("=", 1)
        text = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True,
                              text=True, check=True).stdout
        for name in re.findall(r" [TW] (\w+)", text):
            releases.setdefault(name, []).append(release)
    if not releases:
        sys.exit(__doc__)
    print("# Exported by NVIDIA's libcupti, and in which releases. Written by gen/cupti_list.py.")
    for name in sorted(releases):
        print(name, *releases[name])


if __name__ == "__main__":
    main()
