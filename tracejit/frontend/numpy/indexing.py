"""`x[key]` and `x[key] = v` on traced arrays: NumPy's indexing as slice, reshape, gather and
scatter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, cast_value, operand, stored
from tracejit.frontend.numpy.items.elements_of_slices import of_whole, proved_place
from tracejit.frontend.numpy.items.keys import is_element, slice_extent, takes_no_array
from tracejit.frontend.numpy.items.masks import axis_positions, flat_positions
from tracejit.frontend.numpy.sequences import is_sequence
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.checks import constant_array
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.memory.layout import broadcast_order
from tracejit.frontend.tracing.memory.storage import laid_out
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.symint import SymInt, as_dim
from tracejit.frontend.tracing.tracer import (
    Storage,
    TracedArray,
    Tracer,
    as_array,
    broadcast_dims,
    broadcasts_to,
    here,
    lift,
    match_dims,
    user_line,
    wrap,
    wrap_array,
)
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Attr, Value
from tracejit.ir.types import DTYPES, ArrayType, PyScalar, dtype_of, shape_of

__all__ = ["accumulate_item", "get_item", "set_item"]

_I64 = DTYPES["i64"]
_I64_MAX = 2**63 - 1


@dataclass
class _Axis:
    """What a key does to one axis of the array (None: a new axis)."""

    kind: str  # slice, int, new, array
    start: Dim = 0
    size: Dim = 1
    step: int = 1
    index: Tracer | None = None


def _parse(x: TracedArray, key: Any) -> list[_Axis]:
    items = list(key) if isinstance(key, tuple) else [key]
    env = here().env
    shape = x.type.shape
    items = [_index(k) for k in items]
    consumed = sum(_axes_of(k) for k in items)
    if consumed > len(shape):
        raise IndexError("too many indices for array")
    ellipses = sum(1 for k in items if k is Ellipsis)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if not ellipses:
        items.append(Ellipsis)
    axes: list[_Axis] = []
    axis = 0
    for k in items:
        if k is None:
            axes.append(_Axis("new"))
        elif k is Ellipsis:
            for _ in range(len(shape) - consumed):
                axes.append(_Axis("slice", 0, shape[axis], 1))
                axis += 1
        elif _is_mask(k):
            places = _mask_positions(k, axis, shape[axis : axis + k.ndim])
            axes += [_Axis("array", index=p) for p in places]
            axis += k.ndim
        else:
            axes.append(_parse_one(k, shape[axis], env))
            axis += 1
    return axes


def _index(k: Any) -> Any:
    """One part of a key; sequences and arrays are traced."""
    if isinstance(k, (list, tuple, range, np.ndarray)):
        k = lift(_as_index(k))
    if isinstance(k, (bool, np.bool_)) or (
        isinstance(k, Tracer) and not shape_of(k.type) and dtype_of(k.type).kind == "b"
    ):
        raise TraceError("TJ015", "a bool as an index", user_line())
    return k


def _is_mask(k: Any) -> bool:
    return isinstance(k, TracedArray) and k.dtype.kind == "b"


def _axes_of(k: Any) -> int:
    """How many axes of the array a part of a key takes."""
    if k is None or k is Ellipsis:
        return 0
    return k.ndim if _is_mask(k) else 1


def _mask_positions(mask: TracedArray, axis: int, shape: tuple[Dim, ...]) -> list[TracedArray]:
    """A mask as an index array for each of its axes, the first of which is `axis`."""
    _mask_fits(mask, axis, shape)
    return axis_positions(mask)


def _lone_mask(key: Any) -> TracedArray | None:
    """The mask that is all of a key; None for another key."""
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    if isinstance(key, (list, range, np.ndarray)):
        key = _index(key)
    return key if _is_mask(key) and key.ndim else None


def _lone_bool(key: Any) -> TracedArray | None:
    """The bool that is all of a key, a mask without axes; None for another key."""
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    is_bool = isinstance(key, (bool, np.bool_)) or (
        isinstance(key, Tracer) and not shape_of(key.type) and dtype_of(key.type).kind == "b"
    )
    return asarray(key) if is_bool else None


def _store_number(x: TracedArray, mask: TracedArray, v: Value) -> None:
    """Store one number where a mask over the first axes holds: a choice for each element."""
    trace, shape = here(), x.type.shape
    _mask_fits(mask, 0, shape[: mask.ndim])
    rest = len(shape) - mask.ndim
    test = match_dims(mask.value(), shape[: mask.ndim])
    test = trace.emit("reshape", (test,), shape=(*shape[: mask.ndim], *(1,) * rest))
    test, v = (as_array(wrap(trace, part), shape) for part in (test, v))
    x.store(trace.emit("select", (test, v, x.value())))


def _mask_fits(mask: TracedArray, axis: int, shape: tuple[Dim, ...]) -> None:
    """Raise IndexError where a mask has not the sizes of the axes it is to pick from."""
    env = here().env
    for k, (d, n) in enumerate(zip(mask.type.shape, shape, strict=True)):
        if d != n and d == 0:
            raise TraceError("TJ015", "an empty mask of another size", user_line())
        if d != n and not env.expect(d, "==", n):
            raise IndexError(
                f"boolean index did not match indexed array along axis {axis + k}; "
                f"size of axis is {n} but size of corresponding boolean axis is {d}"
            )


def _parse_one(k: Any, n: Dim, env: ShapeEnv) -> _Axis:
    if isinstance(k, slice):
        return _Axis("slice", *slice_extent(k, n, env))
    if isinstance(k, (int, np.integer, SymInt)) and not isinstance(k, bool):
        i = as_dim(k)
        if isinstance(k, np.uint64) and k > _I64_MAX:
            raise OverflowError("Python int too large to convert to C long")
        if not env.is_known(i, n):
            return _parse_counter(i, n, env)
        if env.decide(i, "<", 0):
            i = i + n
        if env.decide(i, "<", 0) or not env.decide(i, "<", n):
            raise IndexError(f"index {k} is out of bounds for axis with size {n}")
        return _Axis("int", i, 1, 1)
    index = lift(_as_index(k))
    if dtype_of(index.type).kind not in "iu":
        raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if dtype_of(index.type) == np.uint64 and not shape_of(index.type):
        # What an int64 does not hold must not come out as negative: it is outside of any axis.
        index = elementwise(np.minimum, (index, np.uint64(_I64_MAX)))
    return _Axis("array", index=index)


def _as_index(k: Any) -> Any:
    """An index array as NumPy makes one of a sequence: an empty one is of integers."""
    if isinstance(k, (str, bytes)):
        raise IndexError("only integers, slices and arrays of them are indices")
    if isinstance(k, range):
        k = list(k)
    if isinstance(k, (list, tuple)):
        made = asarray(k)
        return constant_array(np.zeros(made.shape, np.int64)) if made.type.size == 0 else made
    return k


def _parse_counter(i: Dim, n: Dim, env: ShapeEnv) -> _Axis:
    """An index that changes in a loop: a size where the loop's range proves that it is valid."""
    if (place := proved_place(i, n, env)) is not None:
        return _Axis("int", place, 1, 1)
    return _Axis("array", index=lift(SymInt(i, env) if not isinstance(i, int) else i))


