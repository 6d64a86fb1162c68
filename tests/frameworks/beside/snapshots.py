"""One thread looks at all blocks again and again while others allocate: nobody may wait for ever.

torch's report runs under the allocator's mutex, which memory_snapshot() takes as well, holding the
interpreter's lock. Whoever waits for that lock in the report is stuck for good.
"""
import random
import threading
import time

import torch

SECONDS = 3


def allocate(seed, end):
    chance = random.Random(seed)
    kept = []
    while time.monotonic() < end:
        kept.append(torch.empty(chance.randrange(1, 4 << 20), dtype=torch.uint8, device="cuda"))
        if len(kept) > 20:
            del kept[chance.randrange(len(kept))]


def look(end, counts):
    while time.monotonic() < end:
        torch.cuda.memory_snapshot()
        counts.append(1)


def main():
    torch.cuda.init()
    for history in (None, "all"):
        torch.cuda.memory._record_memory_history(history)
        end, counts = time.monotonic() + SECONDS, []
        threads = [threading.Thread(target=allocate, args=(i, end)) for i in range(3)]
        threads.append(threading.Thread(target=look, args=(end, counts)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert counts, "never looked"


main()
