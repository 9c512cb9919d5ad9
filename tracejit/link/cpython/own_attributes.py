"""Attributes of instances, looked at where CPython 3.11 keeps them.

An instance has the values of its attributes in an array, beside names that all instances of its
class share, until somebody asks for its `__dict__`. From then on each access of an attribute takes
Python three times as long: programs are not to be made slow by being looked at.

The values lie in front of the object: a pointer to them, at `offset()`, or null. In front of them
are the number of attributes, and in front of that, going back, which of the values each attribute
has, in the order in which they were set. All of this is probed; where it is otherwise, the
`__dict__` is asked.
"""

from __future__ import annotations

import ctypes
from typing import Any
from weakref import WeakKeyDictionary

from tracejit.base.locks import once, short_lock

__all__ = [
    "COUNT",
    "asked_names",
    "dict_offset",
    "has_only",
    "has_own",
    "offset",
    "own_dict",
    "own_fit",
    "place",
]

_WORD = 8
#: Where the number of attributes is, from the values.
COUNT = -2
#: The flag of classes whose instances have such an array.
_MANAGED = 1 << 4
#: From this place on no more names are looked for: there are 30 places, and looking takes one.
_LATE = 20
_LOCK = short_lock()
_PLACES: WeakKeyDictionary[type, dict[str, int | None]] = WeakKeyDictionary()


@once
def offset() -> int | None:
    """Where an instance has the pointer to its values; None where that is not known."""

    class Probe:
        def __init__(self, *values: Any) -> None:
            self.first, self.second, self.third = values

    marks = [object(), object(), object()]
    at = -4 * _WORD
    if not Probe.__flags__ & _MANAGED:
        return None
    probe, other = Probe(*marks), Probe(*marks)
    values = _values(probe, at)
    del other.second
    other_values = _values(other, at)
    if not (is_pointer(values) and is_pointer(other_values)):
        return None
    found = [_word(values + _WORD * k) for k in range(3)] == [id(mark) for mark in marks]
    found = found and [_byte(values + COUNT - k) for k in range(4)] == [3, 0, 1, 2]
    found = found and [_byte(other_values + COUNT - k) for k in range(3)] == [2, 0, 2]
    found = found and _word(other_values + _WORD) == 0
    asked = len(vars(probe)) == 3 and not _values(probe, at)
    return at if found and asked else None


@once
def dict_offset() -> int | None:
    """Where an instance whose array is gone has the pointer to its dict; None if not known."""

    class Probe:
        def __init__(self) -> None:
            self.first = None

    if (at := offset()) is None:
        return None
    probe, other = Probe(), Probe()
    own, found = vars(probe), at + _WORD
    is_dict = _word(id(probe) + found) == id(own) and not _values(probe, at)
    return found if is_dict and not _word(id(other) + found) else None


def is_pointer(address: int) -> bool:
    """Whether a word may be the address of an object: user space has 48 bits, on x86-64 47."""
    return address % _WORD == 0 and 1 << 16 <= address < 1 << 48


def _word(address: int) -> int:
    return int(ctypes.c_uint64.from_address(address).value)


def _byte(address: int) -> int:
    return int(ctypes.c_uint8.from_address(address).value)


def _values(x: Any, at: int) -> int:
    return _word(id(x) + at)


def place(cls: type, name: str) -> int | None:
    """Which of its values an instance has for an attribute; None where that is not known.

    The names that instances share only become more, and each keeps its place.
    """
    at = offset()
    if at is None or not cls.__flags__ & _MANAGED:
        return None
    with _LOCK:
        known = _PLACES.setdefault(cls, {})
        if name not in known:
            is_late = any(found is not None and found >= _LATE for found in known.values())
            known[name] = None if is_late else _probed(cls, name, at)
        return known[name]


def asked_names(cls: type | None) -> tuple[str, ...]:
    """The names whose places are known, in the order of these."""
    with _LOCK:
        known = {} if cls is None else _PLACES.get(cls, {})
        found = [(where, name) for name, where in known.items() if where is not None]
    return tuple([name for _, name in sorted(found)])


def _probed(cls: type, name: str, at: int) -> int | None:
    """The place that a new instance, which runs no code of the class, has for an attribute."""
    for base in cls.__mro__:
        held = base.__dict__
        if "__del__" in held or hasattr(type(held.get(name)), "__set__"):
            return None
    mark = object()
    try:
        probe: Any = object.__new__(cls)
        object.__setattr__(probe, name, mark)
    except (TypeError, AttributeError):
        return None
    values = _values(probe, at)
    if not values or _byte(values + COUNT) != 1:
        return None
    found = _byte(values + COUNT - 1)
    return found if _word(values + _WORD * found) == id(mark) else None


def own_dict(x: Any) -> Any:
    """An object's dict, or an empty one: no code of its class looks it up."""
    try:
        return object.__getattribute__(x, "__dict__")
    except AttributeError:
        return {}


def has_own(x: Any, name: str) -> bool:
    """Whether an object itself has an attribute, in its array or dict."""
    where = place(type(x), name)
    values = 0 if where is None else _values(x, offset() or 0)
    if where is None or not values:
        return name in own_dict(x)
    return _word(values + _WORD * where) != 0


def own_fit(x: Any, names: tuple[str, ...], lacks: bool) -> bool:
    """Whether an object has none of these attributes itself, if it `lacks` them, or only these."""
    return not any(has_own(x, name) for name in names) if lacks else has_only(x, names)


def has_only(x: Any, names: tuple[str, ...]) -> bool:
    """Whether an object has these attributes in its array or dict, and no other ones."""
    places = [place(type(x), name) for name in names]
    values = 0 if None in places or not places else _values(x, offset() or 0)
    if not values:
        own = own_dict(x)
        return len(own) == len(names) and all(name in own for name in names)
    return _byte(values + COUNT) == len(names) and all(
        _word(values + _WORD * where) for where in places if where is not None
    )
