"""Reductions and cumulative functions on tracers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit.base.late_table import LateTable
from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype, operand
from tracejit.frontend.numpy.creation import filled, placeholder
from tracejit.frontend.numpy.memory_orders import (
    along_axis,
    copy_of,
    in_k_order,
    in_order,
    in_order_of_elements,
    of_unknown_order,
)
from tracejit.frontend.numpy.outputs import accepts_out
from tracejit.frontend.numpy.registry import HANDLERS, NOT_GIVEN, handles, only
from tracejit.frontend.numpy.selection import truth
from tracejit.frontend.numpy.ufuncs import elementwise, operand_tracer, root_of_squares
from tracejit.frontend.tracing.memory.layout import broadcast_order
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    Tracer,
    as_array,
    broadcasts_to,
    here,
    user_line,
    wrap,
)
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Value
from tracejit.ir.op import Op, for_each_op
from tracejit.ir.types import ArrayType, dtype_of, shape_of
from tracejit.ops.array.reduction import Reduction

__all__ = ["ACCUMULATIONS", "REDUCTIONS", "normalize_axes"]

#: Ufunc -> what is called for its `reduce`.
REDUCTIONS: LateTable[Any, Any] = LateTable(
    {
        np.maximum: np.max,
        np.minimum: np.min,
        np.fmax: np.fmax.reduce,
        np.fmin: np.fmin.reduce,
        np.logical_or: np.any,
        np.logical_and: np.all,
    }
)
REDUCTIONS.announce("reductions")
ACCUMULATIONS: dict[Any, Any] = {np.add: np.cumsum, np.multiply: np.cumprod}


def normalize_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Axes as sorted non-negative ints. Raises np.exceptions.AxisError and ValueError as NumPy."""
    if axis is None or axis is NOT_GIVEN:
        return tuple(range(ndim))
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    out = []
    for a in axes:
        if isinstance(a, bool):
            raise TypeError("an integer is required for the axis")
        a = operator.index(a)
        if not -ndim <= a < ndim:
            raise np.exceptions.AxisError(a, ndim)
        out.append(a % ndim)
    if len(set(out)) != len(out):
        raise ValueError("duplicate value in 'axis'")
    return tuple(sorted(out))


def _no_axis(axis: Any, shape: tuple[Dim, ...]) -> Any:
    """NumPy takes axis 0 or -1 of an array without axes for none at all."""
    return () if not shape and type(axis) is int and axis in (0, -1) else axis


def _in_memory_order(x: Value, axes: tuple[int, ...]) -> tuple[Value, tuple[int, ...], list[int]]:
    """`x` with its axes as they lie in memory, the axes there, and the kept axes of the result."""
    t = x.type
    assert isinstance(t, ArrayType)
    if t.is_c:
        return x, axes, []
    moved = here().emit("transpose", (x,), axes=t.order)
    new_axes = tuple(sorted(t.order.index(a) for a in axes))
    kept = [a for a in t.order if a not in axes]
    return moved, new_axes, kept


def reduce_axes(
    op: str, x: TracedArray, axis: Any, keepdims: bool, neutral: Any = None, first: Any = None
) -> Any:
    """One reduction op over some axes; scalars where no axis is left and `keepdims` is not set.

    Over no axes the result is a new array too, of each element with the neutral one of the ufunc
    `neutral`, where it has one. A product may begin with `first`.
    """
    trace = here()
    shape = x.type.shape
    axes = normalize_axes(_no_axis(axis, shape), len(shape))
    if not axes:
        if neutral is not None:
            return elementwise(neutral, (x.dtype.type(neutral.identity), x))
        return copy_of(x) if shape else wrap(trace, trace.emit("element", (x.value(),)))
    v, inner, kept = _in_memory_order(x.value(), axes)
    if len(inner) > 1 and inner == tuple(range(inner[0], inner[0] + len(inner))):
        v, inner = _flatten(v, inner)
    out = trace.emit(op, (v,), axes=inner) if first is None else _product_from(first, v, inner)
    left = [a for a in range(len(shape)) if a not in axes]
    if kept and kept != left:
        out = trace.emit("transpose", (out,), axes=tuple(kept.index(a) for a in left))
    result = wrap(trace, out)
    lying = broadcast_order([x], len(shape))
    if isinstance(result, TracedArray) and len(left) > 1:
        order = None if lying is None else tuple(left.index(a) for a in lying if a in left)
        trace.unordered.discard(out)
        result = of_unknown_order(result) if order is None else in_order(result, order)
    if keepdims:
        full: tuple[Dim, ...] = tuple(1 if k in axes else d for k, d in enumerate(shape))
        result = asarray(wrap(trace, trace.emit("reshape", (result.value(),), shape=full)))
        return of_unknown_order(result) if lying is None else in_order(result, lying)
    if not left:
        return wrap(trace, trace.emit("element", (out,)))
    return result


