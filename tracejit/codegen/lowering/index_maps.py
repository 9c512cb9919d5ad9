"""Elements of a fusion's values as scalar expressions: array ops by index maps, down to loads.

An index is either a tuple of sizes, one for each axis, or flat: the position in memory of a dense
array, which passes through elementwise ops unchanged, so that whole nests collapse into one loop.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import field
from typing import TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import GraphError, Where
from tracejit.ir.dims import ARITHMETIC, Dim, floordiv, mod, prod, symbol
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.kernel import (
    Call,
    Const,
    Expr,
    IndexValue,
    Let,
    Load,
    Param,
    Stmt,
    Store,
    Var,
)
from tracejit.ir.types import ArrayType, c_order, dtype_name, dtype_of, shape_of
from tracejit.ops.array.creation import Constant, Iota
from tracejit.ops.array.elementwise import Element, Elementwise, parts_dtype
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.shape import BroadcastTo, Reshape, Slice, Transpose

__all__ = ["Flat", "Index", "Lowering", "NeedsNest", "Strides", "linear"]

#: A computation of one element: asks for others, is sent them in turn, and returns it.
_Steps: TypeAlias = "Generator[tuple[Value, Index], Element, Element]"
#: Element strides of a fusion's input or result that is not dense in its type's order.
Strides: TypeAlias = Mapping[Value, tuple[Dim, ...]]


@dataclass(frozen=True)
class Flat:
    """The element at `position` in memory of a dense array of `shape`, axes in `order`.

    `reshaped` is the same place as an index of another shape, both in C order, where it is known.
    """

    position: Dim
    shape: tuple[Dim, ...]
    order: tuple[int, ...]
    reshaped: tuple[tuple[Dim, ...], tuple[Dim, ...]] | None = None

    def unravel(self) -> tuple[Dim, ...]:
        """The index along each axis."""
        if 0 in self.shape:
            return (0,) * len(self.shape)
        out: dict[int, Dim] = {}
        rest = self.position
        # Where an axis is empty no element is ever asked for.
        axes = [a for a in self.order if self.shape[a] not in (0, 1)]
        for axis in reversed(axes[1:]):
            out[axis] = mod(rest, self.shape[axis])
            rest = floordiv(rest, self.shape[axis])
        if axes:
            out[axes[0]] = rest
        return tuple(out.get(a, 0) for a in range(len(self.shape)))


Index: TypeAlias = "tuple[Dim, ...] | Flat"


class NeedsNest(Exception):
    """A flat loop would have to take positions apart: use a nest of loops."""


def dense_strides(t: ArrayType) -> tuple[Dim, ...]:
    """Element strides of a dense array of type `t`."""
    out: list[Dim] = [0] * t.ndim
    step: Dim = 1
    for axis in reversed(t.order):
        out[axis] = step
        step = step * t.shape[axis]
    return tuple(out)


def linear(index: tuple[Dim, ...], strides: Sequence[Dim]) -> Dim:
    out: Dim = 0
    for i, s in zip(index, strides, strict=True):
        out = out + i * s
    return out


@dataclass
class LoopBody:
    """Statements of one loop body, and the elements already bound in it."""

    body: list[Stmt] = field(default_factory=list)
    known: dict[tuple[Value, Index], Element] = field(default_factory=dict)


class Lowering:
    def __init__(
        self, region: Graph, strides: Strides, flat: bool, overwrites: Mapping[Value, Value]
    ) -> None:
        self.region = region
        self.strides = strides
        self.flat = flat
        self.producer = region.producers()
        self.buffer: dict[Value, str] = {}
        self.params: list[Param] = []
        self.scalars: list[Var] = []
        self.literals: dict[Value, Element] = {}
        self.scope = LoopBody()
        self.loops = 0
        self.names = 0
        #: The place in the user's source that is being lowered.
        self.where: Where | None = None
        self.outputs: dict[Value, str] = {}
        #: Variables of reductions that can count quotients of theirs: by divisor, the names.
        self.counting: dict[str, dict[Dim, str]] = {}
        given = set(overwrites.values())
        for k, v in enumerate(region.inputs):
            if v not in given:
                self._declare_input(v, v.name or f"a{k}")
        for v, old in overwrites.items():
            if old in strides:
                self.strides = {v: strides[old], **self.strides}
            self.buffer[old] = self.output(v)

    def _unique(self, name: str) -> str:
        taken = {p.name for p in self.params} | {s.name for s in self.scalars}
        name = "".join(c if c.isalnum() or c == "_" else "_" for c in name)
        while name in taken:
            name += "_"
        return name

    def _declare_input(self, v: Value, name: str) -> None:
        dtype = dtype_name(dtype_of(v.type))
        name = self._unique(f"{name}_in")
        if isinstance(v.type, ArrayType):
            self.buffer[v] = name
            self.params.append(self._param(name, dtype, v.type, self.strides.get(v), False))
            return
        parts = (f"{name}_re", f"{name}_im") if dtype in ("c64", "c128") else (name,)
        variables = [Var(p, parts_dtype(dtype)) for p in parts]
        self.scalars += variables
        self.literals[v] = (variables[0], variables[1]) if len(parts) == 2 else variables[0]

    def _param(
        self, name: str, dtype: str, t: ArrayType, strides: tuple[Dim, ...] | None, output: bool
    ) -> Param:
        """Buffers are flat: the kernel computes positions itself. Complex elements are two."""
        size: Dim = prod(t.shape)
        if strides is not None:
            size = 1 + linear(tuple(d - 1 for d in t.shape), strides)
        scale = 2 if dtype in ("c64", "c128") else 1
        return Param(name, parts_dtype(dtype), (size * scale,), None, output)

    def name(self, stem: str = "t") -> str:
        """A fresh name."""
        self.names += 1
        return f"{stem}{self.names}"

    def let(self, expr: Expr) -> Expr:
        """Bind an expression in the current body."""
        if isinstance(expr, (Var, Const)):
            return expr
        name = self.name()
        self.scope.body.append(Let(name, expr.dtype, expr, self.where))
        return Var(name, expr.dtype)

    def let_element(self, element: Element) -> Element:
        """Bind both parts."""
        if isinstance(element, tuple):
            return self.let(element[0]), self.let(element[1])
        return self.let(element)

    # Elements ---------------------------------------------------------------------------------

    def element(self, v: Value, index: Index) -> Element:
        """The element of `v` at `index`, bound in the current body.

        A fusion may be as long as the program, so what is under way is kept on a list: Python's
        own stack would overflow.
        """
        if self.where is None and v in self.producer:
            self.where = self.producer[v].where
        found = self._known(v, index)
        under_way: list[tuple[Value, Index, _Steps]] = []
        wanted = v, index
        while found is None or under_way:
            if found is None:
                under_way.append((*wanted, self._compute(*wanted)))
            try:
                steps = under_way[-1][2]
                wanted = next(steps) if found is None else steps.send(found)
                found = self._known(*wanted)
            except StopIteration as end:
                v, index, _ = under_way.pop()
                node = self.producer.get(v)
                self.where = self.where if node is None else node.where
                found = self.scope.known[v, index] = self.let_element(end.value)
        return found

    def _known(self, v: Value, index: Index) -> Element | None:
        return self.literals[v] if v in self.literals else self.scope.known.get((v, index))

    def _compute(self, v: Value, index: Index) -> _Steps:
        """Yields the elements that it needs one by one, is sent each, and returns its own."""
        if v in self.buffer and v not in self.producer:
            return self.load(v, index)
        node = self.producer[v]
        if isinstance(node.op, Elementwise):
            dtypes = [dtype_name(dtype_of(i.type)) for i in node.inputs]
            args: list[Element] = []
            for operand in node.inputs:
                args.append((yield operand, index))
            return node.op.scalar(tuple(args), dtypes, dtype_name(dtype_of(v.type)))
        if isinstance(node.op, Constant):
            self.literals[v] = _literal(node)
            return self.literals[v]
        if isinstance(node.op, Iota):
            (i,) = self._tuple(index)
            return _cast(IndexValue(i), dtype_name(dtype_of(v.type)))
        if isinstance(node.op, Gather):
            index = self._tuple(index)
            places: list[Dim] = []
            first = len(shape_of(node.inputs[1].type))
            for at, n in zip(node.inputs[1:], shape_of(node.inputs[0].type), strict=False):
                known = self._number(at, index[:first]) if "inside" in node.attrs else None
                if known is None:
                    known = self.place(node, (yield at, index[:first]), n)
                places.append(known)
            return (yield node.inputs[0], (*places, *index[first:]))
        return (yield node.inputs[0], self._map(node, index))

    def _number(self, v: Value, index: Index) -> Dim | None:
        """A whole number that is made of indices and sizes alone; None for any other."""
        node = self.producer.get(v)
        if node is None or dtype_name(dtype_of(v.type)) != "i64":
            return None
        if isinstance(node.op, Iota):
            return self._tuple(index)[0]
        if isinstance(node.op, Constant):
            value = node.attrs["value"]
            return value if type(value) is int else None
        if isinstance(node.op, (BroadcastTo, Reshape, Slice, Transpose)):
            source = node.inputs[0]
            whole = isinstance(source.type, ArrayType)
            return self._number(source, self._map(node, index) if whole else ())
        found = ARITHMETIC.get(node.op.arithmetic)
        if found is None:
            return None
        a, b = (self._number(x, index) for x in node.inputs)
        return None if a is None or b is None else found(a, b)

    def load(self, v: Value, index: Index) -> Element:
        """An element from memory."""
        return _load(self.buffer[v], self._position(v, index), dtype_name(dtype_of(v.type)))

    def stored(self, v: Value, index: Index) -> Element:
        """An element of a result as it is now."""
        return _load(self.output(v), self._position(v, index), dtype_name(dtype_of(v.type)))

    def _position(self, v: Value, index: Index) -> Dim:
        """Where an element of an array lies in its memory."""
        t = v.type
        assert isinstance(t, ArrayType)
        strides = self.strides.get(v)
        if isinstance(index, Flat) and strides is None and _same_layout(index, t):
            return index.position
        return linear(self._tuple(index), strides or dense_strides(t))

    def _tuple(self, index: Index) -> tuple[Dim, ...]:
        from tracejit.ir.axis_groups import groups, row_steps

        if not isinstance(index, Flat):
            return index
        if sum(d != 1 for d in index.shape) <= 1:
            return index.unravel()
        if self.flat:
            raise NeedsNest
        if index.reshaped is None or 0 in index.shape:
            return index.unravel()
        places, shape = index.reshaped
        out: list[Dim] = [0] * len(index.shape)
        for axes, given in groups(index.shape, shape):
            sizes = [shape[a] for a in given]
            position = linear(tuple(places[a] for a in given), row_steps(sizes))
            for a, digit in zip(
                axes, self.digits(position, [index.shape[a] for a in axes]), strict=True
            ):
                out[a] = digit
        return tuple(out)

    def digits(self, position: Dim, sizes: Sequence[Dim]) -> tuple[Dim, ...]:
        """A position as an index of axes of those sizes, the last one counting fastest.

        By quotients alone, of which all but what was not linear before drops out of linear places.
        """

        from tracejit.ir.axis_groups import row_steps

        out: list[Dim] = []
        before: Dim = 0
        for size, weight in zip(sizes, row_steps(sizes), strict=True):
            quotient = self._quotient(position, weight)
            out.append(quotient - before * size if out else quotient)
            before = quotient
        return tuple(out)

    def _quotient(self, position: Dim, divisor: Dim) -> Dim:
        for var, known in self.counting.items():
            if position == symbol(var) and divisor != 1:
                if divisor not in known:
                    known[divisor] = self.name("q")
                return symbol(known[divisor])
        return floordiv(position, divisor)

    def _map(self, node: Node, index: Index) -> Index:
        """Where the element of an index op comes from."""
        source = node.inputs[0].type
        out = node.outputs[0].type
        assert isinstance(out, ArrayType)
        if not isinstance(source, ArrayType):
            return ()
        op, attrs = node.op, node.attrs
        if isinstance(op, Transpose):
            axes = attrs["axes"]
            if isinstance(index, Flat) and index.reshaped is not None:
                index = self._tuple(index)
            if isinstance(index, Flat):
                order = tuple(axes[a] for a in index.order)
                return Flat(index.position, source.shape, order)
            back: list[Dim] = [0] * len(axes)
            for k, a in enumerate(axes):
                back[a] = index[k]
            return tuple(back)
        if isinstance(op, Reshape):
            return self._reshape(index, source, out)
        if isinstance(op, BroadcastTo):
            if source.shape == out.shape:
                return index
            i = self._tuple(index)[out.ndim - source.ndim :]
            return tuple(0 if d == 1 else k for d, k in zip(source.shape, i, strict=True))
        if isinstance(op, Slice):
            i = self._tuple(index)
            return tuple(
                s + k * st for s, k, st in zip(attrs["start"], i, attrs["step"], strict=True)
            )
        raise GraphError(f"{op.name} has no index map")

    def _reshape(self, index: Index, source: ArrayType, out: ArrayType) -> Index:
        from tracejit.ir.axis_groups import row_steps

        if source.shape == out.shape:
            return index
        if isinstance(index, Flat) and _is_c(index):
            order = c_order(source.ndim)
            return Flat(index.position, source.shape, order, index.reshaped)
        i = self._tuple(index)
        wide_in = [(k, d) for k, d in enumerate(source.shape) if d != 1]
        wide_out = [(k, d) for k, d in enumerate(out.shape) if d != 1]
        if [d for _, d in wide_in] == [d for _, d in wide_out]:
            result: list[Dim] = [0] * source.ndim
            for (a, _), (b, _) in zip(wide_in, wide_out, strict=True):
                result[a] = i[b]
            return tuple(result)
        position = linear(i, row_steps(out.shape))
        return Flat(position, source.shape, c_order(source.ndim), (i, out.shape))

    def place(self, node: Node, index: Element, size: Dim, checked: bool = False) -> Dim:
        """An index of a gather or scatter, counted from the beginning of its axis.

        `checked`: it is known to be in range.
        """
        assert not isinstance(index, tuple)
        n = IndexValue(size)
        if node.attrs.get("checked", True) and not checked:
            place = Call("wrap_index", (index, n), "i64")
        else:
            negative = Call("less", (index, Const(0, "i64")), "b1")
            place = Call("select", (negative, Call("add", (index, n), "i64"), index), "i64")
        name = self.name("g")
        self.scope.body.append(Let(name, "i64", place, node.where))
        return symbol(name)

    # Stores -----------------------------------------------------------------------------------

    def output(self, v: Value) -> str:
        """The output buffer of a result."""
        if v not in self.outputs:
            t = v.type
            assert isinstance(t, ArrayType)
            name = self._unique(f"o{len(self.outputs)}")
            self.outputs[v] = name
            self.params.append(self._param(name, dtype_name(t.dtype), t, self.strides.get(v), True))
        return self.outputs[v]

    def store(self, v: Value, index: Index, element: Element) -> None:
        """Write an element of a result."""
        name, position = self.output(v), self._position(v, index)
        node = self.producer.get(v)
        where = self.where if node is None else node.where
        if isinstance(element, tuple):
            self.scope.body.append(Store(name, (position * 2,), element[0], where))
            self.scope.body.append(Store(name, (position * 2 + 1,), element[1], where))
        else:
            self.scope.body.append(Store(name, (position,), element, where))

    def loop_var(self) -> str:
        """A fresh loop variable."""
        self.loops += 1
        return f"i{self.loops - 1}"

    def nested(self) -> LoopBody:
        """Enter a new body; what enclosing bodies have bound stays known."""
        outer = self.scope
        self.scope = LoopBody([], dict(outer.known))
        return outer


def _literal(node: Node) -> Element:
    value = node.attrs["value"]
    dtype = dtype_name(dtype_of(node.outputs[0].type))
    if dtype in ("c64", "c128"):
        value = complex(value)
        return Const(value.real, parts_dtype(dtype)), Const(value.imag, parts_dtype(dtype))
    return Const(value, dtype)


def _cast(expr: Expr, dtype: str) -> Element:
    to = parts_dtype(dtype)
    real = expr if expr.dtype == to else Call("cast", (expr,), to)
    return (real, Const(0.0, to)) if to != dtype else real


def _load(buffer: str, position: Dim, dtype: str) -> Element:
    if dtype in ("c64", "c128"):
        part = parts_dtype(dtype)
        return (
            Load(buffer, (position * 2,), part),
            Load(buffer, (position * 2 + 1,), part),
        )
    return Load(buffer, (position,), dtype)


def _same_layout(index: Flat, t: ArrayType) -> bool:
    if index.shape != t.shape:
        return False
    wide = [a for a in index.order if t.shape[a] != 1]
    return wide == [a for a in t.order if t.shape[a] != 1]


def _is_c(index: Flat) -> bool:
    wide = [a for a in index.order if index.shape[a] != 1]
    return wide == sorted(wide)
