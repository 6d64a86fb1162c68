#!/usr/bin/env python3
"""What vramscope doctor says in situations that are made for it.

    test_doctor.py VRAMSCOPE LIBDIR STATIC_PROGRAM [SOFTGPU_RUN SOFTGPU_LIBDIR]
"""
import json
import os
import resource
import stat
import struct
import subprocess
import sys
import tempfile

VRAMSCOPE, LIBDIR, STATIC = sys.argv[1:4]
SOFTGPU = sys.argv[4:6]
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith(("VRAMSCOPE_", "SOFTGPU_", "LD_", "CUDA_", "PYTORCH_", "TF_",
                                       "XLA_"))}
ENVIRONMENT.update(VRAMSCOPE_LIBDIR=LIBDIR, LC_ALL="C", COLUMNS="100")


def check(is_true, text):
    if not is_true:
        raise AssertionError(text)


def ask(*arguments, env=None, before=None, wrap=()):
    run = subprocess.run([*wrap, VRAMSCOPE, "doctor", "--json", *arguments],
                         env={**ENVIRONMENT, **(env or {})}, capture_output=True, text=True,
                         preexec_fn=before, timeout=120)
    told = json.loads(run.stdout)
    check(run.returncode == (0 if told["works"] else 1), f"status {run.returncode}: {run.stdout}")
    check(told["works"] == all(found["state"] != "bad" for found in told["findings"]), "works")
    return told["findings"]


def find(findings, topic, part):
    """The only finding of that topic with that text."""
    found = [one for one in findings if one["topic"] == topic and part in one["text"]]
    check(len(found) == 1, f"{topic} with {part!r}: {json.dumps(findings, indent=1)}")
    return found[0]


def expect(findings, state, topic, part, remedy=None):
    found = find(findings, topic, part)
    check(found["state"] == state, f"{found} is not {state}")
    check((remedy in (found["remedy"] or "")) if remedy else True, f"{found}: {remedy}")


def write(path, data, mode=0o755):
    with open(path, "wb") as file:
        file.write(data)
    os.chmod(path, mode)


def test_static_program():
    expect(ask("--", STATIC), "bad", "command", "statically linked", "-static")


def test_program_of_32_bits():
    header = b"\x7fELF" + bytes([1, 1, 1]) + bytes(9) + struct.pack("<HHI", 2, 3, 1) + bytes(80)
    write("old", header)
    expect(ask("--", "./old"), "bad", "command", "32 bits", "64-bit")


def test_program_that_is_not_there():
    expect(ask("--", "nobody-has-this"), "bad", "command", "command not found", "PATH")


def test_privileged_program():
    if os.getuid() != 0:
        return
    write("su", open("/bin/true", "rb").read())
    os.chown("su", 12345, 12345)
    os.chmod("su", 0o755 | stat.S_ISUID)
    if os.statvfs(".").f_flag & os.ST_NOSUID:
        return
    expect(ask("--", "./su"), "bad", "command", "privileges", "set-user-id")


def test_script_is_followed():
    write("script", b"#!/bin/sh\nexit 0\n")
    expect(ask("--", "./script"), "good", "command", "a script for /bin/sh")


def link(name, *arguments, text=""):
    """A program or library that does nothing but need others."""
    with open(f"{name}.c", "w", encoding="utf-8") as file:
        file.write(text)
    subprocess.run(["cc", "-o", name, f"{name}.c", "-Wl,--no-as-needed", *arguments], check=True)


def test_libraries_of_libraries_are_followed():
    link("libcudart.so.77", "-shared", "-Wl,-soname,libcudart.so.77")
    link("libmiddle.so", "-shared", "./libcudart.so.77", "-Wl,-soname,libmiddle.so")
    link("user", "-L.", "-lmiddle", "-Wl,--allow-shlib-undefined", text="int main(void) {return 0;}")
    here = {"LD_LIBRARY_PATH": os.getcwd()}
    expect(ask("--", "./user", env=here), "good", "runtime", "shared: libcudart.so.77")
    os.remove("libcudart.so.77")
    expect(ask("--", "./user", env=here), "bad", "command", "needs libcudart.so.77, which is not "
           "found", "LD_LIBRARY_PATH")
    expect(ask("--", "./user"), "bad", "command", "needs libmiddle.so, which is not found")


def test_preload_that_is_not_there():
    # Loaders complain on stderr and go on.
    findings = ask(env={"LD_PRELOAD": "/nowhere/libmine.so"})
    expect(findings, "note", "LD_PRELOAD", "/nowhere/libmine.so is not there", "take it out")


