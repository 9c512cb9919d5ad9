"""From the leaves of a call to the specialisation that answers it: what is static, what symbolic.

The first compile takes every size as it is. A size that differs from what an earlier compile saw
becomes a symbol; sizes that were always equal share one. An int is static until its second value.
Sizes 0 and 1 are always static. What compiles have seen is kept by rank, so that a new dtype or
layout profits from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import TraceError
from tracejit.frontend.capture.guards import Equal, OfClass
from tracejit.frontend.tracing.instances import is_own_function, is_own_method, is_placed
from tracejit.frontend.tracing.packed import JoinedArrays
from tracejit.frontend.tracing.pytree import Identity
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, PyScalar, Type, dtype_name, is_held
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    Leaf,
    NpScalarLeaf,
    ScalarLeaf,
    k_order,
)
from tracejit.runtime.call.flags import ALIGNED, C_CONTIGUOUS, F_CONTIGUOUS

__all__ = ["History", "Specialization", "leaf_key", "rank_key", "specialize", "specialize_captured"]

_SCALARS: dict[type, str] = {float: "float", complex: "complex", int: "int"}
_NAMES = {id(dtype): name for name, dtype in DTYPES.items()}


def _layout(x: np.ndarray[Any, Any]) -> str:
    if x.flags.c_contiguous:
        return "C"
    if x.flags.f_contiguous:
        return "F"
    return "A"


def _fixed_step(x: np.ndarray[Any, Any], axis: int) -> int | None:
    """An axis' step in elements where code is made for just that step: 1, -1 and 0."""
    step = x.strides[axis] // x.itemsize
    return step if x.shape[axis] > 1 and -1 <= step <= 1 else None


def _checked_name(dtype: np.dtype[Any]) -> str:
    try:
        name = dtype_name(dtype)
    except TypeError as e:
        raise TraceError("TJ003", str(e)) from None
    if not is_held(dtype):
        raise TraceError("TJ003", f"an array of {dtype}")
    return name


#: The largest int that stands for a size.
_LARGEST = 2**60


def leaf_key(x: Any) -> object:
    """What two leaves must have in common to share a history. Raises TraceError for odd arrays."""
    if type(x) is np.ndarray:
        name = _NAMES.get(id(x.dtype)) or _checked_name(x.dtype)
        flags = x.flags.num
        small = tuple([n if n < 2 else 2 for n in x.shape])
        if flags & ALIGNED and flags & C_CONTIGUOUS:
            return name, small, "C"
        if flags & ALIGNED and flags & F_CONTIGUOUS:
            return name, small, "F"
        if not flags & ALIGNED or any(s % x.itemsize for s in x.strides):
            raise TraceError("TJ003", "an array that is not aligned to its elements")
        steps = tuple([_fixed_step(x, axis) for axis in range(x.ndim)])
        return name, small, "A", steps, k_order(x.shape, x.strides)
    if isinstance(x, np.ndarray):
        raise TraceError("TJ003", f"an array of type {type(x).__name__}")
    if isinstance(x, np.generic):
        return "scalar", _checked_name(x.dtype), type(x)
    if type(x) in _SCALARS:
        if type(x) is int and not -(2**63) <= x < 2**63:
            raise TraceError("TJ003", "an int that does not fit 64 bits")
        return _SCALARS[type(x)]
    if is_own_function(x):
        return "function", Identity(x.__code__), id(x.__globals__)
    if is_own_method(x):
        return "function", Identity(x.__func__), type(x.__self__)
    if is_placed(x):
        return "instance", type(x)
    try:
        hash(x)
    except TypeError:
        return "static", type(x), id(x)
    if isinstance(x, (str, bool, bytes, type(None))):
        return "static", type(x), x
    return "static", type(x), id(x)


@dataclass
class History:
    """What compiles with leaves of these ranks have seen: one vector of sizes and ints for each."""

    seen: list[tuple[int, ...]] = field(default_factory=list)

    @property
    def varies(self) -> bool:
        """Whether sizes or ints have differed from call to call."""
        return len(self.seen) > 1


def rank_key(leaves: Sequence[Any]) -> tuple[object, ...]:
    """Leaves with equal keys have vectors that can be compared."""
    return tuple(("array", x.ndim) if isinstance(x, np.ndarray) else type(x) is int for x in leaves)


@dataclass
class Specialization:
    """The entry's leaves, the types of the traced ones, the symbols with their present values."""

    leaves: list[Leaf]
    types: list[Type | None]
    sizes: dict[str, int]
    strides: dict[str, int]
    text: str


def _vector(leaves: Sequence[Any]) -> tuple[int, ...]:
    out: list[int] = []
    for x in leaves:
        if isinstance(x, np.ndarray):
            out += x.shape
        elif type(x) is int:
            out.append(x)
    return tuple(out)


class _Sizes:
    """Names symbols: columns of the history that never differed from each other share one."""

    def __init__(self, history: History, now: tuple[int, ...]) -> None:
        self.rows = [*history.seen, now]
        self.names: list[tuple[tuple[int, ...], str]] = []
        self.at = 0

    def next(self) -> tuple[bool, tuple[int, ...]]:
        """Whether the next column varies, and the column."""
        column = tuple(row[self.at] for row in self.rows)
        self.at += 1
        return len(set(column)) > 1, column

    def number(self, n: int) -> int | str | None:
        """The next int: itself, the symbol that it is like a size, or None for a traced number.

        Only what may be computed with in 64 bits is like a size.
        """
        varies, column = self.next()
        if not varies:
            return n
        return self._name(column) if 2 <= min(column) and max(column) <= _LARGEST else None

    def dim(self, n: int) -> int | str:
        """The next size: itself, or the name of its symbol."""
        varies, column = self.next()
        return n if n < 2 or not varies else self._name(column)

    def _name(self, column: tuple[int, ...]) -> str:
        for other, name in self.names:
            if all(a == b or min(a, b) < 2 for a, b in zip(column, other, strict=True)):
                return name
        self.names.append((column, f"n{len(self.names)}"))
        return self.names[-1][1]


