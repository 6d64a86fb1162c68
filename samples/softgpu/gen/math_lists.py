#!/usr/bin/env python3
"""Write the lists of names in samples/softgpu/math/names, one for each library.

usage: math_lists.py [--headers DIR]... OUT_DIR [FOLDER_OF_A_WHEEL]...

Run by hand when a new release is to be supported; the lists are kept in the tree, because the
headers of these libraries come in packages of hundreds of megabytes. Names come from the public
headers (pass the folders of several releases, the newest first) and from what the binaries of
frameworks import or look up by name. What a list has already stays in it.

A list holds facts only. Its first lines say `soname SONAME NODE X.Y.Z`: the version node of its
symbols ("-": none) and the version the library answers with. `part SONAME WHOLE` is a
library that has all of these names, too, under a node called like itself. Then, one to a line:

    NAME RETURN ARGUMENTS

with a letter for each. Returned: i status or number, s text, v nothing, f float, d double,
n pointer or 64-bit number. Arguments:

    n  integer, enumeration or pointer that is only read, or not ours to write (device memory)
    f  float    d  double    c  complex float    z  complex double    b  a larger structure
    h  handle of the library: must be a living one
    H  where a new handle goes            X, D  handle to destroy (X: of the library; D: other)
    I, L  where a size goes, 32 and 64 bits wide
    o, O  where another number goes, 32 and 64 bits wide    P  where a pointer goes

A name that no header declares is there with `? ?`.
"""
import argparse
import os
import re
import subprocess

# library: pattern of its names, headers (a list of lists: headers that cannot stand together),
# type of its handle
LIBRARIES = {
    "cublas": (r"cublas(?!Lt)[A-Z]\w*", [["cublas_v2.h", "cublasXt.h"], ["cublas.h"]],
               r"cublas(Xt)?Handle_t"),
    "cublasLt": (r"cublasLt[A-Z]\w*", [["cublasLt.h"]], r"-"),
    "cudnn": (r"cudnn[A-Z]\w*", [["cudnn.h"]], r"cudnnHandle_t"),
    "cufft": (r"cufft[A-Z]\w*", [["cufftXt.h"]], r"-"),
    "cusolver": (r"cusolver(?:Dn|Sp|Rf|Get|IRS)\w*",
                 [["cusolverDn.h", "cusolverSp.h", "cusolverRf.h"]], r"cusolver(Dn|Sp|Rf)Handle_t"),
    "cusparse": (r"cusparse(?!Lt)[A-Z]\w*", [["cusparse.h"]], r"cusparseHandle_t"),
    "cusparseLt": (r"cusparseLt[A-Z]\w*", [["cusparseLt.h"]], r"-"),
    "curand": (r"curand[A-Z]\w*", [["curand.h"]], r"curandGenerator_t"),
    "nccl": (r"p?nccl[A-Z]\w*", [["nccl.h"]], r"-"),
    "nvrtc": (r"nvrtc[A-Z]\w*", [["nvrtc.h"]], r"-"),
    "nvJitLink": (r"(?:__)?nvJitLink[A-Z]\w*", [["nvJitLink.h"]], r"-"),
    "cufile": (r"cuFile[A-Z]\w*", [["cufile.h"]], r"-"),
    "nvshmem_host": (r"nvshmem(?:x|id|i)?_\w+", [], r"-"),
}

# Old names that the headers at hand may lack are looked for in the binaries of those who load these
# libraries themselves. (Not so for the others: what is found there is often internal.)
SPELLED = {"cudnn", "cusparse", "nccl", "nvrtc", "cufft"}

NVJITLINK_RELEASES = [f"12_{minor}" for minor in range(10)] + [f"13_{minor}" for minor in range(4)]

