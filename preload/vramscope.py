"""Tell vramscope about the steps, epochs and phases of a Python program.

    import vramscope

    for epoch in range(epochs):
        vramscope.epoch(epoch)
        for i, batch in enumerate(loader):
            vramscope.step(i)
            with vramscope.phase("forward"):
                loss = model(batch)
            with vramscope.phase("backward"):
                loss.backward()

One file without dependencies, for Python 3.8 and later: copy it beside the program, or add its
folder to PYTHONPATH. In a program that does not run under `vramscope run` all of this does nothing.
Nothing here fails; names may be anything that str() takes.

Phases nest, and each thread has its own. phase() is a decorator as well.
"""

import functools

__all__ = ["phase", "push", "pop", "step", "steps", "epoch", "mark", "is_profiled"]


def _find_api():
    """The functions that the recorder exports, or None."""
    try:
        import ctypes

        # Not CDLL: the calls wait for nothing, and letting go of the GIL would cost more than they.
        program = ctypes.PyDLL(None)
        push_ = program.vramscope_phase_push
        pop_ = program.vramscope_phase_pop
        step_ = program.vramscope_step
        mark_ = program.vramscope_mark
    except (ImportError, OSError, AttributeError, TypeError):
        return None
    push_.argtypes = [ctypes.c_char_p]
    pop_.argtypes = []
    step_.argtypes = [ctypes.c_uint64]
    mark_.argtypes = [ctypes.c_char_p]
    for function in (push_, pop_, step_, mark_):
        function.restype = None
    return push_, pop_, step_, mark_


_api = _find_api()


def _encode(name):
    return str(name).encode("utf-8", "replace")


def is_profiled():
    """Whether vramscope records this program."""
    return _api is not None


def push(name):
    """The calling thread enters a phase."""
    if _api is not None:
        _api[0](_encode(name))


def pop():
    """It leaves the phase it entered last."""
    if _api is not None:
        _api[1]()


def step(number):
    """A step of training begins; the one before it is over."""
    if _api is not None:
        _api[2](int(number))


def steps(iterable, start=0):
    """The items of an iterable, each in a step of its own."""
    for number, item in enumerate(iterable, start):
        step(number)
        yield item


def epoch(number):
    """An epoch begins; the one before it is over. It is a mark: "epoch 3"."""
    if _api is not None:
        _api[3](b"epoch %d" % int(number))


def mark(text):
    """Something worth finding again happened."""
    if _api is not None:
        _api[3](_encode(text))


class phase:
    """A phase for a with statement, or around each call of a function."""

    __slots__ = ("_name",)

    def __init__(self, name):
        self._name = name

    def __enter__(self):
        push(self._name)
        return self

    def __exit__(self, kind, value, traceback):
        pop()
        return False

    def __call__(self, function):
        name = self._name

        @functools.wraps(function)
        def inside(*args, **kwargs):
            push(name)
            try:
                return function(*args, **kwargs)
            finally:
                pop()

        return inside
