#!/usr/bin/env python3
"""One sample, plainly and under vramscope: the program must not notice, and every number it prints
about itself must be the one that vramscope reports.

    run_sample.py NAME [PROGRAM]

PROGRAM: the sample built in another way.
"""
import json
import os
import re

import harness
from harness import SAMPLES, analyze, check, check_equal, iec, line_of

# What each sample comes to by construction. `culprits`: source line and function that the named
# command must show. `cause`: of the last out-of-memory; `verdict`: of `why` where nothing ran out.
# `remedies`: what is advised for it. `says`: what the named command must say,
# with {key} for bytes and {key:n} for a number of the sample's own books.
KNOWN = {
    "array": {
        "status": 3, "cause": "capacity", "peak": "array",
        "culprits": {"report": [("cudaMallocArray(&atlas", "load_atlas")],
                     "peak": [("CHECK(cudaMallocArray(&frame", "make_frame")]},
    },
    "async": {"status": 0},
    "batches": {
        "status": 3, "source": "sample_batches.cu", "cause": "fragmentation",
        "peak": "pool.tensors",
        "culprits": {
            "report": [("return Tensor::allocate", "keep_state"),
                       ("Tensor batch = Tensor::allocate", "load_batch")],
            "frag": [("return Tensor::allocate", "keep_state")],
        },
        "says": {"report": ["the largest hole is {largest_hole_bytes}: ",
                            "cut {hole_bytes} of free pool memory into {holes:n} holes"]},
    },
    "cache": {
        "status": 3, "source": "sample_cache.cu", "cause": "pool", "peak": "pool.frames",
        "culprits": {
            "report": [("return DeviceBuffer<float>::allocate", "plan_transform")],
            "peak": [("frames.push_back(Frame::allocate", "process")],
        },
        "says": {"report": ["pools hold {unused} that they do not use and could give back",
                            "frames: {used} live in {reserved} held, "
                            "{unused} could be given back"]},
    },
    "fragment": {
        "status": 3, "memory": "1G", "cause": "fragmentation", "remedies": ["move-pins"],
        "peak": "pool.tensors",
        "culprits": {
            "report": [("!pool_alloc(&pool, SMALL)", "process_batch"),
                       ("return pool_alloc(&pool, WANTED)", "load_large_batch")],
            "frag": [("!pool_alloc(&pool, SMALL)", "process_batch")],
        },
    },
    "grab": {
        "status": 0, "source": "sample_grab.cu", "peak": "pool.arena",
        "verdict": "preallocation",
        "culprits": {"peak": [("arena.allocate(weights_size)", "load_weights"),
                              ("arena.allocate(activation_size)", "make_activation")]},
        "says": {"report": ["{pool.arena.peak_bytes} live in {device.peak_bytes} reserved",
                            "arena: {pool.arena.peak_bytes} live in {device.peak_bytes} held"]},
    },
    "graph": {
        "status": 0, "cause": "capacity", "peak": "graph",
        "culprits": {"report": [("cudaGraphLaunch(huge, stream)", "run_huge")],
                     "peak": [("cudaGraphLaunch(step, stream)", "launch_step")]},
    },
    "greedy": {
        "status": 0, "peak": "pool.arena", "verdict": "preallocation", "remedies": ["take-less"],
        "culprits": {"peak": [("return pool_alloc", "tensor")]},
    },
    "history": {
        "status": 3, "source": "sample_history.cu", "cause": "retention",
        "culprits": {"report": [("Buffer losses = Buffer::allocate", "compute_loss")],
                     "retained": [("Buffer losses = Buffer::allocate", "compute_loss")]},
        "says": {"report": [" were kept step by step, see RETAINED",
                            "+{retained_per_step} a step since step 0 "
                            "({failed_step:n} of {failed_step:n} steps)"]},
    },
    "hoard": {
        "status": 3, "cause": "pool", "remedies": ["trim"], "peak": "async",
        "culprits": {"report": [("return device_alloc", "library_workspace")],
                     "peak": [("batches[nr++] = tensor(BATCH)", "warm_up")]},
        "says": {"report": ["pools hold {unused} that they do not use and could give back",
                            "cudaMemPoolTrimTo, or a lower cudaMemPoolAttrReleaseThreshold: ",
                            "stream-ordered: {used} live in {reserved} held (sampled), "
                            "{unused} could be given back"]},
    },
    "layers": {
        "status": 3, "source": "sample_layers.cu", "cause": "capacity", "peak": "device",
        "culprits": {"report": [("mean_.emplace(make_moment())", "Layer::optimize"),
                                ("layer.optimize(stream)", "train_step")],
                     "peak": [("model.push_back(Layer(nr_weights))", "build_model")]},
        "says": {"report": [" too little: {device.peak_bytes} live, and all that is free together "
                            "is less than was asked"]},
    },
    "limit": {
        "status": 3, "cause": "limit", "remedies": ["raise-limit"], "peak": "pool.limited",
        "culprits": {"report": [("return pool_alloc", "tensor")]},
    },
    "multi": {"status": 0, "env": {"SOFTGPU_DEVICES": "2"}},
    "oom": {
        "status": 3, "cause": "capacity", "remedies": ["smaller-pieces"], "peak": "device",
        "culprits": {"report": [("return device_alloc", "build_layer")],
                     "peak": [("return device_alloc", "build_layer")]},
    },
    "phases": {
        "status": 3, "cause": "retention", "peak": "device",
        "culprits": {"report": [("return device_alloc", "backward"),
                                ("never freed: the mistake", "train_step")],
                     "retained": [("never freed: the mistake", "train_step")]},
    },
    "pool": {
        "status": 3, "cause": "pool", "remedies": ["trim"],
        "culprits": {"report": [("return device_alloc", "library_workspace")]},
    },
    "retain": {
        "status": 0, "peak": "device", "verdict": "retention", "remedies": ["free"],
        "culprits": {"report": [("history[step] = device_alloc", "log_metrics")],
                     "retained": [("history[step] = device_alloc", "log_metrics")]},
    },
    "retry": {"status": 0, "verdict": "capacity"},
    "threads": {
        "status": 0,
        "culprits": {"sites": [("held[slot] = device_alloc", "work")]},
    },
    "train": {
        "status": 1, "memory": "2G", "cause": "fragmentation", "remedies": ["move-pins"],
        "failed_phase": "backward", "peak": "pool.tensors",
        "retained_per_step": 512 << 10,
        "culprits": {
            "report": [("losses[step] = pool_alloc", "log_loss"),
                       ("void *gradient = pool_alloc", "backward")],
            "retained": [("losses[step] = pool_alloc", "log_loss")],
            "frag": [("losses[step] = pool_alloc", "log_loss")],
            "peak": [("activation[i] = pool_alloc", "forward")],
            "sites": [("void *gradient = pool_alloc", "backward"),
                      ("return pool_alloc(&pool, WEIGHTS)", "build_layer")],
        },
    },
    "vector": {"status": 0, "source": "sample_vector.cu"},
    "vmm": {
        "status": 0, "peak": "vmm",
        "culprits": {"peak": [("DRIVER(cuMemCreate", "grow")]},
    },
}

