"""Functions of a release that may give or take memory, and that nobody has looked at yet."""
import re

from known_names import KNOWN

# What they are called ...
NAMES = re.compile(
    "Alloc|Malloc|Free|MemCreate|MemRelease|MemMap|MemUnmap|Reserve|ArrayCreate|ArrayDestroy|"
    "HostRegister|HostUnregister|MemPool|IpcOpen|IpcClose|Import|CtxCreate|CtxDestroy|PrimaryCtx|"
    "DeviceReset|Multicast|ExternalMemory|GraphMem|Instantiate|GraphLaunch|AddNode|Capture")

# ... or what they give back.
TYPES = {"CUdeviceptr *", "void * *", "CUarray *", "CUmipmappedArray *",
         "CUmemGenericAllocationHandle *", "CUmemoryPool *", "cudaMemPool_t *", "cudaArray_t *",
         "cudaMipmappedArray_t *", "cudaPitchedPtr *"}


def find_candidates(functions):
    return {re.sub("_pts[z]$|_ptds$", "", name) for name, arguments in functions.items()
            if NAMES.search(name) or TYPES & set(arguments)}


def check(release, headers, hooks):
    """A line for each function that is neither hooked nor known."""
    hooked = {hook.symbol for hook in hooks.driver} | set(hooks.runtime)
    found = find_candidates(headers.driver) | find_candidates(headers.runtime)
    assert len(found) > 150, "the headers were not understood"
    return [f"{release.name} has {name}, which may give or take memory: hook it, or say why not in "
            "tests/matrix/known_names.py" for name in sorted(found - hooked - KNOWN.keys())]


def check_known(all_headers):
    """Names that are in no release any more, or that are hooked, say nothing."""
    there = set()
    for headers in all_headers:
        there |= headers.driver.keys() | headers.runtime.keys()
    return [f"tests/matrix/known_names.py: no release has {name}" for name in sorted(KNOWN)
            if name not in there]