# Found between two zero bytes of a binary, but no function.
NOT_A_FUNCTION = re.compile(r"(_t|_st|_|Error|Opaque|Descr)$|^(nccl|cudnn|cublas)[A-Z]?[a-z]*$")
SIZE_NAME = re.compile(r"buffer_?size|lwork|work_?size|work_?space_?(size|in_?bytes)|sizes?InBytes|"
                       r"reserveSpaceSize|weightSpaceSize|spaceSize|workspaceInBytes|SizeInBytes|"
                       r"bufferSizeInBytes|compressedSize|compressBufferSize", re.I)
WIDE = {"size_t", "int64_t", "long", "long long", "uint64_t", "unsigned long long", "ssize_t"}
NARROW = {"int", "unsigned", "unsigned int", "int32_t", "uint32_t"}


def preprocess(headers, folders, compiler="cc"):
    found = [h for h in headers if any(os.path.exists(os.path.join(f, h)) for f in folders)]
    if not found:
        return ""
    flags = [flag for folder in folders for flag in ("-I", folder)]
    source = "#define __NV_NO_HOST_COMPILER_CHECK 1\n" + "".join(f"#include <{h}>\n" for h in found)
    text = subprocess.run([compiler, "-E", "-P", *flags, "-x", "c", "-"], input=source, text=True,
                          capture_output=True, check=True).stdout
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|__inline__|\bextern\b|_Nullable",
                  " ", text)
    return re.sub(r"\s+", " ", text)


def known_types(text):
    """Which typedefs are pointers, and which are enumerations or other 32-bit numbers."""
    pointers = set(re.findall(r"typedef [\w ]+?(?:const ?)?\* ?(?:const )?(\w+) ?;", text))
    enums = set(re.findall(r"typedef enum(?: \w+)? ?\{[^{}]*\} ?(\w+) ?;", text))
    enums |= set(re.findall(r"typedef enum \w+ (\w+) ?;", text))
    structs = set(re.findall(r"typedef struct(?: \w+)? ?\{[^{}]*\} ?(\w+) ?;", text))
    for old, new in re.findall(r"typedef (\w+) (\w+) ?;", text):
        for kind in (pointers, enums, structs):
            if old in kind:
                kind.add(new)
    return pointers, enums, structs


class Reader:
    """The declarations of one preprocessed text."""

    def __init__(self, text, pattern, handle):
        self.text, self.handle = text, re.compile(handle)
        self.pattern = re.compile(r"([\w ]+[ *]) ?\b(" + pattern + r") ?\(([^()]*)\) ?;")
        self.pointers, self.enums, self.structs = known_types(text)

    def pointer_letter(self, function, base, name, is_const):
        if is_const:
            return "n"
        if base in self.pointers:
            if re.search(r"Create|Init|Clone", function):
                return "H"
            return "P" if "Get" in function else "n"
        if base not in WIDE and base not in NARROW and base not in self.enums:
            return "n"
        wide = base in WIDE
        if SIZE_NAME.search(name) or re.search(r"(Buffer|bufferSize|SizeExt|BufferSize)", function) \
                and re.search(r"size|bytes|lwork", name, re.I):
            return "L" if wide else "I"
        if "Get" in function or re.search(r"Query", function):
            return "O" if wide else "o"
        return "n"

    def letter(self, function, parameter):
        parameter = re.sub(r"\b(struct|enum|volatile)\b", "", parameter).strip()
        match = re.fullmatch(r"(.*?)(\w*) ?((?:\[\w*\] ?)*)", parameter)
        declared, name, array = match.groups()
        if not declared.strip():
            declared, name = name, ""
        is_const, depth = "const" in declared, declared.count("*") + array.count("[")
        base = re.sub(r"\bconst\b|\*", "", declared)
        base = re.sub(r" +", " ", base).strip()
        if depth == 1:
            return self.pointer_letter(function, base, name, is_const)
        if depth > 1:
            return "n"
        if self.handle.fullmatch(base):
            return "X" if re.search(r"Destroy", function) else "h"
        if base in self.pointers:
            return "D" if re.search(r"Destroy", function) else "n"
        special = {"float": "f", "double": "d", "cuComplex": "c", "cufftComplex": "c",
                   "cuDoubleComplex": "z", "cufftDoubleComplex": "z"}
        if base in self.structs and base not in special:
            return "b"
        return special.get(base, "n")

    def result(self, declared):
        words = re.sub(r"\b(const|static|CUBLASAPI|CUDNNWINAPI)\b", "", declared).split()
        if "*" in declared:
            return "s" if "char" in words else "n"
        base = words[-1] if words else "int"
        return {"void": "v", "float": "f", "double": "d", "size_t": "n", "cuComplex": "?",
                "cuDoubleComplex": "?"}.get(base, "i")

    def declarations(self):
        for declared, name, arguments in self.pattern.findall(self.text):
            if re.search(r"\b(typedef|return|else|static)\b", declared):
                continue
            arguments = arguments.strip()
            parts = [] if arguments in ("", "void") else arguments.split(",")
            letters = "".join(self.letter(name, part) for part in parts)
            yield name, self.result(declared), letters or "-"


