"""What derivative rules are written with: the node to be differentiated, and arithmetic on values.

An op's rules (`Op.jvp`, `Op.vjp`) are given `c`, a `DerivativeBuilder`, which records nodes where
the derivative is computed, and `at`, a `NodeAdaptor`, the node as it is seen from there. The
tangent and the cotangent of a value have its dtype and shape; those of Python's floats and complex
numbers are NumPy scalars of f64 and c128, since derivatives follow IEEE arithmetic and raise
nothing. None stands for zero. Integers, booleans and None have no derivative.

Complex numbers: a vjp is the transpose of the jvp under the pairing Re(sum(cotangent * tangent)),
without conjugation. So the gradient of a real function of z = x + iy is du/dx - i du/dy, and a
holomorphic function's derivative simply multiplies. This is JAX's convention; PyTorch's gradient is
the complex conjugate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Attr, ConstArray, Graph, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import (
    DTYPES,
    TOKEN,
    ArrayType,
    NpScalar,
    PyScalar,
    Type,
    c_order,
    dtype_name,
    dtype_of,
    shape_of,
)

__all__ = [
    "DerivativeBuilder",
    "Into",
    "NoTangent",
    "NodeAdaptor",
    "Zeroed",
    "differentiable",
    "tangent_type",
]


def differentiable(t: Type) -> bool:
    """Whether values of a type have derivatives."""
    return isinstance(t, (ArrayType, NpScalar, PyScalar)) and t.dtype.kind in "fc"


def tangent_type(t: Type) -> Type:
    """The type of the tangents and cotangents of values of a differentiable type."""
    return NpScalar(t.dtype) if isinstance(t, PyScalar) else t


class Into:
    """A contribution to some elements of a cotangent, which is added in place.

    `add(c, whole, value)` gives the whole with `value` added where it belongs. It may be computed
    from any layout of `whole`, and has the shape of that.
    """

    __slots__ = ("add", "value")

    def __init__(
        self, value: Value, add: Callable[[DerivativeBuilder, Value, Value], Value]
    ) -> None:
        self.value, self.add = value, add


class NoTangent:
    """In place of a result's tangent: there is no rule for it, and why."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Zeroed:
    """The cotangent `whole` with zeros in the slice of the attributes `attrs`.

    They are written when the cotangent is read, or what is added there is: until then `read`, the
    elements of `whole` in the slice, need no memory of their own.
    """

    __slots__ = ("attrs", "read", "whole")

    def __init__(self, whole: Value, attrs: Mapping[str, Attr], read: Value | None) -> None:
        self.whole, self.attrs, self.read = whole, dict(attrs), read

    def made(self, c: DerivativeBuilder) -> Value:
        """The cotangent."""
        assert isinstance(self.whole.type, ArrayType)
        nothing = c.full(ArrayType(self.whole.type.dtype, self.attrs["size"]), 0)
        return c.op("update_slice", self.whole, nothing, **self.attrs)


class NodeAdaptor:
    """A node under differentiation: its attributes, types and values, where the rule computes.

    `attrs` and the types have their sizes in the terms of that place. A primal value may have to
    be saved or computed again to be had there: a rule asks only for those that it needs.
    """

    def __init__(
        self,
        node: Node,
        attrs: Mapping[str, Attr],
        inputs: Sequence[Type],
        outputs: Sequence[Type],
        primal: Callable[[Value], Value],
        c: DerivativeBuilder,
        wanted: Sequence[bool],
        producers: Mapping[Value, Node] | None = None,
    ) -> None:
        self.node, self.op = node, node.op
        self._producers = producers or {}
        self.attrs, self.inputs, self.outputs = attrs, tuple(inputs), tuple(outputs)
        #: For each operand whether its cotangent is asked for.
        self.wanted = tuple(wanted)
        self._primal = primal
        #: Where the rule records nodes.
        self.c = c

    def x(self, k: int) -> Value:
        """Operand k; a Python number as a NumPy scalar."""
        return self.c.number(self._primal(self.node.inputs[k]))

    def is_transposed(self, k: int, of: int) -> bool:
        """Whether operand k is known to be operand `of` with its last two axes swapped."""
        made = self._producers.get(self.node.inputs[k])
        if made is None or made.op.name != "transpose":
            return False
        axes = made.attrs["axes"]
        n = len(axes)
        swapped = n >= 2 and axes == (*range(n - 2), n - 1, n - 2)
        return swapped and made.inputs[0] is self.node.inputs[of]

    def without_factor(self, k: int) -> tuple[Value | None, Value]:
        """(factor, array) of operand k, an array times a number; (None, operand) of another one."""
        made = self._producers.get(self.node.inputs[k])
        for pair in (
            (made.inputs, made.inputs[::-1]) if made and made.op.arithmetic == "multiply" else ()
        ):
            spread = self._producers.get(pair[0])
            if spread and spread.op.moves and not isinstance(spread.inputs[0].type, ArrayType):
                return self.c.number(self._primal(spread.inputs[0])), self._primal(pair[1])
        return None, self.x(k)

    def y(self, k: int = 0) -> Value:
        """Result k; a Python number as a NumPy scalar."""
        return self.c.number(self._primal(self.node.outputs[k]))


