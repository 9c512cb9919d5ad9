"""The functions of bisect, as Python that is traced."""

from __future__ import annotations

import bisect
from collections.abc import Callable
from typing import Any

from tracejit.frontend.containers.traced import traced
from tracejit.frontend.tracing.interpreter import Interpreter

__all__ = ["BISECT_CALLS"]


@traced
def leftmost(a: Any, x: Any, lo: Any, hi: Any, key: Any) -> Any:
    """The place of the first element that is not less than `x`, from `lo` on."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle]
        if key is not None:
            item = key(item)
        if item < x:
            lo = middle + 1
        else:
            hi = middle
    return lo


@traced
def rightmost(a: Any, x: Any, lo: Any, hi: Any, key: Any) -> Any:
    """The place of the first element that `x` is less than, from `lo` on."""
    if lo < 0:
        raise ValueError("lo must be non-negative")
    if hi is None:
        hi = len(a)
    while lo < hi:
        middle = (lo + hi) // 2
        item = a[middle]
        if key is not None:
            item = key(item)
        if x < item:
            hi = middle
        else:
            lo = middle + 1
    return lo


def _found(search: Callable[..., Any]) -> Callable[..., Any]:
    def run(
        interpreter: Interpreter, a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None
    ) -> Any:
        return interpreter.call(search, a, x, lo, hi, key)

    return run


def _inserted(search: Callable[..., Any]) -> Callable[..., Any]:
    def run(
        interpreter: Interpreter, a: Any, x: Any, lo: Any = 0, hi: Any = None, *, key: Any = None
    ) -> None:
        sought = x if key is None else interpreter.call(key, x)
        place = interpreter.call(search, a, sought, lo, hi, key)
        interpreter.call(interpreter.attribute(a, "insert"), place, x)

    return run


#: Functions of bisect -> what a call of them does.
BISECT_CALLS: dict[Any, Callable[..., Any]] = {
    bisect.bisect_left: _found(leftmost),
    bisect.bisect_right: _found(rightmost),
    bisect.insort_left: _inserted(leftmost),
    bisect.insort_right: _inserted(rightmost),
}
