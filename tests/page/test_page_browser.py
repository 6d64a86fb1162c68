#!/usr/bin/env python3
"""The page in a real Chromium: what it shows equals what the commands say, and hands and keys do what
they should. Timing decides nothing.

    test_page_browser.py VRAMSCOPE MAKE_PAGE_TRACE MAKE_REPORT_TRACE MAKE_LONG_TRACE
"""
import json
import os
import subprocess
import sys
import tempfile
import unittest

import accessibility
import browser
import read_page

VRAMSCOPE, MAKE_PAGE, MAKE_REPORT, MAKE_LONG = sys.argv[1:5]
READY = "return document.body.dataset.ready && document.body.dataset.instant"


def run(*arguments):
    return subprocess.run([VRAMSCOPE, *arguments], check=True, capture_output=True).stdout


def tell(command, *arguments):
    return json.loads(run(command, "--json", *arguments))


class PageInBrowser(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        subprocess.run([MAKE_PAGE, cls.folder.name], check=True)
        subprocess.run([MAKE_REPORT, cls.folder.name], check=True)
        subprocess.run([MAKE_LONG, cls.path("long"), "30000"], check=True)
        for name in ("all", "hostile", "story", "long"):
            run("html", "-o", cls.path(name, "html"), cls.path(name))
        run("html", "-o", cls.path("both", "html"), cls.path("all"), cls.path("story"))
        cls.browser = browser.Browser(cls.folder.name)
        cls.browser.open("about:blank")
        cls.browser.console()
        cls.browser.requests()

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    @classmethod
    def path(cls, name, end="vscope"):
        return os.path.join(cls.folder.name, f"{name}.{end}")

    def open(self, name, fragment="theme=light"):
        # The same address with another fragment would not be loaded again.
        self.browser.open("about:blank")
        self.browser.open(f"file://{self.path(name, 'html')}#{fragment}")
        self.browser.wait(READY)

    def tearDown(self):
        self.assertEqual(self.browser.console(), [])
        allowed = ("file://" + self.folder.name, "blob:", "data:", "about:")
        self.assertEqual([url for url in self.browser.requests() if not url.startswith(allowed)], [])

    def number(self, key, within="body"):
        """The exact value behind a number that people see."""
        text = self.browser.run("const e = document.querySelector(arguments[0]); return e && e.value",
                                f"{within} data[data-key='{key}']")
        return None if text is None else float(text) if "." in text or "e" in text else int(text)

    def go(self, script, *arguments):
        """Does something that leads to another instant, and waits until all of it is shown."""
        self.browser.run("delete document.body.dataset.instant")
        if callable(script):
            script(*arguments)
        else:
            self.browser.run(script, *arguments)
        self.browser.wait("return document.body.dataset.instant")

    def page(self, what):
        return self.browser.run(f"return window.vramscopePage.{what}")

    # ---- Numbers ----------------------------------------------------------------------------

    def check_instant(self, told, report):
        self.assertEqual(self.number("at.live_bytes"), told["live_bytes"])
        self.assertEqual(self.number("at.reserved_bytes"), told["reserved_bytes"])
        self.assertEqual(self.number("at.hole_bytes"), sum(one["hole_bytes"] for one in told["segments"]))
        self.assertEqual(self.number("at.largest_hole_bytes"), report["largest_hole_bytes"])
        self.assertAlmostEqual(self.number("at.fragmentation"), report["fragmentation"], 6)
        self.assertEqual(self.number("legend.live"), told["live_bytes"])
        self.assertEqual(self.number("legend.reserved"), told["reserved_bytes"])
        self.assertEqual(self.number("flame.bytes"), told["live_bytes"])

    def test_every_instant_is_that_of_the_commands(self):
        for name in ("all", "story"):
            self.open(name)
            last = self.page("state.trace") or 0
            self.assertEqual(last, 0)
            duration = tell("report", self.path(name))["duration_ns"]
            for time in [duration * i // 12 for i in range(1, 13)]:
                with self.subTest(f"{name} {time}"):
                    change = self.browser.run_async(
                        "const done = arguments[arguments.length - 1];"
                        "window.vramscopePage.ask('find', {trace: 0, time: arguments[0]}).then((found) => done(found.change))", time)
                    self.go("location.hash = '#at=' + arguments[0]", change)
                    told = tell("map", "--at", f"{time}ns", self.path(name))["devices"][0]
                    self.check_instant(told, tell("report", "--at", f"{time}ns", self.path(name))["devices"][0])

    def test_it_opens_at_the_out_of_memory_and_says_why(self):
        self.open("story")
        device = tell("report", self.path("story"))["devices"][0]
        self.check_instant(tell("map", self.path("story"))["devices"][0], device)
        verdict = device["verdicts"][0]
        self.assertEqual(self.number("verdict.requested_bytes"), verdict["requested_bytes"])
        where = device["where"]
        outside = ["outside_bytes"] if where["context_bytes"] is None else [
            "context_bytes", "other_process_bytes", "unknown_holder_bytes", "unexplained_bytes"]
        for key in ["live_bytes", "rounding_bytes", "hole_bytes", "cached_bytes", "not_taken_bytes", *outside]:
            self.assertEqual(self.number(f"where.{key}") or 0, where[key] or 0, key)
        self.assertEqual(self.number("events"), 416)
        text = self.browser.run("return document.getElementById('causes').innerText")
        self.assertIn(verdict["verdict"], text.lower())
        self.assertIn(verdict["remedies"][0]["text"][:40], text)

    def test_peak_button_goes_to_the_peak(self):
        self.open("all")
        self.go(self.browser.click, "#go-peak")
        device = tell("report", self.path("all"))["devices"][0]
        self.assertEqual(self.number("at.live_bytes"), device["peak_live_bytes"])
        self.assertEqual(self.number("at.live_count"), device["peak_live_count"])
        self.assertEqual(self.number("at.reserved_bytes"), device["reserved_at_peak_live_bytes"])
        self.assertEqual(self.page("flame.tree.count[0]"), device["peak_live_count"])

    def rows(self):
        return self.browser.run("return [...document.querySelectorAll('#rows tbody tr:not(.space)')].map((row) => [...row.cells].map("
                                "(cell) => cell.querySelector('data') ? Number(cell.querySelector('data').value) : cell.textContent))")

    def test_tables_say_what_the_commands_say(self):
        self.open("all", "table=sites")
        told = {one["site"]: one for one in tell("sites", "--top", "100", self.path("all"))["devices"][0]["sites"] if one["domain"] == "device"}
        rows = {row[-1]: row for row in self.rows()}
        self.assertEqual(set(rows), set(told))
        for site, row in rows.items():
            self.assertEqual((row[4], row[5]), (told[site]["bytes_allocated"], told[site]["allocs"]), site)
        now = {one["site"]: one for one in tell("peak", "--at", "oom", "--device", "0", "--top", "100", self.path("all"))["devices"][0]["sites"]}
        self.assertEqual({site: (row[0], row[1]) for site, row in rows.items() if row[0]},
                         {site: (one["bytes"], one["count"]) for site, one in now.items()})
        device = tell("report", self.path("all"))["devices"][0]
        self.browser.click("#tab-kinds")
        self.browser.wait("return document.querySelector('#rows th:last-child').textContent.startsWith('kind')")
        for row in self.rows():
            said = device["memory_kinds"][row[-1]]
            self.assertEqual(row[:-1], [said[key] for key in ("peak_bytes", "allocs", "frees", "bytes_allocated", "live_at_end_bytes", "failed_allocs")])
        self.browser.click("#tab-pools")
        self.browser.wait("return document.querySelector('#rows th:last-child').textContent.startsWith('pool')")
        pools = sorted(([pool[key] for key in ("peak_bytes", "allocs", "frees", "live_at_end_bytes", "limit_bytes", "ooms")] for pool in device["pools"]), reverse=True)
        self.assertEqual(sorted((row[:-1] for row in self.rows()), reverse=True), pools)

    # ---- Pictures ---------------------------------------------------------------------------

    def color(self, canvas, x, y):
        return self.browser.run("const c = document.querySelector(arguments[0]); const s = c.width / c.clientWidth;"
                                "const t = document.createElement('canvas'); t.width = c.width; t.height = c.height;"
                                "const pen = t.getContext('2d', {willReadFrequently: true}); pen.drawImage(c, 0, 0);"
                                "return [...pen.getImageData(arguments[1] * s, arguments[2] * s, 1, 1).data]", canvas, x, y)

    def test_chart_draws_levels_where_they_are(self):
        self.open("long", "theme=light&by=kind")
        place = self.browser.run(
            "const c = window.vramscopePage.chart; const t = c.from + (c.to - c.from) * 0.7; const l = c.levelsAt(t);"
            "const bottom = c.picture.height - 24; const y = (b) => bottom - b / c.top * (bottom - c.plotTop);"
            "return {x: c.x(t), live: y(l.live), reserved: y(l.reserved), bottom, live_bytes: l.live, top: c.plotTop}")
        self.assertGreater(place["live_bytes"], 0)
        self.assertEqual(self.color("#chart", place["x"], place["bottom"] - 4)[:3], [0x33, 0x51, 0x8f])
        self.assertEqual(self.color("#chart", place["x"], place["live"] + 3)[:3], [0x33, 0x51, 0x8f])
        self.assertNotEqual(self.color("#chart", place["x"], place["live"] - 3)[:3], [0x33, 0x51, 0x8f])

    def test_map_draws_blocks_in_the_colour_of_their_group(self):
        self.open("story")
        found = self.browser.run(
            "const m = window.vramscopePage.map; const out = [];"
            "for (let i = 0; i < m.space.type.length; i++) { if (!m.isLeaf(i)) continue; let box = null;"
            "  m.eachPiece(i, m.picture.width, (x, y, w, h) => { if (!box || w > box[2]) box = [x, y, w, h]; });"
            "  if (box[2] > 4) out.push({i, type: m.space.type[i], group: m.space.group[i], box, found: m.findAt(box[0] + box[2] / 2, box[1] + 3)}); }"
            "return out")
        self.assertGreater(len(found), 100)
        blocks = {}
        for one in found:
            self.assertEqual(one["found"], one["i"])
            x, y, width, _ = one["box"]
            color = tuple(self.color("#map", x + width / 2, y + 2)) if one["type"] < 2 else None
            if color:
                blocks.setdefault(one["group"], set()).add(color)
        self.assertGreaterEqual(len(blocks), 2)
        for colors in blocks.values():
            self.assertEqual(len(colors), 1)

    # ---- Hands ------------------------------------------------------------------------------

    def test_brush_zooms_and_double_click_shows_all(self):
        self.open("long")
        before = self.browser.run("const c = window.vramscopePage.chart; return [c.from, c.to, c.plotWidth]")
        self.browser.drag("#chart", (66 + before[2] * 0.25, 200), (66 + before[2] * 0.5, 200))
        after = self.browser.run("const c = window.vramscopePage.chart; return [c.from, c.to]")
        span = before[1] - before[0]
        self.assertAlmostEqual((after[0] - before[0]) / span, 0.25, 1)
        self.assertAlmostEqual((after[1] - before[0]) / span, 0.5, 1)
        self.browser.wait("const c = window.vramscopePage.chart; return c.series && c.series.from === c.from && c.series.to === c.to")
        self.browser.wait("return location.hash.includes('from=')")
        self.browser.click("#zoom-all")
        self.assertEqual(self.browser.run("const c = window.vramscopePage.chart; return [c.from, c.to]"), before[:2])

    def test_click_goes_to_that_instant(self):
        self.open("all")
        width = self.page("chart.plotWidth")
        self.go(self.browser.drag, "#chart", (66 + width * 0.4, 250), (66 + width * 0.4, 250))
        time = self.page("state.time")
        start, end = self.page("chart.start"), self.page("chart.end")
        self.assertAlmostEqual((time - start) / (end - start), 0.4, 1)
        told = tell("map", "--at", f"{time}ns", self.path("all"))["devices"][0]
        self.assertEqual(self.number("at.live_bytes"), told["live_bytes"])

    def test_zoomed_in_series_has_every_event(self):
        self.open("long")
        middle = self.browser.run("const c = window.vramscopePage.chart; const t = (c.from + c.to) / 2; c.show(t, t + 200000); return t")
        self.browser.wait("const c = window.vramscopePage.chart; return c.series && c.series.from === c.from && c.series.to === c.to")
        for share in (0.2, 0.5, 0.8):
            time = int(middle + share * 200000)
            live = self.browser.run("return window.vramscopePage.chart.levelsAt(arguments[0]).live", time)
            # A column shows the most in it: events are 1 us apart at least, columns 0.2 us wide.
            around = [tell("map", "--at", f"{time + by}ns", self.path("long"))["devices"][0]["live_bytes"] for by in (-300, 0, 300)]
            self.assertIn(live, around)

    def expected_series(self, trace, from_ns, to_ns, columns):
        """Most live and most reserved bytes of each column, by a walk over all changes."""
        levels, live, reserved, charged = [(0, 0, 0)], 0, 0, {}
        for i, (time, kind, what) in enumerate(trace.changes):
            item = trace.items[what] if kind < 4 else None
            if kind == 4:
                reserved += what[1]
            if kind in (0, 1) and item.flags & 2:
                reserved += item.size if kind == 0 else -item.size
            if kind < 4:
                is_live = kind == 2 or (kind == 0 and bool(item.flags & 1))
                live += (is_live - charged.get(what, False)) * item.size if item.flags & 8 else 0
                charged[what] = is_live
            if i + 1 == len(trace.changes) or trace.changes[i + 1][0] != time:
                levels.append((time, live, reserved))
        most = []
        at = 0
        for column in range(columns):
            end = from_ns + (column + 1) / (columns / max(to_ns - from_ns, 1)) if column + 1 < columns else to_ns
            while column == 0 and at + 1 < len(levels) and levels[at + 1][0] <= from_ns:
                at += 1
            first = at
            while at + 1 < len(levels) and levels[at + 1][0] < end:
                at += 1
            most.append((max(level[1] for level in levels[first:at + 1]), max(level[2] for level in levels[first:at + 1])))
        return most

    def test_series_of_any_window_is_that_of_all_changes(self):
        self.open("long")
        trace = read_page.Page(self.path("long", "html")).trace(0)
        start, end = self.page("chart.start"), self.page("chart.end")
        span = end - start
        for from_ns, to_ns, columns in ((start, end, 1200), (start, end, 64), (start + 0.3 * span, start + 0.31 * span, 700),
                                        (start + 0.1 * span, start + 0.9 * span, 333), (start + 0.97 * span, end, 10)):
            found = self.browser.run_async(
                "const done = arguments[arguments.length - 1]; window.vramscopePage.ask('series', { trace: 0, device: 0, by: 'kind', peak: 0, keys: null,"
                " from: arguments[0], to: arguments[1], columns: arguments[2] }).then((s) => done([[...s.live], [...s.reserved], [...s.groups], s.nrGroups]))",
                from_ns, to_ns, columns)
            expected = self.expected_series(trace, from_ns, to_ns, columns)
            self.assertEqual(found[0], [live for live, _ in expected])
            self.assertEqual(found[1], [reserved for _, reserved in expected])
            for column in range(columns):
                self.assertEqual(sum(found[2][column * found[3]:(column + 1) * found[3]]), found[0][column])

    def test_hover_and_focus_show_a_block(self):
        self.open("story")
        place = self.browser.run("const m = window.vramscopePage.map; let at = null; for (let i = 0; i < m.space.type.length && !at; i++)"
                                 " if (m.space.type[i] === 1) m.eachPiece(i, m.picture.width, (x, y, w, h) => { at = [x + w / 2, y + h / 2, m.space.size[i]]; });"
                                 "return at")
        self.browser.hover("#map", place[0], place[1])
        self.browser.wait("return document.querySelector('#details dl')")
        self.assertEqual(self.number("item.bytes"), place[2])
        text = self.browser.run("return document.getElementById('details').innerText")
        for word in ("address", "age", "step", "phase", "te\"ns\ufffd", "0x300"):
            self.assertIn(word, text)
        self.browser.run("document.getElementById('map').focus()")
        self.browser.press("Right", "Right")
        chosen = self.page("map.chosen")
        self.assertGreater(chosen, 0)
        self.browser.press("Left")
        self.assertLess(self.page("map.chosen"), chosen)
        self.browser.press("Down")
        self.assertGreater(self.page("map.chosen"), chosen)

    def test_search_and_sort(self):
        self.open("all", "table=blocks")
        all_rows = self.rows()
        self.assertEqual([row[0] for row in all_rows], sorted((row[0] for row in all_rows), reverse=True))
        self.browser.type("#search", "inner")
        self.assertEqual({row[3] for row in self.rows()}, {"inner"})
        self.assertEqual(self.browser.run("return document.getElementById('table-status').textContent").split()[0], "20")
        self.browser.run("document.querySelector('#rows th button').focus()")
        self.browser.press("Enter")
        self.assertEqual(self.browser.run("return document.querySelector('#rows th').getAttribute('aria-sort')"), "ascending")
        self.browser.wait("return location.hash.includes('q=inner')")
        self.browser.run("document.querySelector('#rows tbody tr').focus()")
        self.browser.press("Enter")
        self.browser.wait("return document.querySelector('#details dl')")
        self.assertEqual(self.number("item.bytes"), 65536)

    def test_rows_are_made_as_they_come_into_sight(self):
        self.open("long", "table=blocks")
        nr = self.browser.run("return Number(document.getElementById('rows').getAttribute('aria-rowcount')) - 1")
        self.assertGreater(nr, 500)
        self.assertLess(len(self.rows()), 100)
        self.browser.run("const p = document.getElementById('table-panel'); p.scrollTop = p.scrollHeight")
        self.browser.wait("return [...document.querySelectorAll('#rows tr[data-row]')].some((row) => Number(row.dataset.row) === arguments[0])", nr - 1)

    # ---- Keys -------------------------------------------------------------------------------

    def test_keys_of_the_chart(self):
        self.open("all")
        self.browser.run("document.getElementById('chart').focus()")
        whole = self.browser.run("const c = window.vramscopePage.chart; return c.to - c.from")
        self.browser.press("+", "+")
        self.assertAlmostEqual(self.browser.run("const c = window.vramscopePage.chart; return c.to - c.from"), whole / 4, -1)
        self.browser.press("-")
        self.assertAlmostEqual(self.browser.run("const c = window.vramscopePage.chart; return c.to - c.from"), whole / 2, -1)
        self.browser.press("0")
        self.assertEqual(self.browser.run("const c = window.vramscopePage.chart; return c.to - c.from"), whole)
        self.go(self.browser.press, "p")
        self.assertEqual(self.number("at.live_bytes"), tell("report", self.path("all"))["devices"][0]["peak_live_bytes"])
        at = self.page("state.change")
        self.go(self.browser.press, "Left")
        self.assertLess(self.page("state.change"), at)
        self.go(self.browser.press, "Right")
        self.go(self.browser.press, "o")
        device = tell("report", self.path("all"))["devices"][0]
        self.assertEqual(self.page("state.time"), device["last_oom"]["at"]["time_ns"])
        self.go(self.browser.press, "[")
        self.assertIn("step 19", self.browser.run("return document.getElementById('chart-status').textContent"))
        self.go(self.browser.press, "Home")
        self.assertEqual(self.number("at.live_bytes"), 0)
        self.go(self.browser.press, "End")
        self.assertEqual(self.number("at.live_bytes"), device["live_at_end_bytes"])

    def test_keys_of_the_flame_graph(self):
        self.open("all")
        self.browser.run("document.getElementById('flame').focus()")
        self.browser.press("Up")
        first = self.page("flame.chosen")
        self.assertEqual(self.page("flame.tree.depth[window.vramscopePage.flame.chosen]"), 1)
        self.browser.press("Enter")
        self.assertEqual(self.page("flame.root"), first)
        self.assertEqual(self.number("flame.bytes"), self.page(f"flame.tree.bytes[{first}]"))
        self.browser.press("Escape")
        self.assertEqual(self.page("flame.root"), 0)
        self.browser.run("const s = document.getElementById('flame-mode'); s.value = 'retained'; s.dispatchEvent(new Event('change'))")
        self.browser.wait("return window.vramscopePage.flame.isIcicle")
        told = tell("retained", "--top", "1000", self.path("all"))["devices"][0]
        kept = sum(one["live_at_last_bytes"] for one in (told.get("retained") or told)["sites"])
        self.assertEqual(self.number("flame.bytes"), kept)

    def test_tab_reaches_everything_in_order(self):
        self.open("story")
        self.browser.run("document.activeElement.blur(); window.scrollTo(0, 0)")
        seen = []
        for _ in range(60):
            self.browser.press("Tab")
            here = self.browser.run("const e = document.activeElement; return e === document.body ? null : e.id || e.className || e.tagName")
            if here is None:
                break
            seen.append(here)
        order = ["skip", "theme", "by", "go-peak", "chart", "segment", "map", "flame-mode", "flame", "tab-sites", "search", "table-panel"]
        found = [name for name in seen if name in order]
        self.assertEqual(found, order)

    # ---- Links ------------------------------------------------------------------------------

    def test_link_shows_the_same_view_again(self):
        self.open("long")
        self.browser.run("window.vramscopePage.chart.show(20000000, 60000000)")
        self.go(self.browser.click, "#go-peak")
        self.browser.run("const s = document.getElementById('by'); s.value = 'phase'; s.dispatchEvent(new Event('change'))")
        self.browser.click("#tab-blocks")
        self.browser.type("#search", "torch")
        self.browser.wait("return location.hash.includes('q=torch') && location.hash.includes('by=phase')")
        fragment = self.browser.run("return location.hash").lstrip("#")
        ask = "const p = window.vramscopePage; return [p.chart.from, p.chart.to, p.state.change, p.state.by, p.state.table, document.getElementById('search').value, document.getElementById('table-status').textContent]"
        self.browser.wait("return document.getElementById('table-status').textContent.includes(' of ')")
        before = self.browser.run(ask)
        self.open("long", fragment)
        after = self.browser.run(ask)
        self.assertAlmostEqual(before[0], after[0], -1)
        self.assertAlmostEqual(before[1], after[1], -1)
        self.assertEqual(before[2:], after[2:])

    def test_link_wins_over_what_is_still_to_be_written(self):
        """The address is written a little later than the view changes; a link may come in between."""
        self.open("all")
        changes = self.browser.run("return window.vramscopePage.state.ready.changes")
        # Both before the event that tells of the link: as it happens on a machine that has much to do.
        self.go("""
            const page = window.vramscopePage;
            page.chart.show(page.chart.start, page.chart.end);
            location.hash = '#at=' + arguments[0];
            history.replaceState(null, '', '#theme=light&at=1');
            page.view.written = '#theme=light&at=1';
        """, changes // 2)
        self.assertEqual(self.page("state.change"), changes // 2)

    def test_links_of_the_verdict_lead_to_the_place(self):
        self.open("story")
        self.go(self.browser.click, "#go-peak")
        self.go("[...document.querySelectorAll('.cause a')].find((a) => a.textContent.startsWith('Address')).click()")
        device = tell("report", self.path("story"))["devices"][0]
        self.assertEqual(self.page("state.time"), device["last_oom"]["at"]["time_ns"])
        self.browser.wait("return Math.abs(document.getElementById('map-section').getBoundingClientRect().top) < 80")

    def test_fragment_of_nonsense_does_no_harm(self):
        self.open("all", "t=99&d=-1&at=1e99&from=x&to=%ff&by=__proto__&table=constructor&item=7&q=%3Cscript%3E&sort=-")
        self.assertEqual(self.page("state.trace"), 0)
        self.assertEqual(self.page("state.by"), "site")

    def test_other_traces_and_devices_of_a_page(self):
        self.open("both")
        self.browser.run("const s = document.getElementById('trace'); s.value = '1'; s.dispatchEvent(new Event('change'))")
        self.browser.wait("return window.vramscopePage.state.trace === 1 && document.body.dataset.ready")
        self.check_instant(tell("map", self.path("story"))["devices"][0], tell("report", self.path("story"))["devices"][0])
        self.browser.run("location.hash = '#t=0&d=1'")
        self.browser.wait("return window.vramscopePage.state.device === 1 && document.body.dataset.ready")
        told = tell("map", "--device", "1", self.path("all"))["devices"][0]
        self.go(self.browser.click, "#go-peak")
        self.assertEqual(self.number("at.live_bytes"), tell("report", "--device", "1", self.path("all"))["devices"][0]["peak_live_bytes"])
        self.assertEqual(self.number("at.reserved_bytes"), told["reserved_bytes"])

    # ---- Everybody --------------------------------------------------------------------------

    def test_hostile_names_are_text(self):
        self.open("hostile", "table=blocks&by=phase")
        self.assertIsNone(self.browser.run("return window.caught === undefined ? null : window.caught"))
        title = self.browser.run("return document.getElementById('title').textContent")
        self.assertEqual(title, tell("report", self.path("hostile"))["command"])
        self.assertIn("<script>window.caught = 4</script>", title)
        self.assertEqual(self.browser.run("return document.querySelectorAll('img, iframe, b, i').length"), 0)
        pools = {row[3] for row in self.rows()}
        self.assertIn("</script><script>window.caught = 1</script>", pools)
        self.assertTrue(any(name.startswith("no \ufffd\ufffd text") for name in pools))
        legend = self.browser.run("return document.getElementById('legend').textContent")
        self.assertIn("<b>xxx", legend)
        self.assertEqual(self.browser.run("return document.documentElement.scrollWidth <= innerWidth"), True)

    def test_accessible_in_light_and_dark(self):
        for theme in ("light", "dark"):
            self.open("story", f"theme={theme}")
            self.browser.click("#keys-button")
            self.assertEqual(self.browser.run(accessibility.SCRIPT), [], theme)

    def test_theme_follows_the_system(self):
        for wanted in ("dark", "light"):
            self.browser.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": wanted}])
            self.open("all", "x=1")
            self.assertEqual(self.browser.run("return document.documentElement.dataset.theme"), wanted)
        self.browser.click("#theme")
        self.assertEqual(self.browser.run("return document.documentElement.dataset.theme"), "dark")

    def test_small_screen_has_no_sideways_scrolling(self):
        self.browser.devtools("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
        try:
            for name in ("story", "hostile"):
                self.open(name)
                self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), 360)
                self.assertGreater(self.browser.run("return document.getElementById('chart').clientWidth"), 250)
        finally:
            self.browser.devtools("Emulation.clearDeviceMetricsOverride")

    def test_small_screen_shows_who_it_was(self):
        """The column that says the site has most of the room, also where there are more rows than are shown."""
        self.browser.devtools("Emulation.setDeviceMetricsOverride", width=360, height=740, deviceScaleFactor=2, mobile=True)
        try:
            self.open("long")
            widths = self.browser.run("return [document.querySelector('#rows tbody td.name').clientWidth, document.getElementById('table-panel').clientWidth]")
            self.assertGreater(widths[0], widths[1] / 2)
        finally:
            self.browser.devtools("Emulation.clearDeviceMetricsOverride")

    def test_large_screen_is_used(self):
        self.browser.devtools("Emulation.setDeviceMetricsOverride", width=2560, height=1400, deviceScaleFactor=1, mobile=False)
        try:
            self.open("story")
            self.assertGreater(self.browser.run("return document.getElementById('chart').clientWidth"), 1600)
        finally:
            self.browser.devtools("Emulation.clearDeviceMetricsOverride")

    def test_it_prints(self):
        self.open("story")
        data = self.browser.devtools("Page.printToPDF", preferCSSPageSize=True)["data"]
        self.assertGreater(len(data), 20000)

    def test_paper_is_white_and_letters_are_not_squeezed(self):
        self.open("story", "theme=dark")
        size = "const c = document.getElementById('chart'); return [c.width, c.height, c.clientWidth, c.clientHeight]"
        before = self.browser.run(size)
        self.browser.run("window.dispatchEvent(new Event('beforeprint'))")
        self.assertEqual(self.browser.run("return document.documentElement.dataset.theme"), "light")
        wide, high, _, shown = self.browser.run(size)
        self.assertEqual(wide, 3 * 700)
        self.assertEqual(high, 3 * shown)
        # The ground of the picture lets white paper through.
        self.assertEqual(self.browser.run("return document.getElementById('chart').getContext('2d').getImageData(2, 2, 1, 1).data[3]"), 0)
        self.browser.run("window.dispatchEvent(new Event('afterprint'))")
        self.assertEqual(self.browser.run("return document.documentElement.dataset.theme"), "dark")
        self.assertEqual(self.browser.run(size), before)


if __name__ == "__main__":
    browser.need()
    unittest.main(argv=sys.argv[:1], verbosity=2)
