"""New arrays on tracers in NumPy's memory orders: C, Fortran, or that of their operand."""

from __future__ import annotations

from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.memory.layout import (
    broadcast_order,
    has_other_strides,
    is_c_contiguous,
    joint_order,
)
from tracejit.frontend.tracing.memory.storage import laid_out
from tracejit.frontend.tracing.tracer import Storage, TracedArray, here, user_line, wrap_array
from tracejit.ir.dims import Dim

__all__ = [
    "along_axis",
    "copied",
    "copy_of",
    "copy_order",
    "expect_several",
    "in_c_order",
    "in_fortran_order",
    "in_k_order",
    "in_order",
    "in_order_of_elements",
    "in_order_of",
    "laid_out_as",
    "memory_order",
    "of_unknown_order",
]


def copy_order(x: TracedArray) -> tuple[int, ...] | None:
    """The axis order of NumPy's copy of an array (order "K"); None where it is not known.

    Axes of one element have a say as well: theirs are the strides that NumPy notes.
    """
    if 1 in x.type.shape and x.ndim > 1:
        back = tuple(reversed(range(x.ndim)))
        if is_c_contiguous(x):
            return tuple(range(x.ndim))
        if is_c_contiguous(x.view("transpose", axes=back)):
            return back
        from tracejit.frontend.tracing.memory.geometry import stride_order

        return stride_order(x)
    return joint_order(x)


def copy_of(x: TracedArray) -> TracedArray:
    """A new array with the same contents."""
    return wrap_array(x.value())


def in_order(x: TracedArray, order: tuple[int, ...]) -> TracedArray:
    """A new array with the same contents whose axes lie in an order."""
    trace = here()
    value = x.value()
    if x.type.order != order or value in trace.unordered:
        value = laid_out(trace, value, order)
    out = wrap_array(value)
    out.storage.order = order
    return out


def in_c_order(x: TracedArray) -> TracedArray:
    """A new array with the same contents whose axes lie in C order."""
    return in_order(x, tuple(range(x.ndim)))


def in_fortran_order(x: TracedArray) -> TracedArray:
    """A new array with the same contents whose axes lie in Fortran order."""
    return in_order(x, tuple(reversed(range(x.ndim))))


def in_k_order(x: TracedArray, like: TracedArray | None = None) -> TracedArray:
    """A new array with the same contents whose axes lie as those of `like` (`x` itself) do."""
    order = copy_order(x if like is None else like)
    return of_unknown_order(x) if order is None else in_order(x, order)


def in_order_of_elements(x: TracedArray, *operands: Any) -> TracedArray:
    """A new array with the same contents, laid out as NumPy's function of elements of operands."""
    order = broadcast_order([v for v in operands if isinstance(v, TracedArray)], x.ndim)
    return of_unknown_order(x) if order is None else in_order(x, order)


def of_unknown_order(x: TracedArray) -> TracedArray:
    """A new array with the same contents, whose memory order is not known."""
    out = copy_of(x)
    out.storage.order = None if x.ndim > 1 else (*range(x.ndim),)
    return out


def copied(x: TracedArray, order: Any, like: TracedArray | None = None) -> TracedArray:
    """A new array with the same contents in one of NumPy's memory orders, which may be that of
    `like` (`x` itself).
    """
    if order == "C":
        return in_c_order(x)
    if order == "F":
        return in_fortran_order(x)
    if order == "A":
        return in_order_of(x, x if like is None else like)
    if order == "K":
        return in_k_order(x, like)
    raise TraceError("TJ004", f"a copy with order={order!r}", user_line())


def laid_out_as(x: TracedArray, order: Any) -> TracedArray:
    """`x` itself where it lies in a memory order already, else a copy in that order.

    A copy stands for it where that is not known.
    """
    if order in (None, "K"):
        return x
    if order == "A":
        order = memory_order(x)
    dense = is_c_contiguous(_reversed(x) if order == "F" else x)
    if dense is None:
        return x.snapshot(copied(x, order).value())
    return x if dense else copied(x, order)


def in_order_of(x: TracedArray, like: TracedArray) -> TracedArray:
    """A new array in Fortran order where `like` is in that order and not in C order, else in C."""
    order = memory_order(like)
    if order is None:
        # Only axes of at most one element can decide otherwise, where that order is Fortran's.
        in_fortran = is_c_contiguous(_reversed(like))
        return of_unknown_order(in_fortran_order(x) if in_fortran else x)
    return in_fortran_order(x) if order == "F" else in_c_order(x)


def memory_order(x: TracedArray) -> str | None:
    """F for an array in Fortran order and not in C order, else C; None where that is not known.

    Axes whose sizes only the run knows are taken to be longer than 1 where that decides.
    """
    in_c, back = is_c_contiguous(x), _reversed(x)
    in_fortran = False if in_c else is_c_contiguous(back)
    if in_c is None and expect_several(x.type.shape) and (in_fortran or has_other_strides(x)):
        in_c = False
    if in_c is False and in_fortran is None and has_other_strides(back):
        in_fortran = False
    return None if in_c is None or in_fortran is None else "F" if in_fortran and not in_c else "C"


def expect_several(shape: tuple[Dim, ...]) -> bool:
    """Whether two axes or more are longer than 1: a run bails out where one that only it knows is
    not, since the order of axes of NumPy's arrays may be another one then.
    """
    env = here().env
    return sum([d != 1 and env.expect(1, "<", d) for d in shape]) > 1


def along_axis(op: str, x: TracedArray, axis: int, copies: bool = False) -> TracedArray:
    """An op along an axis, whose result is laid out as that of a function of elements of `x`, or as
    a copy of `x`.
    """
    trace = here()
    value, order = x.value(), copy_order(x) if copies else broadcast_order([x], x.ndim)
    if order is None or order == tuple(range(x.ndim)):
        out = TracedArray(trace, Storage(trace, trace.emit(op, (value,), axis=axis)))
    else:
        moved = trace.emit("transpose", (value,), axes=order)
        moved = trace.emit(op, (moved,), axis=order.index(axis))
        back = tuple(order.index(k) for k in range(x.ndim))
        out = TracedArray(trace, Storage(trace, trace.emit("transpose", (moved,), axes=back)))
    out.storage.order = order
    return out


def _reversed(x: TracedArray) -> TracedArray:
    return x.view("transpose", axes=tuple(reversed(range(x.ndim))))
