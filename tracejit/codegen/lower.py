"""A fusion becomes a kernel: array ops turn into expressions of one element, index ops into index
maps.

Each materialised result is computed at an index by asking its producers, recursively, for their
element at the mapped index. An index is either a tuple of sizes, one for each axis, or flat: the
position in memory of a dense array, which passes through elementwise ops unchanged, so that whole
nests collapse into one loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tracejit.codegen.collapse import collapse
from tracejit.errors import GraphError
from tracejit.ir.dims import Dim, Poly, floordiv, free_symbols, mod, prod, symbol
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.kernel import (
    Call,
    Carry,
    Const,
    Expr,
    For,
    IndexValue,
    Kernel,
    Let,
    Load,
    Param,
    Reduce,
    Scan,
    Stmt,
    Store,
    Target,
    Var,
)
from tracejit.ir.order import reduction_order
from tracejit.ir.types import ArrayType, NpScalar, c_order, dtype_name, dtype_of
from tracejit.ops.elementwise import Element, Elementwise, parts_dtype
from tracejit.ops.reduction import Reduction, accumulator_dtype

__all__ = ["Strides", "lower_fusion"]

#: Element strides of a value that is not dense in its type's order.
Strides: TypeAlias = Mapping[Value, tuple[Dim, ...]]


@dataclass(frozen=True)
class _Flat:
    """The element at `position` in memory of a dense array of `shape`, axes in `order`."""

    position: Dim
    shape: tuple[Dim, ...]
    order: tuple[int, ...]

    def unravel(self) -> tuple[Dim, ...]:
        """The index along each axis."""
        out: dict[int, Dim] = {}
        rest = self.position
        axes = [a for a in self.order if self.shape[a] != 1]
        for axis in reversed(axes[1:]):
            out[axis] = mod(rest, self.shape[axis])
            rest = floordiv(rest, self.shape[axis])
        if axes:
            out[axes[0]] = rest
        return tuple(out.get(a, 0) for a in range(len(self.shape)))


Index: TypeAlias = "tuple[Dim, ...] | _Flat"


class _NeedsNest(Exception):
    """A flat loop would have to take positions apart: use a nest of loops."""


def dense_strides(t: ArrayType) -> tuple[Dim, ...]:
    """Element strides of a dense array of type `t`."""
    out: list[Dim] = [0] * t.ndim
    step: Dim = 1
    for axis in reversed(t.order):
        out[axis] = step
        step = step * t.shape[axis]
    return tuple(out)


def _linear(index: tuple[Dim, ...], strides: Sequence[Dim]) -> Dim:
    out: Dim = 0
    for i, s in zip(index, strides, strict=True):
        out = out + i * s
    return out


@dataclass
class _Scope:
    """Statements of one loop body, and the elements already bound in it."""

    body: list[Stmt] = field(default_factory=list)
    known: dict[tuple[Value, Index], Element] = field(default_factory=dict)


class _Lowering:
    def __init__(self, region: Graph, strides: Strides, flat: bool) -> None:
        self.region = region
        self.strides = strides
        self.flat = flat
        self.producer = region.producers()
        self.buffer: dict[Value, str] = {}
        self.params: list[Param] = []
        self.scalars: list[Var] = []
        self.literals: dict[Value, Element] = {}
        self.scope = _Scope()
        self.loops = 0
        self.names = 0
        self.outputs: dict[Value, str] = {}
        for k, v in enumerate(region.inputs):
            self._declare_input(v, v.name or f"a{k}")

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
            size = 1 + _linear(tuple(d - 1 for d in t.shape), strides)
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
        self.scope.body.append(Let(name, expr.dtype, expr))
        return Var(name, expr.dtype)

    def let_element(self, element: Element) -> Element:
        """Bind both parts."""
        if isinstance(element, tuple):
            return self.let(element[0]), self.let(element[1])
        return self.let(element)

    # Elements ---------------------------------------------------------------------------------

    def element(self, v: Value, index: Index) -> Element:
        """The element of `v` at `index`, bound in the current body."""
        if v in self.literals:
            return self.literals[v]
        key = (v, index)
        found = self.scope.known.get(key)
        if found is None:
            found = self.let_element(self._compute(v, index))
            self.scope.known[key] = found
        return found

    def _compute(self, v: Value, index: Index) -> Element:
        if v in self.buffer and v not in self.producer:
            return self.load(v, index)
        node = self.producer[v]
        if isinstance(node.op, Elementwise):
            dtypes = [dtype_name(dtype_of(i.type)) for i in node.inputs]
            args = tuple(self.element(i, index) for i in node.inputs)
            return node.op.scalar(args, dtypes, dtype_name(dtype_of(v.type)))
        if node.op.name == "constant":
            self.literals[v] = _literal(node)
            return self.literals[v]
        if node.op.name == "iota":
            (i,) = self._tuple(index)
            return _cast(IndexValue(i), dtype_name(dtype_of(v.type)))
        if node.op.name == "gather":
            return self._gather(node, self._tuple(index))
        return self.element(node.inputs[0], self._map(node, index))

    def load(self, v: Value, index: Index) -> Element:
        """An element from memory."""
        t = v.type
        assert isinstance(t, ArrayType)
        strides = self.strides.get(v)
        if isinstance(index, _Flat) and strides is None and _same_layout(index, t):
            position = index.position
        else:
            position = _linear(self._tuple(index), strides or dense_strides(t))
        return _load(self.buffer[v], position, dtype_name(t.dtype))

    def _tuple(self, index: Index) -> tuple[Dim, ...]:
        if not isinstance(index, _Flat):
            return index
        if sum(d != 1 for d in index.shape) <= 1:
            return index.unravel()
        if self.flat:
            raise _NeedsNest
        return index.unravel()

    def _map(self, node: Node, index: Index) -> Index:
        """Where the element of an index op comes from."""
        source = node.inputs[0].type
        out = node.outputs[0].type
        assert isinstance(out, ArrayType)
        if not isinstance(source, ArrayType):
            return ()
        name, attrs = node.op.name, node.attrs
        if name == "transpose":
            axes = attrs["axes"]
            if isinstance(index, _Flat):
                order = tuple(axes[a] for a in index.order)
                return _Flat(index.position, source.shape, order)
            back: list[Dim] = [0] * len(axes)
            for k, a in enumerate(axes):
                back[a] = index[k]
            return tuple(back)
        if name == "reshape":
            return self._reshape(index, source, out)
        if name == "broadcast_to":
            if source.shape == out.shape:
                return index
            i = self._tuple(index)[out.ndim - source.ndim :]
            return tuple(0 if d == 1 else k for d, k in zip(source.shape, i, strict=True))
        if name == "slice":
            i = self._tuple(index)
            return tuple(
                s + k * st for s, k, st in zip(attrs["start"], i, attrs["step"], strict=True)
            )
        raise GraphError(f"{name} has no index map")

    def _reshape(self, index: Index, source: ArrayType, out: ArrayType) -> Index:
        if source.shape == out.shape:
            return index
        if isinstance(index, _Flat) and _is_c(index):
            return _Flat(index.position, source.shape, c_order(source.ndim))
        i = self._tuple(index)
        wide_in = [(k, d) for k, d in enumerate(source.shape) if d != 1]
        wide_out = [(k, d) for k, d in enumerate(out.shape) if d != 1]
        if [d for _, d in wide_in] == [d for _, d in wide_out]:
            result: list[Dim] = [0] * source.ndim
            for (a, _), (b, _) in zip(wide_in, wide_out, strict=True):
                result[a] = i[b]
            return tuple(result)
        flat = _Flat(
            _linear(i, dense_strides(ArrayType(out.dtype, out.shape))),
            source.shape,
            c_order(source.ndim),
        )
        return flat

    def _gather(self, node: Node, index: tuple[Dim, ...]) -> Element:
        source = node.inputs[0].type
        assert isinstance(source, ArrayType)
        first = node.inputs[1].type
        b = first.ndim if isinstance(first, ArrayType) else 0
        places: list[Dim] = []
        for v, n in zip(node.inputs[1:], source.shape, strict=False):
            i = self.element(v, index[:b])
            assert not isinstance(i, tuple)
            name = self.name("g")
            wrapped = Call("wrap_index", (i, IndexValue(n)), "i64")
            self.scope.body.append(Let(name, "i64", wrapped))
            places.append(symbol(name))
        return self.element(node.inputs[0], (*places, *index[b:]))

    # Stores -----------------------------------------------------------------------------------

    def output(self, v: Value) -> str:
        """The output buffer of a result."""
        if v not in self.outputs:
            t = v.type
            assert isinstance(t, ArrayType)
            name = self._unique(f"o{len(self.outputs)}")
            self.outputs[v] = name
            self.params.append(self._param(name, dtype_name(t.dtype), t, None, True))
        return self.outputs[v]

    def store(self, v: Value, index: Index, element: Element) -> None:
        """Write an element of a result."""
        t = v.type
        assert isinstance(t, ArrayType)
        name = self.output(v)
        if isinstance(index, _Flat) and _same_layout(index, t):
            position = index.position
        else:
            position = _linear(self._tuple(index), dense_strides(t))
        if isinstance(element, tuple):
            self.scope.body.append(Store(name, (position * 2,), element[0]))
            self.scope.body.append(Store(name, (position * 2 + 1,), element[1]))
        else:
            self.scope.body.append(Store(name, (position,), element))

    def loop_var(self) -> str:
        """A fresh loop variable."""
        self.loops += 1
        return f"i{self.loops - 1}"

    def nested(self) -> _Scope:
        """Enter a new body; what enclosing bodies have bound stays known."""
        outer = self.scope
        self.scope = _Scope([], dict(outer.known))
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


def _same_layout(index: _Flat, t: ArrayType) -> bool:
    if index.shape != t.shape:
        return False
    wide = [a for a in index.order if t.shape[a] != 1]
    return wide == [a for a in t.order if t.shape[a] != 1]


def _is_c(index: _Flat) -> bool:
    wide = [a for a in index.order if index.shape[a] != 1]
    return wide == sorted(wide)


# Loop nests -------------------------------------------------------------------------------------


def _nest(loops: Sequence[tuple[str, Dim]], body: list[Stmt], vector: bool = True) -> list[Stmt]:
    """Loops, outermost first, around a body; the innermost is the vector one."""
    for depth, (var, size) in enumerate(reversed(loops)):
        body = [For(var, size, tuple(body), vector=vector and depth == 0)]
    return body


def _lower_map(low: _Lowering, roots: Sequence[Value]) -> list[Stmt]:
    """Elementwise results of one shape, and reductions of such over the last axis."""
    first = low.producer[roots[0]]
    reductions = [v for v in roots if isinstance(low.producer[v].op, Reduction)]
    t = first.inputs[0].type if isinstance(first.op, Reduction) else roots[0].type
    assert isinstance(t, ArrayType)
    if reductions:
        return _lower_rows(low, t, roots)
    outer = low.nested()
    if low.flat:
        var = low.loop_var()
        index: Index = _Flat(symbol(var), t.shape, t.order)
        loops: list[tuple[str, Dim]] = [(var, prod(t.shape))]
    else:
        names = {axis: low.loop_var() for axis in t.order}
        index = tuple(symbol(names[a]) for a in range(t.ndim))
        loops = [(names[a], t.shape[a]) for a in t.order]
    for v in roots:
        _store_root(low, v, index)
    body = _nest(loops, low.scope.body)
    low.scope = outer
    return body


def _store_root(low: _Lowering, v: Value, index: Index) -> None:
    element = low.element(v, index)
    low.store(v, index, element)


def _targets(low: _Lowering, v: Value, index: Index) -> tuple[list[Target], Element]:
    """What a reduction accumulates at an index, and its result afterwards."""
    node = low.producer[v]
    op = node.op
    assert isinstance(op, Reduction)
    x = low.element(node.inputs[0], index)
    dtype = dtype_name(accumulator_dtype(dtype_of(node.inputs[0].type)))
    parts = x if isinstance(x, tuple) else (x,)
    targets, results = [], []
    for part in parts:
        wide = parts_dtype(dtype)
        expr = part if part.dtype == wide else low.let(Call("cast", (part,), wide))
        target = Target(low.name("r"), op.combine, wide, expr)
        targets.append(target)
        result: Expr = Var(target.name, wide)
        narrow = parts_dtype(dtype_name(dtype_of(v.type)))
        results.append(result if wide == narrow else Call("cast", (result,), narrow))
    return targets, (results[0], results[1]) if len(results) == 2 else results[0]


def _lower_rows(low: _Lowering, t: ArrayType, roots: Sequence[Value]) -> list[Stmt]:
    """Reductions over the last axis, rows outside; pointwise results are stored on the way."""
    outer = low.nested()
    names = [low.loop_var() for _ in range(t.ndim)]
    place: tuple[Dim, ...] = tuple(symbol(n) for n in names)
    index: Index = place
    row = place[:-1]
    row_scope = low.nested()
    targets: list[Target] = []
    finished: list[tuple[Value, Element]] = []
    for v in roots:
        if isinstance(low.producer[v].op, Reduction):
            new, result = _targets(low, v, index)
            targets += new
            finished.append((v, result))
        else:
            _store_root(low, v, index)
    inner = low.scope.body
    low.scope = row_scope
    lanes, block = reduction_order(t.ndim, (t.ndim - 1,))
    reduce = Reduce(names[-1], t.shape[-1], tuple(inner), tuple(targets), lanes, block, vector=True)
    low.scope.body.append(reduce)
    for v, result in finished:
        low.store(v, row, result)
    body = low.scope.body
    low.scope = outer
    loops = list(zip(names[:-1], t.shape[:-1], strict=True))
    return _nest(loops, body, vector=False)


def _lower_reduce(low: _Lowering, roots: Sequence[Value]) -> list[Stmt]:
    """Reductions over the same axes of operands of one shape, one result after another."""
    node = low.producer[roots[0]]
    op, t, axes = node.op, node.inputs[0].type, node.attrs["axes"]
    assert isinstance(op, Reduction) and isinstance(t, ArrayType)
    outer = low.nested()
    kept = [a for a in range(t.ndim) if a not in axes]
    names = {a: low.loop_var() for a in kept}
    var = low.loop_var()
    lanes, block = (1, 1) if op.chained(t.dtype) else reduction_order(t.ndim, axes)
    inner_scope = low.nested()
    reduced = _Flat(symbol(var), tuple(t.shape[a] for a in axes), c_order(len(axes))).unravel()
    place = dict(zip(axes, reduced, strict=True))
    index = tuple(place[a] if a in place else symbol(names[a]) for a in range(t.ndim))
    targets: list[Target] = []
    finished = []
    for v in roots:
        new, result = _targets(low, v, index)
        targets += new
        finished.append((v, result))
    inner = low.scope.body
    low.scope = inner_scope
    size = prod([t.shape[a] for a in axes])
    low.scope.body.append(
        Reduce(var, size, tuple(inner), tuple(targets), lanes, block, vector=lanes > 1)
    )
    for v, result in finished:
        low.store(v, tuple(symbol(names[a]) for a in kept), result)
    body = low.scope.body
    low.scope = outer
    return _nest([(names[a], t.shape[a]) for a in kept], body, vector=lanes == 1)


def _lower_arg(low: _Lowering, v: Value) -> list[Stmt]:
    """argmin and argmax along one axis."""
    node = low.producer[v]
    t, axis = node.inputs[0].type, node.attrs["axis"]
    assert isinstance(t, ArrayType)
    outer = low.nested()
    names = [low.loop_var() for _ in range(t.ndim)]
    inner_scope = low.nested()
    x = low.element(node.inputs[0], tuple(symbol(n) for n in names))
    assert not isinstance(x, tuple)
    inner = low.scope.body
    low.scope = inner_scope
    target = Target(low.name("r"), node.op.name, "i64", x)
    last = axis == t.ndim - 1
    low.scope.body.append(Reduce(names[axis], t.shape[axis], tuple(inner), (target,), vector=last))
    kept = [a for a in range(t.ndim) if a != axis]
    low.store(v, tuple(symbol(names[a]) for a in kept), Var(target.name, "i64"))
    body = low.scope.body
    low.scope = outer
    return _nest([(names[a], t.shape[a]) for a in kept], body, vector=False)


def _lower_scan(low: _Lowering, v: Value) -> list[Stmt]:
    """cumsum and cumprod along one axis: strictly from left to right, starting at the first
    element.
    """
    node = low.producer[v]
    t, axis = node.inputs[0].type, node.attrs["axis"]
    assert isinstance(t, ArrayType)
    outer = low.nested()
    names = [low.loop_var() for _ in range(t.ndim)]
    index = tuple(symbol(n) for n in names)
    line_scope = low.nested()
    x = low.element(node.inputs[0], index)
    parts = x if isinstance(x, tuple) else (x,)
    fn = "add" if node.op.name == "cumsum" else "multiply"
    first = Call("equal", (IndexValue(symbol(names[axis])), Const(0, "i64")), "b1")
    carries, results = [], []
    for part in parts:
        carry = Var(low.name("c"), part.dtype)
        step = low.let(Call(fn, (carry, part), part.dtype))
        # The first element itself: adding it to a zero would lose the sign of -0.0.
        new = low.let(Call("select", (first, part, step), part.dtype))
        zero = Const(
            False if part.dtype == "b1" else 0 if part.dtype[0] in "iu" else 0.0, part.dtype
        )
        carries.append(Carry(carry.name, part.dtype, zero, new))
        results.append(new)
    low.store(v, index, (results[0], results[1]) if len(results) == 2 else results[0])
    inner = low.scope.body
    low.scope = line_scope
    low.scope.body.append(Scan(names[axis], t.shape[axis], tuple(inner), tuple(carries)))
    body = low.scope.body
    low.scope = outer
    kept = [a for a in range(t.ndim) if a != axis]
    inner_kept = bool(kept) and kept[-1] == t.ndim - 1
    return _nest([(names[a], t.shape[a]) for a in kept], body, vector=inner_kept)


def _lower_concatenate(low: _Lowering, v: Value) -> list[Stmt]:
    """One nest for each operand."""
    node = low.producer[v]
    axis = node.attrs["axis"]
    offset: Dim = 0
    out: list[Stmt] = []
    for x in node.inputs:
        t = x.type
        assert isinstance(t, ArrayType)
        out += _copy_nest(low, x, v, [(offset if a == axis else 0, 1) for a in range(t.ndim)])
        offset = offset + t.shape[axis]
    return out


def _copy_nest(
    low: _Lowering, x: Value, v: Value, places: Sequence[tuple[Dim, Dim]] | None
) -> list[Stmt]:
    """Store all of `x` into `v`, at (start, step) of each axis."""
    t = x.type
    assert isinstance(t, ArrayType)
    outer = low.nested()
    names = [low.loop_var() for _ in range(t.ndim)]
    index: tuple[Dim, ...] = tuple(symbol(n) for n in names)
    element = low.element(x, index)
    target = index
    if places is not None:
        target = tuple(s + i * st for i, (s, st) in zip(index, places, strict=True))
    low.store(v, target, element)
    out = v.type
    assert isinstance(out, ArrayType)
    body = _nest([(names[a], t.shape[a]) for a in out.order], low.scope.body)
    low.scope = outer
    return body


def _lower_update(low: _Lowering, v: Value, in_place: bool) -> list[Stmt]:
    """A copy of the old array, unless it is there already, then the new elements over it."""
    node = low.producer[v]
    old, new = node.inputs[0], node.inputs[1]
    body = [] if in_place else _copy_nest(low, old, v, None)
    if node.op.name == "update_slice":
        places = list(zip(node.attrs["start"], node.attrs["step"], strict=True))
        return body + _copy_nest(low, new, v, places)
    return body + _scatter_nest(low, node, v, new)


def _scatter_nest(low: _Lowering, node: Node, v: Value, new: Value) -> list[Stmt]:
    """Sequential in the index positions, so that of equal indices the last one wins."""
    t, source = new.type, node.inputs[0].type
    assert isinstance(t, ArrayType) and isinstance(source, ArrayType)
    outer = low.nested()
    first = node.inputs[2].type
    b = first.ndim if isinstance(first, ArrayType) else 0
    names = [low.loop_var() for _ in range(t.ndim)]
    index = tuple(symbol(n) for n in names)
    places: list[Dim] = []
    for i, n in zip(node.inputs[2:], source.shape, strict=False):
        element = low.element(i, index[:b])
        assert not isinstance(element, tuple)
        name = low.name("g")
        low.scope.body.append(Let(name, "i64", Call("wrap_index", (element, IndexValue(n)), "i64")))
        places.append(symbol(name))
    low.store(v, (*places, *index[b:]), low.element(new, index))
    body: list[Stmt] = low.scope.body
    low.scope = outer
    for name, size in list(zip(names, t.shape, strict=True))[::-1]:
        body = [Scan(name, size, tuple(body), ())]
    return body


def _over_rows(node: Node) -> bool:
    """Whether a reduction runs in lanes along the last axis alone."""
    t = node.inputs[0].type
    assert isinstance(node.op, Reduction) and isinstance(t, ArrayType)
    return node.attrs["axes"] == (t.ndim - 1,) and not node.op.chained(t.dtype)


def _lower_all(region: Graph, strides: Strides, flat: bool, in_place: bool) -> Kernel:
    low = _Lowering(region, strides, flat)
    roots = list(region.outputs)
    node = low.producer[roots[0]]
    if isinstance(node.op, Reduction) and not _over_rows(node):
        body = _lower_reduce(low, roots)
    elif node.op.name in ("argmin", "argmax"):
        body = _lower_arg(low, roots[0])
    elif node.op.name in ("cumsum", "cumprod"):
        body = _lower_scan(low, roots[0])
    elif node.op.name == "concatenate":
        body = _lower_concatenate(low, roots[0])
    elif node.op.name in ("update_slice", "scatter"):
        body = _lower_update(low, roots[0], in_place)
    else:
        body = _lower_map(low, roots)
    body = collapse(body)
    params = [p for p in low.params if not p.output]
    if in_place:
        params = [p for p in params if p.name != low.buffer[node.inputs[0]]]
    params += [replace(p) for v in roots for p in low.params if p.name == low.outputs[v]]
    return Kernel(
        region.name, tuple(params), _kernel_sizes(params, body), tuple(low.scalars), tuple(body)
    )


def _kernel_sizes(params: Sequence[Param], body: Sequence[Stmt]) -> tuple[str, ...]:
    """Every symbol that the kernel mentions and does not bind itself."""
    used: set[str] = set()
    bound: set[str] = set()

    def dim(d: Dim) -> None:
        if isinstance(d, Poly):
            used.update(free_symbols(d))

    def expr(e: Expr) -> None:
        if isinstance(e, Load):
            for d in e.index:
                dim(d)
        elif isinstance(e, IndexValue):
            dim(e.dim)
        elif isinstance(e, Call):
            for a in e.args:
                expr(a)

    def walk(stmts: Sequence[Stmt]) -> None:
        for s in stmts:
            match s:
                case Let(name, _, value):
                    bound.add(name)
                    expr(value)
                case Store(_, index, value):
                    for d in index:
                        dim(d)
                    expr(value)
                case For(var, size, inner):
                    bound.add(var)
                    dim(size)
                    walk(inner)
                case Reduce(var, size, inner, targets):
                    bound.add(var)
                    dim(size)
                    walk(inner)
                    for t in targets:
                        expr(t.expr)
                case Scan(var, size, inner, carries):
                    bound.add(var)
                    dim(size)
                    walk(inner)
                    for c in carries:
                        expr(c.init)
                        expr(c.next)

    walk(body)
    for p in params:
        for d in p.shape:
            dim(d)
    return tuple(sorted(used - bound))


def lower_fusion(
    region: Graph, strides: Strides | None = None, *, in_place: bool = False
) -> Kernel:
    """The kernel of a fusion's region: buffers in the order inputs, outputs; scalars by value.

    `strides` gives the element strides of inputs that are not dense. `in_place`: the region is one
    update whose old array lies in the output's memory already. Raises GraphError for an op that
    kernels cannot compute.
    """
    strides = strides or {}
    try:
        return _lower_all(region, strides, True, in_place)
    except _NeedsNest:
        return _lower_all(region, strides, False, in_place)


def scalar_parts(t: NpScalar) -> tuple[str, ...]:
    """The dtypes in which a scalar is passed to a kernel."""
    name = dtype_name(t.dtype)
    return (parts_dtype(name),) * (2 if name in ("c64", "c128") else 1)
