"""A `parallel_loop` becomes a kernel: a loop whose iterations are threads, with all inside of them.

Inner loops that count and are independent themselves are further loops of the kernel; any other is
a `While` of the thread, and a branch an `If`. Arrays are buffers, of which each thread reads and
writes its own elements; scalars are bound as they come. What all threads update, in any order, they
update by atomic operations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.codegen.cuda.atomics import update_by
from tracejit.codegen.cuda.structure import symbols_of
from tracejit.codegen.lowering.index_maps import dense_strides, linear
from tracejit.codegen.program.scalars import scalar_rule
from tracejit.ir.dims import Dim, prod, symbol
from tracejit.ir.graph import Graph, Node, Value, attr_substitute
from tracejit.ir.kernel import (
    Call,
    Carry,
    Check,
    Choice,
    Const,
    Expr,
    For,
    If,
    IndexValue,
    Kernel,
    Let,
    Load,
    Param,
    Stmt,
    Store,
    Var,
    While,
    expressions,
    inner_bodies,
)
from tracejit.ir.types import ArrayType, dtype_name, dtype_of
from tracejit.ops.array.creation import Constant, DimValue
from tracejit.ops.array.elementwise import Element, parts_dtype
from tracejit.ops.array.items import ReadItem, WriteItem
from tracejit.ops.array.shape import Element as ElementOp
from tracejit.ops.control.effects import Check as CheckOp
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.passes.loops.parallel import independence
from tracejit.passes.loops.updates import Update, updates_of

__all__ = ["LoweredLoop", "lower_parallel", "may_fail"]


@dataclass(frozen=True)
class LoweredLoop:
    """A kernel, with the numbers of the node's inputs that are its buffers and its scalars."""

    kernel: Kernel
    buffers: tuple[int, ...]
    scalars: tuple[int, ...]


def may_fail(body: Sequence[Stmt]) -> bool:
    """Whether statements hold a check, of an index for one."""
    for s in body:
        if isinstance(s, Check) or any(map(may_fail, inner_bodies(s))):
            return True
        stack, seen = list(expressions(s)), set[int]()
        while stack:
            e = stack.pop()
            if isinstance(e, Call) and id(e) not in seen:
                seen.add(id(e))
                if e.fn == "wrap_index":
                    return True
                stack += e.args
    return False


def lower_parallel(
    node: Node, strides: Mapping[int, tuple[Dim, ...]], name: str = "loop"
) -> LoweredLoop:
    """The kernel of a `parallel_loop`; `strides` are those of inputs that are not dense, by number.

    Raises NotImplementedError for a node without an expression.
    """
    low = _Lowering()
    (body,) = node.regions
    (given,) = node.attrs["sizes"]
    values: dict[Value, _Value] = {}
    buffers: list[int] = []
    scalars: list[int] = []
    for k, (inner, outer) in enumerate(zip(body.inputs, node.inputs, strict=True)):
        if isinstance(outer.type, ArrayType):
            values[inner] = low.buffer(outer, f"{inner.name or 'a'}_{k}", strides.get(k))
            buffers.append(k)
            if k in node.attrs["updated"]:
                low.updated.add(low.params[-1].name)
        else:
            values[inner] = low.scalar(outer, f"{inner.name or 'x'}_{k}")
            scalars.append(k)
    var = low.name("i")
    sizes = {body.sizes[0]: symbol(var), **dict(zip(body.sizes[1:], given[1:], strict=True))}
    statements = low.region(body, values, sizes)
    loop = For(var, node.attrs["trips"], tuple(statements))
    kernel = Kernel(
        name, tuple(low.params), tuple(sorted(low.sizes(loop))), tuple(low.scalars), (loop,)
    )
    return LoweredLoop(kernel, tuple(buffers), tuple(scalars))


@dataclass(frozen=True)
class _Buffer:
    """Memory of an array, in any of its states."""

    name: str
    dtype: str
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]


_Value: TypeAlias = "Element | _Buffer"


