#!/usr/bin/env python3
"""How fast a page is, for people: no test, for timing decides none.

    measure_page.py PAGE.html
"""
import dataclasses
import os
import sys
import tempfile
import time

import browser

PAN = """
const done = arguments[arguments.length - 1];
const chart = window.vramscopePage.chart;
const start = performance.now();
const first = chart.picture.frames;
const gaps = [];
let last = start;
const span = (chart.end - chart.start) / 8;
function frame(now) {
	const share = (now - start) / 4000;

	gaps.push(now - last);
	last = now;
	if (share >= 1)
		return done([(chart.picture.frames - first) / 4, Math.max(...gaps.slice(1))]);
	/* There and back, and deeper and deeper in. */
	const width = span * (1 - share) + 1000;
	const at = chart.start + (chart.end - chart.start - width) * Math.abs(Math.sin(share * 6));

	chart.show(at, at + width);
	requestAnimationFrame(frame);
}
requestAnimationFrame(frame);
"""


CLICKS = """
const done = arguments[arguments.length - 1];
const chart = window.vramscopePage.chart;
const NR = 20;
const times = [];

function next() {
	if (times.length === NR)
		return done(times);
	/* Far from the one before. */
	const at = chart.start + (chart.end - chart.start) * (times.length * 7 % NR + 0.5) / NR;
	const start = performance.now();

	document.body.removeAttribute('data-instant');
	new MutationObserver((_, observer) => {
		if (!document.body.dataset.instant)
			return;
		observer.disconnect();
		times.push(performance.now() - start);
		next();
	}).observe(document.body, { attributes: true, attributeFilter: ['data-instant'] });
	chart.tell.onPick(at);
}
next();
"""


def children(pid):
    for task in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{task}/children", encoding="ascii") as file:
            for child in file.read().split():
                yield child
                yield from children(child)


def renderer_mib(pid):
    """What the renderers, in which the page and its worker live, have in memory."""
    total = 0
    for child in children(pid):
        try:
            with open(f"/proc/{child}/cmdline", "rb") as file:
                if b"--type=renderer" not in file.read():
                    continue
            with open(f"/proc/{child}/smaps_rollup", encoding="ascii") as file:
                total += sum(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except OSError:
            continue
    return total / 1024


@dataclasses.dataclass
class Measured:
    megabytes: float
    paint_s: float     # until the browser has painted for the first time
    ready_s: float     # until everything is shown, of the instant at which it opens, too
    frames: float      # a second, while it is moved and zoomed
    gap_ms: float      # the longest without one
    click_ms: float    # until everything is shown of another instant: median
    slowest_ms: float
    memory_mib: float


def measure(path):
    """Opens a page and uses it."""
    with tempfile.TemporaryDirectory() as folder, browser.Browser(folder) as page:
        page.open("about:blank")
        start = time.monotonic()
        page.open(f"file://{os.path.abspath(path)}#theme=light")
        page.wait("return document.body.dataset.ready && document.body.dataset.instant", seconds=300)
        ready = time.monotonic() - start
        paint = page.run("return performance.getEntriesByType('paint')[0].startTime")
        frames, gap = page.run_async(PAN)
        clicks = sorted(page.run_async(CLICKS))
        return Measured(os.path.getsize(path) / 1e6, paint / 1000, ready, frames, gap,
                        clicks[len(clicks) // 2], clicks[-1], renderer_mib(page.driver.pid))


def main():
    found = measure(sys.argv[1])
    print(f"{found.megabytes:.1f} MB, first paint {found.paint_s:.2f} s, everything shown {found.ready_s:.2f} s")
    print(f"pan and zoom {found.frames:.0f} frames/s, longest gap {found.gap_ms:.0f} ms")
    print(f"another instant {found.click_ms:.0f} ms, at most {found.slowest_ms:.0f} ms")
    print(f"memory of the renderers {found.memory_mib:.0f} MiB")


if __name__ == "__main__":
    browser.need()
    main()
