#!/usr/bin/env python3
"""How fast a page is, for people: no test, for timing decides none.

    measure_page.py PAGE.html
"""
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


def main():
    path = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, browser.Browser(folder) as page:
        page.open("about:blank")
        start = time.monotonic()
        page.open(f"file://{path}#theme=light")
        page.wait("return document.body.dataset.ready && document.body.dataset.instant", seconds=300)
        ready = time.monotonic() - start
        paint = page.run("return performance.getEntriesByType('paint')[0].startTime")
        print(f"{os.path.getsize(path) / 1e6:.1f} MB, first paint {paint / 1000:.2f} s, everything shown {ready:.2f} s")
        rate, gap = page.run_async(PAN)
        print(f"pan and zoom {rate:.0f} frames/s, longest gap {gap:.0f} ms, memory of the renderers {renderer_mib(page.driver.pid):.0f} MiB")


if __name__ == "__main__":
    browser.need()
    main()
