"""Objects known by identity and not kept alive: one word each, which machine code compares with.

The word holds the object's address until the object dies, and 0 afterwards: so that a later object
at the same address is never taken for it.
"""

from __future__ import annotations

import ctypes
import functools
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["Watched", "watch"]


#: `memset` as the callback of a reference, whose argument it does not look at. No Python runs, in
#: which an interrupt would be raised before the word is changed.
_SET = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t, ctypes.py_object)(
    ctypes.cast(ctypes.memset, ctypes.c_void_p).value or 0
)


class Watched:
    """An object while it lives: `word` holds its address, then 0; `get()` gives it, then None."""

    __slots__ = ("_end", "get", "word")

    def __init__(self, obj: Any, died: Callable[[Watched], None]) -> None:
        self.word = ctypes.c_size_t(id(obj))
        clear = functools.partial(_SET, self.address, 0, ctypes.sizeof(self.word))
        self.get: Callable[[], Any] = weakref.ref(obj, clear)
        self._end = weakref.ref(obj, lambda _: died(self))

    @property
    def address(self) -> int:
        """Where the word is."""
        return ctypes.addressof(self.word)


#: Records live as long as what they watch: a reference that is garbage itself would not be told.
_WATCHED: dict[int, Watched] = {}


def watch(obj: Any) -> Watched:
    """The record of an object, one for all who ask.

    Raises TypeError if it takes no weak references.
    """
    key = id(obj)
    known = _WATCHED.get(key)
    if known is not None and known.get() is obj:
        return known

    # When the interpreter ends, objects outlive the names of modules.
    def died(record: Watched, known: dict[int, Watched] = _WATCHED) -> None:
        if known.get(key) is record:
            del known[key]

    made = Watched(obj, died)
    # Threads that ask at once agree on one record, unless that of a dead object is in the way.
    known = _WATCHED.setdefault(key, made)
    if known.get() is not obj:
        _WATCHED[key] = known = made
    return known