def _basic(x: TracedArray, axes: list[_Axis]) -> TracedArray:
    """The view made by the slices, ints and new axes of a key; array axes stay whole."""
    old = [a for a in axes if a.kind != "new"]
    start, size, step = [], [], []
    for a, n in zip(old, x.type.shape, strict=True):
        whole = a.kind == "array"
        start.append(0 if whole else a.start)
        size.append(n if whole else a.size)
        step.append(1 if whole else a.step)
    if tuple(size) != x.type.shape or any(s != 1 for s in step):
        x = x.view("slice", start=tuple(start), size=tuple(size), step=tuple(step))
    places = iter(range(x.ndim))
    every = [None if a.kind == "new" else next(places) for a in axes]
    kept = tuple(k for k, a in zip(every, axes, strict=True) if a.kind != "int")
    # Even where nothing changes: `x[:]` is another object than `x`.
    shape = tuple(1 if k is None else x.type.shape[k] for k in kept)
    return x.view("reshape", kept=kept, shape=shape)


@dataclass
class _Advanced:
    """A gather or scatter: which axes are indexed, by what, and where the index axes end up."""

    indices: list[Value]
    #: The indices before they are broadcast to `shape`.
    given: list[Value]
    shape: tuple[Dim, ...]
    to_front: tuple[int, ...]
    place: int


