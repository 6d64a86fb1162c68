"""Compares what Python said of its stacks (frame_oracle.py) with what vramscope says of them."""
import collections
import json

MAX_FRAMES = 256  # VS_PYTHON_MAX_FRAMES
EVALUATOR = "_PyEval_EvalFrameDefault"


def read_notes(path):
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def read_sites(text):
    """All sites of a `sites --json`."""
    return [site for device in json.loads(text)["devices"] for site in device["sites"]]


def get_python(site, name_max=1024 - 4, file_max=4096 - 4):
    """Its frames of Python: (function, file, line)."""
    return tuple((frame["function"], frame["file"], frame["line"]) for frame in site["stack"]
                 if frame["address"] and int(frame["address"], 16) >> 60 == 8)


def group(pairs):
    """{frames: (how many, bytes)} of (frames, how many, bytes)."""
    groups = collections.defaultdict(lambda: (0, 0))
    for frames, nr, size in pairs:
        groups[frames] = (groups[frames][0] + nr, groups[frames][1] + size)
    return dict(groups)


def get_wanted(notes, max_frames=MAX_FRAMES):
    return group((tuple(map(tuple, note["frames"][:max_frames])), 1, note["size"]) for note in notes)


def compare(notes, sites, max_frames=MAX_FRAMES):
    """Sentences about what is different; none: all is as Python says."""
    wanted = get_wanted(notes, max_frames)
    got = group((get_python(site), site["allocs"], site["bytes_allocated"]) for site in sites
                if site["api"] == "cudaMalloc")
    cases = {tuple(map(tuple, note["frames"][:max_frames])): note["case"] for note in notes}
    lines = []
    for frames in wanted:
        if wanted[frames] != got.get(frames):
            lines.append(f"{cases[frames]}: {wanted[frames]} (how many, bytes) of {frames[:4]}, "
                         f"{len(frames)} frames; vramscope has {got.get(frames)}")
    for frames in got:
        if frames not in wanted:
            lines.append(f"nobody allocated at {frames[:4]}, {len(frames)} frames: {got[frames]}")
    return lines


def get_real_frames(site):
    """[(is it Python's, its functions)]: what is inlined into a frame is part of it."""
    frames = []
    for frame in site["stack"]:
        if frames and frames[-1][0] == frame["address"] and frames[-1][2]:
            frames[-1][1].append(frame["function"])
            frames[-1][2] = frame["inlined"]
        else:
            frames.append([frame["address"], [frame["function"]], frame["inlined"]])
    return [(int(address, 16) >> 60 == 8, functions) for address, functions, _ in frames]


def get_runs(site):
    """Its frames of Python in runs: (names, whether the evaluator stands right behind them, how many
    other evaluators stand in front of them); and how many evaluators come after all of them."""
    runs, run, nr_evaluators = [], [], 0
    for is_python, functions in get_real_frames(site):
        if is_python:
            run += functions
            continue
        is_evaluator = any(name.split(".")[0] == EVALUATOR for name in functions)
        if run:
            runs.append((tuple(run), is_evaluator, nr_evaluators))
            run, nr_evaluators = [], 0
        elif is_evaluator:
            nr_evaluators += 1
    if run:
        runs.append((tuple(run), False, nr_evaluators))
    return runs, nr_evaluators


# Functions of oracle_program.py that C calls, and nobody else.
CALLED_FROM_C = ("calls_from_c.<locals>.key", "calls_from_c.<locals>.outer_key", "key", "outer_key",
                 "deep_recursion_under_a_callback.<locals>.key", "Odd.__lt__", "__lt__",
                 "destructors.<locals>.drop_from_c", "drop_from_c", "Odd.__del__", "__del__")


def has_evaluator(sites):
    """Whether the evaluator can be told from other functions: some builds cut it into pieces."""
    return any(frame["function"].split(".")[0] == EVALUATOR
               for site in sites for frame in site["stack"])


def compare_order(sites, version):
    """Sentences about frames of Python that do not stand where the evaluator executes them."""
    lines = []
    if not has_evaluator(sites):
        return [f"they do not stand together in {site['site'][:300]}" for site in sites
                if len(get_runs(site)[0]) > 1]
    for site in sites:
        runs, nr_left = get_runs(site)
        is_cut = site["stack"][-1]["function"] not in ("_start", "clone", "clone3", "__clone")
        for i, (run, is_before_evaluator, nr_evaluators) in enumerate(runs):
            text = f"the run {run[:3]}... of {len(run)} frames in {site['site'][:300]}"
            is_last = i + 1 == len(runs)
            if not is_before_evaluator and not (is_last and is_cut):
                lines.append("no evaluator is behind " + text)
            if nr_evaluators and not any("__del__" in name for name in run + runs[i - 1][0]):
                lines.append(f"{nr_evaluators} evaluators execute nothing in front of {text}")
            if version < (3, 11) and len(run) > 1 and not (is_last and is_cut):
                lines.append("one evaluator executes all of " + text)
            for name in run[:-1]:
                if name in CALLED_FROM_C:
                    lines.append(f"{name} is not called from C in {text}")
        if nr_left and len(get_python(site)) < MAX_FRAMES:
            lines.append(f"{nr_left} evaluators execute nothing outside of all in {site['site'][:300]}")
    return lines
