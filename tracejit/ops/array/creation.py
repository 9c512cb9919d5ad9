"""Ops without array operands: constants, index ranges, and sizes as values and back."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.dims import Poly
from tracejit.ir.graph import Attrs, ConstArray, Graph
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import (
    DTYPES,
    PYINT,
    ArrayType,
    NpScalar,
    PyScalar,
    Type,
    type_from_ast,
    type_sizes,
)
from tracejit.ops.checks import dtype_attr, only_attrs, take
from tracejit.ops.samples import edges

__all__: list[str] = []

_PYTHON_TYPES: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


@lru_cache(maxsize=1024)
def _parse_type(text: str) -> Type | None:
    try:
        return type_from_ast(ast.parse(text, mode="eval").body)
    except (SyntaxError, ValueError):
        return None


def _fits(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a Python number is exactly a value of `dtype`."""
    if type(value) is not _PYTHON_TYPES[dtype.kind]:
        return False
    if isinstance(value, int) and dtype.kind in "iu":
        info = np.iinfo(dtype)
        return bool(info.min <= value <= info.max)
    with np.errstate(all="ignore"):
        back = dtype.type(value).item()
    return back == value or repr(back) == repr(value)


@register
class Constant(Op):
    """A value known when the graph is made; `type` is its type as text.

    `value` is a `ConstArray` for an array, a Python number for scalars of either kind.
    """

    name: ClassVar[str] = "constant"
    kind: ClassVar[str] = "index"
    constant: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 0)
        only_attrs(self.name, attrs, "value", "type")
        value, text = attrs["value"], attrs["type"]
        t = _parse_type(text) if isinstance(text, str) else None
        valid = False
        if isinstance(t, ArrayType):
            valid = (
                isinstance(value, ConstArray)
                and not type_sizes(t)
                and t.is_c
                and (value.array.dtype, value.array.shape) == (t.dtype, t.shape)
            )
        elif isinstance(t, (NpScalar, PyScalar)):
            valid = _fits(value, t.dtype)
        require(valid, f"constant: {value!r} is not a value of type {text!r}")
        assert t is not None
        return (t,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        value, t = attrs["value"], _parse_type(attrs["type"])
        if isinstance(value, ConstArray):
            return (value.array.copy(),)
        return (t.dtype.type(value) if isinstance(t, NpScalar) else value,)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for dtype in DTYPES:
            values = edges(dtype)
            shaped: list[Any] = [values, values[0], values[:0], values.reshape(1, -1)]
            for x in map(np.asarray, shaped):
                attrs = {"value": ConstArray(x), "type": str(ArrayType(x.dtype, x.shape))}
                out.append(([], attrs))
            out += [([], {"value": v.item(), "type": dtype}) for v in values]
        python: list[tuple[Any, str]] = [
            (True, "bool"),
            (-(2**63), "int"),
            (-0.0, "float"),
            (float("nan"), "float"),
            (complex(-0.0, float("inf")), "complex"),
        ]
        return [*out, *(([], {"value": v, "type": kind}) for v, kind in python)]


@register
class Iota(Op):
    """0, 1, ..., size - 1 in `dtype`, which wraps or rounds as a cast from i64 does."""

    name: ClassVar[str] = "iota"
    kind: ClassVar[str] = "index"
    fused: ClassVar[str] = "index"
    constant: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 0)
        only_attrs(self.name, attrs, "size", "dtype")
        size, dtype = attrs["size"], dtype_attr(self.name, attrs)
        valid = isinstance(size, Poly) or (type(size) is int and size >= 0)
        require(valid and dtype.kind != "b", f"iota: size {size!r}, dtype {attrs['dtype']!r}")
        return (ArrayType(dtype, (size,)),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        if attrs["size"] < 0:
            raise Bailout(f"a negative size: {attrs['size']}")
        return (np.arange(attrs["size"]).astype(DTYPES[attrs["dtype"]]),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        dtypes = [d for d in DTYPES if d != "b1"]
        return [([], {"size": n, "dtype": d}) for d in dtypes for n in (0, 1, 300)]


@register
class DimValue(Op):
    """The value of the size expression `dim`, as a Python int."""

    name: ClassVar[str] = "dim_value"
    kind: ClassVar[str] = "scalar"
    constant: ClassVar[bool] = True

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 0)
        only_attrs(self.name, attrs, "dim")
        dim = attrs["dim"]
        require(isinstance(dim, Poly) or type(dim) is int, f"dim_value: {dim!r} is not a size")
        return (PYINT,)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (attrs["dim"],)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([], {"dim": n}) for n in (0, 1, 12345, -3)]


@register
class BindSize(Op):
    """Give the one size symbol in `binds` the value of an integer, which must not be negative.

    It has no outputs, so `evaluate` gives the value of its symbol alone; what reads the symbol
    decides whether it is needed.
    """

    name: ClassVar[str] = "bind_size"
    kind: ClassVar[str] = "control"
    pure: ClassVar[bool] = False
    constant: ClassVar[bool] = True

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([n], {}) for n in (0, 1, 12345, np.int64(7))]

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs)
        valid = inputs[0] in (PYINT, NpScalar(DTYPES["i64"]))
        require(valid, f"bind_size takes an i64, not {inputs[0]}")
        require(len(binds) == 1, f"bind_size binds one size, not {binds}")
        return ()

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        if inputs[0] < 0:
            raise Bailout(f"a negative size: {inputs[0]}")
        return (int(inputs[0]),)
