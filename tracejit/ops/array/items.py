"""Single elements at computed places: what loops over elements read and write, without an array.

    read_item(x, i, at=(None, k))      x[i, k] as a NumPy scalar
    write_item(x, v, i, at=(None, k))  x with v there

`at` has one entry for each axis: a size expression, which lies inside the axis, or None, which
takes the next index operand. An index operand counts from the end where it is negative; outside
the axis it bails out. With `checked=False` none is outside: compiled code relies on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Bailout, GraphError
from tracejit.ir.dims import Poly
from tracejit.ir.graph import Attrs, Value
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, PYINT, ArrayType, NpScalar, Type
from tracejit.ops.checks import array_of, only_attrs
from tracejit.ops.rules.indexing import ReadItemRules, WriteItemRules
from tracejit.ops.rules.indexing_batch import batched_read, batched_write
from tracejit.ops.samples import LAYOUTS, array

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__: list[str] = []


def _check_place(name: str, x: ArrayType, indices: Sequence[Type], attrs: Attrs) -> None:
    only_attrs(name, attrs, "at", optional=("checked",))
    at = attrs["at"]
    if not isinstance(at, tuple) or len(at) != x.ndim:
        raise GraphError(f"{name}: at={at!r} needs one entry for each axis of {x}")
    for d, n in zip(at, x.shape, strict=True):
        if type(d) is int:
            require(d >= 0, f"{name}: the place {d} is negative")
            require(type(n) is not int or d < n, f"{name}: the place {d} in an axis of {n}")
        elif d is not None and not isinstance(d, Poly):
            raise GraphError(f"{name}: {d!r} is no place")
    count = sum(d is None for d in at)
    require(len(indices) == count, f"{name}: {len(indices)} indices for at={at!r}")
    fits = all(t in (PYINT, NpScalar(DTYPES["i64"])) for t in indices)
    require(fits, f"{name}: {', '.join(map(str, indices))} are not indices")


def _place(shape: tuple[int, ...], indices: Sequence[Any], attrs: Attrs) -> tuple[int, ...]:
    """The place in an array of `shape`. Raises Bailout where it is outside."""
    rest = iter(indices)
    out = []
    for d, n in zip(attrs["at"], shape, strict=True):
        i = int(next(rest)) if d is None else d
        if not (-n if d is None else 0) <= i < n:
            raise Bailout(f"index {i} is out of bounds for an axis of {n}")
        out.append(i)
    return tuple(out)


def _samples() -> list[tuple[Any, list[Any], dict[str, Any]]]:
    out: list[tuple[Any, list[Any], dict[str, Any]]] = []
    for layout in LAYOUTS:
        x = array("f64", (3, 4), layout)
        out += [
            (x, [], {"at": (2, 1)}),
            (x, [-1], {"at": (None, 3)}),
            (x, [np.int64(2), -4], {"at": (None, None)}),
            (x, [np.int64(-3), 3], {"at": (None, None), "checked": False}),
        ]
    for dtype in ("b1", "i8", "f16", "c64", "c128"):
        out.append((array(dtype, (5,)), [3], {"at": (None,)}))
    return [*out, (array("f64", ()), [], {"at": ()})]


@register
class ReadItem(ReadItemRules, Op):
    """One element of an array, as a NumPy scalar."""

    name: ClassVar[str] = "read_item"
    kind: ClassVar[str] = "index"
    checks_index: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        require(inputs, "read_item takes an array")
        x = array_of(self.name, inputs[0])
        _check_place(self.name, x, inputs[1:], attrs)
        return (NpScalar(x.dtype),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        x, *indices = inputs
        return (x[_place(x.shape, indices, attrs)],)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (batched_read(c, at),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([x, *indices], attrs) for x, indices, attrs in _samples()]


@register
class WriteItem(WriteItemRules, Op):
    """An array with one element replaced by a NumPy scalar of its dtype, in its memory order."""

    name: ClassVar[str] = "write_item"
    kind: ClassVar[str] = "index"
    updates: ClassVar[bool] = True
    checks_index: ClassVar[bool] = True
    reader: ClassVar[str] = "read_item"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        require(len(inputs) >= 2, "write_item takes an array and a value")
        x, v = array_of(self.name, inputs[0]), inputs[1]
        require(v == NpScalar(x.dtype), f"write_item: {v} is no element of {x}")
        _check_place(self.name, x, inputs[2:], attrs)
        return (x,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        x, v = inputs[:2]
        out = x.copy(order="K")
        out[self.replaced(inputs, attrs)] = v
        return (out,)

    def replaced(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return _place(inputs[0].shape, inputs[2:], attrs)

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return (batched_write(c, at),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([x, x.dtype.type(1), *indices], attrs) for x, indices, attrs in _samples()]
