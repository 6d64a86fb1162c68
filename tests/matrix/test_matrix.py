#!/usr/bin/env python3
"""The parts of ./dev test-matrix see what they are there to see, on headers made by hand."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import hooks_exist
import new_symbols
import real_runtime
import run
from headers import Headers, get_type
from hook_list import Hook, HookList
from releases import RELEASES, Release

CUDA = """
typedef int CUresult; typedef unsigned long long CUdeviceptr; typedef unsigned long size_t;
#define CUDAAPI
CUresult CUDAAPI cuMemAlloc_v2(CUdeviceptr *dptr, size_t bytesize);
CUresult CUDAAPI cuMemFree_v2 ( CUdeviceptr dptr );
CUresult CUDAAPI cuShinyThing(CUdeviceptr *out, const struct CUparams_st *params, void (*done)(void *, int));
typedef CUresult (CUDAAPI *PFN_ignored)(CUdeviceptr *dptr);
"""
RUNTIME = """
typedef int cudaError_t; typedef unsigned long size_t;
extern __attribute__((visibility("default"))) cudaError_t cudaMalloc(void **devPtr, size_t size);
extern cudaError_t cudaFree(void *devPtr) __attribute__((warn_unused_result));
"""
TYPEDEFS = """
typedef CUresult (CUDAAPI *PFN_cuMemAlloc_v3020)(CUdeviceptr *dptr, size_t bytesize);
typedef CUresult (CUDAAPI *PFN_cuMemFree_v3020)(CUdeviceptr dptr);
typedef CUresult (CUDAAPI *PFN_cuMemFreeAsync_v11020_ptsz)(CUdeviceptr dptr);
"""


class Hooks:
    driver = [Hook("cuMemAlloc", 3020, "cuMemAlloc_v2"), Hook("cuMemFree", 3020, "cuMemFree_v2"),
              Hook("cuMemFree", 99000, "cuMemFree_v9")]
    others = set()
    runtime = ["cudaMalloc", "cudaFree"]
    find = HookList.find


class Matrix(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        for name, text in (("cuda.h", CUDA), ("cuda_runtime_api.h", RUNTIME),
                           ("cudaTypedefs.h", TYPEDEFS)):
            self.write(name, text)
        self.release = Release(12, 9)

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        with open(os.path.join(self.folder.name, name), "w", encoding="utf-8") as file:
            file.write(text)

    def read(self):
        return Headers(self.folder.name)

    def test_types_have_no_names(self):
        self.assertEqual(get_type("const struct cudaExtent extent"), "const cudaExtent")
        self.assertEqual(get_type("unsigned int flags"), "unsigned int")
        self.assertEqual(get_type("unsigned int"), "unsigned int")
        self.assertEqual(get_type("CUdeviceptr *dptr"), "CUdeviceptr *")
        self.assertEqual(get_type("CUdeviceptr"), "CUdeviceptr")
        self.assertEqual(get_type("void** devPtr"), "void * *")
        self.assertEqual(get_type("CUdevice ids[]"), "CUdevice *")

    def test_functions_are_found(self):
        headers = self.read()
        self.assertEqual(headers.driver["cuMemAlloc_v2"], ("CUdeviceptr *", "size_t"))
        self.assertEqual(headers.driver["cuMemFree_v2"], ("CUdeviceptr",))
        self.assertEqual(len(headers.driver["cuShinyThing"]), 3)
        self.assertEqual(headers.runtime["cudaMalloc"], ("void * *", "size_t"))
        self.assertEqual(headers.runtime["cudaFree"], ("void *",))
        self.assertIn(("cuMemFreeAsync", 11020, True), headers.versions)

    def test_hooks_are_as_they_are(self):
        headers = self.read()
        self.assertEqual(list(hooks_exist.check_driver(self.release, headers, headers, Hooks)), [])

    def test_another_signature_is_seen(self):
        reference = self.read()
        self.write("cuda.h", CUDA.replace("size_t bytesize", "unsigned int bytesize"))
        wrong = list(hooks_exist.check_driver(self.release, self.read(), reference, Hooks))
        self.assertEqual(len(wrong), 1)
        self.assertIn("cuMemAlloc_v2 takes (CUdeviceptr *, unsigned int)", wrong[0])

    def test_missing_function_is_seen(self):
        reference = self.read()
        self.write("cuda.h", CUDA.replace("cuMemFree_v2", "cuMemFree_v3"))
        wrong = list(hooks_exist.check_driver(self.release, self.read(), reference, Hooks))
        self.assertEqual(wrong, ["cuMemFree_v2 is not declared"])

    def test_another_version_is_seen(self):
        reference = self.read()
        self.write("cudaTypedefs.h", TYPEDEFS.replace("cuMemFree_v3020", "cuMemFree_v4000"))
        wrong = list(hooks_exist.check_driver(self.release, self.read(), reference, Hooks))
        self.assertEqual(wrong, ["cuMemFree_v2 is not what cuMemFree means from 3020 on"])

    def test_function_that_came_earlier_is_seen(self):
        self.write("cuda.h", CUDA + "CUresult CUDAAPI cuMemFree_v9(CUdeviceptr dptr);\n")
        headers = self.read()
        wrong = list(hooks_exist.check_driver(self.release, headers, headers, Hooks))
        self.assertEqual(len(wrong), 1)

    def test_new_functions_are_candidates_by_name_or_by_type(self):
        functions = {"cuMemAllocShiny": ("int",), "cuShinyThing": ("CUdeviceptr *",),
                     "cuStreamQuery": ("CUstream",), "cuMemAllocAsync_ptsz": ("int",)}
        self.assertEqual(new_symbols.find_candidates(functions),
                         {"cuMemAllocShiny", "cuShinyThing", "cuMemAllocAsync"})

    def test_real_list_is_understood(self):
        hooks = HookList()
        self.assertEqual(hooks.find("cuMemAlloc", 12000, False), "cuMemAlloc_v2")
        self.assertIsNone(hooks.find("cuMemAlloc", 3010, False))
        self.assertEqual(hooks.find("cuMemAllocAsync", 11020, True), "cuMemAllocAsync_ptsz")
        self.assertEqual(hooks.find("cuGetProcAddress", 11030, False), "cuGetProcAddress")
        self.assertEqual(hooks.find("cuGetProcAddress", 12000, True), "cuGetProcAddress_v2")
        self.assertIsNone(hooks.find("cuGraphInstantiate", 12000, False))
        self.assertIsNone(hooks.find("cuStreamQuery", 12000, False))

    def test_look_up_that_misses_us_is_seen(self):
        good = [("door", "0", "0", "libvramscope.so", "cuGetProcAddress_v2")] + \
               [("cuMemAlloc", "3020", "0", "libvramscope.so", "cuMemAlloc_v2")] * 40
        self.assertEqual(list(real_runtime.check_answers(good, Hooks())), [])
        for bad in (("cuMemFree", "3020", "0", "libcuda.so.1", "sg_free"),
                    ("cuStreamQuery", "2000", "0", "libvramscope.so", "cuMemFree_v2"),
                    ("door", "0", "0", "libcuda.so.1", "cuGetProcAddress_v2")):
            self.assertEqual(len(list(real_runtime.check_answers([*good, bad], Hooks()))), 1, bad)
        self.assertEqual(len(list(real_runtime.check_answers(good[:5], Hooks()))), 1)

    def test_another_end_is_seen(self):
        lookups = [("cuInit", str(i), "0") for i in range(400)]
        plain = ((0, "cudaFree 500\ncudaGetDeviceCount 500", ""), lookups, ["lookups"])
        self.assertEqual(list(real_runtime.check_same_end(plain, plain)), [])
        for ours in (((0, "cudaFree 0", ""), lookups, ["lookups"]), (plain[0], lookups[1:], plain[2]),
                     (*plain[:2], ["lookups", "x.vscope"])):
            self.assertEqual(len(list(real_runtime.check_same_end(plain, ours))), 1)

    def test_table_stands_between_its_marks(self):
        self.write("page.md", "# Page\n\nText.\n\n## torch\n\nrows\n")
        path = os.path.join(self.folder.name, "page.md")
        for rows in (["| 1 |"], ["| 2 |", "| 3 |"]):
            run.write(path, rows)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        self.assertEqual((text.count(run.BEGIN), text.count("| 1 |"), text.count("| 3 |")), (1, 0, 1))
        self.assertTrue(text.startswith("# Page\n\nText.\n\n" + run.TITLE))
        self.assertTrue(text.endswith("\n\n## torch\n\nrows\n"))

    def test_releases_have_their_names(self):
        self.assertEqual((RELEASES[0].name, RELEASES[0].soname, RELEASES[-1].version),
                         ("11.7", "libcudart.so.11.0", 13040))


unittest.main()