def specialize(
    leaves: Sequence[Any],
    history: History,
    *,
    scalars_static: bool = False,
    ints_traced: bool = False,
) -> Specialization:
    """Choose what is static in a new compile for these leaves, and record them in the history.

    `scalars_static`: the trace needs the values of numbers, so that all of them are constants.
    `ints_traced`: ints that vary are numbers of the run, not like sizes.
    """
    now = _vector(leaves)
    sizes = _Sizes(history, now)
    out: list[Leaf] = []
    types: list[Type | None] = []
    strides: dict[str, int] = {}
    values: dict[str, int] = {}
    texts = []
    for k, x in enumerate(leaves):
        if isinstance(x, np.ndarray):
            leaf = _array_leaf(k, x, tuple(sizes.dim(n) for n in x.shape), strides)
            values.update(
                {d: n for d, n in zip(leaf.dims, x.shape, strict=True) if isinstance(d, str)}
            )
            out.append(leaf)
            t = _array_type(leaf)
            types.append(t)
            texts.append(str(t) + ("" if leaf.layout != "A" else " strided"))
            continue
        if is_placed(x):
            out.append(OfClass(type(x)))
            types.append(None)
            texts.append(type(x).__name__)
            continue
        if type(x) is int and not scalars_static:
            name = sizes.number(x)
            name = None if ints_traced and isinstance(name, str) else name
            if isinstance(name, str):
                out.append(ScalarLeaf("int", name))
                types.append(None)
                values[name] = x
                texts.append(f"int {name}")
                continue
            varies = name is None
        else:
            varies = type(x) is not int or sizes.next()[0]
        if isinstance(x, np.generic) and not scalars_static:
            out.append(NpScalarLeaf(x.dtype))
            types.append(NpScalar(x.dtype))
        elif type(x) in _SCALARS and varies and not scalars_static:
            kind = _SCALARS[type(x)]
            out.append(ScalarLeaf(kind))  # type: ignore[arg-type]
            types.append(PyScalar(kind))
        else:
            out.append(Equal(x))
            types.append(None)
        texts.append(str(types[-1]) if types[-1] is not None else _static_text(x))
    if now not in history.seen:
        history.seen.append(now)
    return Specialization(out, types, values, strides, ", ".join(texts))


def _static_text(x: Any) -> str:
    text = (
        repr(x) if isinstance(x, (int, float, complex, str, bool, type(None))) else type(x).__name__
    )
    return text if len(text) <= 40 else text[:37] + "..."


def _array_leaf(
    k: int, x: np.ndarray[Any, Any], dims: tuple[int | str, ...], strides: dict[str, int]
) -> ArrayLeaf:
    layout = _layout(x)
    if layout != "A":
        joined = isinstance(x.base, JoinedArrays)
        return ArrayLeaf(x.dtype, dims, layout, joined=joined)  # type: ignore[arg-type]
    steps: list[int | str] = []
    for axis, s in enumerate(x.strides):
        step: int | str | None = _fixed_step(x, axis)
        if step is None:
            step = f"st{k}_{axis}"
            strides[step] = s // x.itemsize
        steps.append(step)
    return ArrayLeaf(x.dtype, dims, "A", tuple(steps), k_order(x.shape, x.strides))


def _array_type(leaf: ArrayLeaf) -> ArrayType:
    shape: tuple[Dim, ...] = tuple(d if isinstance(d, int) else symbol(d) for d in leaf.dims)
    if leaf.layout == "A":
        return ArrayType(leaf.dtype, shape, leaf.order)
    order = tuple(range(len(shape)))
    return ArrayType(leaf.dtype, shape, order if leaf.layout == "C" else order[::-1])


def specialize_captured(
    k: int, x: Any, name: str, seen: dict[str, list[tuple[int, ...]]], s: Specialization
) -> dict[str, int]:
    """Add leaf `k`, found outside the arguments: an array, a number, or an owner of stores.

    Gives its size symbols with their values. Raises TraceError for arrays that graphs cannot hold.
    """
    if not isinstance(x, (np.ndarray, np.generic)) and type(x) not in _SCALARS:
        s.leaves.append(OfClass(type(x)))
        s.types.append(None)
        return {}
    leaf_key(x)
    if type(x) in _SCALARS:
        kind = _SCALARS[type(x)]
        s.leaves.append(ScalarLeaf(kind))  # type: ignore[arg-type]
        s.types.append(PyScalar(kind))
        return {}
    if not isinstance(x, np.ndarray):
        s.leaves.append(NpScalarLeaf(x.dtype))
        s.types.append(NpScalar(x.dtype))
        return {}
    shapes = seen.setdefault(name, [])
    if x.shape not in shapes:
        shapes.append(x.shape)
    sizes: dict[str, int] = {}
    dims: list[int | str] = []
    for axis, n in enumerate(x.shape):
        varies = any(len(other) == x.ndim and other[axis] != n for other in shapes)
        if varies and n >= 2:
            sizes[f"g{k}_{axis}"] = n
            dims.append(f"g{k}_{axis}")
        else:
            dims.append(n)
    leaf = _array_leaf(k, x, tuple(dims), s.strides)
    s.leaves.append(leaf)
    s.types.append(_array_type(leaf))
    s.sizes.update(sizes)
    return sizes
