"""Conversions between Python numbers and NumPy scalars: float(x), int(x), np.float32(x)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.graph import Attrs, Node, Value
from tracejit.ir.kernel import Call, Const, Expr
from tracejit.ir.op import register, require
from tracejit.ir.types import DTYPES, NpScalar, PyScalar, Type, dtype_of, lossless
from tracejit.ops.checks import dtype_attr, only_attrs, scalar_value, take
from tracejit.ops.python.arithmetic import SAMPLES
from tracejit.ops.python.scalar_batch import batched_rule, is_elementwise, named_operands
from tracejit.ops.python.scalar_exprs import (
    INT_MAX,
    INT_MIN,
    ZERO_F,
    ScalarRule,
    any_of,
    as_float,
    as_int,
    b1,
    f64,
    i64,
    int_const,
    least_int,
    pair_of,
    real,
    truncated,
)
from tracejit.ops.rules.partials import ElementwiseDerivative
from tracejit.ops.samples import edges

if TYPE_CHECKING:
    from tracejit.ir.batching import BatchAdaptor
    from tracejit.ir.derivatives import DerivativeBuilder

__all__: list[str] = []

_CLASSES: dict[str, type] = {"bool": bool, "int": int, "float": float, "complex": complex}
_COMPLEX = ("complex", "c64", "c128")
_FLOATS = ("float", "f16", "f32", "f64")


def _nonzero(x: Any, kind: str) -> Expr:
    if kind in _COMPLEX:
        dtype = "f32" if kind == "c64" else "f64"
        zero = Const(0.0, dtype)
        parts = [b1("not_equal", part, zero) for part in pair_of(x)]
        return b1("logical_or", *parts)
    if kind in ("bool", "b1"):
        return real(x)
    dtype = {"int": "i64", "float": "f64"}.get(kind, kind)
    return b1("not_equal", real(x), Const(0.0 if kind in _FLOATS else 0, dtype))


def _to_f64(x: Expr, kind: str) -> Expr:
    return x if kind in ("float", "f64") else f64("cast", x)


def _to_i64(x: Expr, kind: str) -> tuple[Expr, Expr | None]:
    """`x` truncated to an i64, and where it does not fit one."""
    if kind in _FLOATS:
        return truncated(_to_f64(x, kind))
    too_large = b1("greater", x, Const(INT_MAX, "u64")) if kind == "u64" else None
    return (x if kind in ("int", "i64") else i64("cast", x)), too_large


def _loses(node: Node) -> bool:
    """Whether the operand may be a number that an integer result cannot be: NaN, 300 for an i8."""
    source, to = dtype_of(node.inputs[0].type), dtype_of(node.outputs[0].type)
    return to.kind in "iu" and not lossless(source, to)


@register
class ToPyScalar(ElementwiseDerivative):
    """Python's float(x), int(x), complex(x) or bool(x), by `kind`, of a scalar.

    int(x) bails out for a NaN, an infinity and a value outside i64, and for a float of -2**63.
    """

    name: ClassVar[str] = "py_scalar"
    partials = (1,)
    kind: ClassVar[str] = "scalar"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "kind")
        x, kind = scalar_value(self.name, inputs[0]), attrs["kind"]
        require(kind in _CLASSES, f"py_scalar: {kind!r} is not a kind of number")
        valid = x.dtype.kind != "c" or kind in ("complex", "bool")
        require(valid, f"py_scalar: a complex number has no {kind}")
        return (PyScalar(kind),)

    def may_raise(self, node: Node) -> bool:
        return _loses(node)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (x,), kind = inputs, attrs["kind"]
        try:
            out = _CLASSES[kind](x)
        except (ValueError, OverflowError) as e:
            raise Bailout(str(e)) from e
        if kind == "int" and not least_int(x) <= out <= INT_MAX:
            raise Bailout("py_scalar: the int leaves 64 bits")
        return (out,)

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs
    ) -> ScalarRule:
        """As `PyOp.scalar_expr`; `kinds` has the operand's type as text, "f32" or "float"."""
        (x,), (source,), kind = args, kinds, attrs["kind"]
        if kind == "bool":
            return _nonzero(x, source), None
        if kind == "int":
            return _to_i64(real(x), source)
        if source in _COMPLEX:
            re, im = (_to_f64(p, "f32" if source == "c64" else "f64") for p in pair_of(x))
            return (re, im), None
        out = _to_f64(real(x), source)
        return ((out, ZERO_F) if kind == "complex" else out), None

    def vectorises(self, attrs: Attrs, inputs: Sequence[Type], batched: Sequence[bool]) -> bool:
        return is_elementwise(self.rule_for(attrs, inputs))

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return batched_rule(c, at, self.rule_for(at.attrs, at.inputs))

    def rule_for(self, attrs: Attrs, inputs: Sequence[Type]) -> ScalarRule:
        """`scalar_expr` of an operand that is named by its number."""
        return self.scalar_expr(named_operands(inputs), (str(inputs[0]),), attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        values = [v for vs in SAMPLES.values() for v in vs]
        values += [x for dtype in DTYPES for x in edges(dtype)]
        return [
            ([x], {"kind": kind})
            for x in values
            for kind in _CLASSES
            if kind in ("complex", "bool") or not isinstance(x, (complex, np.complexfloating))
        ]


@register
class ToNpScalar(ElementwiseDerivative):
    """A Python number as a NumPy scalar of `dtype`, as `dtype.type(x)` makes it.

    An int that the dtype does not hold bails out; a float becomes the int that int(x) gives first,
    an int becomes an f64 on its way to a float dtype.
    """

    name: ClassVar[str] = "np_scalar"
    partials = (1,)
    kind: ClassVar[str] = "scalar"

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "dtype")
        x, dtype = inputs[0], dtype_attr(self.name, attrs)
        require(isinstance(x, PyScalar), f"np_scalar takes a Python number, not {x}")
        assert isinstance(x, PyScalar)
        valid = x.kind != "complex" or dtype.kind in "cb"
        require(valid, f"np_scalar: a complex number is no {attrs['dtype']}")
        return (NpScalar(dtype),)

    def may_raise(self, node: Node) -> bool:
        return _loses(node)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        (x,), dtype = inputs, DTYPES[attrs["dtype"]]
        try:
            if dtype.kind not in "iu":
                return (dtype.type(x),)
            if int(x) < least_int(x):
                raise OverflowError("a float that does not fit")
            return (dtype.type(int(x)),)
        except (ValueError, OverflowError) as e:
            raise Bailout(str(e)) from e

    def scalar_expr(
        self, args: tuple[Any, ...], kinds: tuple[str, ...], attrs: Attrs
    ) -> ScalarRule:
        """As `PyOp.scalar_expr`; the result is of the dtype, a pair for c64 and c128."""
        (x,), (source,) = args, kinds
        name = str(attrs["dtype"])
        dtype = DTYPES[name]
        if dtype.kind == "b":
            return _nonzero(x, source), None
        if dtype.kind in "iu":
            return self._integer(real(x), source, name)
        part = {"c64": "f32", "c128": "f64"}.get(name, name)
        if source == "complex":
            re, im = (p if part == "f64" else Call("cast", (p,), part) for p in pair_of(x))
            return (re, im), None
        wide = as_float(x, source)
        out = wide if part == "f64" else Call("cast", (wide,), part)
        return ((out, Const(0.0, part)) if dtype.kind == "c" else out), None

    def _integer(self, x: Expr, source: str, name: str) -> ScalarRule:
        value, bail = _to_i64(x, source) if source == "float" else (as_int(x, source), None)
        info = np.iinfo(DTYPES[name])
        low, high = max(int(info.min), INT_MIN), min(int(info.max), INT_MAX)
        if source != "bool" and low > INT_MIN:
            bail = any_of(bail, b1("less", value, int_const(low)))
        if source != "bool" and high < INT_MAX:
            bail = any_of(bail, b1("greater", value, int_const(high)))
        return (value if name == "i64" else Call("cast", (value,), name)), bail

    def vectorises(self, attrs: Attrs, inputs: Sequence[Type], batched: Sequence[bool]) -> bool:
        return is_elementwise(self.rule_for(attrs, inputs))

    def batch(self, c: DerivativeBuilder, at: BatchAdaptor) -> Sequence[Value]:
        return batched_rule(c, at, self.rule_for(at.attrs, at.inputs))

    def rule_for(self, attrs: Attrs, inputs: Sequence[Type]) -> ScalarRule:
        """`scalar_expr` of an operand that is named by its number."""
        return self.scalar_expr(named_operands(inputs), (str(inputs[0]),), attrs)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        values = [v for vs in SAMPLES.values() for v in vs]
        values += [127, 128, -128, -129, 255, 256, 65535, 2**31, 2**62, 16777217, 300.7, -1.5]
        return [
            ([x], {"dtype": dtype})
            for x in values
            for dtype in DTYPES
            if type(x) is not complex or DTYPES[dtype].kind in "cb"
        ]
