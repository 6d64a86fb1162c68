"""Registers the callbacks that CuPy and RMM document, when a program imports them.

Loaded by sitecustomize.py under `vramscope run`; docs/cupy-rmm.md says what it does. Until one of
the modules below is imported there is one object more in sys.meta_path, and that is all. Python 3.8
and later. An error of ours never reaches the program: it is told once on stderr, and what it
concerns is not recorded.

Blocks and facts go to functions that the recorder exports (vramscope.h). Where there are none, the
program is not recorded, and nothing is registered.
"""
import sys

_DEVICE_FILES = ("/dev/nvidia0", "/dev/nvidiactl", "/dev/dxg")  # as jax._src.hardware_utils has it


def _tell(what, error):
    """Once for each `what`."""
    if what in _told:
        return
    _told.add(what)
    try:
        sys.stderr.write(f"vramscope: {what} not recorded: {type(error).__name__}: {error}\n")
    except Exception:
        pass


_told = set()


class _Recorder:
    """The functions of the recorder, as far as they are needed here."""

    def __init__(self):
        import ctypes

        # Not CDLL: the calls wait for nothing, and letting go of the GIL would cost more than they.
        program = ctypes.PyDLL(None)
        self._create = program.vramscope_pool_create
        self._create.argtypes = [ctypes.c_char_p, ctypes.c_int32, ctypes.c_uint64]
        self._create.restype = ctypes.c_uint32
        self.alloc = program.vramscope_pool_alloc
        self.alloc.argtypes = [ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint64]
        self.free = program.vramscope_pool_free
        self.free.argtypes = [ctypes.c_uint32, ctypes.c_void_p]
        self.oom = program.vramscope_pool_oom
        self.oom.argtypes = [ctypes.c_uint32, ctypes.c_uint64]
        self._fact = program.vramscope_fact
        self._fact.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        for function in (self.alloc, self.free, self.oom, self._fact):
            function.restype = None
        self._pools = {}  # (name, device): number

    def fact(self, key, value):
        self._fact(key.encode(), str(value).encode("utf-8", "replace"))

    def pool(self, name, device):
        """The pool of that name on the device, made at its first use; 0: it is not wanted."""
        key = (name, device)
        number = self._pools.get(key)
        if number is None:
            number = self._pools.setdefault(key, self._create(name.encode(), device, 0))
        return number


def _find_recorder():
    """None: the program is not recorded."""
    try:
        return _Recorder()
    except (ImportError, OSError, AttributeError, TypeError):
        return None


# ---- CuPy ----------------------------------------------------------------------------------------


def _make_cupy_hook(cupy, recorder):
    what = "CuPy's blocks are"

    class VramscopeHook(cupy.cuda.MemoryHook):
        """Tells the recorder which blocks CuPy's pool gives out and takes back."""

        name = "vramscope"

        def malloc_postprocess(self, **said):
            try:
                pool = recorder.pool("CuPy", said["device_id"])
                if said["mem_ptr"]:
                    recorder.alloc(pool, said["mem_ptr"], said["mem_size"])
                elif said["mem_size"]:
                    recorder.oom(pool, said["mem_size"])
            except Exception as error:
                _tell(what, error)

        def free_preprocess(self, **said):
            # Before: the block may be somebody else's when the call is over.
            try:
                recorder.free(recorder.pool("CuPy", said["device_id"]), said["mem_ptr"])
            except Exception as error:
                _tell(what, error)

    return VramscopeHook()


