"""NVIDIA's own runtime of a release, on softgpu's driver, up to its clean refusal; with and without us.

It ends with cudaErrorSymbolNotFound (500), because the driver is none of NVIDIA's. On the way it has
looked up every function of the driver that it will ever call: that is what is looked at here.
"""
import os
import subprocess
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
PROBE = os.path.join(HERE, "../softgpu/e2e/runtime_probe.c")
LOOKUP_PROBE = os.path.join(HERE, "lookup_probe.c")
FEWEST = 300
PER_THREAD = 2  # CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM


class Bench:
    """Programs and libraries for all releases."""

    def __init__(self, stage, work):
        self.shim = os.path.abspath(os.path.join(stage, "lib/vramscope/libvramscope.so"))
        driver = os.path.join(stage, "lib/vramscope/softgpu/libcuda.so.1")
        self.only_driver = os.path.abspath(os.path.join(work, "only-driver"))
        self.work = os.path.abspath(work)
        os.makedirs(self.only_driver, exist_ok=True)
        link = os.path.join(self.only_driver, "libcuda.so.1")
        if os.path.lexists(link):
            os.unlink(link)
        os.symlink(os.path.abspath(driver), link)
        self.lookup_probe = os.path.join(self.work, "lookup_probe")
        subprocess.run(["cc", "-O1", "-o", self.lookup_probe, LOOKUP_PROBE, "-ldl"], check=True)

    def build(self, files):
        """name -> program: with the shared runtime, and with the static one if that is there."""
        folder = os.path.dirname(files.library)
        start = ["cc", "-O1", "-I", files.include, PROBE, "-o"]
        shared = os.path.join(self.work, f"probe-{files.release.name}")
        subprocess.run([*start, shared, files.library, f"-Wl,-rpath,{os.path.abspath(folder)}"],
                       check=True)
        programs = {"shared": shared}
        archive = os.path.join(folder, "libcudart_static.a")
        if os.path.exists(archive):
            programs["static"] = shared + "-static"
            subprocess.run([*start, programs["static"], archive, "-lpthread", "-ldl", "-lrt"],
                           check=True)
        return programs

    def run(self, program, with_us):
        """What there is to see of it, and its look-ups."""
        with tempfile.TemporaryDirectory(prefix="vramscope-matrix.") as folder:
            log = os.path.join(folder, "lookups")
            env = {name: value for name, value in os.environ.items()
                   if not name.startswith(("LD_", "CUDA_", "SOFTGPU_", "VRAMSCOPE_"))}
            env.update(LD_LIBRARY_PATH=self.only_driver, SOFTGPU_LOG="lookups",
                       SOFTGPU_LOG_FILE=log)
            if with_us:
                env["LD_PRELOAD"] = self.shim
            result = subprocess.run([program], env=env, cwd=folder, capture_output=True, text=True,
                                    timeout=60)
            lookups = []
            if os.path.exists(log):
                with open(log, encoding="utf-8") as file:
                    lookups = [tuple(line.split()[2:]) for line in file
                               if line.startswith("softgpu: lookup ")]
                # Newer ones ask once for the empty name, to see whether there is an answer.
                lookups = [lookup for lookup in lookups if len(lookup) == 3]
            left = sorted(os.listdir(folder))
        # Its last lines are files by their addresses, which differ from run to run.
        out = "\n".join(sorted(result.stdout.splitlines()))
        return (result.returncode, out, result.stderr), lookups, left

    def ask(self, door, lookups):
        env = {**os.environ, "LD_LIBRARY_PATH": self.only_driver, "LD_PRELOAD": self.shim,
               "VRAMSCOPE_FOLDER": self.work}
        result = subprocess.run([self.lookup_probe, door], env=env, check=True, text=True,
                                capture_output=True, timeout=60,
                                input="".join(" ".join(one) + "\n" for one in lookups))
        return [line.split() for line in result.stdout.splitlines()]


def check_same_end(plain, ours):
    (status, out, _), lookups, left = plain
    if status or "cudaFree 500" not in out or "cudaGetDeviceCount 500" not in out:
        yield f"it does not end with its refusal, but with {status}: {out}"
    if len(lookups) < FEWEST:
        yield f"it made only {len(lookups)} look-ups"
    if ours[0] != plain[0]:
        yield f"it ends otherwise with us: {ours[0]}, not {plain[0]}"
    if sorted(set(ours[1])) != sorted(set(lookups)):
        yield f"it asks for other functions with us: {set(ours[1]) ^ set(lookups)}"
    if ours[2] != left:
        yield f"we leave files behind: {ours[2]}"


def check_answers(answers, hooks):
    """What is ours in the table is ours in the answers, and nothing else is."""
    names = {hook.name for hook in hooks.driver}
    nr_ours = 0
    for name, version, flags, file, symbol in answers:
        is_ours = file == "libvramscope.so"
        nr_ours += is_ours
        wanted = hooks.find(name, int(version), bool(int(flags) & PER_THREAD))
        if name == "door":
            if not is_ours:
                yield f"its door leads to {file}"
        elif wanted and symbol != wanted and file != "none":
            yield f"{name} {version} {flags} leads to {symbol} of {file}, not to our {wanted}"
        elif is_ours and name not in names:
            yield f"{name} is none of ours, and leads to our {symbol}"
    if nr_ours < 30:
        yield f"only {nr_ours} look-ups reach us"


def check(bench, files, hooks):
    """(what is wrong, look-ups, of them ours)"""
    door = "cuGetProcAddress" if files.release.major == 11 else "cuGetProcAddress_v2"
    wrong, nr_lookups, nr_ours = [], 0, 0
    for kind, program in bench.build(files).items():
        plain, ours = bench.run(program, False), bench.run(program, True)
        answers = bench.ask(door, sorted(set(plain[1])))
        for text in (*check_same_end(plain, ours), *check_answers(answers, hooks)):
            wrong.append(f"{files.release.name}, {kind}: {text}")
        nr_lookups = max(nr_lookups, len(set(plain[1])))
        nr_ours = max(nr_ours, sum(answer[3] == "libvramscope.so" for answer in answers[1:]))
    return wrong, nr_lookups, nr_ours
