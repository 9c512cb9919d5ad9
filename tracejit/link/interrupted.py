"""A signal's exception, found by a compiled loop, is pending as if the loop had raised it."""

from __future__ import annotations

import ctypes

from tracejit.errors import Where
from tracejit.link.addresses import Address, Recipe
from tracejit.link.pending_exception import raised_at, set_pending

__all__ = ["address", "place_bytes"]


def place_bytes(where: Where | None) -> bytes:
    """A place in the program for `tj_poll`: what it is made of, a line for each, none if empty."""
    if where is None:
        return b"\0"
    text = f"{where.file}\n{where.line}\n{where.function or ''}"
    return text.encode("utf-8", "surrogateescape") + b"\0"


def _interrupted(exception: BaseException, place: bytes) -> None:
    if place:
        file, line, function = place.decode("utf-8", "surrogateescape").rsplit("\n", 2)
        exception = raised_at(exception, Where(file, int(line), function))
    set_pending(exception)


#: `void (PyObject *exception, char *place)`, where `place` is as `place_bytes` makes it.
_CALLBACK = ctypes.CFUNCTYPE(None, ctypes.py_object, ctypes.c_char_p)(_interrupted)
address = Address(ctypes.cast(_CALLBACK, ctypes.c_void_p).value or 0, Recipe(__name__, "found", ()))


def found() -> int:
    """The address of the callback."""
    return address
