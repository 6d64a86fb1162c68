#!/usr/bin/env python3
"""What letters on pictures depend on beside ourselves: printed as one line."""
import shutil
import subprocess


def ask(*command):
    if not shutil.which(command[0]):
        return "?"
    said = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    return said.replace("\n", " ") or "?"


def describe():
    versions = [f"{name} {ask('pkg-config', '--modversion', name)}"
                for name in ("cairo", "pixman-1", "freetype2", "fontconfig")]
    fonts = [ask("fc-match", name, "family", "style", "fontversion") for name in ("sans-serif", "sans-serif:bold")]
    return ", ".join(versions + fonts)


def is_known(text):
    return "?" not in text


if __name__ == "__main__":
    print(describe())
