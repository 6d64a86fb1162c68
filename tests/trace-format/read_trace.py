#!/usr/bin/env python3
"""Reads a trace and its log: docs/trace-format.md and nothing else.

usage: read_trace.py TRACE    one line for each type of record: type, count, sum of all its fields
"""

import os
import struct
import sys
import zlib

from read_columns import read_columns
from read_numbers import MASK, Bytes, Damage

INFO, END, DEFINITIONS, EVENTS, SNAPSHOT = 1, 3, 4, 5, 6
STACK, NODES = 3, 7

# Section 5.2 and 5.3. "v" is a varint that needs no more care.
ROWS = {
    1: "v text",
    2: "v v v v text text",
    3: "v frames",
    4: "v v text",
    5: "device v v flag uuid text",
    6: "v v device v v text",
    8: "v v v v text text",
    9: "v v text",
    10: "text text",
}

# Section 6.4: the fields of an event, and "x" for padding.
STRUCTURES = {
    16: "<IIQQIIII",
    17: "<I4xQII",
    18: "<I4xQI4x",
    19: "<IIQI4xQQIII4x",
    20: "<QQ",
    21: "<QQ",
    22: "<QQQQ",
    23: "<QQQQ",
    24: "<III4x",
    25: "<I4xQQ",
    26: "<I4x",
    27: "<I4xQQI4x",
    28: "<I4xQI4x",
    29: "<I4xQI4x",
    30: "<I4x",
    31: "<",
    32: "<Q",
    33: "<I4x",
    34: "<I4x",
    35: "<Q",
    36: "<I4xQ",
    37: "<II",
    38: "<I4xQ",
    39: "<Q",
    40: "<QQ",
    41: "<II",
    42: "<IIQQQQ",
    43: "<III4xQQQ",
    44: "<III4xQ",
}


def weigh(data):
    return sum(byte * (i + 1) for i, byte in enumerate(data))


def weigh_stack(flags, frames):
    return (flags & 3) + sum(address * (i + 1) for i, address in enumerate(frames))


def sum_frames(body):
    flags = body.take(1)[0]
    frames = []
    address = 0
    for _ in range(body.varint()):
        address = (address + body.zigzag()) & MASK
        frames.append(address)
    return weigh_stack(flags, frames)


def sum_field(how, body):
    if how == "v":
        return body.varint()
    if how == "device":
        return (body.varint() - 1) & 0xFFFFFFFF
    if how == "flag":
        return body.take(1)[0]
    if how == "text":
        return weigh(body.take(body.varint()))
    if how == "uuid":
        return weigh(body.take(16))
    return sum_frames(body)


def sum_row(kind, body):
    return sum(sum_field(how, body) for how in ROWS[kind].split())


def next_row(data):
    """Type and body: section 5.1."""
    kind = data.take(1)[0]
    if kind == 0:
        raise Damage("type 0")
    return kind, Bytes(data.take(data.varint()))


class Tree:
    """The stacks of DEFINITIONS blocks: section 3.3."""

    def __init__(self):
        self.nodes = {}

    def add(self, body):
        first, count = body.varint(), body.varint()
        for number in range(first, first + count):
            parent = number - body.varint()
            if not 0 <= parent < number:
                raise Damage("parent of a node")
            base = self.nodes[parent][1] if parent else 0
            self.nodes[number] = (parent, (base + body.zigzag()) & MASK)

    def sum_stack(self, body):
        number, flags, node = body.varint(), body.varint(), body.varint()
        frames = []
        while node:
            node, address = self.nodes[node]
            frames.append(address)
        return number + weigh_stack(flags, frames)


