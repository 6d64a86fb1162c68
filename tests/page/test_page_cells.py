#!/usr/bin/env python3
"""The cells of `heatmap` against a computation that looks at every item of every cell: of devices, of
each pool and of segments, from what a page says was there.

    test_page_cells.py VRAMSCOPE MAKE_PAGE_TRACE MAKE_REPORT_TRACE
"""
import copy
import csv
import os
import subprocess
import sys
import tempfile
import unittest

import read_page

VRAMSCOPE, MAKE_PAGE, MAKE_REPORT = sys.argv[1:4]
IS_DIVIDED, IS_ON_DEVICE, HAS_ADDRESS, IS_INSIDE = 4, 8, 32, 64
WIDTH, HEIGHT = 23, 17


class Stay:
    """An item with an address, and when it was there."""

    def __init__(self, trace, item, last):
        self.item = item
        self.low, self.high = item.address, item.address + item.size
        self.start = trace.changes[item.born][0]
        self.end = last + 1 if item.died is None else trace.changes[item.died][0]

    def within(self, other):
        """The same, but only while the other is there; None: they never meet."""
        if not (other.low <= self.low < other.high) or not overlap(self.start, self.end, other.start, other.end):
            return None
        part = copy.copy(self)
        part.start, part.end = max(self.start, other.start), min(self.end, other.end)
        return part


def find_stays(trace, device):
    last = trace.changes[-1][0]
    wanted = IS_ON_DEVICE | HAS_ADDRESS
    stays = [Stay(trace, item, last) for item in trace.items
             if item.device == device and item.flags & wanted == wanted and item.size]
    return [stay for stay in stays if stay.start < stay.end]


def overlap(low, high, other_low, other_high):
    return max(0, min(high, other_high) - max(low, other_low))


def fold(stays):
    """[low, high, offset] of every stretch of addresses that is held."""
    ranges = []
    for low, high in sorted((stay.low, stay.high) for stay in stays):
        if ranges and low <= ranges[-1][1]:
            ranges[-1][1] = max(ranges[-1][1], high)
        else:
            ranges.append([low, high, 0])
    offset = 0
    for one in ranges:
        one[2] = offset
        offset += one[1] - one[0]
    return ranges, offset


def unfold(ranges, offset):
    one = [one for one in ranges if one[2] <= offset][-1]
    return one[0] + offset - one[2]


def folded(ranges, stay, low, high):
    """How many bytes of the folded stretch an item has."""
    return sum(overlap(overlap_low + offset - start, overlap_high + offset - start, low, high)
               for start, end, offset in ranges
               for overlap_low, overlap_high in [(max(stay.low, start), min(stay.high, end))]
               if overlap_low < overlap_high)


