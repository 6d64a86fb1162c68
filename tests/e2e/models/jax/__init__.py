"""A model of JAX: it was imported, and finds no GPU."""
__version__ = "0.model"
