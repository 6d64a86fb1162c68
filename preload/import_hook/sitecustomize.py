"""What a Python finds first when it starts under `vramscope run`.

Watches for imports that vramscope knows how to record (vramscope_imports.py), then does what would
have happened without it: the sitecustomize of the user's own, if there is one. Any Python may read
this file, Python 2 as well. Nothing here imports more than a starting Python has.
"""
import os
import sys


def _leave_path():
    """The program's path is the program's: our folder goes. Returns (folder, what was behind it)."""
    here = os.path.dirname(os.path.abspath(__file__))
    places = [os.path.abspath(place) for place in sys.path]
    behind = sys.path[places.index(here) + 1:] if here in places else list(sys.path)
    sys.path[:] = [place for place in sys.path if os.path.abspath(place) != here]
    return here, behind


def _watch(here):
    if sys.version_info < (3, 8):
        return
    sys.path.insert(0, here)
    try:
        import vramscope_imports
    finally:
        sys.path.remove(here)
    vramscope_imports.watch()


def _go_on(behind):
    """As if we had not been here: errors are those of the user's own file, and site tells them."""
    if sys.version_info < (3, 4):
        import imp

        try:
            found = imp.find_module("sitecustomize", behind)
        except ImportError:
            return
        imp.load_module("sitecustomize", *found)
        return
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("sitecustomize", behind)
    if spec is None or spec.loader is None:
        return
    import importlib.util

    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_here, _behind = _leave_path()
try:
    _watch(_here)
except Exception as error:  # whatever it is, the program starts
    sys.stderr.write("vramscope: the import hook for Python does not work here: %r\n" % (error,))
_go_on(_behind)