def _watch_cupy(cupy, recorder):
    """CuPy keeps the hooks of each thread apart: ours is entered in this one and in all new ones."""
    import threading

    if not hasattr(getattr(cupy, "cuda", None), "MemoryHook"):
        return  # another module of that name
    hook = _make_cupy_hook(cupy, recorder)

    def enter():
        try:
            if hook.name not in cupy.cuda.memory_hook.get_memory_hooks():
                hook.__enter__()
        except Exception as error:
            _tell("CuPy's blocks in a thread are", error)

    def _bootstrap_inner(self):
        enter()
        begin(self)

    enter()
    recorder.fact("cupy.version", cupy.__version__)
    recorder.fact("cupy.blocks", "recorded, by a MemoryHook")
    begin = threading.Thread._bootstrap_inner
    threading.Thread._bootstrap_inner = _bootstrap_inner


# ---- RMM -----------------------------------------------------------------------------------------

_RMM_ALIGNMENT = 256  # RMM's pools cut their memory into multiples of it
_RMM_POOLS = {"PoolMemoryResource", "ArenaMemoryResource", "FixedSizeMemoryResource",
              "BinningMemoryResource"}
_RMM_SOURCES = {"CudaMemoryResource", "ManagedMemoryResource"}


def _is_rmm_pool(resource):
    """Whether blocks of the resource lie in larger memory that the driver gave.

    What RMM passes on to the driver is seen there, one by one: wrapping it would tell nothing, and
    of stream-ordered memory everything twice.
    """
    is_pool = False
    while True:
        name = type(resource).__name__
        is_pool = is_pool or name in _RMM_POOLS
        upstream = getattr(resource, "get_upstream", None)
        if upstream is None:
            return is_pool and name in _RMM_SOURCES
        resource = upstream()


