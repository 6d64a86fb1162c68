"""Programs of samples/torch under `vramscope run --softgpu`, against torch's own books: oracle.py."""
import dataclasses
import os
import subprocess
import sys

import oracle

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLES = os.path.join(os.path.dirname(os.path.dirname(HERE)), "samples", "torch")
TIMEOUT = 300  # seconds; a hang, not a measurement


@dataclasses.dataclass
class Mode:
    name: str
    program: str  # samples/torch/PROGRAM.py
    memory: str = "24G"
    environment: dict = dataclasses.field(default_factory=dict)


def allocator(setting):
    # The second name is the one of newer releases.
    return {"PYTORCH_CUDA_ALLOC_CONF": setting, "PYTORCH_ALLOC_CONF": setting}


EXPANDABLE = allocator("expandable_segments:True")

MODES = [
    Mode("default", "mlp"),
    Mode("attention", "transformer"),
    Mode("convolutions", "convolutions"),
    Mode("mixed precision", "mixed_precision"),
    Mode("accumulated gradients", "accumulation"),
    Mode("expandable segments", "transformer", environment=EXPANDABLE),
    Mode("expandable segments, merged blocks", "expandable", environment=EXPANDABLE),
    Mode("max_split_size and garbage collection", "transformer",
         environment=allocator("max_split_size_mb:32,garbage_collection_threshold:0.6")),
    Mode("streams", "streams"),
    Mode("out of memory", "out_of_memory", "4G"),
    Mode("retried with success", "retry", "4G"),
    Mode("retried, expandable segments", "retry", "4G", EXPANDABLE),
    Mode("CUDA graphs", "graphs"),
    Mode("CUDA graphs, expandable segments", "graphs", environment=EXPANDABLE),
    Mode("cudaMallocAsync", "async_allocator", environment=allocator("backend:cudaMallocAsync")),
    Mode("two devices", "two_devices", environment={"SOFTGPU_DEVICES": "2"}),
    Mode("data loader workers", "loader"),
    Mode("libraries", "libraries", environment={"SOFTGPU_EXACT_BELOW": "0"}),
]


def run(command, environment):
    """(exit status, what it said)"""
    try:
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return -1, "hangs"
    return done.returncode, done.stdout


# What torch might have said instead: each must be noticed.
def change_order(books):
    history = next(entries for entries in books["history"] if len(entries) > 9)
    history[4], history[8] = history[8], history[4]


def change_size(books):
    history = next(entries for entries in books["history"] if entries)
    next(entry for entry in history if entry[0] == "alloc")[2] += 64 << 20


def change_address(books):
    history = next(entries for entries in books["history"] if entries)
    next(entry for entry in history if entry[0] == "free_requested")[1] += 512


def change_total(key):
    def change(books):
        next(iter(books["instants"][-1]["stats"].values()))[key] += 512
    return change


def change_block(books):
    blocks = next(instant["blocks"] for instant in books["instants"] if instant["blocks"])
    next(iter(blocks.values()))[0][1] += 512


CHANGES = {"order": change_order, "size": change_size, "address": change_address, "block": change_block}
CHANGES |= {key: change_total(key) for key in ("allocated", "allocated_peak", "reserved",
                                               "reserved_peak", "ooms")}


def find_blind_spot(trace, witness):
    """A change of torch's books that the judge does not notice, or None."""
    for name, change in CHANGES.items():
        judge = oracle.Judge(trace, witness)
        change(judge.witness)
        if not judge.run().differences:
            return name
    return None


def judge_mode(mode, folder, stage, work, environment):
    """(what went wrong or None, numbers compared)"""
    name = os.path.join(work, f"{os.path.basename(folder)}-{mode.name.replace(' ', '-').replace(',', '')}")
    trace, witness = name + ".vscope", name + ".json"
    vramscope = os.path.join(stage, "bin", "vramscope")
    for path in (trace, witness):
        if os.path.exists(path):
            os.remove(path)
    status, text = run([vramscope, "run", f"--softgpu={mode.memory}", "-o", trace, "--",
                        os.path.join(folder, "bin", "python"), os.path.join(HERE, "witness.py"),
                        witness, os.path.join(SAMPLES, mode.program + ".py")],
                       environment | mode.environment)
    if status:
        return f"exit status {status}\n{text[-2000:]}", 0
    status, text = run([vramscope, "check", "-q", trace], environment)
    if status:
        return f"vramscope check: exit status {status}\n{text[-2000:]}", 0
    judge = oracle.Judge(trace, witness).run()
    if judge.differences:
        return f"{len(judge.differences)} differences\n" + "\n".join(judge.differences[:10]), 0
    if mode is MODES[0]:
        blind = find_blind_spot(trace, witness)
        if blind:
            return f"the judge does not notice another {blind}", 0
    os.remove(trace)
    os.remove(witness)
    return None, judge.nr_compared


def main():
    """For one release, by hand: recorded.py FOLDER STAGE WORK [MODE]"""
    folder, stage, work = sys.argv[1:4]
    environment = dict(os.environ, PYTHONDONTWRITEBYTECODE="1")
    for mode in MODES:
        if len(sys.argv) < 5 or mode.name == sys.argv[4]:
            wrong, compared = judge_mode(mode, folder, stage, work, environment)
            print(f"{mode.name}: {wrong or f'{compared} numbers compared, 0 differences'}", flush=True)


if __name__ == "__main__":
    main()
