"""Functions of NumPy that join arrays, on tracers: concatenations of views with new axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, astype, fit_dims
from tracejit.frontend.numpy.creation import placeholder
from tracejit.frontend.numpy.memory_orders import in_c_order, in_order, of_unknown_order
from tracejit.frontend.numpy.outputs import accepts_out
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.numpy.shape import expand_dims, moveaxis, ravel
from tracejit.frontend.tracing.memory.layout import joint_order
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, here, user_line, wrap

__all__ = ["along", "concatenate", "stack"]

#: Up to this many arrays are joined one by one.
_FEW = 8


def along(x: TracedArray, axis: int, part: Any) -> Any:
    """`x` with `part` as the key of one axis."""
    return x[(*[slice(None)] * axis, part)]


def parts_of(arrays: Any) -> list[TracedArray]:
    """The arrays of a sequence argument: a list or tuple, or an array along its first axis."""
    if isinstance(arrays, TracedArray):
        return [asarray(x) for x in arrays]
    if isinstance(arrays, (list, tuple)):
        return [asarray(x) for x in arrays]
    if isinstance(arrays, (Tracer, SymInt)):
        raise TypeError("iteration over a 0-d array")
    raise TraceError("TJ004", f"a {type(arrays).__name__} of arrays", user_line())


def _is_many(arrays: Any) -> bool:
    """Whether a sequence of arrays is itself one array, of a length known only at run time."""
    if not isinstance(arrays, TracedArray) or arrays.ndim < 2:
        return False
    if not arrays.type.is_c or arrays.value() in here().unordered:
        return False
    length = arrays.type.shape[0]
    return not isinstance(length, int) or length > _FEW


def _joined_rows(arrays: TracedArray, axis: Any) -> TracedArray:
    """The arrays along the first axis of another one, joined along one of their own."""
    if axis is None:
        return ravel(arrays).copy()  # type: ignore[no-any-return]
    axis = normalize_axis_index(axis, arrays.ndim - 1)
    if not here().env.expect(1, "<=", arrays.type.shape[0]):
        raise ValueError("need at least one array to concatenate")
    moved = moveaxis(arrays, 0, axis)
    shape = moved.shape
    whole = (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2 :])
    return in_c_order(moved).reshape(whole).copy()  # type: ignore[no-any-return]


@handles(np.concatenate, np.concat)
@accepts_out("np.concatenate", apart=True, or_dtype=True)
def concatenate(
    arrays: Any, /, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = "same_kind"
) -> Any:
    """Arrays joined along one axis (all elements where `axis` is None)."""
    if _is_many(arrays) and dtype is None:
        return _joined_rows(arrays, axis)
    parts = parts_of(arrays)
    if not parts:
        raise ValueError("need at least one array to concatenate")
    kinds: list[Any] = [x.dtype for x in parts]
    if axis is None:
        if isinstance(arrays, (list, tuple)):
            # Python's numbers give way to arrays, as in arithmetic; those that do are cast anyhow.
            given = zip(map(placeholder, arrays), kinds, strict=True)
            kinds = [x if type(x) in (int, float, complex) else d for x, d in given]
        parts, axis = [ravel(x) for x in parts], 0
    if any(not x.ndim for x in parts):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    common = np.result_type(*kinds) if dtype is None else np.dtype(dtype)
    for kind, x in zip(kinds, parts, strict=True):
        gives_way = not isinstance(kind, np.dtype) and np.result_type(kind, common) == common
        if not gives_way and not np.can_cast(x.dtype, common, casting):
            raise TypeError(f"Cannot cast array data from {x.dtype} to {common}")
    if isinstance(axis, bool):
        raise TypeError("an integer is required for the axis")
    axis = normalize_axis_index(axis, parts[0].ndim)
    fitted = [_fit_beside(x, parts[0], axis) for x in parts]
    values = [astype(x, common).value() for x in fitted]
    out = asarray(wrap(here(), here().emit("concatenate", values, axis=axis)))
    order = joint_order(*fitted)
    return of_unknown_order(out) if order is None else in_order(out, order)


def _fit_beside(x: TracedArray, first: TracedArray, axis: int) -> TracedArray:
    """`x` with the sizes of `first` except along `axis`. Raises ValueError where they differ."""
    env = here().env
    if x.ndim != first.ndim:
        raise ValueError(
            "all the input arrays must have same number of dimensions, but the array at index 0 "
            f"has {first.ndim} dimension(s) and another has {x.ndim} dimension(s)"
        )
    pairs = list(zip(x.type.shape, first.type.shape, strict=True))
    for k, (a, b) in enumerate(pairs):
        if k != axis and not env.expect(a, "==", b):
            raise ValueError(
                "all the input array dimensions except for the concatenation axis must match "
                f"exactly, but along dimension {k}, the sizes are {b} and {a}"
            )
    return fit_dims(x, tuple(a if k == axis else b for k, (a, b) in enumerate(pairs)))


def stack(parts: Sequence[TracedArray], axis: int) -> TracedArray:
    """Arrays of one shape joined along a new axis."""
    return asarray(concatenate([expand_dims(x, axis) for x in parts], axis=axis))
