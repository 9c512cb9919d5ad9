"""Memory of a program beside its code: places for blocks that are kept, and words."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tracejit.base.locks import once
from tracejit.link.addresses import Address, Recipe
from tracejit.link.handles import handle
from tracejit.link.shared import shared

__all__ = ["ALLOCATOR", "Place", "Word", "no_memory"]

#: The name of the library of `codegen/support/allocator.py`.
ALLOCATOR = "allocator"


@once
def _empty() -> Callable[[int], None]:
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(shared(ALLOCATOR).address("tj_empty"))


class Place:
    """Where one allocation of a program leaves its block for the next call; emptied at its death.

    `address` is that of the pointer. Whoever runs code that uses it keeps this object. Raises
    LookupError where the allocator is not there.
    """

    def __init__(self) -> None:
        held, empty = ctypes.c_void_p(), _empty()
        self.address = Address(ctypes.addressof(held), Recipe(__name__, "Place", ()))
        self._block = handle(lambda: empty(ctypes.addressof(held)))


class Word:
    """An i64 that a program writes, 0 at first."""

    def __init__(self) -> None:
        self.held = ctypes.c_int64()
        self.address = Address(ctypes.addressof(self.held), Recipe(__name__, "Word", ()))

    @property
    def value(self) -> int:
        """What is written there."""
        return self.held.value


def no_memory(*_: Any) -> int:
    """What a program calls that cannot allocate what it needs. Raises MemoryError."""
    raise MemoryError
