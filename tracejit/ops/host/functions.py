"""Functions by their paths, and their results as templates over leaves and the leaves' types."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.base.late import imported
from tracejit.ir.types import dtype_name
from tracejit.ops.control.templates import class_path

__all__ = ["KINDS", "Unsuitable", "describe", "find_function", "leaves_of", "order_of"]

KINDS: dict[type, str] = {bool: "bool", int: "int", float: "float", complex: "complex"}


class Unsuitable(Exception):
    """A result that no graph can hold."""


@lru_cache(maxsize=1024)
def find_function(path: str) -> Callable[..., Any]:
    """The function of a path `module:name.name`. Raises ImportError, AttributeError."""
    module, _, names = path.partition(":")
    found: Any = sys.modules.get(module) or imported(module)
    for name in names.split("."):
        found = getattr(found, name)
    made: Callable[..., Any] = found
    return made


def order_of(x: np.ndarray[Any, Any]) -> tuple[int, ...] | None:
    """The axes of a dense array from the outermost in memory inwards; None for one with gaps."""
    if x.ndim < 2 or x.flags.c_contiguous:
        return tuple(range(x.ndim))
    order = tuple(sorted(range(x.ndim), key=lambda k: -x.strides[k]))
    return order if x.transpose(order).flags.c_contiguous else None


def describe(x: Any) -> Any:
    """The type of a leaf of a result, as `types` holds it. Raises Unsuitable."""
    try:
        if type(x) is np.ndarray:
            return "array", dtype_name(x.dtype), x.shape, order_of(x) or ()
        if isinstance(x, np.generic):
            return "numpy", dtype_name(x.dtype)
    except TypeError as e:
        raise Unsuitable(str(e)) from None
    kind = KINDS.get(type(x))
    if kind is None or (kind == "int" and not -(2**63) <= x < 2**63):
        raise Unsuitable(f"a {type(x).__name__}")
    return "python", kind


def leaves_of(x: Any) -> tuple[Any, list[Any]]:
    """A result as the template of its containers, and their leaves. Raises Unsuitable."""
    leaves: list[Any] = []

    def part(x: Any) -> Any:
        cls = type(x)
        if cls in (tuple, list):
            return cls.__name__, *map(part, x)
        if isinstance(x, tuple):
            if tuple(getattr(cls, "_fields", ())) and len(cls._fields) == len(x):
                path = class_path(cls)
                if _is_at(path, cls):
                    return "call", path, 0, tuple(map(part, x)), ()
            raise Unsuitable(f"a {cls.__name__}")
        if x is None:
            return "constant", None
        describe(x)
        leaves.append(x)
        return "operand", len(leaves) - 1

    return part(x), leaves


def _is_at(path: str, cls: type) -> bool:
    try:
        return find_function(path) is cls
    except (ImportError, AttributeError):
        return False