def test_another_interposer():
    write("libvgpu.so", open(os.path.join(LIBDIR, "libvramscope.so"), "rb").read())
    findings = ask(env={"LD_PRELOAD": os.path.abspath("libvgpu.so"), "VRAMSCOPE_CHILDREN": "no"})
    expect(findings, "note", "LD_PRELOAD", "stands in front of CUDA too")


def test_limits():
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
        resource.setrlimit(resource.RLIMIT_NOFILE, (40, 40))

    findings = ask(before=limit)
    expect(findings, "bad", "limits", "file size (ulimit -f) is 1.00 MiB", "unlimited")
    expect(findings, "note", "limits", "open files (ulimit -n) is 40")


def test_full_disk():
    """A small tmpfs, where one can be had."""
    os.mkdir("small")
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "none", "small"],
                      capture_output=True).returncode:
        print("no tmpfs can be mounted: left out")
        return
    try:
        expect(ask("-o", "small/x.vscope"), "bad", "trace", "there is no room", "make room")
    finally:
        subprocess.run(["umount", "small"], check=True)


def test_folder_that_is_not_there():
    expect(ask("-o", "none/x.vscope"), "bad", "trace", "No such file", "-o")


def make_python(version="2.9.1"):
    """A venv with a package torch that must not be imported."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", "venv"], check=True)
    packages = subprocess.run(["venv/bin/python", "-c",
                               "import sysconfig; print(sysconfig.get_path('purelib'))"],
                              check=True, capture_output=True, text=True).stdout.strip()
    os.makedirs(f"{packages}/torch")
    write(f"{packages}/torch/__init__.py", b"raise SystemExit('imported')\n", 0o644)
    os.makedirs(f"{packages}/torch-{version}.dist-info")
    write(f"{packages}/torch-{version}.dist-info/METADATA",
          f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n".encode(), 0o644)
    return os.path.abspath("venv/bin/python")


def test_python_and_its_framework():
    python = make_python()
    findings = ask("--", python, "train.py",
                   env={"PYTORCH_CUDA_ALLOC_CONF": "backend:cudaMallocAsync"})
    expect(findings, "good", "framework", "torch 2.9.1")
    find(findings, "Python", f"{sys.version_info[0]}.{sys.version_info[1]}")
    expect(findings, "note", "torch", "cudaMallocAsync", "native")
    write("train.py", f"#!{python}\nprint()\n".encode())
    expect(ask("--", "./train.py"), "good", "framework", "torch 2.9.1")
    write("train2.py", b"#!/usr/bin/env python\nprint()\n")
    findings = ask("--", "./train2.py",
                   env={"PATH": os.path.dirname(python) + ":" + os.environ["PATH"]})
    expect(findings, "good", "framework", "torch 2.9.1")


def test_recorder_is_missing():
    expect(ask(env={"VRAMSCOPE_LIBDIR": os.getcwd()}), "bad", "recorder", "is not where")


def test_without_a_driver():
    findings = ask()
    if any(one["topic"] == "driver" and one["state"] != "bad" for one in findings):
        return  # this machine has one
    expect(findings, "bad", "driver", "", "--softgpu")


def test_simulated_driver():
    if not SOFTGPU:
        return
    wrap = [SOFTGPU[0], "-m", "3G"]
    findings = ask(env={"SOFTGPU_LIBDIR": SOFTGPU[1]}, wrap=wrap)
    expect(findings, "note", "driver", "simulated by softgpu, for CUDA 13.0: softgpu 3.00 GiB")
    expect(findings, "good", "NVML", "580")
    expect(findings, "good", "CUPTI", "libcupti.so.13")


def test_text_says_the_same():
    run = subprocess.run([VRAMSCOPE, "doctor", "--", STATIC], env=ENVIRONMENT, capture_output=True,
                         text=True, timeout=120)
    lines = run.stdout.splitlines()
    check(run.returncode == 1 and lines[-1].endswith("will not work"), run.stdout)
    check(any(line.startswith("bad   command     ") for line in lines), run.stdout)
    check(any(line.startswith("                > link it") for line in lines), run.stdout)
    check(max(map(len, lines)) <= 100 and len(lines) <= 40, "one screen")


def main():
    tests = {name: test for name, test in globals().items() if name.startswith("test_")}
    failed = 0
    for name, test in tests.items():
        with tempfile.TemporaryDirectory(prefix="vramscope-doctor.") as folder:
            os.chdir(folder)
            try:
                test()
                print("ok     ", name)
            except (AssertionError, OSError, subprocess.SubprocessError, ValueError) as error:
                print("FAILED ", name, error)
                failed += 1
            os.chdir("/")
    print(f"{failed} of {len(tests)} failed")
    return failed > 0


sys.exit(main())
