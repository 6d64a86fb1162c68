"""Whether torch goes on as if we were not there: programs of beside/ with the recorder in front."""
import glob
import os

import recorded

PROGRAMS = os.path.join(recorded.HERE, "beside")


def seen_events(text):
    """The lines of profiler.py among what others print."""
    return [line for line in text.splitlines() if line.startswith("DeviceType.")]


class Beside:
    def __init__(self, folder, stage, work, environment):
        self.python = os.path.join(folder, "bin", "python")
        self.stage = stage
        self.base = os.path.join(work, os.path.basename(folder) + "-beside")
        self.environment = environment

    def record(self, name, arguments, output=None, **variables):
        """(exit status, what it said, traces)"""
        output = output or f"{self.base}-{name}.vscope"
        for path in glob.glob(f"{self.base}-{name}*"):
            os.remove(path)
        status, text = recorded.run(
            [os.path.join(self.stage, "bin", "vramscope"), "run", "--softgpu=8G", "-o", output, "--",
             self.python, *arguments], self.environment | variables)
        return status, text, sorted(glob.glob(f"{self.base}-{name}*.vscope*"))

    def judge(self, name, status, text, traces, count=1):
        """What is wrong, or None: it ended well, and left so many good traces."""
        if status:
            return f"exit status {status}\n{text[-2000:]}"
        if len(traces) != count:
            return f"{len(traces)} traces instead of {count}: {traces}"
        status, text = recorded.run([os.path.join(self.stage, "bin", "vramscope"), "check", "-q",
                                     *traces], self.environment)
        return f"vramscope check of {name}: {text[-2000:]}" if status else None

    def simple(self, name):
        return self.judge(name, *self.record(name, [os.path.join(PROGRAMS, name + ".py")]))

    def snapshots(self):
        return self.simple("snapshots")

    def workers(self):
        return self.simple("workers")

    def profiler(self):
        """The same events, in the same order, with us and without."""
        program = os.path.join(PROGRAMS, "profiler.py")
        status, alone = recorded.run([os.path.join(self.stage, "bin", "softgpu-run"), "-m", "8G", "--",
                                      self.python, program], self.environment)
        if status:
            return f"without us: exit status {status}\n{alone[-2000:]}"
        done = self.record("profiler", [program])
        wrong = self.judge("profiler", *done)
        if wrong:
            return wrong
        alone, here = seen_events(alone), seen_events(done[1])
        if not any(event.startswith("DeviceType.CUDA") for event in alone):
            return f"the profiler saw nothing: {alone[-5:]}"
        return None if alone == here else (
            f"the profiler sees {len(here)} events beside us, {len(alone)} without us, or others")

    def torchrun(self):
        """Two ranks, a trace each."""
        done = self.record("torchrun", ["-m", "torch.distributed.run", "--standalone",
                                        "--nproc_per_node", "2", os.path.join(PROGRAMS, "ranks.py")],
                           f"{self.base}-torchrun-%r.vscope", SOFTGPU_DEVICES="2")
        return self.judge("torchrun", *done, count=2)


CHECKS = ["snapshots", "profiler", "workers", "torchrun"]


def judge_check(name, folder, stage, work, environment):
    """What is wrong, or None."""
    return getattr(Beside(folder, stage, work, environment), name)()
