"""Writes what variants of one training program do to memory into docs/tensorflow.md.

usage: tf_variants.py VENV STAGE

samples/tensorflow/variants.py runs in each way under `vramscope run --softgpu`; the figures are those of
`vramscope report --json`, and the peak must be the one that TensorFlow itself saw.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PAGE = os.path.join(ROOT, "docs", "tensorflow.md")
MIB = 1 << 20

VARIANTS = {
    "whole": "batches of 4096, operation by operation",
    "small": "batches of 1024",
    "accumulated": "four batches of 1024, then the optimizer",
    "mixed": "batches of 4096, activations of 16 bits",
    "function": "batches of 4096, the step as a `tf.function`",
    "pipeline": "the same, batches brought by `tf.data`",
}


def measure(venv, stage, variant):
    """A row of the table."""
    vramscope = os.path.join(stage, "bin", "vramscope")
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "v.vscope")
        done = subprocess.run([vramscope, "run", "--softgpu=8G", "-o", trace, "--",
                               os.path.join(venv, "bin", "python"), "-B",
                               os.path.join(ROOT, "samples", "tensorflow", "variants.py"), variant],
                              env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"}, capture_output=True,
                              text=True, errors="replace", check=False)
        if done.returncode:
            sys.exit(f"{variant}: status {done.returncode}: {done.stderr[-1000:]}")
        facts = json.loads(done.stdout.splitlines()[-1])
        device, = json.loads(subprocess.run([vramscope, "report", "--json", trace], check=True,
                                            capture_output=True, text=True).stdout)["devices"]
    if device["peak_live_bytes"] != facts["peak_live_bytes"]:
        sys.exit(f"{variant}: peak {device['peak_live_bytes']}, by TensorFlow "
                 f"{facts['peak_live_bytes']}")
    return (VARIANTS[variant], f"{device['peak_live_bytes'] / MIB:.0f}",
            f"{device['peak_reserved_bytes'] / MIB:.0f}",
            f"{device['worst_fragmentation']['fragmentation']:.2f}")


def main():
    venv, stage = sys.argv[1:3]
    lines = [f"`tests/frameworks/tf_variants.py`, {os.path.basename(venv).replace('-', ' ')}:", "",
             "| | peak live, MiB | peak reserved, MiB | worst fragmentation |", "|---|---|---|---|"]
    for variant in VARIANTS:
        lines.append("| " + " | ".join(measure(venv, stage, variant)) + " |")
        print(lines[-1], flush=True)
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    page, nr = re.subn(r"(<!-- variants -->\n).*?(<!-- end of variants -->)",
                       lambda found: found[1] + "\n".join(lines) + "\n" + found[2], page, flags=re.S)
    if nr != 1:
        sys.exit(f"{PAGE}: no place for the table")
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