def split(total, most):
    """Pieces of equal size, the last one may be smaller."""
    size = max(1, -(-total // most))
    return [(at, min(at + size, total)) for at in range(0, total, size)]


def expected_cells(held, live, from_ns, to_ns):
    within = [stay for stay in held if stay.end > from_ns and stay.start < to_ns]
    ranges, total = fold(within)
    cells = []
    for start, end in split(to_ns - from_ns, WIDTH):
        for low, high in split(total, HEIGHT):
            shares = []
            for stays in (held, live):
                shares.append(sum(overlap(stay.start, stay.end, from_ns + start, from_ns + end) * folded(ranges, stay, low, high)
                                  for stay in stays) / ((end - start) * (high - low)))
            if any(shares):
                cells.append((from_ns + start, from_ns + end, hex(unfold(ranges, low)), hex(unfold(ranges, high - 1) + 1), *shares))
    return cells


class Cells(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        for maker in (MAKE_PAGE, MAKE_REPORT):
            subprocess.run([maker, cls.folder.name], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def run_heatmap(self, name, device, *options, status=0):
        out = self.path("cells.csv")
        done = subprocess.run([VRAMSCOPE, "heatmap", "--width", str(WIDTH), "--height", str(HEIGHT), "--device", str(device),
                               *options, "-o", out, self.path(f"{name}.vscope")], capture_output=True, text=True)
        self.assertEqual(done.returncode, status, done.stderr)
        if status:
            return []
        with open(out, encoding="utf-8", newline="") as file:
            return list(csv.reader(file))[1:]

    def check_cells(self, name, device, held, live, window, *options):
        from_ns, to_ns = window
        found = self.run_heatmap(name, device, *options, "--from", f"{from_ns}ns", "--to", f"{to_ns}ns")
        wanted = expected_cells(held, live, from_ns, to_ns)
        self.assertEqual([(int(row[0]), int(row[1]), row[2], row[3]) for row in found], [row[:4] for row in wanted])
        for row, cell in zip(found, wanted):
            self.assertAlmostEqual(float(row[4]), cell[4], delta=2e-6)
            self.assertAlmostEqual(float(row[5]), cell[5], delta=2e-6)
        return len(wanted)

    def load(self, name):
        page = self.path(f"{name}.html")
        subprocess.run([VRAMSCOPE, "html", "-o", page, self.path(f"{name}.vscope")], check=True)
        page = read_page.Page(page)
        trace = page.trace(0)
        end = trace.changes[-1][0] + 1
        windows = [(1, end), (end // 3, end // 2)]
        return trace, [(one["index"], one["device"]) for one in page.story["traces"][0]["devices"]], windows

    def test_devices(self):
        for name in ("all", "story", "names"):
            trace, devices, windows = self.load(name)
            for index, ordinal in devices:
                stays = find_stays(trace, index)
                held = [stay for stay in stays if not stay.item.flags & IS_INSIDE]
                live = [stay for stay in stays if not stay.item.flags & IS_DIVIDED]
                for window in windows:
                    with self.subTest(f"{name} {ordinal} {window}"):
                        self.check_cells(name, ordinal, held, live, window)

    def test_pools(self):
        nr = 0
        for name in ("all", "story"):
            trace, devices, windows = self.load(name)
            for index, ordinal in devices:
                stays = find_stays(trace, index)
                for pool in sorted({one["name"] for one in trace.tables["pools"]}):
                    numbers = {i + 1 for i, one in enumerate(trace.tables["pools"]) if one["name"] == pool}
                    held = [stay for stay in stays if stay.item.owner in numbers or
                            (stay.item.pool in numbers and not stay.item.flags & IS_INSIDE)]
                    live = [stay for stay in stays if stay.item.pool in numbers]
                    # Bytes that are no text are not to be had from a page.
                    if held and "\ufffd" not in pool:
                        with self.subTest(f"{name} {ordinal} {pool}"):
                            nr += self.check_cells(name, ordinal, held, live, windows[0], "--pool", pool)
        self.assertGreater(nr, 500)

    def test_segments(self):
        nr = 0
        for name in ("all", "story"):
            trace, devices, windows = self.load(name)
            for index, ordinal in devices:
                stays = find_stays(trace, index)
                roots = [stay for stay in stays if not stay.item.flags & IS_INSIDE]
                leaves = [stay for stay in stays if not stay.item.flags & IS_DIVIDED]
                for address in sorted({(root.low + root.high) // 2 for root in roots}):
                    held = [root for root in roots if root.low <= address < root.high]
                    live = [leaf for leaf in leaves if leaf in held]
                    # A block may outlive the shape of its segment.
                    live += [part for leaf in leaves if leaf.item.flags & IS_INSIDE for root in held
                             if (part := leaf.within(root))]
                    with self.subTest(f"{name} {ordinal} {hex(address)}"):
                        nr += self.check_cells(name, ordinal, held, live, windows[0], "--segment", hex(address))
        self.assertGreater(nr, 500)

    def test_parts_that_are_not_there(self):
        self.run_heatmap("all", 0, "--pool", "none", status=1)
        self.run_heatmap("all", 0, "--segment", "0x10", status=1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
