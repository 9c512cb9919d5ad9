"""Messages as bytes: a line of JSON, and the memory of the arrays in it. Nothing is unpickled.

JSON has lists, texts, numbers, true, false and null as they are; all else is an object with one
key that says what it is:

    {"t": [...]} tuple    {"d": {...}} dict    {"c": [re, im]} complex    {"b": "<base64>"} bytes
    {"a": [k, dtype, shape]} array k    {"s": [k, dtype]} NumPy scalar, in array k
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.dist.transport.link import DistError

__all__ = ["pack", "unpack"]

_Arrays: TypeAlias = Callable[[int, "np.dtype[Any]", Sequence[int]], Any]
_SIMPLE = frozenset({bool, int, float, str})
_ENCODER = json.JSONEncoder(separators=(",", ":")).encode


def pack(value: Any) -> tuple[bytes, list[np.ndarray[Any, Any]]]:
    """The text of a message and its arrays, in C order. Raises TypeError for what has no text."""
    if value is None or type(value) in _SIMPLE:
        return _ENCODER(value).encode(), []
    arrays: list[np.ndarray[Any, Any]] = []
    return _ENCODER(_text(value, arrays)).encode(), arrays


def _text(x: Any, arrays: list[np.ndarray[Any, Any]]) -> Any:
    if x is None or type(x) in _SIMPLE:
        return x
    if isinstance(x, (np.ndarray, np.generic)):
        if x.dtype.hasobject or x.dtype.names is not None:
            raise TypeError(f"a message does not hold arrays of {x.dtype}")
        arrays.append(np.ascontiguousarray(x))
        if isinstance(x, np.generic):
            return {"s": [len(arrays) - 1, x.dtype.str]}
        return {"a": [len(arrays) - 1, x.dtype.str, list(x.shape)]}
    if type(x) is list:
        return [_text(v, arrays) for v in x]
    if type(x) is tuple:
        return {"t": [_text(v, arrays) for v in x]}
    if type(x) is dict and all(type(k) is str for k in x):
        return {"d": {k: _text(v, arrays) for k, v in x.items()}}
    if type(x) is complex:
        return {"c": [x.real, x.imag]}
    if type(x) is bytes:
        return {"b": base64.b64encode(x).decode()}
    raise TypeError(f"a message does not hold {type(x).__name__}")


def unpack(data: bytes, array: _Arrays) -> Any:
    """The message of a text; `array` gives the array of a number. Raises DistError."""
    try:
        return _value(json.loads(data), array)
    except (ValueError, TypeError, KeyError) as e:
        raise DistError(f"a message cannot be read: {e}") from None


def _value(x: Any, array: _Arrays) -> Any:
    if isinstance(x, list):
        return [_value(v, array) for v in x]
    if not isinstance(x, dict):
        return x
    ((kind, part),) = x.items()
    if kind == "t":
        return tuple([_value(v, array) for v in part])
    if kind == "d":
        return {k: _value(v, array) for k, v in part.items()}
    if kind == "c":
        return complex(*part)
    if kind == "b":
        return base64.b64decode(part)
    if kind == "a":
        number, dtype, shape = part
        return array(number, np.dtype(dtype), tuple(shape))
    if kind != "s":
        raise ValueError(f"there is no kind {kind!r}")
    number, dtype = part
    return array(number, np.dtype(dtype), ())[()]
