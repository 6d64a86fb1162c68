"""Reads the index of a trace: docs/trace-format.md, section 9, and nothing else."""

import os
import struct
import sys
import zlib

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../trace-format"))

from read_columns import check, unpack  # noqa: E402
from read_numbers import MASK, Bytes  # noqa: E402

NUMBERS = ("nr_records", "nr_events", "lost", "overlaps", "orphans", "unmatched", "driver", "cupti",
           "last_item", "last_reservation", "first_ns", "now_ns", "nr_steps", "step", "nr_phases")


def column(data, nr, signed=False):
    """Section 9.5."""
    if not nr:
        return []
    unit, lowest, width = data.varint(), data.varint(), data.varint()
    check(unit and width <= 8, "column")
    planes = []
    for _ in range(width):
        size = data.varint()
        check(size <= nr, "plane")
        plane = data.take(size)
        planes.append(plane if size == nr else unpack(plane, nr))
    values = []
    for i in range(nr):
        value = sum(plane[i] << 8 * k for k, plane in enumerate(planes)) + lowest & MASK
        if signed:
            value = value // 2 if value % 2 == 0 else -(value + 1) // 2
        values.append(value * unit if signed else value * unit & MASK)
    return values


def string(data):
    size = data.varint()
    return data.take(size)[:-1] if size else None


def add_up(values, start=0):
    for value in values:
        start = start + value & MASK
        yield start


class Directory:
    """Section 9.3."""

    def __init__(self, data, offset):
        self.version, self.identity = string(data), string(data)
        (self.is_complete, self.nr_lost, self.nr_definitions, self.first_ns, self.now_ns,
         self.nr_steps, self.nr_phases) = (data.varint() for _ in range(7))
        self.stretches = [[data.varint() for _ in range(3)] for _ in range(data.varint())]
        nr = data.varint()
        self.stacks = list(add_up(column(data, nr, True)))
        self.module_ends = [[data.varint() for _ in range(3)] for _ in range(data.varint())]
        self.pools = []
        for _ in range(data.varint()):
            self.pools.append([data.varint() for _ in range(4)] + [data.take(data.varint())])
        nr = data.varint()
        records = list(add_up(data.varint() for _ in range(nr)))
        keys = list(add_up(data.zigzag() for _ in range(nr)))
        self.adoptions = list(zip(records, keys, (data.varint() for _ in range(nr))))
        self.snapshots = []
        self.read_snapshots(data, offset)
        self.sums = data.take(data.varint())
        self.totals = data.take(data.varint())
        check(not data.left(), "directory")

    def read_snapshots(self, data, offset):
        block = records = events = definitions = now = 0
        for _ in range(data.varint()):
            block += data.varint()
            block_crc = data.varint()
            records += data.varint()
            events += data.varint()
            definitions += data.varint()
            now += data.varint()
            size, crc = data.varint(), data.varint()
            self.snapshots.append({"block": block, "block_crc": block_crc, "records": records,
                                   "events": events, "definitions": definitions, "now_ns": now,
                                   "offset": offset, "size": size // 2, "is_whole": size % 2,
                                   "crc": crc})
            offset += size // 2