class _Rmm:
    """Stands between rmm.mr's functions and the program.

    The resource that RMM has is ours around the program's; the program gets its own back. Ours
    lives as long as RMM, or a buffer from it, holds it, and so does the program's in it.
    """

    def __init__(self, rmm, recorder):
        from rmm._cuda.gpu import getDevice

        class RecordedMemoryResource(rmm.mr.CallbackMemoryResource):
            programs_own = None

        self.recorder = recorder
        self.make = RecordedMemoryResource
        self.get_device = getDevice
        self.reinitialize = rmm.reinitialize
        self.set_of = rmm.mr.set_per_device_resource
        self.get_of = rmm.mr.get_per_device_resource
        self.set = rmm.mr.set_current_device_resource
        self.get = rmm.mr.get_current_device_resource

    def wrap(self, resource, device):
        """Ours, or the same if there is nothing to be seen, or it cannot be done."""
        try:
            if isinstance(resource, self.make) or not _is_rmm_pool(resource):
                return resource
            pool = self.recorder.pool("RMM", device)
            if not pool:
                return resource
            ours = self.make(*self.make_callbacks(resource, pool))
            ours.programs_own = resource
            return ours
        except Exception as error:
            _tell("RMM's blocks are", error)
            return resource

    def make_callbacks(self, resource, pool):
        recorder, what = self.recorder, "RMM's blocks are"

        def allocate(size, *others):
            try:
                address = resource.allocate(size, *others)
            except MemoryError:
                recorder.oom(pool, size)
                raise
            try:
                if address:
                    recorder.alloc(pool, address, -(-size // _RMM_ALIGNMENT) * _RMM_ALIGNMENT)
            except Exception as error:
                _tell(what, error)
            return address

        def deallocate(address, size, *others):
            try:
                recorder.free(pool, address)
            except Exception as error:
                _tell(what, error)
            return resource.deallocate(address, size, *others)

        return allocate, deallocate

    def unwrap(self, resource):
        return resource.programs_own if isinstance(resource, self.make) else resource

    def wrap_device(self, device):
        """The resource that RMM has chosen itself."""
        resource = self.get_of(device)
        ours = self.wrap(resource, device)
        if ours is not resource:
            self.set_of(device, ours)

    def make_functions(self):
        """Those of rmm.mr, and reinitialize, with their names."""
        import functools

        @functools.wraps(self.set_of)
        def set_per_device_resource(device, mr):
            return self.set_of(device, self.wrap(mr, device))

        @functools.wraps(self.set)
        def set_current_device_resource(mr):
            # Which device that is, is asked only for a pool, which has used CUDA already.
            try:
                ours = self.wrap(mr, self.get_device()) if _is_rmm_pool(mr) else mr
            except Exception as error:
                _tell("RMM's blocks are", error)
                ours = mr
            return self.set(ours)

        @functools.wraps(self.get_of)
        def get_per_device_resource(device):
            return self.unwrap(self.get_of(device))

        @functools.wraps(self.get)
        def get_current_device_resource():
            return self.unwrap(self.get())

        @functools.wraps(self.reinitialize)
        def reinitialize(*arguments, **named):
            result = self.reinitialize(*arguments, **named)
            try:
                devices = named.get("devices", arguments[4] if len(arguments) > 4 else 0)
                for device in [devices] if isinstance(devices, int) else devices:
                    self.wrap_device(device)
            except Exception as error:
                _tell("RMM's blocks are", error)
            return result

        return (set_per_device_resource, set_current_device_resource, get_per_device_resource,
                get_current_device_resource), reinitialize


def _watch_rmm(rmm, recorder):
    if not hasattr(getattr(rmm, "mr", None), "CallbackMemoryResource"):
        return  # another module of that name
    functions, reinitialize = _Rmm(rmm, recorder).make_functions()
    for function in functions:
        setattr(rmm.mr, function.__name__, function)
    rmm.reinitialize = reinitialize
    recorder.fact("rmm.version", rmm.__version__)
    recorder.fact("rmm.blocks", "recorded, by a CallbackMemoryResource around pools")


# ---- JAX -----------------------------------------------------------------------------------------


def _watch_jax(jax, recorder):
    """Nothing is registered. In a dry run it is noted when JAX will not look for the card."""
    import os

    if not hasattr(jax, "__version__"):
        return  # another module of that name
    recorder.fact("jax.version", jax.__version__)
    notes = os.environ.get("SOFTGPU_NOTES")
    if notes and not any(os.path.exists(path) for path in _DEVICE_FILES):
        with open(notes, "a", encoding="utf-8") as file:
            file.write("hint jax-device-file\n")


# ---- Imports -------------------------------------------------------------------------------------

_WATCHERS = {"cupy": _watch_cupy, "rmm": _watch_rmm, "jax": _watch_jax}


def _has_come(name, module):
    watcher = _WATCHERS.pop(name, None)
    if not _WATCHERS and _finder in sys.meta_path:
        sys.meta_path.remove(_finder)
    if watcher is None:
        return
    try:
        recorder = _get_recorder()
        if recorder is not None:
            watcher(module, recorder)
    except Exception as error:
        _tell(f"what {name} does is", error)


def _get_recorder():
    if not _recorders:
        _recorders.append(_find_recorder())
    return _recorders[0]


_recorders = []  # one for all; None in it: there is none


class _Finder:
    """Finds what others find, and hears when it has been loaded."""

    def __init__(self):
        self._looking = set()

    def find_spec(self, name, path=None, target=None):
        if name not in _WATCHERS or name in self._looking:
            return None
        self._looking.add(name)
        try:
            import importlib.util

            spec = importlib.util.find_spec(name)
        finally:
            self._looking.discard(name)
        try:
            if spec is not None and spec.loader is not None:
                self._listen(name, spec.loader)
        except Exception as error:
            _tell(f"what {name} does is", error)
        return spec

    @staticmethod
    def _listen(name, loader):
        """The loader stays what it is: only this one object has another function, for one call."""
        load = loader.exec_module
        if isinstance(loader, type):
            return  # one for all modules of its kind

        def exec_module(module):
            if module.__name__ != name:  # an archive's loader has several
                return load(module)
            vars(loader).pop("exec_module", None)
            load(module)
            _has_come(name, module)

        loader.exec_module = exec_module


_finder = _Finder()


def watch():
    sys.meta_path.insert(0, _finder)
