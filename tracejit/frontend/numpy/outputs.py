"""`out=`: results of NumPy functions stored into arrays that the program names."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, cast_value
from tracejit.frontend.tracing.memory.layout import is_c_contiguous
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    Tracer,
    as_array,
    broadcasts_to,
    here,
    lift,
    user_line,
    wrap,
)
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import dtype_of, shape_of

__all__ = ["accepts_out", "fitted", "into", "same_shape", "shares_memory", "store_masked"]

F = TypeVar("F", bound=Callable[..., Any])


def target_of(out: Any) -> TracedArray:
    """The array that `out=` names: itself, or alone in a tuple."""
    if isinstance(out, tuple) and len(out) == 1:
        (out,) = out
    if not isinstance(out, TracedArray):
        raise TraceError("TJ005", "out= names an array from outside", user_line())
    return out


def shares_memory(x: TracedArray, y: TracedArray) -> bool:
    """Whether two arrays may be views of one piece of memory."""
    return not x.storage.roots().isdisjoint(y.storage.roots())


def fitted(x: Any, target: TracedArray, what: str) -> Value:
    """`x` broadcast to the shape of `target`. Raises ValueError where it would not fit."""
    shape = target.type.shape
    if not broadcasts_to(shape_of(x.type), shape):
        raise ValueError(f"{what}: operands could not be broadcast to the shape of the output")
    return as_array(x, shape)


def store_masked(target: TracedArray, new: Tracer, where: Any, casting: str, what: str) -> None:
    """Store `new`, cast and broadcast, into `target` (where the mask `where` holds).

    Raises TypeError where NumPy's rule `casting` forbids the cast, ValueError for shapes that do
    not fit, TraceError where NumPy warns.
    """
    d = dtype_of(new.type)
    if not np.can_cast(d, target.dtype, casting):  # type: ignore[arg-type]
        raise TypeError(f"{what}: cannot cast from {d} to {target.dtype} by the rule {casting!r}")
    if d.kind == "c" and target.dtype.kind not in "cb":
        raise TraceError("TJ004", "a complex value stored into a real array", user_line())
    trace = here()
    value = fitted(wrap(trace, cast_value(new.value(), target.dtype)), target, what)
    if where is not True:
        mask = asarray(where)
        if mask.dtype.kind != "b" and not isinstance(where, TracedArray):
            raise TraceError("TJ004", f"{what} with where= of numbers", user_line())
        if mask.dtype.kind != "b":
            raise TypeError(f"{what}: cannot cast a mask of {mask.dtype} to bool safely")
        value = trace.emit("select", (fitted(mask, target, what), value, target.value()))
    target.store(value)


def same_shape(have: tuple[Dim, ...], want: tuple[Dim, ...]) -> bool:
    """Whether two shapes are equal; a run checks sizes that only it knows."""
    env = here().env
    return len(have) == len(want) and all(
        env.expect(a, "==", b) for a, b in zip(have, want, strict=True)
    )


def into(
    out: Any, result: Any, what: str, casting: str = "equal", repeated: bool = False
) -> TracedArray:
    """Store `result` into `out`, which has its shape; gives `out`.

    With `casting` "equal" the dtypes agree too: NumPy computes in another dtype where they do not.
    `repeated`: NumPy fills a larger `out` too.
    Raises ValueError for another shape, TraceError for another dtype.
    """
    target = target_of(out)
    result = lift(result)
    d = dtype_of(result.type)
    if casting == "equal" and (d != target.dtype or d == np.float16):
        raise TraceError("TJ004", f"{what} of {d} with out= of {target.dtype}", user_line())
    have, want = shape_of(result.type), target.type.shape
    if not same_shape(have, want):
        if repeated and broadcasts_to(have, want):
            raise TraceError("TJ004", f"{what} with a larger out=", user_line())
        raise ValueError(f"{what}: out= of shape {want} for a result of shape {have}")
    rule = "no" if casting == "equal" else casting
    store_masked(target, result, True, rule, what)
    return target


def accepts_out(
    name: str,
    casting: str = "equal",
    *,
    apart: bool = False,
    dense: bool = False,
    repeated: bool = False,
    or_dtype: bool = False,
) -> Callable[[F], F]:
    """Decorator: a handler without `out=` becomes one that stores its result there.

    `apart`: NumPy writes before it has read all operands, so that `out` must be none of their
    memory. `dense`: NumPy wants an array in C order. `repeated`: NumPy fills a larger `out` too.
    `or_dtype`: there may be only one of `out` and `dtype`.
    """

    def decorate(handler: F) -> F:
        signature = inspect.signature(handler)

        @functools.wraps(handler)
        def run(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            out = bound.arguments.get("out")
            if out is None:
                return handler(*args, **kwargs)
            if or_dtype and bound.arguments.get("dtype") is not None:
                raise TypeError(f"{name} takes only one of `out` and `dtype`")
            target = target_of(out)
            del bound.arguments["out"]
            arrays = list(_arrays([*bound.args, *bound.kwargs.values()]))
            if apart and any(shares_memory(target, x) for x in arrays):
                raise TraceError("TJ005", f"{name} with out= among its operands", user_line())
            if dense and is_c_contiguous(target) is not True:
                raise TraceError("TJ004", f"{name} with out= not in C order", user_line())
            return into(target, handler(*bound.args, **bound.kwargs), name, casting, repeated)

        return run  # type: ignore[return-value]

    return decorate


def _arrays(x: Any) -> Any:
    if isinstance(x, TracedArray):
        yield x
    elif isinstance(x, (list, tuple)):
        for part in x:
            yield from _arrays(part)
