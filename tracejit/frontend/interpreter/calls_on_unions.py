"""Calls of functions of Python and NumPy on values that a branch left different in kind.

    f(a or b)            ->  f(a) or f(b)
    np.array([a or b])   ->  np.array([the value of a or b])

What is done for each alternative of one item of a list would be done for each combination of all
items. So where a function asks for values only, each item becomes one value first.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.frontend.control.unions import (
    choose,
    either,
    is_number,
    leaves_of,
    narrow,
    narrow_bound,
    without,
)
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.tracer import TracedScalar, lift
from tracejit.frontend.tracing.union import Union
from tracejit.ir.types import NpScalar, PyScalar

__all__ = ["call_on_unions", "has_union"]

#: Functions that make one array of a list, and give nothing that shares memory with its items.
_OF_VALUES = {
    *(np.array, np.asarray, np.asanyarray, np.stack, np.vstack, np.hstack, np.column_stack),
    *(np.concatenate, np.sum, np.prod, np.mean, np.std, np.var, np.median, np.max, np.min),
    *(np.argmax, np.argmin, np.cumsum, np.cumprod, np.diff, np.sort, np.argsort, np.linalg.norm),
}


def has_union(values: tuple[Any, ...]) -> bool:
    """Whether one of the values, or of the items of lists and tuples among them, is a union."""
    return any(
        isinstance(v, Union) or (type(v) in (list, tuple) and any(isinstance(p, Union) for p in v))
        for v in values
    )


def call_on_unions(
    interpreter: Interpreter,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """`f(*args, **kwargs)` for each alternative of the arguments."""
    if len(args) == 1 and type(args[0]) in (list, tuple) and _asks_for_values(f, kwargs):
        items = [_by_value(x) for x in args[0]]
        if any(isinstance(x, Union) for x in items):
            return _of_numbers(interpreter, f, items, kwargs)
        return interpreter.call(f, items, **kwargs)
    return _of_alternatives(interpreter, f, args, kwargs)


def _asks_for_values(f: Callable[..., Any], kwargs: dict[str, Any]) -> bool:
    plain = all(k == "axis" and not has_union((v,)) for k, v in kwargs.items())
    return plain and any(f is known for known in _OF_VALUES)


def _by_value(x: Any) -> Any:
    """An item, arrays of which nobody knows which one it is being one."""
    x = narrow_bound(x)
    return x.merged if isinstance(x, Union) and x.merged is not None else x


def _of_numbers(
    interpreter: Interpreter,
    f: Callable[..., Any],
    items: list[Any],
    kwargs: dict[str, Any],
) -> Any:
    """`f(items)`; numbers are converted as NumPy does where it makes one array of all of them."""

    from tracejit.frontend.control.branches import branch, lifted

    found = [_dtypes(x) for x in items]
    kinds = {dtype for dtypes in found for dtype in dtypes}
    top = np.result_type(*kinds) if kinds else None
    if not all(found) or top not in kinds or len(kinds) > 2:
        return _of_alternatives(interpreter, f, (items,), kwargs)

    def converted() -> Any:
        def convert(x: Any) -> Any:
            return interpreter.call(top.type, x)

        values = [lifted(interpreter, convert, x) if isinstance(x, Union) else x for x in items]
        return interpreter.call(f, values, **kwargs)

    if any(dtypes == {top} for dtypes in found):
        return converted()

    def is_top(x: Any) -> bool:
        return _dtype(x) == top

    def others() -> Any:
        return call_on_unions(interpreter, f, ([without(x, is_top) for x in items],), kwargs)

    highest = functools.reduce(either, (choose(x, is_top) for x in items))
    assert isinstance(highest, TracedScalar)
    return interpreter.settled(branch(interpreter, highest, converted, others))


def _dtypes(x: Any) -> set[np.dtype[Any]]:
    """The dtypes that an item has as an array, where it is a number."""
    leaves = list(leaves_of(x))
    return set(map(_dtype, leaves)) if all(map(is_number, leaves)) else set()


def _dtype(x: Any) -> np.dtype[Any]:
    t = lift(x).type
    assert isinstance(t, (NpScalar, PyScalar))
    return t.dtype


def _of_alternatives(
    interpreter: Interpreter,
    f: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    from tracejit.frontend.control.branches import lifted

    names, values = list(kwargs), [*args, *kwargs.values()]
    parts: Sequence[tuple[Any, ...]] = [
        tuple(v) if type(v) in (list, tuple) else (v,) for v in values
    ]

    def run(*given: Any) -> Any:
        left = iter(given)
        built = [
            type(v)(itertools.islice(left, len(p))) if type(v) in (list, tuple) else next(left)
            for v, p in zip(values, parts, strict=True)
        ]
        named = dict(zip(names, built[len(args) :], strict=True))
        return interpreter.call(f, *built[: len(args)], **named)

    narrow_one = narrow if isinstance(f, np.ufunc) else narrow_bound
    return lifted(interpreter, run, *(narrow_one(v) for part in parts for v in part))