# Keys of the samples that stand for one field of the first device.
DEVICE_FIELDS = {
    "hole_bytes": ("hole_bytes",),
    "largest_hole_bytes": ("largest_hole_bytes",),
    "holes": ("holes",),
    "wanted": ("last_oom", "requested_bytes"),
    "failed_step": ("last_oom", "at", "step"),
    "failed_phase": ("last_oom", "at", "phase"),
    "retained_per_step": ("retained", "bytes_per_step"),
    "reserved": ("reserved_at_end_bytes",),
    "mapped_at_end": ("reserved_at_end_bytes",),
    "reserved_after_steps": ("peak_reserved_bytes",),
    "reserved_after_trim": ("reserved_at_end_bytes",),
}


def read_books(stdout):
    books = {}
    for line in stdout.splitlines():
        key, _, value = line.partition("=")
        books[key] = int(value) if re.fullmatch("[0-9]+", value) else value
    return books


def run_both(name, program, known):
    """The sample's books and the trace; it must not notice that it is watched."""
    trace = f"{name}.vscope"
    plain = harness.run_plain(known.get("memory", "2G"), program, env=known.get("env"))
    recorded = harness.run_recorded(known.get("memory", "2G"), trace, program,
                                    env=known.get("env"))
    ours, others = harness.own_lines(recorded.stderr)
    check_equal(plain.returncode, known["status"], "exit status of the sample")
    check_equal(recorded.returncode, plain.returncode, "exit status under vramscope")
    check_equal(recorded.stdout, plain.stdout, "output under vramscope")
    check_equal(others, plain.stderr.splitlines(), "errors under vramscope")
    check_equal(len(ours), 1, "lines of vramscope's own")
    check(f"vramscope report {trace}" in ours[0], f"the next command is in {ours[0]!r}")
    check_equal(os.listdir("."), [trace], "files that are left")
    return read_books(plain.stdout), trace