def _plan(axes: list[_Axis]) -> _Advanced:
    trace = here()
    indexed = [k for k, a in enumerate(axes) if a.kind == "array"]
    tracers = [axes[k].index for k in indexed]
    shape = broadcast_dims([t.type.shape for t in tracers if isinstance(t, TracedArray)])
    values, given = [], []
    for t in tracers:
        assert t is not None
        v = t.value()
        v = operand(t, _I64) if isinstance(v.type, PyScalar) else cast_value(v, _I64)
        given.append(v)
        if shape:
            v = as_array(wrap(trace, v), shape)
        elif isinstance(v.type, ArrayType):
            v = trace.emit("element", (v,))
        values.append(v)
    adjacent = indexed[-1] - indexed[0] == len(indexed) - 1
    rest = tuple(k for k in range(len(axes)) if k not in indexed)
    return _Advanced(values, given, shape, (*indexed, *rest), indexed[0] if adjacent else 0)


def _with_static_ints(axes: list[_Axis]) -> list[_Axis]:
    """Beside an index array, an int is an index array too."""
    if not any(a.kind == "array" and isinstance(a.index, TracedArray) for a in axes):
        return axes
    out = []
    for a in axes:
        if a.kind == "int":
            size = a.start if isinstance(a.start, int) else SymInt(a.start, here().env)
            a = _Axis("array", index=lift(size))
        out.append(a)
    return out


def _permute(v: Value, axes: tuple[int, ...]) -> Value:
    if axes == tuple(range(len(axes))):
        return v
    return here().emit("transpose", (v,), axes=axes)


def _move_index_axes(plan: _Advanced, ndim: int) -> tuple[int, ...]:
    """The permutation from (index axes, rest) to where NumPy puts the index axes."""
    b = len(plan.shape)
    rest = list(range(b, ndim))
    return (*rest[: plan.place], *range(b), *rest[plan.place :])


def get_item(x: TracedArray, key: Any, *, checked: bool = True) -> Any:
    """`x[key]`. Raises IndexError as NumPy does; without `checked` every index is inside."""
    trace = here()
    x, key = of_whole(x, key)
    mask = _lone_mask(key)
    checked = checked and mask is None
    if mask is not None and mask.ndim == x.ndim > 1:
        _mask_fits(mask, 0, x.type.shape)
        flat = trace.emit("reshape", (x.value(),), shape=(x.type.size,))
        return get_item(wrap_array(flat), flat_positions(mask), checked=False)
    axes = _with_static_ints(_parse(x, key))
    if not any(a.kind == "array" for a in axes):
        view = _basic(x, axes)
        if view.ndim == 0 and not _has_ellipsis(key):
            return wrap(trace, trace.emit("element", (view.value(),)))
        return view
    base = _basic(x, axes)
    axes = [a for a in axes if a.kind != "int"]
    plan = _plan(axes)
    _check_unread(base, plan)
    numbers = not any(isinstance(a.index, TracedArray) for a in axes)
    if numbers and (len(plan.indices) < base.ndim or _has_ellipsis(key)):
        # Numbers known at run time: a view, as with constants.
        if plan.to_front != tuple(range(base.ndim)):
            base = base.view("transpose", axes=plan.to_front)
        return base.view("gather", *plan.indices)
    moved = _permute(base.value(), plan.to_front)
    attrs: dict[str, Any] = {} if checked else {"checked": False}
    out = trace.emit("gather", (moved, *plan.indices), **attrs)
    assert isinstance(out.type, ArrayType)
    if out.type.ndim or _has_ellipsis(key):
        return _in_order_of_elements(base, plan, [a.index for a in axes], out)
    return wrap(trace, trace.emit("element", (out,)))


