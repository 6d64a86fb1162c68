"""The page in Chromium and the heatmap: how large, how fast, how much memory."""
import os
import sys

from against_torch import CARD, LOOP, find_torch
from analyzer_parts import MILLION, make_trace, make_training
from measuring import BenchError, Command, NotBuilt, best, measure, run, table, wall
from page import Part, Target

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../page"))
# pylint: disable=wrong-import-position
import browser  # noqa: E402
import measure_page  # noqa: E402

EVENTS_OF_A_STEP = 752  # of torch_loop.py; what comes out is counted
MOST_MB, MOST_PAINT, LEAST_FRAMES, MOST_MIB = 10, 1, 30, 500
MOST_HEATMAP_S, MOST_HEATMAP_MIB, MOST_BLOCKS_S = 5, 200, 2
BLOCKS = 300_000


def make_torch(bench, nr_events):
    """(path, number of events): a training by real torch."""
    python = os.path.join(find_torch(bench), "bin", "python")
    nr_steps = nr_events // EVENTS_OF_A_STEP // 10 + 1
    run(bench.recorded(python, "-B", LOOP, "plain", 9, nr_steps, options=[f"--softgpu={CARD}"],
                       name="torch.vscope"))
    return bench.path("torch.vscope"), bench.info("torch.vscope")["events"]


def measure_html(bench):
    if not browser.find():
        raise NotBuilt("Chromium or chromedriver is not installed")
    traces = {"a training by real torch": make_torch(bench, bench.pick(1, 0.1) * MILLION),
              "20,000 alive, 1,000 sites": make_trace(bench, "holes.vscope",
                                                      bench.pick(1, 0.1) * MILLION, 20_000, 1000),
              "a training, 3,000 alive": make_training(bench, bench.pick(10, 1) * MILLION)}
    rows, found = [], {}
    for name, (path, nr_events) in traces.items():
        page = bench.path("page.html")
        made = run(Command((bench.vramscope, "html", "-o", page, path)))
        one = found[name] = measure_page.measure(page)
        rows.append((name, f"{nr_events:,}", f"{made.wall_ns / 1e9:.1f}", f"{one.megabytes:.1f}",
                     f"{one.paint_s:.2f}", f"{one.ready_s:.1f}", f"{one.frames:.0f}",
                     f"{one.gap_ms:.0f}", f"{one.click_ms:.0f}", f"{one.slowest_ms:.0f}",
                     f"{one.memory_mib:.0f}"))
    real, long = (found[name] for name in ("a training by real torch", "a training, 3,000 alive"))
    return Part(
        lines=[*table(("trace", "events", "`html`, s", "page, MB", "first paint, s",
                       "everything shown, s", "frames/s", "longest gap, ms",
                       "another instant, ms", "slowest, ms", "renderer, MiB"), rows)],
        targets=[Target("page of a million events of real torch: size, first paint, frames/s, "
                        "memory", f"{MOST_MB} MB, {MOST_PAINT} s, at least {LEAST_FRAMES}, "
                        f"{MOST_MIB} MB",
                        f"{real.megabytes:.1f} MB, {real.paint_s:.2f} s, {real.frames:.0f}, "
                        f"{real.memory_mib * 2**20 / 1e6:.0f} MB"),
                 Target("page of 10 million events", "it opens",
                        f"in {long.ready_s:.1f} s, then {long.frames:.0f} frames/s; another "
                        f"instant in {long.click_ms:.0f} ms, {long.slowest_ms:.0f} ms at most")])


def measure_heatmap(bench):
    nr_wanted = bench.pick(10, 1) * MILLION
    traces = {"training, 3,000 alive, 360 sites": make_training(bench, nr_wanted),
              "100,000 alive, 50,000 sites": make_trace(bench, "live.vscope", nr_wanted, 100_000,
                                                        50_000),
              f"{BLOCKS:,} alive, 1,000 sites": make_trace(bench, "blocks.vscope", 2 * BLOCKS,
                                                           BLOCKS, 1000)}
    rows, found = [], []
    for name, (path, nr_events) in traces.items():
        results = measure({kind: Command((bench.vramscope, "heatmap", "--quiet", "-o",
                                          bench.path(f"picture.{kind}"), path))
                           for kind in ("png", "svg", "csv")}, bench.pick(3, 1))
        times = [best(results[kind], wall) / 1e9 for kind in results]
        rss = max(result.rss_mib for kind in results for result in results[kind])
        if os.path.getsize(bench.path("picture.png")) < 1000:
            raise BenchError("there is no picture")
        found.append((times[0], rss))
        rows.append((name, f"{nr_events:,}", *(f"{time:.2f}" for time in times), f"{rss:.0f}"))
    return Part(
        lines=[*table(("trace", "events", "PNG, s", "SVG, s", "CSV, s", "RSS, MiB"), rows)],
        targets=[Target("heatmap of 10 million events", f"{MOST_HEATMAP_S} s and "
                        f"{MOST_HEATMAP_MIB} MiB", "; ".join(f"{time:.1f} s and {rss:.0f} MiB"
                                                             for time, rss in found[:2])),
                 Target("heatmap of 300,000 blocks", f"{MOST_BLOCKS_S} s", f"{found[2][0]:.1f} s")])