def find_pool(device, name):
    pools = [pool for pool in device["pools"] if pool["name"] == name]
    check_equal(len(pools), 1, f"pools with the name {name}")
    return pools[0]


def look_up(story, key, trace):
    """What the report has under a key of the books."""
    devices = story["devices"]
    if key in DEVICE_FIELDS:
        value = devices[0]
        for field in DEVICE_FIELDS[key]:
            value = value[field]
        return value
    if key == "ooms":
        return sum(device["ooms"] for device in devices)
    if key == "recovered":
        return sum(group["recovered"] for device in devices for group in device["failures"])
    if key in ("used", "unused"):
        field = {"used": "block_bytes", "unused": "releasable_bytes"}[key]
        return sum(pool["then"][field] for pool in devices[0]["pools"])
    if key == "limit":
        return devices[0]["pools"][0]["limit_bytes"]
    if key == "threads":
        return json.loads(analyze("info", "--json", trace))["threads"]
    if key == "steps":
        return json.loads(analyze("info", "--json", trace))["steps"]
    owner, _, field = key.rpartition(".")
    check(owner, f"somebody compares {key}")
    if owner.startswith("pool."):
        return find_pool(devices[0], owner[len("pool."):])[field]
    if re.fullmatch("device[0-9]", owner):
        return devices[int(owner[-1])]["memory_kinds"]["device"][field]
    return devices[0]["memory_kinds"][owner][field]


def check_verdicts(books, trace, known):
    """What `why` says: one verdict for each place that ran out, or for the run."""
    why = json.loads(analyze("why", "--json", trace))
    verdicts = [verdict["verdict"] for verdict in why["verdicts"]]
    expected = known.get("cause", known.get("verdict"))
    check_equal(verdicts[0] if verdicts else None, expected, "the verdict")
    if not verdicts:
        return
    first = why["verdicts"][0]
    check_equal(first["occasion"] == "failure", books["ooms"] > 0, "what the verdict is about")
    if "wanted" in books:
        check_equal(first["requested_bytes"], books["wanted"], "what was asked")
    advised = [remedy["id"] for remedy in first["remedies"]]
    for remedy in known.get("remedies", []):
        check(remedy in advised, f"{remedy} is among {advised}")


