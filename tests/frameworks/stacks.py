"""Stacks of PyTorch's blocks against those of its own history: torch_stacks.py, stack_oracle.py."""
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 300  # seconds; a hang, not a measurement


def run(folder, stage):
    """Whether all are equal, and what is to be said of it. folder: of the virtual environment."""
    python = os.path.join(folder, "bin", "python")
    environment = {name: value for name, value in os.environ.items()
                   if not name.startswith(("SOFTGPU_", "VRAMSCOPE_", "PYTORCH_", "CUDA_", "LD_"))}
    with tempfile.TemporaryDirectory() as scratch:
        trace, out = os.path.join(scratch, "stacks.vscope"), os.path.join(scratch, "stacks.json")
        for command in (
                [os.path.join(stage, "bin", "vramscope"), "run", "--softgpu=16G", "-o", trace, "--",
                 python, "-B", os.path.join(HERE, "torch_stacks.py"), out],
                [python, "-B", os.path.join(HERE, "stack_oracle.py"), trace, out]):
            done = subprocess.run(command, env=environment, capture_output=True, text=True,
                                  errors="replace", timeout=TIMEOUT, check=False)
            if done.returncode:
                return False, f"exit status {done.returncode}\n{done.stdout}{done.stderr[-3000:]}"
    return True, done.stdout.strip()