def _product_from(first: Any, v: Value, axes: tuple[int, ...]) -> Value:
    """The product over some axes that begins with a number, and not with 1."""
    trace, shape = here(), shape_of(v.type)
    kept = tuple(k for k in range(len(shape)) if k not in axes)
    rows = trace.emit("transpose", (v,), axes=(*kept, *axes))
    left = tuple(shape[k] for k in kept)
    rows = trace.emit("reshape", (rows,), shape=(*left, prod([shape[k] for k in axes])))
    parts = as_array(first, (*left, 1)), rows
    rows = trace.emit("concatenate", parts, axis=len(left))
    products = trace.emit("cumprod", (rows,), axis=len(left))
    last: Value = asarray(wrap(trace, products))[..., -1].value()
    return last


def _flatten(v: Value, axes: tuple[int, ...]) -> tuple[Value, tuple[int, ...]]:
    """Neighbouring reduced axes as one: the sequence that is reduced stays the same."""
    t = v.type
    assert isinstance(t, ArrayType)
    size: Dim = 1
    for a in axes:
        size = size * t.shape[a]
    shape = (*t.shape[: axes[0]], size, *t.shape[axes[-1] + 1 :])
    return here().emit("reshape", (v,), shape=shape), (axes[0],)


def _accumulator(ufunc: Any, d: np.dtype[Any], dtype: Any) -> np.dtype[Any]:
    """The dtype NumPy reduces `d` in: of sums and products at least the default integer."""
    if dtype is not None and dtype is not NOT_GIVEN:
        given: np.dtype[Any] = np.dtype(dtype)
        if given.kind == "b":
            raise TraceError("TJ004", "a sum or product in booleans", user_line())
        return given
    found: np.dtype[Any] = ufunc.resolve_dtypes((None, d, None), reduction=True)[1]
    return found


def _widened(x: TracedArray, dtype: np.dtype[Any]) -> TracedArray:
    """`x` converted, with its axes in the order in which NumPy's iterator goes through `x`."""
    out = astype(x, dtype)
    return out if out is x else in_order_of_elements(out, x)


def _masked(x: TracedArray, where: Any, neutral: Any, name: str) -> TracedArray:
    """`x` with what a reduction leaves unchanged in the places that it must not see."""
    if where is NOT_GIVEN or where is True:
        return x
    mask = asarray(where)
    shape = x.type.shape
    if mask.dtype.kind != "b" or not broadcasts_to(mask.type.shape, shape):
        raise TraceError("TJ004", f"np.{name} with where= of another kind", user_line())
    trace = here()
    other = as_array(wrap(trace, operand(neutral, x.dtype)), shape)
    kept = asarray(wrap(trace, trace.emit("select", (as_array(mask, shape), x.value(), other))))
    return in_order_of_elements(kept, x, mask)


def _start(initial: Any, dtype: np.dtype[Any], name: str) -> Any:
    """`initial=` as a number of `dtype`; None where it was not given."""
    if initial is NOT_GIVEN:
        return None
    kinds = "biufc"
    given = np.asarray(placeholder(initial))
    if (
        given.ndim
        or given.dtype.kind not in kinds
        or kinds.index(given.dtype.kind) > max(kinds.index(dtype.kind), 2)
    ):
        raise TraceError("TJ004", f"np.{name} with such an initial=", user_line())
    if dtype.kind == "b":
        raise TraceError("TJ004", f"np.{name} of booleans with initial=", user_line())
    return wrap(here(), operand(initial, dtype))


