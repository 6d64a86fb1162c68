"""Compares what a trace says of torch's memory with what torch said itself: an independent judge.

usage: oracle.py TRACE WITNESS    one line for each difference, then a summary

The trace is read by tests/trace-format/read_trace.py, which was written from docs/trace-format.md
alone, and replayed by the few lines below; nothing here is shared with the analyzer. WITNESS is what
witness.py wrote. Compared are:

  history    order, address and size of every block given out and taken back, and out-of-memories
  instants   after every step: live blocks with their sizes and whether their pool is private,
             bytes allocated and reserved, peaks
"""
import bisect
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "trace-format"))

import read_trace  # noqa: E402  (found through the line above)

ALLOC, FREE, FREE_FAILED, RESERVE, UNRESERVE, MAP, UNMAP = 16, 17, 18, 20, 21, 22, 23
BLOCK_ALLOC, BLOCK_FREE, BLOCK_FAILED, MARK = 27, 28, 29, 33
NAME, POOL = 1, 6
DEVICE_MEMORY, MANAGED, ASYNC = 0, 1, 4
FRAMEWORK = 2
MIB = 1 << 20

# torch's allocator, from its documentation and c10/cuda/CUDACachingAllocator.cpp.
BLOCK = 512  # sizes are multiples of it
SMALL = MIB  # larger ones are in the large pool, where a remainder up to this is not split off
LARGE_BUFFER = 20 * MIB  # with max_split_size, a block may be that much too large