def _in_order_of_elements(
    base: TracedArray, plan: _Advanced, keys: Sequence[Tracer | None], out: Value
) -> TracedArray:
    """What was gathered, with its axes where NumPy puts them in shape and memory.

    In memory the index axes come first, in their own order where all axes are indexed; then come
    the others as they lie in `base`.
    """
    trace, b = here(), len(plan.shape)
    rest = plan.to_front[len(plan.indices) :]
    order: tuple[int, ...] | None
    if rest:
        from tracejit.frontend.tracing.memory.geometry import stride_order

        lying = stride_order(base)
        order = None if lying is None else tuple(b + rest.index(a) for a in lying if a in rest)
        order = None if order is None else (*range(b), *order)
    else:
        order = broadcast_order([x for x in keys if isinstance(x, TracedArray)], b)
    if order is not None and order != tuple(range(len(order))):
        out = laid_out(trace, out, order)
    made = TracedArray(trace, Storage(trace, _permute(out, _move_index_axes(plan, b + len(rest)))))
    made.storage.order = None if order is None else made.type.order
    if order is not None:
        trace.unordered.discard(made.value())
    return made


def _has_ellipsis(key: Any) -> bool:
    return any(k is Ellipsis for k in (key if isinstance(key, tuple) else (key,)))


def _check_unread(x: TracedArray, plan: _Advanced) -> None:
    """Check indices that read no element, since they pick rows without elements or are broadcast
    to a shape without: NumPy raises for them, too.
    """
    trace = here()
    shape = tuple(x.type.shape[k] for k in plan.to_front)
    rows = any(_may_be_empty(d, trace.env) for d in shape[len(plan.indices) :])
    none = any(_may_be_empty(d, trace.env) for d in plan.shape)
    for n, index in zip(shape, plan.given, strict=False):
        if rows or (none and shape_of(index.type) != plan.shape):
            axis = trace.emit("iota", (), size=n, dtype="i64")
            trace.emit("gather", (axis, index))


def _may_be_empty(d: Dim, env: ShapeEnv) -> bool:
    if env.is_known(d):
        return env.decide(d, "==", 0)
    return env.proved(d, "==", 0) is not False


def set_item(x: TracedArray, key: Any, value: Any) -> None:
    """`x[key] = value`. Raises what NumPy raises, TraceError for stores the caller would see."""
    trace = here()
    x, key = of_whole(x, key, stores=True)
    nested = is_sequence(value)
    if nested and x.dtype.kind == "b" and is_element(key, x.ndim):
        value = len(value) > 0  # An element of bools takes the truth of any object.
    items = value
    if not isinstance(value, (Tracer, bool, int, float, complex, np.generic, SymInt)):
        value = lift(value)
    d = dtype_of(value.type) if isinstance(value, Tracer) else np.asarray(value).dtype
    if d.kind == "c" and x.dtype.kind != "c":
        raise TraceError("TJ004", "a complex value stored into a real array", user_line())
    # Python's numbers in a sequence must fit into integers.
    fits = nested and x.dtype.kind in "iu"
    v = asarray(items, x.dtype).value() if fits else stored(value, x.dtype)
    if shape_of(v.type) and is_element(key, x.ndim) and takes_no_array(x.dtype):
        raise ValueError("setting an array element with a sequence.")
    mask = _lone_mask(key)
    if mask is not None and mask.ndim == x.ndim and len(shape_of(v.type)) > 1:
        raise TypeError("a boolean index takes a value with one axis at most")
    if mask is None and not shape_of(v.type):
        mask = _lone_bool(key)
    if mask is not None and mask.ndim <= x.ndim and not shape_of(v.type):
        _store_number(x, mask, v)
        return
    axes = _with_static_ints(_parse(x, key))
    base = _basic(x, axes)
    if not any(a.kind == "array" for a in axes):
        if nested and len(shape_of(v.type)) > base.ndim:
            raise ValueError("setting an array element with a sequence")
        if not _is_there(base, value):
            base.store(_fit(v, base.type.shape))
        return
    axes = [a for a in axes if a.kind != "int"]
    plan = _plan(axes)
    _check_unread(base, plan)
    base_value = base.value()
    moved = _permute(base_value, plan.to_front)
    t = moved.type
    assert isinstance(t, ArrayType)
    rest = t.shape[len(plan.indices) :]
    natural = _move_index_axes(plan, len(plan.shape) + len(rest))
    target = (*plan.shape, *rest)
    if nested and not plan.shape and len(shape_of(v.type)) > len(target):
        raise ValueError("setting an array element with a sequence")
    v = _fit(v, tuple(target[k] for k in natural))
    v = _permute(v, tuple(natural.index(k) for k in range(len(natural))))
    # The places at which a mask holds are inside, and differ from each other.
    known: dict[str, Attr] = {} if mask is None else {"checked": False, "distinct": True}
    (updated,) = trace.emit_all("scatter", (moved, v, *plan.indices), known)
    inverse = tuple(plan.to_front.index(k) for k in range(len(plan.to_front)))
    base.store(_permute(updated, inverse))