class State:
    """What one snapshot behind the other says: section 9.4."""

    def __init__(self):
        self.numbers = dict.fromkeys(NUMBERS, 0)
        self.accounts = []  # [site, place, api]
        self.items = []
        self.reservations = self.mappings = None
        self.devices = self.pools = self.threads = self.ranges = None

    def change(self, data):
        last = self.numbers
        self.read_state(Bytes(data.take(data.varint())))
        self.read_accounts(Bytes(data.take(data.varint())))
        self.read_virtual(Bytes(data.take(data.varint())))
        self.read_items(data, last)
        check(not data.left(), "snapshot")

    def read_state(self, data):
        self.numbers = {name: data.varint() for name in NUMBERS}
        self.devices = [self.read_device(data) for _ in range(data.varint())]
        self.pools = []
        for _ in range(data.varint()):
            pool = [data.varint() for _ in range(5)] + [string(data)]
            self.pools.append(pool + [data.varint() for _ in range(5)])
        self.threads = [self.read_thread(data) for _ in range(data.varint())]
        self.ranges = [(data.varint(), data.varint()) for _ in range(data.varint())]
        check(not data.left(), "state")

    def read_device(self, data):
        device = [data.varint() for _ in range(3)] + [data.take(16), string(data)]
        device += [data.varint() for _ in range(3)]
        if data.varint():
            device += [data.varint() for _ in range(12)]
            device += [[data.varint() for _ in range(3)] for _ in range(data.varint())]
        return device, [data.varint() for _ in range(5)]

    def read_thread(self, data):
        thread = [data.varint(), [data.varint() for _ in range(data.varint())]]
        if thread[1]:
            thread.append(data.varint())
        placed = data.varint()
        if placed:
            thread += [placed, data.varint()]
        if data.varint():
            thread += [data.varint() for _ in range(5)]
        return thread

    def read_accounts(self, data):
        nr = data.varint()
        sites = add_up(column(data, nr, True), self.accounts[-1][0] if self.accounts else 0)
        self.accounts += [list(row) for row in zip(sites, column(data, nr), column(data, nr))]
        nr = data.varint()
        for which, api in zip(column(data, nr), column(data, nr)):
            self.accounts[which][2] = api
        check(not data.left(), "accounts")

    def read_virtual(self, data):
        if not data.left():
            return
        nr = data.varint()
        self.reservations = list(zip(*(column(data, nr) for _ in range(4))))
        nr = data.varint()
        self.mappings = list(zip(*(column(data, nr) for _ in range(3))))
        check(not data.left(), "virtual memory")

    def read_items(self, data, last):
        nr = data.varint()
        steps = list(zip(column(data, nr), column(data, nr), column(data, nr)))
        new, twins, order, at = [], [], [], 0
        nr = data.varint()
        for kept, left_out, put_in in steps:
            order += self.items[at : at + kept]
            at += kept
            for i in range(put_in):
                new.append({})
                twins.append(self.items[at + i] if i < left_out else None)
                order.append(new[-1])
            at += left_out
        check(at == len(self.items) and len(new) == nr, "steps")
        for item, place in zip(new, column(data, nr)):
            item["part"], item["depth"] = place % 4, place // 4
        self.place_items(data, new, twins, order)
        for name in ("shape", "pool", "owner", "api", "context"):
            for item, value in zip(new, column(data, nr)):
                item[name] = value
        ranks = list(add_up((value + 1 for value in column(data, nr, True)), -1))
        check(sorted(ranks) == list(range(nr)), "ranks")
        self.read_births(data, [new[ranks.index(i)] for i in range(nr)], last)
        self.items = order

    def place_items(self, data, new, twins, order):
        with_twin = [(item, twin) for item, twin in zip(new, twins) if twin]
        moves = column(data, len(with_twin), True)
        growths = column(data, len(with_twin), True)
        for (item, twin), move, growth in zip(with_twin, moves, growths):
            item["address"], item["size"] = twin["address"] + move & MASK, twin["size"] + growth & MASK
        without = [item for item, twin in zip(new, twins) if not twin]
        gaps, sizes = column(data, len(without), True), column(data, len(without))
        told = {id(item): values for item, *values in zip(without, gaps, sizes)}
        before = None
        for item in order:
            if id(item) in told:
                gap, item["size"] = told[id(item)]
                start = 0
                if before and item["depth"] > before["depth"]:
                    start = before["address"]
                elif before:
                    start = before["address"] + (before["size"] or 1)
                item["address"] = start + gap & MASK
            before = item

    def read_births(self, data, by_age, last):
        nr = len(by_age)
        for name, start in (("number", last["last_item"]), ("birth_ns", last["now_ns"]),
                            ("birth_step", last["nr_steps"])):
            for item, value in zip(by_age, add_up(column(data, nr, True), start)):
                item[name] = value
        is_steady, account, number = data.varint(), 0, last["last_item"]
        check(is_steady < 2, "steady")
        for item, value in zip(by_age, column(data, nr, True)):
            account += value + (item["number"] - number if is_steady else 0)
            item["account"], number = account, item["number"]
        for item, value in zip(by_age, column(data, nr)):
            item["slack"] = value
        for item, value in zip(by_age, add_up(column(data, nr, True))):
            item["run"] = value


class Index:
    """Section 9.2."""

    def __init__(self, trace):
        with open(trace + ".index", "rb") as file:
            self.data = file.read()
        (magic, version, stored, raw, crc, trace_size, written_ns,
         size) = struct.unpack_from("<8sIIIIQQQ", self.data)
        check(magic == b"VSINDX\r\n" and version == 6, "magic")
        check(zlib.crc32(self.data[:60]) == struct.unpack_from("<I", self.data, 60)[0], "header")
        stat = os.stat(trace)
        check((trace_size, written_ns) == (stat.st_size, stat.st_mtime_ns), "trace")
        check(size == len(self.data) and zlib.crc32(self.data[64 : 64 + stored]) == crc, "file")
        directory = zlib.decompress(self.data[64 : 64 + stored])
        check(len(directory) == raw, "directory")
        self.directory = Directory(Bytes(directory), 64 + stored)

    def states(self):
        """Of each snapshot: what the directory says of it, and its state."""
        state = None
        for said in self.directory.snapshots:
            stored = self.data[said["offset"] : said["offset"] + said["size"]]
            check(zlib.crc32(stored) == said["crc"], "snapshot")
            if said["is_whole"]:
                state = State()
            state.change(Bytes(stored))
            check(state.numbers["nr_records"] == said["records"], "records")
            check(state.numbers["now_ns"] == said["now_ns"], "time")
            yield said, state