def _reduced(op: Reduction, function: Any) -> Any:
    """The handler of a reduction that begins with the identity of its ufunc."""
    ufunc = op.ufunc
    name = f"{ufunc.__name__}.reduce" if function == ufunc.reduce else function.__name__

    @accepts_out(f"np.{name}")
    def run(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NOT_GIVEN,
        where: Any = NOT_GIVEN,
    ) -> Any:
        x = asarray(a)
        x = _widened(x, _accumulator(ufunc, x.dtype, dtype))
        if x.dtype.kind not in op.kinds:
            raise TraceError("TJ004", f"np.{name} of {x.dtype}", user_line())
        x = _masked(x, where, ufunc.identity, name)
        start = _start(initial, x.dtype, name)
        if start is None:
            return reduce_axes(op.name, x, axis, keepdims is True, ufunc)
        if ufunc is np.multiply and x.dtype.kind == "c" and x.ndim:
            # Their products with 1 have other zeros, and more NaNs.
            if not normalize_axes(axis, x.ndim):
                return elementwise(ufunc, (start, x))
            return reduce_axes(op.name, x, axis, keepdims is True, first=start)
        if ufunc is np.multiply and x.dtype.kind == "f" and x.ndim and not _is_empty(x, axis):
            return reduce_axes(op.name, _first_times(start, x, axis), axis, keepdims is True)
        result = elementwise(ufunc, (start, reduce_axes(op.name, x, axis, keepdims is True)))
        if ufunc is not np.add or x.dtype.kind not in "fc" or not _may_be_negative_zero(initial):
            return result
        if x.dtype.kind == "c":
            raise TraceError("TJ004", "np.sum of complex numbers with initial=-0.0", user_line())
        # The sum of an array begins with 0, and this one with -0: all elements may be -0 as well.
        signs = elementwise(np.signbit, (x,))
        zeros = elementwise(np.bitwise_and, (elementwise(np.equal, (x, 0.0)), signs))
        none = reduce_axes("reduce_all", asarray(zeros), axis, keepdims is True)
        out = HANDLERS[np.where](none, start, result)
        return out if out.ndim else out[()]

    return run


def _first_times(start: Any, x: TracedArray, axis: Any) -> TracedArray:
    """`x` with its first elements along the axes multiplied by a number.

    NumPy begins its products with that number: in another order they may overflow.
    """
    axes = normalize_axes(_no_axis(axis, x.type.shape), x.ndim)
    first = tuple(slice(0, 1) if k in axes else slice(None) for k in range(x.ndim))
    out = copy_of(x)
    out[first] = elementwise(np.multiply, (start, x[first]))
    return out


def _may_be_negative_zero(initial: Any) -> bool:
    """Whether the sign of a zero sum depends on the first summand."""
    if isinstance(initial, Tracer):
        return dtype_of(initial.type).kind in "fc"
    parts = np.array([np.real(initial), np.imag(initial)])
    return bool((np.signbit(parts) & (parts == 0)).any())


def _add_handler(op: Op) -> None:
    if isinstance(op, Reduction) and op.ufunc is not None:
        function = type(op).numpy
        handles(function, several_axes=True)(_reduced(op, function))
        REDUCTIONS[op.ufunc] = function


for_each_op(_add_handler)


def _extreme(name: str, op: str, ufunc: Any) -> Any:
    @accepts_out(f"np.{name}")
    def run(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        initial: Any = NOT_GIVEN,
        where: Any = NOT_GIVEN,
        dtype: Any = None,
    ) -> Any:
        only(f"np.{name}", dtype=dtype)
        x = asarray(a)
        start = _start(initial, x.dtype, name)
        if start is None:
            _not_empty(x, axis, name)
            if where is not NOT_GIVEN and where is not True:
                raise ValueError(f"{name} has no identity, so to use where=, give initial=")
            return reduce_axes(op, x, axis, keepdims is True)
        x = _masked(x, where, start, name)
        if _is_empty(x, axis):
            axes = normalize_axes(_no_axis(axis, x.type.shape), x.ndim)
            shape = enumerate(x.type.shape)
            if keepdims is True:
                left: tuple[Dim, ...] = tuple(1 if k in axes else d for k, d in shape)
            else:
                left = tuple(d for k, d in shape if k not in axes)
            return filled(left, start, x.dtype) if left else start
        return elementwise(ufunc, (reduce_axes(op, x, axis, keepdims is True), start))

    return run


