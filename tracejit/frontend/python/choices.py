"""`choice` of NumPy's streams, as the draws of integers or uniform numbers that NumPy makes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.control.regions import fail
from tracejit.frontend.control.unions import require
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import here
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar, lift
from tracejit.frontend.tracing.union import Unreachable
from tracejit.ir.types import dtype_of

__all__ = ["FORMS", "choice"]

#: NumPy wants probabilities to sum to 1 up to 1.5e-8. Where they are nearer, nobody doubts it.
_TOLERANCE = 1e-8


def choice(
    interpreter: Interpreter, draw: Callable[[str], Any], args: tuple[Any, ...], kwargs: Any
) -> Any:
    """What a Generator or RandomState chooses; `draw` gives its methods that draw, by their name.

    NotImplemented for what is left to NumPy.
    """
    named = dict(zip(("a", "size", "replace", "p"), args, strict=False)) | kwargs
    a, size, p = named.pop("a", None), named.pop("size", None), named.pop("p", None)
    replace = named.pop("replace", True)
    if len(args) > 4 or named or type(replace) is not bool or not _is_size(size):
        return NotImplemented
    if not _is_integer(a):
        a = lift(a) if type(a) in (list, tuple) and a else a
        if not isinstance(a, TracedArray) or a.ndim != 1:
            return NotImplemented
    n = a.shape[0] if isinstance(a, TracedArray) else a
    if p is not None:
        p = lift(p) if type(p) in (list, tuple) and p else p
        if not replace or not isinstance(p, TracedArray) or p.ndim != 1 or p.dtype.kind not in "f":
            return NotImplemented
        places = _weighted(interpreter, draw("uniform numbers"), n, size, p)
    elif replace:
        _holds(interpreter, interpreter.compare("gt", n, 0))
        places = interpreter.call(draw("integers"), 0, n, size=size)
    else:
        if isinstance(size, tuple):
            return NotImplemented
        places = _once(interpreter, draw, n, 1 if size is None else size)
        places = places[0] if size is None else places
    if isinstance(a, TracedArray):
        return a[places]
    return interpreter.call(int, places) if size is None else places


def _is_integer(x: Any) -> bool:
    if isinstance(x, TracedScalar):
        return dtype_of(x.type).kind in "iu"
    return type(x) in (int, SymInt) or isinstance(x, np.integer)


def _is_size(x: Any) -> bool:
    return x is None or _is_integer(x) or type(x) is tuple and bool(x) and all(map(_is_integer, x))


def _holds(interpreter: Interpreter, p: Any) -> None:
    """Leave the call to NumPy where a condition does not hold: it knows what to raise."""
    p = interpreter.truth_of(p)
    if isinstance(p, TracedScalar):
        require(p, True)
    elif not p:
        fail(here())
        raise Unreachable


def _weighted(interpreter: Interpreter, uniform: Any, n: Any, size: Any, p: TracedArray) -> Any:
    """Places of which each has a probability."""
    _holds(interpreter, interpreter.compare("eq", p.shape[0], n))
    _holds(interpreter, np.all(interpreter.compare("ge", p, 0)))
    _holds(interpreter, interpreter.compare("le", abs(np.sum(p) - 1.0), _TOLERANCE))
    cdf = np.cumsum(p.astype(np.float64))
    cdf /= cdf[-1]
    if size is None:
        return np.sum(cdf <= interpreter.call(uniform))
    drawn = interpreter.call(uniform, size)
    return interpreter.call(places_below, cdf, drawn.reshape(-1)).reshape(drawn.shape)


def _once(interpreter: Interpreter, draw: Callable[[str], Any], n: Any, size: Any) -> Any:
    """Places of which none is chosen twice."""
    _holds(interpreter, interpreter.compare("le", size, n))
    _holds(interpreter, interpreter.compare("gt", size, 0))
    permutation = draw("permutation")
    if permutation is not None:
        return interpreter.call(permutation, n)[:size].copy()
    return interpreter.call(places_once, draw("integers"), n, size)


def places_below(cdf: Any, drawn: Any) -> Any:
    """How many of a cumulative sum are at most each of some numbers."""
    places = np.empty(len(drawn), np.int64)
    for k in range(len(drawn)):
        low, high = 0, len(cdf)
        while low < high:
            middle = (low + high) // 2
            if cdf[middle] <= drawn[k]:
                low = middle + 1
            else:
                high = middle
        places[k] = low
    return places


def places_once(integers: Callable[..., Any], n: int, size: int) -> Any:
    """`size` of `n` places, drawn as NumPy's Generator does: by Floyd's algorithm, if they are few.

    https://github.com/numpy/numpy/blob/main/numpy/random/_generator.pyx describes the order of the
    draws. A table with open addresses tells what is taken.
    """
    if n > 10000 and size > n // 50:
        places = np.arange(n)
        for i in range(n - 1, max(n - size, 1) - 1, -1):
            j = integers(0, i, endpoint=True)
            places[i], places[j] = places[j], places[i]
        return places[n - size :].copy()
    slots = 1
    while slots <= 1.2 * size:
        slots *= 2
    table = np.full(slots, -1)
    found = np.empty(size, np.int64)
    for k in range(size):
        value = int(integers(0, n - size + k, endpoint=True))
        at = value % slots
        while table[at] != -1 and table[at] != value:
            at = (at + 1) % slots
        if table[at] == value:
            value = n - size + k
            at = value % slots
            while table[at] != -1:
                at = (at + 1) % slots
        table[at] = value
        found[k] = value
    for i in range(size - 1, 0, -1):
        j = integers(0, i, endpoint=True)
        found[i], found[j] = found[j], found[i]
    return found


#: What is traced as the program's own code is.
FORMS = (places_below, places_once)
