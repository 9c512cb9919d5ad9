"""Names of libraries that traces rest on: whether modules hold what they held, by one word each.

Functions of NumPy, of the standard library and builtins may be replaced like anything else, by
`unittest.mock` for instance. CPython gives a dict a new version with every change: machine code
compares `TABLE` with the versions of the modules' dicts, and `refresh` finds out what a change was.
"""

from __future__ import annotations

import ctypes
import gc
import warnings
from array import array
from typing import Any

from tracejit.base.locks import short_lock
from tracejit.link.cpython.dict_versions import version_offset

__all__ = [
    "CAPACITY",
    "HASHES",
    "NOTHING",
    "TABLE",
    "class_of",
    "names_of",
    "note_name",
    "refresh",
    "reopen",
]

#: How many dicts have a place; names of others are checked one by one.
CAPACITY = 64
#: The number of pairs, then for each dict the address of its version, and the version known.
TABLE = array("q", [0] * (1 + 2 * CAPACITY))
#: For each pair: the dict, and what it held under the names that traces rest on.
_KNOWN: list[tuple[dict[str, Any], dict[str, Any]]] = []
_LOCK = short_lock()
#: Classes whose names are watched, by the `id` of the dict of each.
_CLASSES: dict[int, type] = {}
#: What stands for the hashes of texts and objects, by which sets are in order. Each process has
#: others, and cannot find those of another.
HASHES = {"hashes": object()}
#: What is noted of a name under which a dict holds nothing.
NOTHING = object()


def note_name(namespace: dict[str, Any], name: str, value: Any) -> bool:
    """Watch that a dict holds `value` (perhaps `NOTHING`) under a name.

    Gives False where calls must check that themselves.

    They must where the dict held something else when the name was first noted, and in `warnings`,
    where each `catch_warnings` binds names.
    """
    offset = version_offset()
    if offset is None or namespace is vars(warnings):
        return False
    with _LOCK:
        for known, names in _KNOWN:
            if known is namespace:
                return names.setdefault(name, value) is value
        if len(_KNOWN) == CAPACITY:
            return False
        k = len(_KNOWN)
        address = id(namespace) + offset
        TABLE[1 + 2 * k], TABLE[2 + 2 * k] = address, ctypes.c_int64.from_address(address).value
        _KNOWN.append((namespace, {name: value}))
        TABLE[0] = k + 1
        return namespace.get(name, NOTHING) is value


def names_of(cls: type) -> dict[str, Any]:
    """The dict of a class, whose `__dict__` is but a proxy for it."""
    (names,) = gc.get_referents(vars(cls))
    _CLASSES[id(names)] = cls
    return names  # type: ignore[no-any-return]


def class_of(names: dict[str, Any]) -> type | None:
    """The class of which `names_of` has given this dict; None for any other dict."""
    return _CLASSES.get(id(names))


def reopen() -> bool:
    """Returns True if the gate was shut because dicts had changed elsewhere, and is open again."""
    known = range(TABLE[0])
    now = (ctypes.c_int64.from_address(TABLE[1 + 2 * k]).value for k in known)
    return any(v != TABLE[2 + 2 * k] for k, v in zip(known, now, strict=True)) and refresh()


def refresh() -> bool:
    """Take note of the versions of dicts that still hold what they held.

    Returns True if all do: else no entry may be called past the gate, which compares the versions.
    """
    hold = True
    for k in range(TABLE[0]):
        version = ctypes.c_int64.from_address(TABLE[1 + 2 * k]).value
        if version != TABLE[2 + 2 * k]:
            namespace, names = _KNOWN[k]
            with _LOCK:
                if all(namespace.get(name, NOTHING) is v for name, v in names.items()):
                    TABLE[2 + 2 * k] = version
                else:
                    hold = False
    return hold
