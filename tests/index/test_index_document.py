#!/usr/bin/env python3
"""Section 9 of docs/trace-format.md is right if a reader written from it alone finds, in the index
that ours wrote, what a simple count of the trace's own events comes to.

usage: test_index_document.py MAKE_INDEX
"""

import os
import subprocess
import sys
import tempfile

from read_index import Index

from read_trace import Trace  # noqa: I001  (read_index knows where it is)

ALLOC, FREE, BLOCK_ALLOC, BLOCK_FREE, STEP, STACK = 16, 17, 27, 28, 32, 3


class Count(Trace):
    """What is alive after some numbers of records. No two things of this trace ever overlap."""

    def __init__(self, path, wanted):
        self.wanted = wanted
        self.found = {}  # number of records -> what is alive
        self.nr_records = self.nr_items = self.nr_steps = 0
        self.segments, self.blocks = {}, {}
        self.stacks, self.sites = {}, {}  # number -> frames; frames -> site
        super().__init__(path)

    def note(self):
        if self.nr_records in self.wanted:
            self.found[self.nr_records] = (dict(self.segments), dict(self.blocks))

    def add(self, kind, total):
        self.note()
        self.nr_records += 1

    def add_event(self, kind, time, thread, fields):
        self.add(kind, 0)
        if kind == STEP:
            self.nr_steps += 1
        elif kind in (ALLOC, BLOCK_ALLOC):
            self.nr_items += 1
            address, size = fields[-2:]
            stack = fields[4] if kind == ALLOC else fields[1]
            site = self.sites.get(self.stacks.get(stack), 0)
            (self.segments if kind == ALLOC else self.blocks)[address] = (
                size, self.nr_items, time, self.nr_steps, site)
        elif kind == FREE:
            del self.segments[fields[-1]]
        elif kind == BLOCK_FREE:
            del self.blocks[fields[-1]]

    def read_definitions(self, data, nr):
        tree = self.tree

        def know_stack(body):
            number, flags, node = body.varint(), body.varint(), body.varint()
            frames = []
            while node:
                node, address = tree.nodes[node]
                frames.append(address)
            key = (tuple(frames), bool(flags & 3))
            self.stacks.setdefault(number, key)
            if frames:
                self.sites.setdefault(key, len(self.sites) + 1)
            return 0

        tree.sum_stack = know_stack
        super().read_definitions(data, nr)


def compare(path):
    index = Index(path)
    states = [(said, [dict(item) for item in state.items], list(map(list, state.accounts)))
              for said, state in index.states()]
    count = Count(path, {said["records"] for said, _, _ in states})
    assert len(states) > 12, "too few snapshots"
    assert any(not said["is_whole"] for said, _, _ in states[1:]), "no changes"
    assert any(said["is_whole"] for said, _, _ in states[1:]), "no whole one but the first"
    assert max(index.directory.stacks) == len(count.sites), "sites"
    nr_items = 0
    for said, items, accounts in states:
        alive = ({}, {})
        for item in items:
            assert item["part"] in (2, 3)
            if item["part"] == 2:
                alive[item["depth"]][item["address"]] = (
                    item["size"], item["number"], item["birth_ns"], item["birth_step"],
                    accounts[item["account"]][0])
        assert alive == count.found[said["records"]], f"after {said['records']} records"
        nr_items += len(items)
    print(f"{len(states)} snapshots, {sum(said['is_whole'] for said, _, _ in states)} of them whole, "
          f"{nr_items} items: the same")


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "train.vscope")
        subprocess.run([sys.argv[1], path, "60000", "500"], check=True)
        compare(path)


if __name__ == "__main__":
    main()
