"""Objects known by identity and not kept alive: one word each, which machine code compares with.

The word holds the object's address until the object dies, and 0 afterwards: so that a later object
at the same address is never taken for it.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["Watched", "watch"]


class Watched:
    """An object while it lives: `word` holds its address, then 0; `get()` gives it, then None."""

    __slots__ = ("get", "word")

    def __init__(self, obj: Any, died: Callable[[Any], None]) -> None:
        self.word = ctypes.c_size_t(id(obj))
        word = self.word

        def forget(reference: Any) -> None:
            word.value = 0
            died(reference)

        self.get: Callable[[], Any] = weakref.ref(obj, forget)

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

    def died(reference: Any) -> None:
        record = _WATCHED.get(key)
        if record is not None and record.get is reference:
            del _WATCHED[key]

    made = Watched(obj, died)
    # Threads that ask at once agree on one record, unless that of a dead object is in the way.
    known = _WATCHED.setdefault(key, made)
    if known.get() is not obj:
        _WATCHED[key] = known = made
    return known
