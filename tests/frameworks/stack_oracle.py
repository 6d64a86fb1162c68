"""Compares the Python frames of PyTorch's blocks in a trace with those that PyTorch itself recorded.

usage: stack_oracle.py TRACE OUT      OUT: what torch_stacks.py wrote

To be run by a Python of the release that was recorded: it is Python that says which line an
instruction is on. The trace is read by tests/trace-format/read_trace.py. Compared are, one by one,

  every allocation    order, address, and its frames of Python
  those of workers    the frames behind the link: of the backward() that asked for this size
"""
import json
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "trace-format"))

import read_trace  # noqa: E402  (found through the line above)

STACK, NODES, CODE, CODE_LINES, BLOCK_ALLOC = 3, 7, 8, 9, 27
PYTHON, LINK = 8, 9
LINK_BACKWARD, LINK_SEVERAL = 1, 2


class Recorded(read_trace.Trace):
    def __init__(self, path):
        self.blocks = []  # (thread, stack, address, size)
        self.stacks = {}
        self.codes = {}  # id: [version, first line, file, name, table]
        self.lines = {}
        super().__init__(path)

    def add_event(self, kind, time, thread, fields):
        super().add_event(kind, time, thread, fields)
        if kind == BLOCK_ALLOC:
            _, stack, address, size = fields
            self.blocks.append((thread, stack, address, size))

    def read_definitions(self, data, nr):
        start = data.at
        super().read_definitions(data, nr)
        end = data.at
        data.at = start
        for _ in range(nr):
            self.keep(*read_trace.next_row(data))
        data.at = end

    def keep(self, kind, body):
        if kind == STACK:
            number, _, node = body.varint(), body.varint(), body.varint()
            frames = []
            while node:
                node, address = self.tree.nodes[node]
                frames.append(address)
            self.stacks[number] = frames
        elif kind == CODE:
            number, version, first_line = body.varint(), body.varint(), body.varint()
            body.varint()
            texts = [body.take(body.varint()).decode() for _ in range(2)]
            self.codes[number] = [version, first_line, *texts, b""]
        elif kind == CODE_LINES:
            number = body.varint()
            body.varint()
            self.codes[number][4] += body.take(body.varint())

    def find_line(self, number, instruction):
        """By Python itself."""
        if number not in self.lines:
            version, first_line, _, _, table = self.codes[number]
            if version != sys.version_info[0] << 8 | sys.version_info[1]:
                sys.exit("this is a trace of another Python")
            code = (lambda: 0).__code__.replace(co_linetable=table, co_firstlineno=first_line)
            self.lines[number] = list(code.co_lines())
        for start, end, line in self.lines[number]:
            if start <= instruction * 2 < end:
                return line
        return None

    def resolve(self, frame):
        number = frame >> 32 & (1 << 28) - 1
        _, _, file, name, _ = self.codes[number]
        # PyTorch has names that are not qualified.
        return [name.rpartition(".")[2], file, self.find_line(number, frame & (1 << 32) - 1)]

    def get_stack(self, number):
        """Frames of Python of the own thread, the link or None, those behind it."""
        own, behind, link = [], [], None
        for frame in self.stacks.get(number, []):
            if frame >> 60 == LINK:
                link = frame & (1 << 60) - 1
            elif frame >> 60 == PYTHON:
                (own if link is None else behind).append(self.resolve(frame))
        return own, link, behind


class Judge:
    def __init__(self, trace, out):
        self.recorded = Recorded(trace)
        with open(out, encoding="utf-8") as file:
            self.said = json.load(file)
        self.calls = {call["width"]: call["frames"] for call in self.said["calls"]}
        self.differences = []
        self.nr_linked = self.nr_several = self.nr_with_python = 0

    def complain(self, i, text):
        self.differences.append(f"allocation {i}: {text}")

    def find_owner(self, size):
        """The only backward() whose tensors have this size."""
        width, rest = divmod(size, self.said["unit"])
        return width if not rest and width in self.calls else None

    def judge_link(self, i, size, link, behind):
        owner = self.find_owner(size)
        if link == LINK_SEVERAL:
            self.nr_several += 1
            if owner in self.said["certain"] or behind:
                self.complain(i, f"is of backward() {owner}, not of one out of several")
            return
        if owner is None:
            return
        self.nr_linked += 1
        wanted = self.calls[owner]
        if link != LINK_BACKWARD or behind[-len(wanted):] != wanted:
            self.complain(i, f"asked for by {wanted[:2]}, not by {behind[-len(wanted):][:2]}")
        # In between there is what backward() consists of.
        if not all("torch" in file for _, file, _ in behind[:-len(wanted)]):
            self.complain(i, f"strangers between backward() and its caller: {behind}")

    def judge(self):
        history, blocks = self.said["history"], self.recorded.blocks
        # What was before torch began to write is not in its history.
        blocks = blocks[len(blocks) - len(history):]
        workers = self.find_workers(blocks)
        for i, (entry, (thread, stack, address, size)) in enumerate(zip(history, blocks)):
            own, link, behind = self.recorded.get_stack(stack)
            if address != entry["address"]:
                self.complain(i, f"{address:#x} is not {entry['address']:#x}")
                break
            self.nr_with_python += bool(own)
            if own != entry["frames"]:
                self.complain(i, f"{own} is not {entry['frames']}")
            if thread in workers:
                self.judge_link(i, entry["size"], link, behind)
            elif link is not None:
                self.complain(i, "a thread that is no worker has a link")
        if len(history) > len(blocks):
            self.complain(len(blocks), "is missing")
        return self

    def find_workers(self, blocks):
        """Threads of the engine: they have allocated for a backward() without Python of their own."""
        return {thread for thread, stack, _, _ in blocks
                if self.recorded.get_stack(stack)[1] is not None}


def main():
    judge = Judge(*sys.argv[1:3]).judge()
    for line in judge.differences[:10]:
        print(line[:1000])
    nr = len(judge.said["history"])
    print(f"torch {judge.said['version']}: {nr} allocations, {judge.nr_with_python} with Python of their "
          f"own, {judge.nr_linked} of workers with their backward(), {judge.nr_several} of one out of "
          f"several, {len(judge.differences)} different")
    is_enough = judge.nr_with_python > 50 and judge.nr_linked > 30
    return 0 if is_enough and not judge.differences else 1


sys.exit(main())