def check_numbers(books, trace, known):
    story = harness.report(trace)
    for key, value in books.items():
        check_equal(look_up(story, key, trace), value, key)
    # A kind that the sample has no books about was not used.
    for number, device in enumerate(story["devices"]):
        for kind, counts in device["memory_kinds"].items():
            if not {f"{kind}.allocs", f"{kind}{number}.allocs"} & books.keys():
                check_equal(counts["allocs"] + counts["failed_allocs"], 0, f"{kind} allocations")
    for field in ("lost_events", "overlaps", "orphan_blocks", "unmatched_frees"):
        check_equal(story[field], 0, field)
    check(story["complete"] and story["simulated"], "the trace is complete and of a simulated GPU")
    oom = story["devices"][0]["last_oom"]
    check_equal(oom and oom["cause"], known.get("cause"), "the cause")
    check_verdicts(books, trace, known)
    if "peak" in known:
        check_equal(story["devices"][0]["peak_live_bytes"], books[f"{known['peak']}.peak_bytes"],
                    "peak_live_bytes")
    if "retained_per_step" in known:
        check_equal(story["devices"][0]["retained"]["bytes_per_step"], known["retained_per_step"],
                    "retained bytes per step")


def fill_in(sentence, books):
    """The sentence with the books' numbers, written as a report writes them."""
    def write(match):
        value = books[match[1]]
        return str(value) if match[2] else iec(value)
    return re.sub(r"\{([^:}]+)(:n)?\}", write, sentence)


def check_texts(name, books, trace, known):
    texts = {}
    for command in ("report", "why", "peak", "retained", "frag", "sites", "map", "info"):
        texts[command] = analyze(command, trace)
        schema = json.loads(analyze(command, "--json", trace))["schema"]
        check_equal(schema, f"vramscope.{command}/0", "the schema")
    source = known.get("source", f"sample_{name}.c")
    for command, culprits in known.get("culprits", {}).items():
        for line, function in culprits:
            place = f"{source}:{line_of(source, line)} {function}"
            check(place in texts[command], f"{place!r} is in {command}:\n{texts[command]}")
    for command, sentences in known.get("says", {}).items():
        for sentence in sentences:
            wanted = fill_in(sentence, books)
            check(wanted in texts[command], f"{wanted!r} is in {command}:\n{texts[command]}")
    for command, text in texts.items():
        check("(simulated)" in text, f"{command} says that the GPU is simulated")
    check_equal("OUT OF MEMORY" in texts["report"], books["ooms"] > 0,
                "the report says out of memory")
    check_equal("RECOVERED" in texts["report"], books.get("recovered", 0) > 0,
                "the report says recovered")
    if books["ooms"]:
        check(f"{iec(books['wanted'])} asked" in texts["report"], "the report says what was asked")
        check(f"{iec(books['wanted'])} asked" in texts["map"], "the map says what was asked")
        check(f"cause: {known['cause'].upper()}" in texts["report"], "the report says the cause")
    if "failed_step" in books:
        phase = books.get("failed_phase", known.get("failed_phase"))
        where = f"in {phase} of step" if phase else "in step"
        check(f"{where} {books['failed_step']}:" in texts["report"],
              "the report says phase and step")
    if "hole_bytes" in books:
        for key in ("hole_bytes", "largest_hole_bytes"):
            check(iec(books[key]) in texts["frag"], f"frag says {key}")
    kept = books.get("retained_per_step", known.get("retained_per_step"))
    if kept:
        check(f"+{iec(kept)} a step" in texts["retained"], "retained says how much a step")
    if "peak" in known:
        peak = iec(books[f"{known['peak']}.peak_bytes"])
        check(f"{peak} live" in texts["peak"], "peak says how much was live")


def check_pictures(trace):
    starts = {"png": b"\x89PNG\r\n\x1a\n", "svg": b"<?xml", "csv": b"", "pdf": b"%PDF-"}
    for kind, start in starts.items():
        analyze("heatmap", trace, "-o", f"picture.{kind}")
        with open(f"picture.{kind}", "rb") as file:
            content = file.read()
        check(len(content) > 200 and content.startswith(start), f"the {kind} is one")


def run_sample(name, program=None):
    known = KNOWN[name]
    books, trace = run_both(name, program or os.path.join(SAMPLES, name), known)
    check_numbers(books, trace, known)
    check_texts(name, books, trace, known)
    check_pictures(trace)


harness.main(run_sample)
