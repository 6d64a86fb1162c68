#!/usr/bin/env python3
"""Reads a trace and its log: docs/trace-format.md and nothing else.

usage: read_trace.py TRACE    one line for each type of record: type, count, sum of all its fields
"""

import struct
import sys
import zlib

MASK = (1 << 64) - 1

# Section 5.2 to 5.4. "v" is a varint that needs no more care.
FIELDS = {
    1: "v text",
    2: "v v v v text build_id",
    3: "v frames",
    4: "v v text",
    5: "device v v flag uuid text",
    6: "v v device v v text",
    16: "v device v v v v v v",
    17: "v v v v",
    18: "v v v",
    19: "v device v v v v v v v",
    20: "v v",
    21: "v v",
    22: "v v v v",
    23: "v v v v",
    24: "v v device",
    25: "v v v",
    26: "v",
    27: "v v v v",
    28: "v v v",
    29: "v v v",
    30: "v",
    31: "",
    32: "v",
    33: "v",
    34: "v",
    35: "v",
}


class Damage(Exception):
    pass


class Bytes:
    """A place in some bytes."""

    def __init__(self, data):
        self.data = data
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def take(self, size):
        if size > self.left():
            raise Damage("too short")
        self.at += size
        return self.data[self.at - size : self.at]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
        if value > MASK:
            raise Damage("varint")
        return value


def weigh(data):
    return sum(byte * (i + 1) for i, byte in enumerate(data))


def sum_frames(body):
    total = body.take(1)[0]
    address = 0
    for i in range(body.varint()):
        folded = body.varint()
        address += folded // 2 if folded % 2 == 0 else -(folded + 1) // 2
        total += (address & MASK) * (i + 1)
    return total


def sum_field(how, body):
    if how == "v":
        return body.varint()
    if how == "device":
        return (body.varint() - 1) & 0xFFFFFFFF
    if how == "flag":
        return body.take(1)[0]
    if how in ("text", "build_id"):
        return weigh(body.take(body.varint()))
    if how == "uuid":
        return weigh(body.take(16))
    return sum_frames(body)


def next_record(data):
    """Type, body and bytes taken, head included."""
    begin = data.at
    kind = data.take(1)[0]
    if kind == 0:
        raise Damage("type 0")
    body = data.take(data.varint())
    return kind, body, data.at - begin


def stride(size):
    return 8 + (size + 7) // 8 * 8


class Trace:
    def __init__(self, path):
        self.path = path
        self.info = {}
        self.counts = {}
        self.sums = {}
        self.position = 0
        self.nr_records = 0
        self.end = None
        with open(path, "rb") as file:
            self.read_blocks(file.read())
        if self.end is None:
            self.read_log()
        elif self.end[0] != self.nr_records:
            raise Damage("blocks are missing")

    def add(self, kind, body):
        if kind not in FIELDS:
            return
        body = Bytes(body)
        total = body.varint() + body.varint() if kind >= 16 else 0
        for how in FIELDS[kind].split():
            total += sum_field(how, body)
        self.counts[kind] = self.counts.get(kind, 0) + 1
        self.sums[kind] = (self.sums.get(kind, 0) + total) & MASK

    def read_blocks(self, data):
        magic, version, crc = struct.unpack_from("<8sII", data)
        if magic != b"VSCOPE\r\n" or version != 0 or crc != zlib.crc32(data[:12]):
            raise Damage("header")
        at = 16
        while at + 40 <= len(data) and self.end is None:
            magic, kind, flags, stored, raw, nr, crc, first, span, header_crc = struct.unpack_from(
                "<IHHIIIIQII", data, at
            )
            if magic != 0x4B4C4256 or header_crc != zlib.crc32(data[at : at + 36]):
                raise Damage("block header")
            payload = data[at + 40 : at + 40 + stored]
            if len(payload) < stored:
                break
            if crc != zlib.crc32(payload):
                raise Damage("payload")
            if flags & 1:
                payload = zlib.decompress(payload)
            if len(payload) != raw:
                raise Damage("raw size")
            self.read_block(kind, payload, nr, first, span)
            at += 40 + stored

    def read_block(self, kind, payload, nr, first, span):
        data = Bytes(payload)
        if kind == 1:
            while data.left():
                key = data.take(data.varint()).decode()
                self.info.setdefault(key, data.take(data.varint()))
        elif kind == 2:
            position = first
            for _ in range(nr):
                kind, body, size = next_record(data)
                if position >= self.position:
                    self.add(kind, body)
                    self.position = position + stride(size)
                position += stride(size)
            if data.left() or position != first + span:
                raise Damage("records")
            self.nr_records += nr
        elif kind == 3:
            self.end = struct.unpack_from("<QQI", payload)

    def read_log(self):
        with open(self.path + ".live", "rb") as file:
            data = file.read()
        magic, version, _, identity, offset, size = struct.unpack_from("<8sII16sQQ", data)
        head, tail = (struct.unpack_from("<Q", data, at)[0] for at in (64, 128))
        if magic != b"VSLIVE\r\n" or version != 0:
            raise Damage("log")
        if identity.hex().encode() != self.info["identity"]:
            raise Damage("log of another trace")
        if tail > self.position:
            raise Damage("records between trace and log are missing")
        ring = data[offset : offset + size]
        position = self.position
        while position < head:
            word = struct.unpack_from("<Q", ring, position % size)[0]
            length = word & 0x3FFF
            if word >> 14 != (position // 8 << 2 | 1):
                position += 8
                continue
            begin = (position + 8) % size
            record = (ring[begin:] + ring[:begin])[:length] if begin + length > size else \
                ring[begin : begin + length]
            kind, body, taken = next_record(Bytes(record))
            if taken != length:
                raise Damage("record in the log")
            self.add(kind, body)
            position += stride(length)


def main():
    trace = Trace(sys.argv[1])
    for kind in sorted(trace.counts):
        print(kind, trace.counts[kind], trace.sums[kind])


if __name__ == "__main__":
    main()
