"""What --cupti adds to an event that a hook sees, and what an event costs that only CUPTI sees."""
import re

from measuring import Command, NotBuilt, median, run, table
from page import Part, Target


def measure_cupti(bench):
    program = bench.program("bench_cupti")
    if not bench.has_program("bench_cupti"):
        raise NotBuilt("not built: bench_cupti, which needs softgpu's runtime")
    nr_pairs = bench.pick(100_000, 20_000)
    idle = {"CUDA_INJECTION64_PATH": bench.program("libbench_cupti_idle.so")}
    ways = {
        "hooks": ((), {}),
        "hooks, and somebody else's subscriber that does nothing": ((), idle),
        "hooks and CUPTI": (("--cupti",), {}),
        "CUPTI alone": (("--cupti", "--no-hooks"), {}),
    }
    times = {name: [] for name in ways}
    # By turns: what else the machine does meets all of them.
    for _ in range(bench.pick(7, 3)):
        for name, (options, env) in ways.items():
            trace = bench.path("cupti.vscope")
            result = run(Command((bench.vramscope, "run", "--softgpu=8G", *options, "-o", trace,
                                  "--", program, str(nr_pairs)), env, outputs=[trace]))
            loop = int(re.search(r"^loop (\d+)$", result.output, re.M)[1])
            times[name].append(loop / (2 * nr_pairs))
    rows = [(name, f"{median(list_):.0f}", f"{min(list_):.0f}") for name, list_ in times.items()]
    hooks, others, both, _ = (min(list_) for list_ in times.values())
    return Part(
        lines=["ns of the calling thread per event, with softgpu's own work and that of its CUPTI:",
               "", *table(("sources", "median", "best"), rows)],
        targets=[Target("--cupti, added to an event that a hook sees", "1000 ns",
                        f"{both - hooks:.0f} ns, {both - others:.0f} ns of them ours and the "
                        "rest (softgpu's) CUPTI")])
