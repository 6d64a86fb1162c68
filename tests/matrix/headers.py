"""What a release's headers declare: functions with the types of their arguments, and the versions of
driver functions (cudaTypedefs.h). Read from what the compiler makes of them, so that macros are gone.
"""
import os
import re
import subprocess
import tempfile

# Every function under its own name: cuMemAlloc_v2 beside cuMemAlloc.
SOURCE = "#define __CUDA_API_VERSION_INTERNAL\n#include <{}>\n"


def expand(include, header):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(SOURCE.format(header))
        file.flush()
        result = subprocess.run(["cc", "-E", "-P", "-std=gnu11", "-I", include, file.name],
                                capture_output=True, text=True, check=True)
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)", " ", result.stdout)
    return re.sub(r"\s+", " ", text)


def split_arguments(text):
    """At commas that are in no parenthesis."""
    parts, depth, start = [], 0, 0
    for i, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:i])
            start = i + 1
    return [part.strip() for part in [*parts, text[start:]] if part.strip() not in ("", "void")]


WORDS = {"const", "struct", "enum", "union", "unsigned", "signed", "int", "char", "long", "short",
         "void", "float", "double", "size_t"}


def get_type(argument):
    """Without the name, which means nothing, and in one spelling."""
    argument = re.sub(r"\b__restrict(__)?\b|\brestrict\b", " ", argument)
    is_array = "[" in argument
    argument = re.sub(r"\[[^]]*\]", " ", argument)
    words = re.findall(r"\w+|\*|\(|\)|,", argument)
    if "(" not in words and len(words) > 1 and re.match(r"[A-Za-z_]", words[-1]) and \
            words[-1] not in WORDS and words[-2] not in ("struct", "enum", "union"):
        words.pop()
    # Tags of typedefs that are the same thing in C: "struct cudaFoo" and "cudaFoo".
    words = [word for word in words if word not in ("struct", "enum", "union")]
    return " ".join(words) + (" *" if is_array else "")


def find_functions(text, result, prefix):
    """name -> types of the arguments."""
    functions = {}
    for match in re.finditer(r"\b" + result + r" (" + prefix + r"\w+) ?\(", text):
        depth, end = 1, match.end()
        while depth and end < len(text):
            depth += (text[end] == "(") - (text[end] == ")")
            end += 1
        if not re.match(r" ?;", text[end:end + 2]):
            continue  # a pointer to a function, or its body
        arguments = text[match.end():end - 1]
        functions[match[1]] = tuple(get_type(part) for part in split_arguments(arguments))
    return functions


class Headers:
    def __init__(self, include):
        self.include = include
        self.driver = find_functions(expand(include, "cuda.h"), "CUresult", "cu")
        self.runtime = find_functions(expand(include, "cuda_runtime_api.h"), "cudaError_t", "cuda")
        self.versions = self._find_versions()

    def _find_versions(self):
        """(name, version, whether for per-thread streams) of every driver function."""
        path = os.path.join(self.include, "cudaTypedefs.h")
        if not os.path.exists(path):
            return set()
        with open(path, encoding="utf-8", errors="replace") as file:
            text = file.read()
        return {(name, int(version), bool(stream)) for name, version, stream in
                re.findall(r"\*PFN_(cu\w+?)_v(\d+)(_ptsz|_ptds)?\)", text)}