def _is_empty(x: TracedArray, axis: Any) -> bool:
    """Whether there is nothing along the axes to reduce.

    Where only the run knows, there is something, or else the run bails out.
    """
    env = here().env
    axes = normalize_axes(_no_axis(axis, x.type.shape), x.ndim)
    return not all(env.expect(0, "<", x.type.shape[a]) for a in axes)


def _not_empty(x: TracedArray, axis: Any, name: str) -> None:
    if _is_empty(x, axis):
        raise ValueError(f"zero-size array to reduction operation {name} which has no identity")


HANDLERS[np.max] = HANDLERS[np.amax] = _extreme("max", "reduce_max", np.maximum)
HANDLERS[np.min] = HANDLERS[np.amin] = _extreme("min", "reduce_min", np.minimum)


def _extreme_of_numbers(name: str, function: Any) -> Any:
    """The extreme of what is a number: NaN only where there is none."""

    @accepts_out(f"np.{name}")
    def run(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False) -> Any:
        x, named = asarray(a), {"axis": axis, "keepdims": keepdims}
        if x.dtype.kind == "c":
            # Of nothing but NaN it is the first one, of whose parts one may be a number.
            raise TraceError("TJ004", f"np.{name} of complex numbers", user_line())
        if x.dtype.kind != "f":
            return HANDLERS[function](x, **named)
        missing = asarray(elementwise(np.isnan, (x,)))
        least = x.dtype.type(-np.inf if function is np.max else np.inf)
        found = HANDLERS[function](HANDLERS[np.where](missing, least, x), **named)
        none = reduce_axes("reduce_all", missing, axis, keepdims is True)
        result = HANDLERS[np.where](none, x.dtype.type(np.nan), found)
        return result if result.ndim else result[()]

    return run


for _ufunc, _function in ((np.fmax, np.max), (np.fmin, np.min)):
    _handler = _extreme_of_numbers(f"{_ufunc.__name__}.reduce", _function)
    handles(_ufunc.reduce, several_axes=True)(_handler)


def _boolean(name: str, op: str, neutral: bool) -> Any:
    @accepts_out(f"np.{name}", "safe")
    def run(
        a: Any,
        axis: Any = None,
        out: Any = None,
        keepdims: Any = False,
        where: Any = NOT_GIVEN,
        dtype: Any = None,
    ) -> Any:
        only(f"np.{name}", dtype=dtype)
        x = _masked(asarray(truth(asarray(a))), where, np.bool_(neutral), name)
        return reduce_axes(op, x, axis, keepdims is True)

    return run


HANDLERS[np.any] = _boolean("any", "reduce_any", False)
HANDLERS[np.all] = _boolean("all", "reduce_all", True)


def _count(x: TracedArray, axis: Any) -> Any:
    n: Any = 1
    for a in normalize_axes(axis, x.ndim):
        n = n * x.shape[a]
    return n


def _selected(x: TracedArray, axis: Any, where: Any, keepdims: bool, like: Any) -> Any:
    """How many elements a reduction sees, as a divisor in the dtype of `like`."""
    if where is NOT_GIVEN or where is True:
        return _as_float(_count(x, axis))
    mask = asarray(np.broadcast_to(asarray(where), x.shape))
    counts = HANDLERS[np.sum](mask, axis=axis, dtype=np.int64, keepdims=keepdims)
    return wrap(here(), operand(counts, like))


@handles(np.mean)
@accepts_out("np.mean")
def mean(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: Any = False,
    where: Any = NOT_GIVEN,
) -> Any:
    """Sum over the mean's own dtype divided by the count; f16 sums in f32."""
    x = asarray(a)
    d = x.dtype
    result = np.dtype(dtype) if dtype is not None else None
    work = result
    if work is None and d.kind in "iub":
        work = np.dtype(np.float64)
    elif work is None and d == np.float16:
        work, result = np.dtype(np.float32), np.dtype(np.float16)
    total = HANDLERS[np.sum](x, axis=axis, dtype=work, keepdims=keepdims, where=where)
    count = _selected(x, axis, where, keepdims is True, total.dtype)
    out_value = _in_place_of(total, elementwise(np.divide, (total, count)))
    if result is not None and out_value.dtype != result:
        return out_value.astype(result)
    return out_value


