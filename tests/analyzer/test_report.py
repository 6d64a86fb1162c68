#!/usr/bin/env python3
"""The commands of the analyzer on a trace whose answers are known by construction
(make_report_trace.c): JSON that parses and adds up, text that fits the terminal.

    test_report.py VRAMSCOPE MAKE_REPORT_TRACE
"""
import json
import os
import resource
import subprocess
import sys
import tempfile
import unicodedata
import unittest

VRAMSCOPE, MAKE = sys.argv[1:3]
MIB = 1 << 20
COMMANDS = ["report", "peak", "retained", "phases", "frag", "sites", "info"]


def run(*arguments, width=100, status=0):
    environment = dict(os.environ, COLUMNS=str(width))
    done = subprocess.run([VRAMSCOPE, *arguments], env=environment, capture_output=True)
    assert done.returncode == status, (arguments, done.returncode, done.stderr)
    return done.stdout.decode()


def count_columns(line):
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in line)


class Report(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([MAKE, cls.folder.name], check=True)
        cls.story = os.path.join(cls.folder.name, "story.vscope")
        cls.many = os.path.join(cls.folder.name, "many.vscope")
        cls.names = os.path.join(cls.folder.name, "names.vscope")

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def report(self, *options):
        return json.loads(run("report", "--json", *options, self.story))

    def test_every_command_writes_json_with_a_schema(self):
        for command in COMMANDS:
            told = json.loads(run(command, "--json", self.story))
            self.assertEqual(told["schema"], f"vramscope.{command}/0")
            self.assertEqual(told["events"], 416)
            self.assertEqual(told["command"], "train --title 'a b'")

    def test_several_traces_are_a_list(self):
        told = json.loads(run("report", "--json", self.story, self.many))
        self.assertEqual([trace["trace"] for trace in told["traces"]], [self.story, self.many])
        self.assertEqual(told["traces"][1]["devices"][0]["allocs"], 100000)

    def test_trace_that_is_missing_leaves_the_json_whole(self):
        told = json.loads(run("report", "--json", self.story, "/nowhere", status=1))
        self.assertNotIn("failed", told["traces"][0])
        self.assertTrue(told["traces"][1]["failed"])

    def test_kinds_count_what_was_asked_of_cuda(self):
        device = self.report()["devices"][0]
        kinds = device["memory_kinds"]
        self.assertEqual(list(kinds), ["device", "managed", "pinned", "registered", "async", "vmm",
                                       "array", "ipc", "graph"])
        self.assertEqual(kinds["device"], {
            "allocs": 3, "frees": 1, "failed_allocs": 1, "failed_frees": 1, "implicit_frees": 0,
            "bytes_allocated": 616 * MIB, "peak_bytes": 616 * MIB, "live_at_end_count": 2,
            "live_at_end_bytes": 600 * MIB})
        self.assertEqual(kinds["managed"]["frees"], 1)
        self.assertEqual(kinds["pinned"]["live_at_end_bytes"], 64 * MIB)
        self.assertEqual((device["allocs"], device["frees"], device["failed_allocs"]), (4, 2, 1))
        self.assertEqual(device["live_at_end_bytes"], 300 * MIB)
        self.assertEqual(device["live_at_end_count"], 101)

    def test_pools_count_their_blocks(self):
        pool = self.report()["devices"][0]["pools"][0]
        self.assertEqual(pool["name"], "te\"ns\ufffd")
        self.assertEqual(pool["limit_bytes"], 500 * MIB)
        self.assertEqual((pool["allocs"], pool["failed_allocs"], pool["ooms"]), (100, 1, 1))
        self.assertEqual(pool["then"]["holes"], 100)

    def test_out_of_memory_is_fragmentation_and_the_retry_is_none(self):
        device = self.report()["devices"][0]
        self.assertEqual(device["ooms"], 1)
        self.assertEqual(sum(group["recovered"] for group in device["failures"]), 1)
        oom = device["last_oom"]
        self.assertEqual(oom["cause"], "fragmentation")
        self.assertEqual(oom["requested_bytes"], 150 * MIB)
        self.assertEqual(oom["at"]["step"], 100)
        self.assertEqual(oom["largest_hole_bytes"], 3 * MIB)
        self.assertEqual(oom["holes_below_request_bytes"], 300 * MIB)

    def test_holes_are_those_at_the_failure(self):
        device = self.report()["devices"][0]
        self.assertEqual(device["hole_bytes"], 300 * MIB)
        self.assertEqual(device["largest_hole_bytes"], 3 * MIB)
        self.assertAlmostEqual(device["fragmentation"], 0.99)
        where = device["where"]
        self.assertEqual(where["live_bytes"] + where["hole_bytes"] + where["cached_bytes"],
                         where["reserved_bytes"])

    def test_at_shows_another_instant(self):
        # Half of the blocks: 48 holes of 3 MiB, and the rest behind the last block.
        frag = json.loads(run("frag", "--json", "--at", "170us", self.story))["devices"][0]
        self.assertGreater(frag["largest_hole_bytes"], 3 * MIB)
        self.assertLess(frag["holes"], 100)
        end = json.loads(run("peak", "--json", "--at", "end", self.story))["devices"][0]
        self.assertEqual(end["live_bytes"], 300 * MIB)

    def test_peak_sites_add_up(self):
        device = json.loads(run("peak", "--json", self.story))["devices"][0]
        self.assertEqual(device["peak_live_bytes"], 300 * MIB)
        self.assertEqual(sum(site["bytes"] for site in device["peak_sites"]), 300 * MIB)
        self.assertEqual(device["peak_reserved_bytes"], 616 * MIB)

    def test_only_pytorch_has_categories(self):
        """Its blocks are looked at one by one in test_composition_report."""
        for options in ([], ["--at", "end"]):
            device = json.loads(run("peak", "--json", "--blocks", *options, self.story))["devices"][0]
            self.assertIsNone(device["categories" if options else "peak_categories"])
            self.assertEqual(device["blocks"], [])
        self.assertNotIn("made of", run("peak", "--blocks", self.story))

    def test_retained_is_one_block_a_step(self):
        retained = json.loads(run("retained", "--json", self.story))["devices"][0]["retained"]
        self.assertEqual(retained["bytes_per_step"], MIB)
        self.assertEqual(retained["since"], 0)
        self.assertEqual((retained["steps_grown"], retained["steps"]), (100, 100))

    def test_phases_tell_of_each_step_and_failure(self):
        device = json.loads(run("phases", "--json", self.story))["devices"][0]
        phase, = device["phases"]
        self.assertEqual((phase["visits"], phase["allocated_bytes"], phase["kept_bytes"],
                          phase["failed_requests"]), (101, 100 * MIB, 100 * MIB, 1))
        self.assertEqual(phase["first"]["live_at_end_bytes"], 201 * MIB)
        self.assertEqual((phase["last"]["live_at_begin_bytes"], phase["last"]["step"]),
                         (300 * MIB, 100))
        rows = device["steps"]["rows"]
        self.assertEqual([row["first"] for row in rows], list(range(101)))
        self.assertEqual({row["alive_at_end_bytes"] for row in rows[:100]}, {MIB})
        oom, = [group for group in device["failures"] if group["ooms"]]
        self.assertEqual((oom["last_oom_at"]["step"], oom["last_requested_bytes"]),
                         (100, 150 * MIB))
        told = run("phases", self.story, width=100)
        self.assertIn("OUT OF MEMORY at", told)
        self.assertIn("in back?ward of step 100: 150 MiB asked", told)
        self.assertIn("and 61 more steps; * has the highest peak", told)

    def test_phases_of_a_window_are_those_in_it(self):
        whole = json.loads(run("phases", "--json", self.story))["devices"][0]
        middle = whole["steps"]["rows"][50]["begin_ns"]
        part = json.loads(run("phases", "--json", "--from", f"{middle}ns", self.story))
        part = part["devices"][0]
        self.assertEqual(part["phases"][0]["visits"], 51)
        self.assertEqual(part["steps"]["rows"][-1]["first"], 100)
        at = json.loads(run("phases", "--json", "--at", "oom", "--device", "0",
                            self.story))["devices"][0]
        self.assertEqual([row["path"] for row in at["open"]], ["back\033ward"])
        self.assertEqual((at["at"]["step"], at["live_bytes"]), (100, 300 * MIB))

    def test_other_device_is_shown_and_can_be_left_out(self):
        self.assertEqual([d["device"] for d in self.report()["devices"]], [0, 1])
        self.assertEqual([d["device"] for d in self.report("--device", "1")["devices"]], [1])
        run("report", "--device", "7", self.story, status=1)

    def test_text_is_never_wider_than_the_terminal(self):
        for command in COMMANDS:
            for width in (40, 72, 200):
                for line in run(command, self.story, width=width).splitlines():
                    self.assertLessEqual(len(line), width, (command, line))

    def test_long_and_strange_names_fit_the_terminal(self):
        for command in COMMANDS + ["map"]:
            for width in (40, 80, 200):
                told = run(command, self.names, width=width)
                self.assertTrue(all(c.isprintable() or c == "\n" for c in told), told)
                for line in told.splitlines():
                    self.assertLessEqual(count_columns(line), width, (command, line))
                told = run(command, "--ascii", self.names, width=width)
                self.assertTrue(told.isascii(), told)
        self.assertLess(run("report", self.names, width=80).count("\n"), 40)

    def test_strange_names_are_valid_json(self):
        for command in COMMANDS + ["map"]:
            told = run(command, "--json", self.names)
            self.assertTrue(all(c.isprintable() or c == "\n" for c in told), told)
            json.loads(told)
        device = json.loads(run("report", "--json", self.names))["devices"][0]
        self.assertEqual(device["pools"][1]["name"],
                         "\"\\\b\x01\x7f\x9b" + 6 * "\ufffd")
        self.assertEqual(device["pools"][0]["name"][:2], "\u8a13\u7df4")
        self.assertEqual(len(device["last_oom"]["at"]["phase"]), 1980)

    def test_ascii_is_ascii_and_nothing_plays_with_the_terminal(self):
        for command in COMMANDS:
            told = run(command, "--ascii", self.story, width=200)
            self.assertTrue(told.isascii(), told)
            self.assertTrue(all(c.isprintable() or c == "\n" for c in told), told)
            self.assertNotIn("\033", run(command, self.story))

    def test_report_tells_the_story(self):
        told = run("report", self.story, width=160)
        for words in ("in back?ward of step 100: 150 MiB asked", "cause: FRAGMENTATION",
                      "the largest hole is 3.00 MiB: 100 blocks (100 MiB) cut 300 MiB",
                      "RECOVERED     1 request failed", "+1.00 MiB a step since step 0",
                      "300 MiB live in 600 MiB reserved", "2 GPUs"):
            self.assertIn(words, told)

    def test_hundred_thousand_pairs_need_little_memory(self):
        run("report", self.many)
        run("phases", self.many)
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        if "asan" not in os.environ.get("VS_BUILD", ""):
            self.assertLess(usage.ru_maxrss, 50 * 1024)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
