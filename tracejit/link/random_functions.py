"""C functions of NumPy's distributions, by address."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.base.late import imported
from tracejit.base.locks import once
from tracejit.link.addresses import described
from tracejit.link.finding import pointer_in

__all__ = ["bits_function", "bits_of", "random_address"]

#: The words of a `bitgen_t`: its state, and four functions.
_BITS_WORDS = 5


@once
def _library() -> Any:
    return ctypes.CDLL(imported("numpy.random._generator").__file__)


@described
@lru_cache(maxsize=64)
def random_address(name: str) -> int | None:
    """The address of a C function of NumPy's, or None."""
    try:
        return ctypes.cast(getattr(_library(), name), ctypes.c_void_p).value
    except (AttributeError, OSError):
        return None


def bits_of(bit_generator: Any) -> list[int]:
    """The words of a bit generator's `bitgen_t`."""
    address = pointer_in(bit_generator.capsule)
    return list((ctypes.c_uint64 * _BITS_WORDS).from_address(address))


@described
def bits_function(kind: str, number: int) -> int:
    """The address of one of the four functions of a bit generator, of a class such as "PCG64"."""
    return bits_of(getattr(np.random, kind)(0))[1 + number]