class Trace:
    def __init__(self, path):
        self.path = path
        self.info = {}
        self.tree = Tree()
        self.counts = {}
        self.sums = {}
        self.ends = {}  # E(ring) of section 7.1
        self.nr_definitions = 0  # since the last EVENTS block
        self.nr_events = 0
        self.time = 0  # of the last event
        self.has_events = False
        self.in_snapshot = False
        self.end = None
        with open(path, "rb") as file:
            self.read_blocks(file.read())
        if self.end is None:
            self.read_log()
        elif self.end[0] != self.nr_events:
            raise Damage("blocks are missing")

    def add(self, kind, total):
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.sums[kind] = (self.sums.get(kind, 0) + total) & MASK

    def add_event(self, kind, time, thread, fields):
        if kind in STRUCTURES:  # others are of a later writer
            self.time = time
            self.add(kind, time + thread + sum(fields))

    # ---- The trace: section 3 ----

    def read_blocks(self, data):
        magic, version, crc = struct.unpack_from("<8sII", data)
        if magic != b"VSCOPE\r\n" or version != 1 or crc != zlib.crc32(data[:12]):
            raise Damage("header")
        at = 16
        while at + 48 <= len(data) and self.end is None:
            magic, kind, flags, stored, raw, nr, crc, _, _, _, header_crc = struct.unpack_from(
                "<IHHIIIIQQII", data, at
            )
            if magic != 0x4B4C4256 or header_crc != zlib.crc32(data[at : at + 44]):
                raise Damage("block header")
            payload = data[at + 48 : at + 48 + stored]
            if len(payload) < stored:
                break
            if crc != zlib.crc32(payload) or flags & ~1:
                raise Damage("payload")
            if flags & 1:
                payload = zlib.decompress(payload)
            if len(payload) != raw:
                raise Damage("raw size")
            self.read_block(kind, Bytes(payload), nr)
            at += 48 + stored

    def read_block(self, kind, data, nr):
        if kind == INFO:
            while data.left():
                key = data.take(data.varint()).decode()
                self.info.setdefault(key, data.take(data.varint()))
        elif kind == DEFINITIONS:
            self.read_definitions(data, nr)
        elif kind == EVENTS:
            self.nr_events += nr
            self.read_events(data, nr)
        elif kind == SNAPSHOT and (not self.has_events or self.in_snapshot):
            data.varint()
            data.varint()
            self.read_events(data, nr, True)
            self.in_snapshot = True
            return
        elif kind == END:
            self.end = struct.unpack_from("<QQI", data.take(data.left()))
        self.in_snapshot = False  # parts of one stand side by side

    def read_definitions(self, data, nr):
        for _ in range(nr):
            kind, body = next_row(data)
            if kind == NODES:
                self.tree.add(body)
                continue
            self.nr_definitions += 1
            if kind == STACK:
                self.add(kind, self.tree.sum_stack(body))
            elif kind in ROWS:
                self.add(kind, sum_row(kind, body))
        if data.left():
            raise Damage("rows")

    def read_events(self, data, nr, is_snapshot=False):
        covered, is_new = 0, True
        nr_ranges = data.varint()
        if nr_ranges:
            is_new = is_snapshot
        for _ in range(nr_ranges):
            ring, first, count = data.varint(), data.varint(), data.varint()
            if first > self.ends.get(ring, 0):
                raise Damage("a block is missing")
            covered += count
            is_new = is_new or first + count > self.ends.get(ring, 0)
            self.ends[ring] = max(self.ends.get(ring, 0), first + count)
        if covered > nr + self.nr_definitions and not is_snapshot:
            raise Damage("definitions are missing")
        self.nr_definitions = 0
        self.has_events = True
        if is_new and nr:
            for event in read_columns(data, nr):
                self.add_event(*event)

    # ---- The log: sections 6 and 7 ----

    def find_log(self):
        for path in (self.path + ".live", os.fsdecode(self.info.get("live", b""))):
            if path and os.path.exists(path):
                with open(path, "rb") as file:
                    data = file.read()
                if data[:8] == b"VSLIVE\r\n" and data[16:32].hex().encode() == self.info["identity"]:
                    return data
        raise Damage("no END and no log")

    def read_log(self):
        data = self.find_log()
        if struct.unpack_from("<I", data, 8)[0] != 1:
            raise Damage("version of the log")
        chunks_offset, _, chunk_size = struct.unpack_from("<QII", data, 40)
        newest = struct.unpack_from("<I", data, 76)[0]
        anchors = struct.unpack_from("<6Q", data, 80)
        nr_chunks = struct.unpack_from("<I", data, 128)[0]
        records = []
        for i in range(nr_chunks):
            records += read_chunk(data, chunks_offset + i * chunk_size)
        records = [r for r in records if r[2] >= self.ends.get(r[1], 0)]
        for ring, sequence in sorted((r[1], r[2]) for r in records):
            if sequence != self.ends.get(ring, 0):
                raise Damage("records are missing")
            self.ends[ring] = sequence + 1
        self.give_out(records, anchors[:2], anchors[2 * newest : 2 * newest + 2])

    def give_out(self, records, first, second):
        for ticks, ring, _, kind, flags, body in sorted(records, key=lambda r: r[:3]):
            if flags & ~1:
                continue
            if flags & 1:
                kind, row = next_row(Bytes(body))
                if kind in ROWS:
                    self.add(kind, sum_row(kind, row))
            elif kind in STRUCTURES:
                time = max(self.time, time_of(ticks, first, second))
                self.add_event(kind, time, ring, struct.unpack_from(STRUCTURES[kind], body))


def read_chunk(data, at):
    """(ticks, ring, sequence, type, flags, body) of each record: section 6.3."""
    ring, _, sequence, end = struct.unpack_from("<IIQI", data, at)
    place = at + 64
    while ring and place < at + end:
        kind, flags, size, _, ticks = struct.unpack_from("<BBHIQ", data, place)
        if not kind or size < 16 or size % 8 or place + size > at + end:
            raise Damage("record in the log")
        yield ticks, ring, sequence, kind, flags, data[place + 16 : place + size]
        place += size
        sequence += 1


def time_of(ticks, first, second):
    """Section 6.5."""
    passed = (ticks - first[0]) & MASK
    if passed >> 63:
        passed -= 1 << 64
    d_ticks, d_ns = second[0] - first[0], second[1] - first[1]
    if d_ticks:
        product = passed * d_ns
        passed = abs(product) // d_ticks * (1 if product >= 0 else -1)
    return max(first[1] + passed, 0)


def main():
    trace = Trace(sys.argv[1])
    for kind in sorted(trace.counts):
        print(kind, trace.counts[kind], trace.sums[kind])


if __name__ == "__main__":
    main()
