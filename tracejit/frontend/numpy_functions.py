"""Every module of NumPy handlers, imported so that the table of handlers is full."""

from __future__ import annotations

from tracejit.frontend import (
    numpy_creation,
    numpy_einsum,
    numpy_linalg,
    numpy_misc,
    numpy_rearrange,
    numpy_reduce,
    numpy_shape,
)

__all__ = [
    "numpy_creation",
    "numpy_einsum",
    "numpy_linalg",
    "numpy_misc",
    "numpy_rearrange",
    "numpy_reduce",
    "numpy_shape",
]