class DerivativeBuilder:
    """Records nodes for derivative rules. Operands of arithmetic are of one shape and dtype."""

    def __init__(self, builder: GraphBuilder, fresh: Callable[[], str]) -> None:
        self.builder = builder
        #: Makes the name of a new size symbol.
        self.fresh = fresh
        #: The token of the last effect, where derivatives may have effects: these replace it.
        self.effects: Value | None = None
        #: Results whose tangents are not known -> why: what reads them has no derivative.
        self.unknown: dict[Value, str] = {}

    def ops(
        self,
        name: str,
        inputs: Sequence[Value],
        *,
        regions: tuple[Graph, ...] = (),
        binds: tuple[str, ...] = (),
        **attrs: Attr,
    ) -> tuple[Value, ...]:
        """Record a node; its results."""
        return self.builder.emit(OPS[name], inputs, attrs, regions=regions, binds=binds)

    def op(self, name: str, *inputs: Value, **attrs: Attr) -> Value:
        """Record a node with one result."""
        (out,) = self.ops(name, inputs, **attrs)
        return out

    # Constants and conversions --------------------------------------------------------------------

    def number(self, v: Value) -> Value:
        """A Python number as a NumPy scalar; anything else as it is."""
        if isinstance(v.type, PyScalar):
            return self.op("np_scalar", v, dtype=dtype_name(v.type.dtype))
        return v

    def full(self, t: Type, value: Any) -> Value:
        """A value of the type (a Python scalar's as a NumPy scalar) with all elements `value`."""
        t = tangent_type(t)
        dtype = dtype_of(t)
        scalar = self.op("constant", value=dtype.type(value).item(), type=dtype_name(dtype))
        return self.shaped(scalar, t)

    def constant(self, array: Any) -> Value:
        """An array of the compiler's as a constant."""
        made = ConstArray(np.asarray(array))
        t = ArrayType(made.array.dtype, made.array.shape)
        return self.op("constant", value=made, type=str(t))

    def zeros(self, t: Type) -> Value:
        """The zero tangent of a differentiable type, laid out as it says; an empty stack."""
        if t == TOKEN:
            raise TypeError("a token has no zero")
        return self.laid_out(self.full(t, 0), t)

    def ones(self, t: Type) -> Value:
        """A value of the type with all elements one."""
        return self.full(t, 1)

    def size(self, dim: Dim, dtype: np.dtype[Any]) -> Value:
        """A size as a NumPy scalar of a dtype."""
        if isinstance(dim, int):
            return self.full(NpScalar(dtype), dim)
        whole = self.op("np_scalar", self.op("dim_value", dim=dim), dtype="i64")
        return self.cast(whole, dtype)

    def cast(self, v: Value, dtype: np.dtype[Any] | str) -> Value:
        """`v` in another dtype; of a complex number that becomes real, the real part."""
        target = DTYPES[dtype] if isinstance(dtype, str) else dtype
        have = dtype_of(v.type)
        if have == target:
            return v
        if have.kind == "c" and target.kind == "f":
            return self.cast(self.op("real", v), target)
        return self.op("cast", v, dtype=dtype_name(target))

    def shaped(self, v: Value, like: Type) -> Value:
        """`v`, a scalar or an array, broadcast to the shape of a type; a scalar for a scalar's."""
        if not isinstance(like, ArrayType):
            return self.op("element", v) if isinstance(v.type, ArrayType) else v
        if isinstance(v.type, ArrayType) and v.type.shape == like.shape:
            return v
        return self.op("broadcast_to", v, shape=like.shape)

    def reshape(self, v: Value, shape: tuple[Dim, ...]) -> Value:
        """An array under another shape of as many elements; the sizes may look different."""
        assert isinstance(v.type, ArrayType)
        if v.type.shape == shape:
            return v
        if prod(shape) != v.type.size:
            return self.op("reshape", v, shape=shape, assume=True)
        return self.op("reshape", v, shape=shape)

    def transpose(self, v: Value, axes: Sequence[int]) -> Value:
        """An array with its axes permuted."""
        if tuple(axes) == c_order(len(axes)):
            return v
        return self.op("transpose", v, axes=tuple(axes))

    def swapped(self, v: Value) -> Value:
        """The transposes of a stack of matrices."""
        n = len(shape_of(v.type))
        return self.transpose(v, (*range(n - 2), n - 1, n - 2))

    def laid_out(self, v: Value, t: Type) -> Value:
        """`v` exactly as the type says: its sizes written so, its axes in that order in memory."""
        if not isinstance(t, ArrayType):
            return self.shaped(v, t)
        v = self.reshape(v, t.shape)
        assert isinstance(v.type, ArrayType)
        if v.type.order == t.order:
            return v
        turned = self.transpose(v, t.order)
        assert isinstance(turned.type, ArrayType)
        shape = turned.type.shape
        flat = self.op("reshape", turned, shape=(prod(shape),))
        back = [t.order.index(k) for k in range(t.ndim)]
        return self.transpose(self.op("reshape", flat, shape=shape), back)

    def sum_to(self, v: Value, t: Type) -> Value:
        """The cotangent `v` summed over the axes along which a value of type `t` was broadcast.

        A scalar's comes as a NumPy scalar. The sum is in the dtype of its terms, as cotangents add
        up elsewhere: NumPy has no gradient that it would have to agree with.
        """
        shape, have = shape_of(t), shape_of(v.type)
        lead = len(have) - len(shape)
        axes = [*range(lead)]
        axes += [k + lead for k, d in enumerate(shape) if d == 1 and have[k + lead] != 1]
        if axes:
            v = self.op("reduce_sum", v, axes=tuple(axes), wide=False)
        if not isinstance(t, ArrayType) or not isinstance(v.type, ArrayType):
            return self.shaped(v, t)
        return self.reshape(v, shape)

    # Arithmetic -----------------------------------------------------------------------------------

    def alike(self, a: Value, b: Value) -> tuple[Value, Value]:
        """Both in one dtype and shape: scalars are broadcast, sizes written alike."""
        dtype = np.result_type(dtype_of(a.type), dtype_of(b.type))
        a, b = self.cast(self.number(a), dtype), self.cast(self.number(b), dtype)
        if isinstance(a.type, ArrayType) and isinstance(b.type, ArrayType):
            if a.type.shape != b.type.shape and a.type.ndim == b.type.ndim:
                b = self.reshape(b, a.type.shape)
            return a, b
        if isinstance(a.type, ArrayType):
            return a, self.shaped(b, a.type)
        return (self.shaped(a, b.type) if isinstance(b.type, ArrayType) else a), b

    def add(self, a: Value, b: Value) -> Value:
        """a + b."""
        return self.op("add", *self.alike(a, b))

    def sub(self, a: Value, b: Value) -> Value:
        """a - b."""
        return self.op("subtract", *self.alike(a, b))

    def mul(self, a: Value, b: Value) -> Value:
        """a * b, by elements."""
        return self.op("multiply", *self.alike(a, b))

    def div(self, a: Value, b: Value) -> Value:
        """a / b, by elements."""
        return self.op("divide", *self.alike(a, b))

    def mul_no_nan(self, v: Value, partial: Value) -> Value:
        """v * partial, by elements, and 0 where the tangent or cotangent v is exactly 0.

        A partial derivative may be infinite or NaN where nothing asks for it: in the lane that a
        `where` does not take. Rules use this for every product with what depends on operands.
        """
        return self.op("multiply_no_nan", *self.alike(v, partial))

    def div_no_nan(self, v: Value, divisor: Value) -> Value:
        """v / divisor, by elements, and 0 where the tangent or cotangent v is exactly 0."""
        return self.op("divide_no_nan", *self.alike(v, divisor))

    def product_no_nan(self, v: Value, w: Value) -> Value:
        """v * w, by elements, of two tangents or cotangents: 0 where one is exactly 0."""
        return self.op("product_no_nan", *self.alike(v, w))

    def scale(self, a: Value, factor: complex) -> Value:
        """`a` times a number of the compiler's; a real one keeps the dtype."""
        return self.mul(a, self.full(a.type, factor))

    def neg(self, a: Value) -> Value:
        """-a."""
        return self.op("negative", a)

    def conj(self, a: Value) -> Value:
        """The complex conjugate."""
        return self.op("conjugate", a) if dtype_of(a.type).kind == "c" else a

    def where(self, condition: Value, a: Value, b: Value | float) -> Value:
        """`a` where the condition (of its shape) holds, else `b`: neither lane leaks."""
        other = b if isinstance(b, Value) else self.full(a.type, b)
        a, other = self.alike(a, other)
        if isinstance(a.type, ArrayType) and not isinstance(condition.type, ArrayType):
            condition = self.shaped(condition, a.type)
        return self.op("select", condition, a, other)

    def compare(self, name: str, a: Value, b: Value | float) -> Value:
        """A comparison by its ufunc's name."""
        other = b if isinstance(b, Value) else self.full(a.type, b)
        return self.op(name, *self.alike(a, other))

    def matmul(self, a: Value, b: Value) -> Value:
        """a @ b."""
        return self.op("matmul", a, b)

    def solve(self, a: Value, b: Value, vector: bool = False) -> Value:
        """The x with a @ x = b."""
        return self.op("solve", a, b, vector=vector)

    def sum(self, a: Value, axes: Sequence[int]) -> Value:
        """The sum over axes, which are dropped."""
        return self.op("reduce_sum", a, axes=tuple(sorted(axes))) if axes else a

    def keep_axes(self, v: Value, axes: Sequence[int], like: Type) -> Value:
        """A result of a reduction over `axes`, broadcast back to the operand's type."""
        assert isinstance(like, ArrayType)
        kept = tuple(1 if k in axes else d for k, d in enumerate(like.shape))
        return self.shaped(self.reshape(v, kept), like)