def _is_there(base: TracedArray, value: Any) -> bool:
    """Whether `value` is the very elements that it is stored into, as at the end of `x[k] += y`.

    The array has been stored into before: it is writeable.
    """
    if (
        not isinstance(value, TracedArray)
        or value.storage is not base.storage
        or not base.storage.written
    ):
        return False
    views = [[(v.op, v.indices, v.attrs) for v in x.views] for x in (base, value)]
    return views[0] == views[1] and base.type == value.type


def accumulate_item(x: TracedArray, key: Any, value: TracedArray, function: str) -> None:
    """x[key] = function(x[key], value) for one element after another, in the dtype of `value`.

    The key has index arrays. Raises IndexError as NumPy does.
    """
    trace = here()
    axes = _with_static_ints(_parse(x, key))
    base = _basic(x, axes)
    axes = [a for a in axes if a.kind != "int"]
    plan = _plan(axes)
    _check_unread(base, plan)
    moved = _permute(base.value(), plan.to_front)
    t = moved.type
    assert isinstance(t, ArrayType)
    rest = t.shape[len(plan.indices) :]
    natural = _move_index_axes(plan, len(plan.shape) + len(rest))
    target = (*plan.shape, *rest)
    shape = tuple(target[k] for k in natural)
    if not broadcasts_to(value.type.shape, shape):
        raise ValueError("array is not broadcastable to correct shape")
    v = _permute(as_array(value, shape), tuple(natural.index(k) for k in range(len(natural))))
    updated = trace.emit("scatter_apply", (moved, v, *plan.indices), function=function)
    inverse = tuple(plan.to_front.index(k) for k in range(len(plan.to_front)))
    base.store(_permute(updated, inverse))


def _fit(v: Value, shape: tuple[Dim, ...]) -> Value:
    """`v` broadcast to `shape`; leading axes of size 1 that are too many are dropped, as NumPy
    does.
    """
    trace = here()
    if isinstance(v.type, ArrayType) and v.type.ndim > len(shape):
        extra = v.type.shape[: v.type.ndim - len(shape)]
        if any(not trace.env.decide(d, "==", 1) for d in extra):
            raise ValueError("could not broadcast input array into the shape of the target")
        v = trace.emit("reshape", (v,), shape=v.type.shape[len(extra) :])
    if isinstance(v.type, ArrayType) and not broadcasts_to(v.type.shape, shape):
        raise ValueError("could not broadcast input array into the shape of the target")
    return as_array(wrap(trace, v), shape)


DISPATCH.get_item = get_item

DISPATCH.set_item = set_item
