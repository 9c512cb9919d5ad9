"""Machine code that all programs of a process share, by name: made once, or loaded from a file.

What was compiled and what was loaded must call the same copy: it has state, such as blocks of
memory and threads.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from tracejit.base.late import imported
from tracejit.base.locks import in_child, short_lock
from tracejit.link.addresses import Address, Recipe

__all__ = ["After", "Linked", "Shared", "forget_in_child", "library_symbol", "set_keeper", "shared"]


class Linked(Protocol):
    """Machine code in memory."""

    def address(self, symbol: str) -> int:
        """The address of an exported symbol. Raises KeyError if it was not exported."""
        ...


class After(NamedTuple):
    """What is done once a library is there: a function of this package, called with the library
    and what follows it.
    """

    module: str
    function: str
    arguments: tuple[Any, ...] = ()

    def __call__(self, library: Shared) -> None:
        getattr(imported(self.module), self.function)(library, *self.arguments)


class Keeper(Protocol):
    """Where libraries are kept for other processes."""

    def find(self, name: str) -> tuple[Linked, After | None] | None: ...

    def keep(self, name: str, library: Linked, after: After | None) -> None: ...


class Shared:
    """A library that stays as long as the process."""

    __slots__ = ("keep", "library", "name")

    def __init__(self, name: str, library: Linked) -> None:
        self.name, self.library = name, library
        # Nothing frees it, not even the end of the interpreter.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self))
        #: What it needs besides.
        self.keep: list[Any] = []

    def address(self, symbol: str) -> Address:
        """The address of an exported symbol. Raises KeyError if it was not exported."""
        found = self.library.address(symbol)
        return Address(found, Recipe(__name__, "library_symbol", (self.name, symbol)))


_LIBRARIES: dict[str, Shared] = {}
_KEEPERS: list[Keeper] = []
_LOCK = short_lock()


def set_keeper(keeper: Keeper) -> None:
    """Look for libraries there from now on, and keep there what is made."""
    _KEEPERS[:] = [keeper]


def shared(
    name: str, make: Callable[[], Linked] | None = None, after: After | None = None
) -> Shared:
    """The library of a name, which says all that it depends on but for the process: made if it is
    not there.

    Raises LookupError where it is not there and cannot be made.
    """
    with _LOCK:
        found = _LIBRARIES.get(name)
        if found is None:
            found = _LIBRARIES[name] = _kept(name) or _made(name, make, after)
        return found


def _kept(name: str) -> Shared | None:
    kept = _KEEPERS[0].find(name) if _KEEPERS else None
    if kept is None:
        return None
    library, after = kept
    found = Shared(name, library)
    if after is not None:
        after(found)
    return found


def _made(name: str, make: Callable[[], Linked] | None, after: After | None) -> Shared:
    if make is None:
        raise LookupError(f"no library {name}")
    library = make()
    found = Shared(name, library)
    if after is not None:
        after(found)
    if _KEEPERS:
        _KEEPERS[0].keep(name, library, after)
    return found


def library_symbol(name: str, symbol: str) -> int:
    """The address of a symbol of a shared library. Raises LookupError, KeyError."""
    return shared(name).address(symbol)


def forget_in_child(library: Shared, symbol: str) -> None:
    """Have a function of the library called in every child of a fork."""
    library.keep.append(in_child(ctypes.CFUNCTYPE(None)(library.address(symbol))))
