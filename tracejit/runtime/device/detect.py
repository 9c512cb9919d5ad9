"""Which values are arrays of a device, told by their types alone; nothing is imported for it."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from itertools import islice
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

__all__ = ["find_array", "first_array"]

_PLAIN = frozenset({np.ndarray, int, float, complex, str, bool, type(None), bytes, slice, range})
#: What values of a type may be.
_TYPES: dict[type, str] = {}
_ARRAY, _DICT, _SEQUENCE, _OTHER = "array", "dict", "sequence", "other"
_FIELDS, _INSTANCE = "fields", "instance"
#: How deep containers are looked into, and how many of their elements are.
_DEPTH, _WIDTH = 6, 64


def first_array(values: Sequence[Any]) -> Any:
    """The first array of a device among values, in containers too; None where there is none.

    Of a container the first elements are looked at, and containers in containers to a depth.
    """
    for x in values:
        # What most arguments are is told at once.
        if type(x) not in _PLAIN:
            found = find_array(x)
            if found is not None:
                return found
    return None


def find_array(x: Any, depth: int = 0) -> Any:
    """The first array of a device in a value; None where there is none."""
    cls = type(x)
    if cls in _PLAIN:
        return None
    known = _TYPES.get(cls)
    if known is None:
        known = _TYPES[cls] = _kind(cls)
    if known == _ARRAY:
        return x if _is_there(x) else None
    if known == _OTHER or depth == _DEPTH:
        return None
    parts: Iterator[Any]
    if known == _DICT:
        parts = islice(x.values(), _WIDTH)
    elif known == _SEQUENCE:
        parts = islice(x, _WIDTH)
    elif known == _FIELDS:
        parts = (getattr(x, name, None) for name in islice(cls.__dataclass_fields__, _WIDTH))
    else:
        # Asking for its dict would make one, with which Python is slower.
        parts = islice(gc.get_referents(x), _WIDTH)
    for part in parts:
        found = find_array(part, depth + 1)
        if found is not None:
            return found
    return None


def _kind(cls: type) -> str:
    if cls is dict:
        return _DICT
    if cls is list or issubclass(cls, tuple):
        return _SEQUENCE
    if "__dataclass_fields__" in cls.__dict__:
        return _FIELDS
    if _may_be(cls):
        return _ARRAY
    # Instances of classes of Python's own, which have attributes.
    plain = cls.__dictoffset__ and not issubclass(cls, (type, ModuleType, FunctionType))
    return _INSTANCE if plain else _OTHER


def _may_be(cls: type) -> bool:
    if issubclass(cls, np.ndarray):
        return False
    return hasattr(cls, "__cuda_array_interface__") or hasattr(cls, "__dlpack_device__")


def _is_there(x: Any) -> bool:
    """Whether an array, which may be on the host, is on a CUDA device."""
    if not hasattr(type(x), "__dlpack_device__"):
        return True
    try:
        kind, _ = x.__dlpack_device__()
    except Exception:
        return False
    return int(kind) in _CUDA


#: DLPack's numbers of CUDA devices, and of memory that the host shares with them.
_CUDA = (2, 13)