class _Lowering:
    def __init__(self) -> None:
        self.params: list[Param] = []
        self.scalars: list[Var] = []
        self._count = 0
        self._bound: set[str] = set()
        #: The buffers that threads share, and the updates of regions by their nodes.
        self.updated: set[str] = set()
        self._updates: dict[Node, Update] = {}

    def name(self, stem: str = "t") -> str:
        """A fresh name."""
        self._count += 1
        name = f"{stem}{self._count}"
        self._bound.add(name)
        return name

    def buffer(self, v: Value, name: str, strides: tuple[Dim, ...] | None) -> _Buffer:
        """A parameter for an array."""
        t = v.type
        assert isinstance(t, ArrayType)
        dtype = dtype_name(t.dtype)
        name = f"{_word(name)}_at"
        part = parts_dtype(dtype)
        self.params.append(Param(name, part, (prod(t.shape) * (1 if part == dtype else 2),)))
        return _Buffer(name, dtype, t.shape, strides or dense_strides(t))

    def scalar(self, v: Value, name: str) -> Element:
        """Parameters for a scalar, one for each part."""
        dtype = dtype_name(dtype_of(v.type))
        part = parts_dtype(dtype)
        stems = (_word(name),) if part == dtype else (f"{_word(name)}_re", f"{_word(name)}_im")
        variables = [Var(f"{stem}_in", part) for stem in stems]
        self.scalars += variables
        return variables[0] if len(variables) == 1 else (variables[0], variables[1])

    def sizes(self, loop: For) -> set[str]:
        """The sizes that a kernel is given."""
        names = {v.name for v in self.scalars}
        return symbols_of((loop,)) - self._bound - names

    # Regions ------------------------------------------------------------------------------------

    def region(
        self, region: Graph, given: Mapping[Value, _Value], sizes: Mapping[str, Dim]
    ) -> list[Stmt]:
        """The statements of a region; what its values are is added to `given`."""
        values = given if isinstance(given, dict) else dict(given)
        body: list[Stmt] = []
        for update in updates_of(region):
            self._updates |= dict.fromkeys((update.read, update.step, update.write), update)
        for node in region.nodes:
            self._node(node, values, sizes, body)
        return body

    def _node(
        self, node: Node, values: dict[Value, _Value], sizes: Mapping[str, Dim], body: list[Stmt]
    ) -> None:
        op = node.op
        if (update := self._updates.get(node)) is not None:
            buffer = values[update.read.inputs[0]]
            assert isinstance(buffer, _Buffer)
            if buffer.name in self.updated:
                self._update(node, update, buffer, values, sizes, body)
                return
        match op:
            case Constant():
                values[node.outputs[0]] = _literal(node)
            case DimValue():
                dim = attr_substitute(node.attrs["dim"], sizes)
                values[node.outputs[0]] = IndexValue(dim)
            case ReadItem() | ElementOp():
                buffer = values[node.inputs[0]]
                assert isinstance(buffer, _Buffer)
                place = self._place(node, buffer, node.inputs[1:], values, sizes, body)
                dtype = parts_dtype(buffer.dtype)
                parts = [self._let(body, Load(buffer.name, (p,), dtype)) for p in place]
                values[node.outputs[0]] = _element(parts)
            case WriteItem():
                buffer = values[node.inputs[0]]
                assert isinstance(buffer, _Buffer)
                place = self._place(node, buffer, node.inputs[2:], values, sizes, body)
                for p, part in zip(place, _parts(values[node.inputs[1]]), strict=True):
                    body.append(Store(buffer.name, (p,), part))
                values[node.outputs[0]] = buffer
            case CheckOp():
                (holds,) = _parts(values[node.inputs[0]])
                body.append(Check(Call("logical_not", (holds,), "b1")))
            case Cond():
                self._cond(node, values, sizes, body)
            case WhileLoop():
                self._loop(node, values, sizes, body)
            case _:
                self._scalar(node, values, body)

    def _update(
        self,
        node: Node,
        update: Update,
        buffer: _Buffer,
        values: dict[Value, _Value],
        sizes: Mapping[str, Dim],
        body: list[Stmt],
    ) -> None:
        """All of an update where its `write_item` is, with the checks of its `read_item`."""
        if node is not update.write:
            return
        indices = update.read.inputs[1:]
        (place,) = self._place(update.read, buffer, indices, values, sizes, body)
        (other,) = _parts(values[update.other])
        body.append(Store(buffer.name, (place,), update_by(update.step.op.name, other)))
        values[node.outputs[0]] = buffer

    def _scalar(self, node: Node, values: dict[Value, _Value], body: list[Stmt]) -> None:
        args = [values[v] for v in node.inputs]
        rule = scalar_rule(node, args)  # type: ignore[arg-type]
        if rule is None:
            raise NotImplementedError(f"{node.op.name} in a thread")
        element, bails = rule
        if bails is not None:
            body.append(Check(bails))
        values[node.outputs[0]] = _element([self._let(body, p) for p in _parts(element)])

    def _let(self, body: list[Stmt], expr: Expr) -> Expr:
        if isinstance(expr, (Var, Const)):
            return expr
        name = self.name()
        body.append(Let(name, expr.dtype, expr))
        return Var(name, expr.dtype)

    def _place(
        self,
        node: Node,
        buffer: _Buffer,
        indices: Sequence[Value],
        values: Mapping[Value, _Value],
        sizes: Mapping[str, Dim],
        body: list[Stmt],
    ) -> list[Dim]:
        """The offsets of the parts of an element."""
        rest = iter(indices)
        index: list[Dim] = []
        for d, n in zip(node.attrs.get("at", ()), buffer.shape, strict=True):
            if d is not None:
                index.append(attr_substitute(d, sizes))
                continue
            (given,) = _parts(values[next(rest)])
            size = IndexValue(n)
            if node.attrs.get("checked", True):
                wrapped = Call("wrap_index", (given, size), "i64")
            else:
                negative = Call("less", (given, Const(0, "i64")), "b1")
                from_end = Call("add", (given, size), "i64")
                wrapped = Call("select", (negative, from_end, given), "i64")
            name = self.name("g")
            body.append(Let(name, "i64", wrapped))
            index.append(symbol(name))
        offset = linear(tuple(index), buffer.strides)
        if parts_dtype(buffer.dtype) == buffer.dtype:
            return [offset]
        return [offset * 2, offset * 2 + 1]

    def _cond(
        self, node: Node, values: dict[Value, _Value], sizes: Mapping[str, Dim], body: list[Stmt]
    ) -> None:
        (predicate,) = _parts(values[node.inputs[0]])
        bodies: list[list[Stmt]] = []
        ends: list[list[_Value]] = []
        for region, given in zip(node.regions, node.attrs["sizes"], strict=True):
            inner = {v: values[x] for v, x in zip(region.inputs, node.inputs[1:], strict=True)}
            table = dict(zip(region.sizes, (attr_substitute(d, sizes) for d in given), strict=True))
            bodies.append(self.region(region, inner, table))
            ends.append([inner[v] for v in region.outputs])
        results: list[Choice] = []
        for out, then, orelse in zip(node.outputs, *ends, strict=True):
            if isinstance(then, _Buffer):
                values[out] = then
                continue
            parts: list[Expr] = []
            for a, b in zip(_parts(then), _parts(orelse), strict=True):
                name = self.name("m")
                results.append(Choice(name, a.dtype, a, b))
                parts.append(Var(name, a.dtype))
            values[out] = _element(parts)
        body.append(If(predicate, tuple(bodies[0]), tuple(bodies[1]), tuple(results)))

    def _loop(
        self, node: Node, values: dict[Value, _Value], sizes: Mapping[str, Dim], body: list[Stmt]
    ) -> None:
        given = [values[v] for v in node.inputs]
        if (found := independence(node)) is not None:
            trips = found.trips
            outer = set(self.updated)
            for k in found.updated:
                buffer = given[k]
                assert isinstance(buffer, _Buffer)
                self.updated.add(buffer.name)
            var = self.name("i")
            region, dims = node.regions[1], node.attrs["sizes"][1]
            table = {region.sizes[0]: symbol(var)}
            table |= {
                s: attr_substitute(d, sizes)
                for s, d in zip(region.sizes[1:], dims[1:], strict=True)
            }
            inner = dict(zip(region.inputs, given, strict=True))
            statements = self.region(region, inner, table)
            self.updated = outer
            body.append(For(var, attr_substitute(trips, sizes), tuple(statements)))
            for out, v in zip(node.outputs, given, strict=False):
                values[out] = v
            self._bind(node, [attr_substitute(trips, sizes)], sizes)
            return
        count, carried = len(node.binds), node.attrs["carried"]
        carries: list[tuple[str, Expr]] = []
        names = [self.name("n") for _ in range(count)]
        for name, d in zip(names, node.attrs["sizes"][1], strict=False):
            carries.append((name, IndexValue(attr_substitute(d, sizes))))
        state: list[_Value] = []
        for v in given[:carried]:
            if isinstance(v, _Buffer):
                state.append(v)
                continue
            held = []
            for part in _parts(v):
                name = self.name("c")
                carries.append((name, part))
                held.append(Var(name, part.dtype))
            state.append(_element(held))
        bodies, ends, tables = [], [], []
        for region, dims in zip(node.regions, node.attrs["sizes"], strict=True):
            inner = dict(zip(region.inputs, (*state, *given[carried:]), strict=True))
            fixed = [attr_substitute(d, sizes) for d in dims[count:]]
            tables.append(dict(zip(region.sizes, (*map(symbol, names), *fixed), strict=True)))
            bodies.append(self.region(region, inner, tables[-1]))
            ends.append([inner[v] for v in region.outputs])
        following: list[Expr] = [
            IndexValue(attr_substitute(d, tables[1])) for d in node.regions[1].size_outputs
        ]
        for v in ends[1]:
            following += [] if isinstance(v, _Buffer) else _parts(v)
        ((test,),) = (_parts(v) for v in ends[0])
        body.append(
            While(
                tuple(
                    Carry(name, init.dtype, init, last)
                    for (name, init), last in zip(carries, following, strict=True)
                ),
                tuple(bodies[0]),
                test,
                tuple(bodies[1]),
            )
        )
        for out, v in zip(node.outputs, state, strict=True):
            values[out] = v
        self._bind(node, [symbol(name) for name in names], sizes)

    def _bind(self, node: Node, found: Sequence[Dim], sizes: Mapping[str, Dim]) -> None:
        assert isinstance(sizes, dict)
        sizes.update(zip(node.binds, found, strict=True))


def _literal(node: Node) -> Element:
    value = node.attrs["value"]
    dtype = dtype_name(dtype_of(node.outputs[0].type))
    part = parts_dtype(dtype)
    if part == dtype:
        return Const(value, dtype)
    number = complex(value)
    return Const(number.real, part), Const(number.imag, part)


def _parts(v: _Value) -> list[Expr]:
    assert not isinstance(v, _Buffer)
    return list(v) if isinstance(v, tuple) else [v]


def _element(parts: Sequence[Expr]) -> Element:
    return parts[0] if len(parts) == 1 else (parts[0], parts[1])


def _word(name: str) -> str:
    return "".join(c if c.isalnum() or c == "_" else "_" for c in name)
