"""The functions of bisect, as Python that is traced."""

from __future__ import annotations

import bisect
import operator
from collections.abc import Callable
from typing import Any

from tracejit.frontend.containers.traced import traced
from tracejit.frontend.tracing.interpreter import Interpreter

__all__ = ["BISECT_CALLS"]


@traced
def place_of(a: Any, x: Any, lo: Any, hi: Any, key: Any, is_right: Any) -> Any:
    """The place of `x` in the sorted `a` from `lo` on, behind equal elements if `is_right`."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle]
        if key is not None:
            item = key(item)
        if not x < item if is_right else item < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


def _bounds(interpreter: Interpreter, lo: Any, hi: Any) -> tuple[Any, Any]:
    """The places between which is searched, as Python ints; none is the end."""
    call = interpreter.call
    return call(operator.index, lo), None if hi is None else call(operator.index, hi)


def _found(is_right: bool) -> Callable[..., Any]:
    def run(
        interpreter: Interpreter, a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None
    ) -> Any:
        lo, hi = _bounds(interpreter, lo, hi)
        return interpreter.call(place_of, a, x, lo, hi, key, is_right)

    return run


def _inserted(is_right: bool) -> Callable[..., Any]:
    def run(
        interpreter: Interpreter, a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None
    ) -> None:
        sought = x if key is None else interpreter.call(key, x)
        lo, hi = _bounds(interpreter, lo, hi)
        place = interpreter.call(place_of, a, sought, lo, hi, key, is_right)
        interpreter.call(interpreter.attribute(a, "insert"), place, x)

    return run


#: Functions of bisect -> what a call of them does.
BISECT_CALLS: dict[Any, Callable[..., Any]] = {
    bisect.bisect_left: _found(False),
    bisect.bisect_right: _found(True),
    bisect.insort_left: _inserted(False),
    bisect.insort_right: _inserted(True),
}
