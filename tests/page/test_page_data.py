#!/usr/bin/env python3
"""What a page holds, read without a browser, against what the commands say.

    test_page_data.py VRAMSCOPE MAKE_PAGE_TRACE MAKE_REPORT_TRACE
"""
import base64
import hashlib
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import unittest

import read_page

VRAMSCOPE, MAKE_PAGE, MAKE_REPORT = sys.argv[1:4]
OWN = {"index", "words", "marks", "retained_sites", "overview"}


def run(*arguments, status=0):
    done = subprocess.run([VRAMSCOPE, *arguments], capture_output=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout


def tell(command, *arguments):
    return json.loads(run(command, "--json", *arguments))


class PageData(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.names = ["all", "hostile", "story", "many"]
        subprocess.run([MAKE_PAGE, cls.folder.name], check=True)
        subprocess.run([MAKE_REPORT, cls.folder.name], check=True)
        cls.pages = {}
        for name in cls.names:
            run("html", "-o", cls.path(name, "html"), cls.path(name))
            cls.pages[name] = read_page.Page(cls.path(name, "html"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @classmethod
    def path(cls, name, end="vscope"):
        return os.path.join(cls.folder.name, f"{name}.{end}")

    def test_story_says_what_report_says(self):
        for name in self.names:
            with self.subTest(name):
                told = tell("report", "--top", "10", self.path(name))
                trace = self.pages[name].story["traces"][0]
                for key, value in told.items():
                    if key not in ("schema", "devices"):
                        self.assertEqual(trace[key], value, key)
                self.assertEqual(len(trace["devices"]), len(told["devices"]))
                for ours, theirs in zip(trace["devices"], told["devices"]):
                    self.assertEqual({key: ours[key] for key in ours if key not in OWN}, theirs)

    def check_map(self, trace, index, told, change):
        state = trace.state(change, index)
        self.assertEqual((state["live"], state["reserved"]), (told["live_bytes"], told["reserved_bytes"]))
        segments = trace.segments(state)
        self.assertEqual([hex(item.address) for item, _ in segments], [one["address"] for one in told["segments"]])
        for (item, inside), said in zip(segments, told["segments"]):
            self.assertEqual(item.size, said["bytes"])
            self.assertEqual(bool(item.flags & 4), said["is_pooled"])
            leaves = [one for one in inside if not one.flags & 4]
            self.assertEqual(len(leaves), said["blocks"])
            if said["is_pooled"]:
                self.assertEqual(sum(one.size for one in leaves), said["live_bytes"])

    def test_state_at_any_instant_is_that_of_map(self):
        for name in ("all", "hostile", "story"):
            trace = self.pages[name].trace(0)
            devices = self.pages[name].story["traces"][0]["devices"]
            times = sorted({change[0] for change in trace.changes})
            for time in times[::max(1, len(times) // 60)] + times[-1:]:
                told = tell("map", "--at", f"{time}ns", self.path(name))["devices"]
                for device, said in zip(devices, told):
                    with self.subTest(f"{name} {time} {device['device']}"):
                        self.check_map(trace, device["index"], said, trace.changes_at(time))

    def test_marks_are_where_they_say(self):
        for name in ("all", "hostile", "story", "many"):
            trace = self.pages[name].trace(0)
            for device in self.pages[name].story["traces"][0]["devices"]:
                marks = {mark["name"]: mark for mark in device["marks"]}
                peak = trace.state(marks["peak"]["change"], device["index"])
                self.assertEqual((peak["live"], peak["count"]), (device["peak_live_bytes"], device["peak_live_count"]))
                self.assertEqual(peak["reserved"], device["reserved_at_peak_live_bytes"])
                highest = trace.state(marks["peak-reserved"]["change"], device["index"])
                self.assertEqual(highest["reserved"], device["peak_reserved_bytes"])
                if device["last_oom"]:
                    self.assertEqual(marks["oom"]["time_ns"], device["last_oom"]["at"]["time_ns"])
                    self.assertEqual(marks["oom"]["requested_bytes"], device["last_oom"]["requested_bytes"])

    def test_overview_is_the_most_of_each_stretch(self):
        trace = self.pages["all"].trace(0)
        for device in self.pages["all"].story["traces"][0]["devices"]:
            overview = device["overview"]
            span = overview["to_ns"] - overview["from_ns"]
            most = [0] * overview["columns"]
            levels = [(0, 0)]
            for number, (time, *_) in enumerate(trace.changes, 1):
                if number == len(trace.changes) or trace.changes[number][0] != time:
                    levels.append((time, trace.state(number, device["index"])["live"]))
            for i, (time, live) in enumerate(levels):
                column = min(overview["columns"] - 1, max(0, time - overview["from_ns"]) * overview["columns"] // span)
                until = overview["columns"] if i + 1 == len(levels) else \
                    min(overview["columns"], max(0, levels[i + 1][0] - overview["from_ns"]) * overview["columns"] // span + 1)
                for k in range(column, until):
                    most[k] = max(most[k], live)
            self.assertEqual(overview["live"], most)
            sums = [sum(column) for column in zip(*overview["groups"])]
            self.assertEqual(sums, most)
            self.assertEqual(max(overview["reserved"]), device["peak_reserved_bytes"])

    def test_every_event_is_there(self):
        trace = self.pages["many"].trace(0)
        kinds = [change[1] for change in trace.changes]
        self.assertEqual((kinds.count(0), kinds.count(1)), (100000, 100000))
        story = self.pages["many"].story["traces"][0]
        self.assertEqual((story["changes"], story["items"]), (200000, 100000))
        self.assertEqual(sum(item.size for item in trace.items), sum(1024 + i for i in range(100000)))

    def test_policy_lets_nothing_in_but_what_is_there(self):
        for name in self.names:
            page = self.pages[name]
            self.assertIn("default-src 'none'", page.policy)
            self.assertNotIn("unsafe", page.policy)
            self.assertEqual((len(page.programs), len(page.styles)), (1, 1))
            for text in page.programs + page.styles:
                digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
                self.assertIn(f"'sha256-{digest}'", page.policy)
            for tag, attrs in page.elements.all:
                self.assertFalse({key for key in attrs if key.startswith("on") or key in ("src", "style")}, (tag, attrs))
                self.assertTrue(attrs.get("href", "#").startswith(("#", "data:")), attrs)
            self.assertFalse(re.search(r"https?://(?!www\.w3\.org)", page.programs[0] + page.styles[0]))

    def test_no_name_becomes_an_element(self):
        page = self.pages["hostile"]
        kinds = [tag for tag, _ in page.elements.all]
        self.assertEqual(kinds, [tag for tag, _ in self.pages["all"].elements.all])
        pools = [pool["name"] for pool in page.trace(0).tables["pools"]]
        self.assertEqual(pools[0], "</script><script>window.caught = 1</script>")
        self.assertEqual(pools[1][:5], "no \ufffd\ufffd")
        # The trace itself has no more of a name than that.
        self.assertIn(4096, [len(name) for name in page.trace(0).tables["names"]])

    def test_several_traces_are_one_page(self):
        both = self.path("both", "html")
        run("html", "-o", both, self.path("all"), self.path("story"))
        page = read_page.Page(both)
        self.assertEqual([trace["trace"] for trace in page.story["traces"]], [self.path("all"), self.path("story")])
        for number, name in enumerate(("all", "story")):
            self.assertEqual(page.trace(number).changes, self.pages[name].trace(0).changes)

    def test_mistakes_leave_no_page(self):
        for arguments, status, text in (
                (["-o", self.path("x", "html"), self.path("nowhere")], 1, b"nowhere"),
                (["-o", self.path("x", "png"), self.path("all")], 2, b".html"),
                ([self.path("all")], 2, b"-o FILE is missing"),
                (["-o", "/nowhere/x.html", self.path("all")], 1, b"/nowhere/x.html")):
            done = subprocess.run([VRAMSCOPE, "html", *arguments], capture_output=True)
            self.assertEqual(done.returncode, status)
            self.assertIn(text, done.stderr)
            self.assertEqual(done.stdout, b"")
        self.assertFalse(os.path.exists(self.path("x", "html")))
        # Room for the parts, but not for the page.
        limit = (65536, 65536)
        full = subprocess.run([VRAMSCOPE, "html", "-o", self.path("y", "html"), self.path("all")], capture_output=True,
                              restore_signals=False, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit))
        self.assertEqual(full.returncode, 1, full.stderr)
        self.assertFalse(os.path.exists(self.path("y", "html")))


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=2)