def binaries(folders):
    for folder in folders:
        for root, _, files in os.walk(folder):
            yield from (os.path.join(root, file) for file in files
                        if re.search(r"\.so(\.\d+)*$", file))


def imported_names(paths, pattern):
    names = set()
    for path in paths:
        table = subprocess.run(["nm", "-D", "--undefined-only", path], text=True,
                               capture_output=True, check=False).stdout
        names |= {word.split("@")[0] for word in table.split()}
    return {name for name in names if re.fullmatch(pattern, name)}


def spelled_names(paths, pattern):
    """Kept as text to be looked up with dlsym."""
    exact = re.compile(rb"\0(" + pattern.encode() + rb")(?=\0)")
    names = set()
    for path in paths:
        with open(path, "rb") as binary:
            names |= {name.decode() for name in exact.findall(binary.read())}
    return {name for name in names if not NOT_A_FUNCTION.search(name)}


def with_all_minors(names):
    """nvJitLink.h renames each function by its own release: each release has all of them."""
    for name, facts in list(names.items()):
        match = re.fullmatch(r"__(nvJitLink\w+?)_\d+_\d+", name)
        if match:
            names[match.group(1)] = facts
            for release in NVJITLINK_RELEASES:
                names[f"__{match.group(1)}_{release}"] = facts


def read_list(path):
    head, names = [], {}
    if os.path.exists(path):
        with open(path, encoding="ascii") as file:
            for line in file:
                words = line.split()
                if line.startswith(("#", "soname", "part")):
                    head.append(line)
                elif len(words) == 3:
                    names[words[0]] = (words[1], words[2])
    return head, names


def update(path, library, headers, wheels):
    pattern, groups, handle = LIBRARIES[library]
    head, names = read_list(path)
    for folder in headers:
        for group in groups:
            # cuda.h and its like may be in another folder
            reader = Reader(preprocess(group, [folder, *headers]), pattern, handle)
            for name, result, letters in reader.declarations():
                if names.get(name, ("?",))[0] == "?" or folder == headers[0]:
                    names[name] = (result, letters)
    wanted = imported_names(wheels, pattern)
    if library in SPELLED:
        wanted |= spelled_names(wheels, pattern)
    if library == "nvJitLink":
        with_all_minors(names)
    for name in wanted:
        names.setdefault(name, ("?", "?"))
    with open(path, "w", encoding="ascii") as file:
        file.writelines(head)
        file.writelines(f"{name} {' '.join(names[name])}\n" for name in sorted(names))
    unknown = sum(1 for result, _ in names.values() if result == "?")
    print(f"{library}: {len(names)} names, {unknown} of them without a declaration")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--headers", action="append", default=[])
    parser.add_argument("out")
    parser.add_argument("wheels", nargs="*")
    options = parser.parse_args()
    for library in LIBRARIES:
        update(os.path.join(options.out, library + ".txt"), library, options.headers,
               list(binaries(options.wheels)))


if __name__ == "__main__":
    main()
