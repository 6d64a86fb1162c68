"""Processes of a Python program, each with notes of its own.

usage: oracle_children.py NOTES fork|spawn; writes NOTES.PID
"""
import multiprocessing
import os
import sys

import frame_oracle
from frame_oracle import alloc, begin_case


def start():
    frame_oracle.start("%s.%d" % (sys.argv[1], os.getpid()), 1 + os.getpid() % 7 * 1000003)
    begin_case(sys.argv[2])


def work(depth):
    if depth:
        return work(depth - 1)
    alloc()
    return list(map(lambda _: alloc(), range(2)))


def run_child(path, kind):
    sys.argv[1:] = [path, kind]
    start()
    work(3)


def fork():
    children = []
    for depth in range(3):
        child = os.fork()
        if not child:
            start()
            work(depth)
            os._exit(0)
        children.append(child)
    start()
    work(1)
    for child in children:
        os.waitpid(child, 0)


def spawn():
    context = multiprocessing.get_context("spawn")
    children = [context.Process(target=run_child, args=tuple(sys.argv[1:])) for _ in range(2)]
    for child in children:
        child.start()
    start()
    work(2)
    for child in children:
        child.join()


if __name__ == "__main__":
    {"fork": fork, "spawn": spawn}[sys.argv[2]]()
