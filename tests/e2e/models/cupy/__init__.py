"""A model of CuPy: of its interface what docs.cupy.dev says of memory pools and hooks."""
from cupy import cuda  # noqa: F401

__version__ = "14.0.model"