def _in_place_of(given: Any, made: Any) -> Any:
    """What NumPy stores into `given`, of which it is a function: it is laid out as that is."""
    order = given.storage.order if isinstance(given, TracedArray) else None
    if not isinstance(made, TracedArray) or order is None or len(order) != made.ndim:
        return made
    return in_order(made, order)


def _as_float(count: Any) -> Any:
    """A count as a divisor that does not promote."""
    return count if isinstance(count, int) else count * 1.0


@handles(np.var)
@accepts_out("np.var")
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = NOT_GIVEN,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """The mean of squared deviations from the mean, NumPy's two passes."""
    only("np.var", mean=mean, correction=correction)
    x = asarray(a)
    if np.asarray(placeholder(ddof)).dtype.kind not in "biuf":
        raise TraceError("TJ004", f"np.var with ddof={ddof!r}", user_line())
    if dtype is not None or x.dtype == np.float16:
        raise TraceError("TJ004", "np.var with dtype= or of float16", user_line())
    if x.dtype.kind in "iub":
        x = _widened(x, np.dtype(np.float64))
    center = HANDLERS[np.sum](x, axis=axis, keepdims=True, where=where)
    count = _selected(x, axis, where, True, x.dtype)
    center = elementwise(np.divide, (center, count))
    d: Any = elementwise(np.subtract, (x, center))
    squares = (d.real * d.real + d.imag * d.imag) if x.dtype.kind == "c" else d * d
    total = HANDLERS[np.sum](squares, axis=axis, keepdims=keepdims, where=where)
    if where is NOT_GIVEN or where is True:
        left = _count(x, axis) - ddof
        if isinstance(left, (int, float)):
            left = _as_float(max(left, 0))
        else:
            left = elementwise(np.maximum, (operand_tracer(left, total.dtype), 0))
    else:
        count = _selected(x, axis, where, keepdims is True, total.dtype)
        left = elementwise(np.maximum, (elementwise(np.subtract, (count, ddof)), 0))
    return _in_place_of(total, elementwise(np.divide, (total, left)))


@handles(np.std)
@accepts_out("np.std")
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = NOT_GIVEN,
    mean: Any = NOT_GIVEN,
    correction: Any = NOT_GIVEN,
) -> Any:
    """The square root of the variance."""
    value = HANDLERS[np.var](a, axis, dtype, out, ddof, keepdims, where, mean, correction)
    return _in_place_of(value, root_of_squares(value))


def _arg_extreme(name: str) -> Any:
    @accepts_out(f"np.{name}", apart=True)
    def run(a: Any, axis: Any = None, out: Any = None, *, keepdims: Any = NOT_GIVEN) -> Any:
        x = asarray(a)
        full = keepdims is True
        ndim = x.ndim
        _not_empty(x, axis, name)
        flat = axis is None or not ndim
        source = x.reshape(-1) if flat else x
        (k,) = normalize_axes(0 if flat else axis, source.ndim)
        trace = here()
        out_value: Any = wrap(trace, trace.emit(name, (source.value(),), axis=k))
        if full:
            return out_value[(None,) * ndim] if flat else HANDLERS[np.expand_dims](out_value, k)
        return out_value if out_value.ndim else out_value[()]

    return run


HANDLERS[np.argmax] = _arg_extreme("argmax")
HANDLERS[np.argmin] = _arg_extreme("argmin")


def _cumulative(name: str) -> Any:
    @accepts_out(f"np.{name}")
    def run(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        x = asarray(a)
        x = _widened(x, _accumulator(np.add, x.dtype, dtype))
        if isinstance(axis, tuple):
            raise TraceError("TJ004", f"np.{name} along several axes", user_line())
        if axis is None or isinstance(_no_axis(axis, x.type.shape), tuple):
            x, axis = x.reshape(-1), 0
        (k,) = normalize_axes(axis, x.ndim)
        return along_axis(name, x, k)

    return run


HANDLERS[np.cumsum] = _cumulative("cumsum")
HANDLERS[np.cumprod] = _cumulative("cumprod")


@handles(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: Any = False) -> Any:
    """How many elements are not zero."""
    x = asarray(a)
    is_true = x if x.dtype.kind == "b" else in_k_order(asarray(truth(x)), x)
    return HANDLERS[np.sum](is_true, axis=axis, dtype=np.int64, keepdims=keepdims)
