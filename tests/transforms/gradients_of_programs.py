"""The programs of other tests as functions of one real number, for derivatives.

`scalar(f, args)` is a sum over what `f` gives and what it leaves in its arguments.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from tests.programs import array_function_programs, in_place_programs, store_programs, view_programs

__all__ = ["MODULES", "arguments", "float_places", "programs", "scalar"]

MODULES = (store_programs, in_place_programs, view_programs, array_function_programs)


def programs() -> list[tuple[str, Callable[..., Any]]]:
    """All programs by name."""
    return [
        (f"{module.__name__.split('.')[-1]}.{name}", f)
        for module in MODULES
        for name, f in vars(module).items()
        if isinstance(f, FunctionType) and not name.startswith("_") and f.__defaults__
    ]


def arguments(f: Callable[..., Any]) -> list[Any]:
    """The arguments of a call: the defaults of the parameters, floats away from round numbers."""
    given = [d() if callable(d) else d for d in f.__defaults__ or ()]
    return [_moved(x) if np.asarray(x).dtype.kind in "fc" else x for x in given]


def _moved(x: Any) -> Any:
    by = 0.017 + 0.011 * np.sin(np.arange(np.size(x)).reshape(np.shape(x)))
    return x + by.astype(x.dtype) if isinstance(x, np.ndarray) else type(x)(x + by)


def float_places(args: list[Any]) -> tuple[int, ...]:
    """The arguments that are floats, or arrays of them."""
    return tuple(k for k, a in enumerate(args) if np.asarray(a).dtype.kind in "fc")


def scalar(f: Callable[..., Any]) -> Callable[..., Any]:
    """`f` as a function of one real number."""

    def whole(*args: Any) -> Any:
        result = f(*args)
        parts = result if isinstance(result, (tuple, list)) else (result,)
        s = 0.0
        for part in parts:
            if isinstance(part, (np.ndarray, np.generic, float, complex, int)):
                s = s + _weighed(part)
        for x in args:
            if isinstance(x, np.ndarray):
                s = s + _weighed(x)
        return s

    return whole


def _weighed(x: Any) -> Any:
    """A sum with a weight of its own for each element."""
    x = np.asarray(x)
    if x.dtype.kind == "c":
        return _weighed(x.real) + _weighed(x.imag * 0.7)
    return (x.reshape(-1) * np.cos(np.arange(x.size) * 0.7)).sum()
