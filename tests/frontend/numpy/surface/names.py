"""The public names of numpy, numpy.linalg, numpy.fft, of arrays and of scalars, by reflection."""

from __future__ import annotations

import types
from typing import Any

import numpy as np

MODULES: dict[str, Any] = {"np": np, "np.linalg": np.linalg, "np.fft": np.fft}


def public(holder: Any) -> list[str]:
    """The names that do not begin with an underscore."""
    return [name for name in dir(holder) if not name.startswith("_")]


def surface() -> dict[str, Any]:
    """Dotted name -> object: functions, classes, and attributes and methods of arrays."""
    found = {
        f"{prefix}.{name}": getattr(module, name)
        for prefix, module in MODULES.items()
        for name in public(module)
        if not isinstance(getattr(module, name), types.ModuleType)
    }
    found |= {f"ndarray.{name}": getattr(np.ndarray, name) for name in public(np.ndarray)}
    return found


def is_constant(x: Any) -> bool:
    """Whether a public object is a plain value: there is nothing to call."""
    return isinstance(x, (bool, int, float, str, tuple, list, dict, np.bool, type(None)))


def ufuncs() -> dict[str, np.ufunc]:
    """The elementwise functions of two operands at most, and those with a core signature."""
    return {name: x for name, x in surface().items() if isinstance(x, np.ufunc)}


def scalar_types() -> dict[str, Any]:
    """The types of numbers that an array can hold."""
    return {
        name: x
        for name, x in surface().items()
        if isinstance(x, type) and issubclass(x, (np.number, np.bool)) and x not in ABSTRACT
    }


ABSTRACT = {np.number, np.integer, np.signedinteger, np.unsignedinteger, np.inexact}
ABSTRACT |= {np.floating, np.complexfloating}