def rounded(size):
    return max(BLOCK, (size + BLOCK - 1) // BLOCK * BLOCK)


def is_block_of(size, requested):
    """Whether a block of this size may have been given for the request."""
    least = rounded(requested)
    if least <= SMALL:
        return size == least
    return size % BLOCK == 0 and least <= size <= least + LARGE_BUFFER


class Recorded(read_trace.Trace):
    """The events of a trace in order: (type, fields), fields in the order of section 3.5.5."""

    def __init__(self, path):
        self.events = []
        self.by_thread = []  # (type, thread, fields)
        self.names = {}
        self.pools = {}  # number: (owner, device, name)
        super().__init__(path)

    def add_event(self, kind, time, thread, fields):
        super().add_event(kind, time, thread, fields)
        self.events.append((kind, fields))
        self.by_thread.append((kind, thread, fields))

    def read_definitions(self, data, nr):
        start = data.at
        for _ in range(nr):
            kind, body = read_trace.next_row(data)
            if kind == NAME:
                number = body.varint()
                self.names[number] = body.take(body.varint()).decode(errors="replace")
            elif kind == POOL:
                number, owner, device = body.varint(), body.varint(), body.varint() - 1
                body.varint()  # limit
                body.varint()  # handle
                name = body.take(body.varint()).decode(errors="replace")
                self.pools[number] = (owner, device, name)
        data.at = start
        super().read_definitions(data, nr)


class Ranges:
    """Address ranges that do not overlap."""

    def __init__(self):
        self.starts = []
        self.sizes = {}

    def add(self, start, size):
        bisect.insort(self.starts, start)
        self.sizes[start] = size

    def remove(self, start):
        if start not in self.sizes:
            return None
        self.starts.pop(bisect.bisect_left(self.starts, start))
        return self.sizes.pop(start)

    def find(self, address):
        i = bisect.bisect_right(self.starts, address) - 1
        if i >= 0 and address < self.starts[i] + self.sizes[self.starts[i]]:
            return self.starts[i]
        return None


class Device:
    def __init__(self):
        self.blocks = {}  # address: (size, is the pool private)
        self.history = []  # ("alloc" or "free_requested" or "oom", address, size)
        self.allocated = self.reserved = self.allocated_peak = self.reserved_peak = 0
        self.blocks_async = {}
        self.nr_seen = 0  # entries of the history at the last mark: torch's own was taken there

    def reset_peaks(self):
        self.allocated_peak, self.reserved_peak = self.allocated, self.reserved

    def change(self, allocated, reserved):
        self.allocated += allocated
        self.reserved += reserved
        self.allocated_peak = max(self.allocated_peak, self.allocated)
        self.reserved_peak = max(self.reserved_peak, self.reserved)


class Replay:
    """What torch holds after each event. A segment is torch's from its first block on."""

    def __init__(self, recorded):
        self.recorded = recorded
        self.devices = {}
        self.segments = Ranges()
        self.segment_device = {}
        self.owned = set()  # segments, reservations
        self.reservations = Ranges()
        self.mapped = {}  # address: (size, reservation)
        self.mapped_device = {}  # reservation: device, once it is owned
        self.instants = {}  # number of a mark: {device: (allocated, reserved, peaks, blocks)}

    def device(self, number):
        return self.devices.setdefault(number, Device())

    def adopt(self, device, address):
        segment = self.segments.find(address)
        if segment is not None and segment not in self.owned:
            self.owned.add(segment)
            self.segment_device[segment] = device
            self.device(device).change(0, self.segments.sizes[segment])
        reservation = self.reservations.find(address)
        if segment is None and reservation is not None and reservation not in self.owned:
            self.owned.add(reservation)
            self.mapped_device[reservation] = device
            self.device(device).change(0, sum(size for size, of in self.mapped.values()
                                              if of == reservation))

    def alloc(self, kind, device, _pool, _context, _stack, _api, address, size):
        if kind in (DEVICE_MEMORY, MANAGED):
            self.segments.add(address, size)
        elif kind == ASYNC:
            # torch says what the driver's pool counts: softgpu's rounds like torch's own.
            self.device(device).blocks_async[address] = rounded(size)
            self.device(device).change(rounded(size), 0)

    def free(self, kind, _stack, _api, address):
        for device in self.devices.values():
            if address in device.blocks_async:
                device.change(-device.blocks_async.pop(address), 0)
                return
        size = self.segments.remove(address) if kind in (DEVICE_MEMORY, MANAGED) else None
        if size is not None and address in self.owned:
            self.owned.discard(address)
            self.device(self.segment_device[address]).change(0, -size)

    def map(self, address, size, *_):
        reservation = self.reservations.find(address)
        self.mapped[address] = (size, reservation)
        if reservation in self.owned:
            self.device(self.mapped_device[reservation]).change(0, size)

    def unmap(self, address, size, *_):
        for start in [start for start in self.mapped if address <= start < address + size]:
            gone, reservation = self.mapped.pop(start)
            if reservation in self.owned:
                self.device(self.mapped_device[reservation]).change(0, -gone)

    def unreserve(self, address, _size):
        self.reservations.remove(address)
        self.owned.discard(address)

    def block(self, kind, pool, fields):
        owner, number, name = self.recorded.pools[pool]
        if owner != FRAMEWORK:
            return
        device = self.device(number)
        if kind == BLOCK_ALLOC:
            address, size = fields
            self.adopt(number, address)
            device.blocks[address] = (size, "private" in name)
            device.change(size, 0)
            device.history.append(("alloc", address, size))
        elif kind == BLOCK_FREE:
            size, _ = device.blocks.pop(fields[0], (0, False))
            device.change(-size, 0)
            device.history.append(("free_requested", fields[0], size))
        else:
            device.history.append(("oom", None, fields[0]))

    def mark(self, name):
        word, _, number = self.recorded.names[name].partition(" ")
        if word == "reset":
            self.device(int(number)).reset_peaks()
        if word != "witness":
            return
        for device in self.devices.values():
            device.nr_seen = len(device.history)
        self.instants[int(number)] = {
            index: (device.allocated, device.reserved, device.allocated_peak, device.reserved_peak,
                    dict(device.blocks)) for index, device in self.devices.items()}

    def run(self):
        handlers = {ALLOC: self.alloc, FREE: self.free, RESERVE: self.reservations.add, MAP: self.map,
                    UNMAP: self.unmap, UNRESERVE: self.unreserve, MARK: self.mark}
        for kind, fields in self.recorded.events:
            if kind in (BLOCK_ALLOC, BLOCK_FREE, BLOCK_FAILED):
                self.block(kind, fields[0], fields[2:])
            elif kind in handlers:
                handlers[kind](*fields)
        return self


class Judge:
    def __init__(self, trace, witness):
        self.replay = Replay(Recorded(trace)).run()
        with open(witness, encoding="utf-8") as file:
            self.witness = json.load(file)
        self.differences = []
        self.nr_compared = 0
        self.nr_pending = 0

    def say(self, text):
        self.differences.append(text)

    def equal(self, found, said, what):
        self.nr_compared += 1
        if found != said:
            self.say(f"{what}: the trace has {found}, torch says {said}")

    def judge_history(self, number, entries):
        said = [(action, address, size) for action, address, size in entries
                if action in ("alloc", "free_requested", "oom")]
        device = self.replay.device(number)
        found = device.history[:device.nr_seen]
        self.equal(len(found), len(said), f"events of device {number}")
        for i, (ours, theirs) in enumerate(zip(found, said)):
            self.nr_compared += 1
            is_same = ours[0] == theirs[0] and (
                ours[0] == "oom" or ours[1] == theirs[1]) and is_block_of(ours[2], theirs[2])
            if not is_same:
                self.say(f"event {i} of device {number}: the trace has {ours}, torch says {theirs}")
                return

    def judge_blocks(self, where, found, said):
        live = {address: (size, private) for address, size, pending, private in said if not pending}
        self.nr_pending += sum(pending for _, _, pending, _ in said)
        self.nr_compared += len(live)
        if found != live:
            odd = sorted(set(found.items()) ^ set(live.items()))[:4]
            self.say(f"live blocks {where}: {len(found)} in the trace, {len(live)} by torch; {odd}")

    def judge_instant(self, number, instant):
        found = self.replay.instants.get(number)
        if found is None:
            self.say(f"the trace has no mark {number}")
            return
        for device, stats in instant["stats"].items():
            where = f"at instant {number} on device {device}"
            ours = found.get(int(device), (0, 0, 0, 0, {}))
            self.equal(ours[0], stats["allocated"], f"allocated {where}")
            self.equal(ours[2], stats["allocated_peak"], f"peak of allocated {where}")
            if not self.witness["native"]:
                continue  # the driver's pools: reserved is sampled
            self.equal(ours[1], stats["reserved"], f"reserved {where}")
            self.equal(ours[3], stats["reserved_peak"], f"peak of reserved {where}")
            if instant["blocks"] is not None:
                self.judge_blocks(where, ours[4], instant["blocks"].get(device, []))

    def run(self):
        for number, entries in enumerate(self.witness["history"]):
            self.judge_history(number, entries)
        for number, instant in enumerate(self.witness["instants"]):
            self.judge_instant(number, instant)
        last = self.witness["instants"][-1]["stats"]
        if self.witness["native"]:
            for device, stats in last.items():
                ooms = sum(action == "oom" for action, _, _ in self.replay.device(int(device)).history)
                self.equal(ooms, stats["ooms"], f"out-of-memories of device {device}")
        return self


def main():
    judge = Judge(*sys.argv[1:3]).run()
    for difference in judge.differences:
        print(difference)
    print(f"{judge.nr_compared} numbers compared, {len(judge.differences)} differences, "
          f"{judge.nr_pending} pending frees compared as frees")
    sys.exit(1 if judge.differences else 0)


if __name__ == "__main__":
    main()
