"""Checks that the type rules share, from types and attributes to GraphError or narrowed types.

Messages are made where they are needed: each node of a trace passes here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.errors import GraphError
from tracejit.ir.dims import Dim, Poly
from tracejit.ir.graph import Attrs
from tracejit.ir.op import require
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, PyScalar, Type

__all__ = [
    "array_of",
    "axis_of",
    "broadcast_shapes",
    "c_array",
    "dtype_attr",
    "only_attrs",
    "scalar_value",
    "sizes_attr",
    "take",
    "without",
]


def take(name: str, inputs: Sequence[Type], count: int) -> None:
    """Require `count` inputs."""
    if len(inputs) != count:
        raise GraphError(f"{name} takes {count} operands, not {len(inputs)}")


def array_of(name: str, t: Type, min_ndim: int = 0) -> ArrayType:
    """`t` as an array type with at least `min_ndim` axes. Raises GraphError for anything else."""
    if not isinstance(t, ArrayType):
        raise GraphError(f"{name} takes an array, not {t}")
    if t.ndim < min_ndim:
        raise GraphError(f"{name} takes at least {min_ndim} axes, not {t.ndim}")
    return t


def only_attrs(name: str, attrs: Attrs, *needed: str, optional: tuple[str, ...] = ()) -> None:
    """Require exactly the attributes `needed`, and no others but `optional`."""
    if not optional and tuple(attrs) == needed:
        return
    missing = [a for a in needed if a not in attrs]
    require(not missing, f"{name} lacks the attributes {missing}")
    unknown = sorted(set(attrs) - set(needed) - set(optional))
    require(not unknown, f"{name} has no attributes {unknown}")


def axis_of(name: str, attrs: Attrs, t: ArrayType) -> int:
    """The attribute `axis`, which must be an axis of `t`."""
    axis = attrs["axis"]
    if type(axis) is not int or not 0 <= axis < t.ndim:
        raise GraphError(f"{name}: {axis!r} is not an axis of {t}")
    return int(axis)


def sizes_attr(name: str, attrs: Attrs, key: str) -> tuple[Dim, ...]:
    """A tuple of sizes, none of them known to be negative."""
    sizes = attrs[key]
    require(isinstance(sizes, tuple), f"{name}: {key} must be a tuple")
    for d in sizes:
        if not isinstance(d, Poly) and not (type(d) is int and d >= 0):
            raise GraphError(f"{name}: {d!r} in {key} is not a size")
    return tuple(sizes)


def dtype_attr(name: str, attrs: Attrs) -> np.dtype[Any]:
    """The dtype that the attribute `dtype` names."""
    require(attrs["dtype"] in DTYPES, f"{name}: {attrs['dtype']!r} is not a dtype")
    return DTYPES[attrs["dtype"]]


def without(t: ArrayType, axes: Sequence[int], dtype: np.dtype[Any] | None = None) -> ArrayType:
    """`t` with `axes` dropped, in C order."""
    shape = tuple(d for i, d in enumerate(t.shape) if i not in axes)
    return ArrayType(t.dtype if dtype is None else dtype, shape)


def broadcast_shapes(name: str, a: tuple[Dim, ...], b: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The shape two shapes broadcast to; sizes match where they are equal canonically or 1."""
    ndim = max(len(a), len(b))
    out: list[Dim] = []
    for x, y in zip((1,) * (ndim - len(a)) + a, (1,) * (ndim - len(b)) + b, strict=True):
        require(x == y or x == 1 or y == 1, f"{name}: {a} and {b} do not broadcast")
        out.append(y if x == 1 else x)
    return tuple(out)


def c_array(x: Any) -> np.ndarray[Any, Any]:
    """A fresh C-ordered array, 0-d for a scalar."""
    return np.array(x, order="C")


def scalar_value(name: str, t: Type) -> NpScalar | PyScalar:
    """`t` as a scalar type. Raises GraphError for anything else."""
    require(isinstance(t, (NpScalar, PyScalar)), f"{name} takes a scalar, not {t}")
    assert isinstance(t, (NpScalar, PyScalar))
    return t
