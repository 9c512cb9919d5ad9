"""A fusion becomes a kernel: loop nests around the elements of what it computes.

Elementwise results of one shape share a nest, and so do reductions over its last axis; other
reductions, scans, joins and updates have nests of their own.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import cast

from tracejit.codegen.lowering.collapse import collapse, visit_dims
from tracejit.codegen.lowering.index_maps import (
    Flat,
    Index,
    Lowering,
    NeedsNest,
    Strides,
    dense_strides,
    linear,
)
from tracejit.codegen.lowering.outer_reductions import columns
from tracejit.codegen.lowering.split import split
from tracejit.codegen.lowering.updates import lower_concatenate, lower_update, nest, over_rows
from tracejit.ir.dims import Atom, Dim, Poly, free_symbols, prod, symbol
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
    ScanLoop,
    Stmt,
    Store,
    Target,
    Var,
)
from tracejit.ir.op import OPS
from tracejit.ir.order import reduction_order
from tracejit.ir.types import ArrayType, dtype_name, dtype_of
from tracejit.ops.array.elementwise import Element, Elementwise, parts_dtype
from tracejit.ops.array.reduction import ArgExtreme, Reduction
from tracejit.ops.array.scan import Scan
from tracejit.ops.array.shape import Concatenate, Reshape

__all__ = ["lower_fusion"]

_MULTIPLY = cast("Elementwise", OPS["multiply"])


def _lower_map(low: Lowering, roots: Sequence[Value]) -> list[Stmt]:
    """Elementwise results of one shape, and reductions of such over the last axis."""
    first = low.producer[roots[0]]
    reductions = [v for v in roots if isinstance(low.producer[v].op, Reduction)]
    t = first.inputs[0].type if isinstance(first.op, Reduction) else roots[0].type
    assert isinstance(t, ArrayType)
    if reductions:
        return _lower_rows(low, t, roots)
    if not low.flat and len(roots) == 1 and t.is_c:
        walks = [_lower_walk(low, roots, t), *_before_reshapes(low, roots[0])]
        return min(walks, key=_divisions)
    return _lower_walk(low, roots, t)


def _lower_walk(
    low: Lowering, roots: Sequence[Value], t: ArrayType, source: Value | None = None
) -> list[Stmt]:
    """Loops over the places of `t`: the elements of roots, or those of what one is a reshape of."""
    outer = low.nested()
    if low.flat:
        var = low.loop_var()
        index: Index = Flat(symbol(var), t.shape, t.order)
        loops: list[tuple[str, Dim]] = [(var, prod(t.shape))]
    else:
        # An axis of one element takes no loop: the innermost one is to fill lanes.
        names = {axis: low.loop_var() for axis in t.order if t.shape[axis] != 1}
        index = tuple(symbol(names[a]) if a in names else 0 for a in range(t.ndim))
        loops = [(names[a], t.shape[a]) for a in t.order if a in names]
    # What one store overwrites, another element may need.
    elements = [low.element(v, index) for v in ([source] if source else roots)]
    for v, element in zip(roots, elements, strict=True):
        place = index
        if source:
            assert isinstance(v.type, ArrayType) and isinstance(index, tuple)
            place = Flat(linear(index, dense_strides(t)), v.type.shape, v.type.order)
        low.store(v, place, element)
    body = nest(loops, low.scope.body)
    low.scope = outer
    return body


def _before_reshapes(low: Lowering, root: Value) -> Iterator[list[Stmt]]:
    """Loops over the axes of each array that a result is a reshape of."""
    v = root
    while root not in low.strides:
        node = low.producer.get(v)
        if node is None or not isinstance(node.op, Reshape):
            break
        (v,) = node.inputs
        assert isinstance(v.type, ArrayType)
        yield _lower_walk(low, [root], ArrayType(v.type.dtype, v.type.shape), v)


def _divisions(body: Sequence[Stmt]) -> int:
    """How many quotients the places of elements take."""
    found = 0

    def add(d: Dim) -> None:
        nonlocal found
        for monomial, _ in d.terms if isinstance(d, Poly) else ():
            found += sum(isinstance(a, Atom) for a in monomial)

    visit_dims(body, add, add)
    return found


def _targets(low: Lowering, v: Value, index: Index) -> tuple[list[Target], Element]:
    """What a reduction accumulates at an index, and its result afterwards."""
    node = low.producer[v]
    op = node.op
    assert isinstance(op, Reduction)
    x, low.where = low.element(node.inputs[0], index), node.where
    dtype = dtype_name(op.accumulator(dtype_of(node.inputs[0].type), node.attrs))
    parts = x if isinstance(x, tuple) else (x,)
    targets, results = [], []
    for part in parts:
        wide = parts_dtype(dtype)
        expr = part if part.dtype == wide else low.let(Call("cast", (part,), wide))
        target = Target(low.name("r"), op.combine, wide, expr, op.identity, node.where)
        targets.append(target)
        result: Expr = Var(target.name, wide)
        narrow = parts_dtype(dtype_name(dtype_of(v.type)))
        results.append(result if wide == narrow else Call("cast", (result,), narrow))
    return targets, (results[0], results[1]) if len(results) == 2 else results[0]


def _lower_rows(low: Lowering, t: ArrayType, roots: Sequence[Value]) -> list[Stmt]:
    """Reductions over the last axis, rows outside; pointwise results are stored on the way."""
    outer = low.nested()
    names = [low.loop_var() for _ in range(t.ndim)]
    place: tuple[Dim, ...] = tuple(symbol(n) for n in names)
    index: Index = place
    row = place[:-1]
    row_scope = low.nested()
    targets: list[Target] = []
    finished: list[tuple[Value, Element]] = []
    pointwise: list[tuple[Value, Element]] = []
    for v in roots:
        if isinstance(low.producer[v].op, Reduction):
            new, result = _targets(low, v, index)
            targets += new
            finished.append((v, result))
        else:
            pointwise.append((v, low.element(v, index)))
    for v, element in pointwise:
        low.store(v, index, element)
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
    return nest(loops, body, vector=False)


def _lower_reduce(low: Lowering, roots: Sequence[Value]) -> list[Stmt]:
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
    if lanes == 1:
        low.counting[var] = {}
    sizes = [t.shape[a] for a in axes]
    reduced = low.digits(symbol(var), sizes) if 0 not in sizes else [0] * len(axes)
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
    quotients = tuple((name, divisor) for divisor, name in low.counting.pop(var, {}).items())
    low.scope.body.append(
        Reduce(var, prod(sizes), tuple(inner), tuple(targets), lanes, block, lanes > 1, quotients)
    )
    for v, result in finished:
        low.store(v, tuple(symbol(names[a]) for a in kept), result)
    body = low.scope.body
    low.scope = outer
    return nest([(names[a], t.shape[a]) for a in kept], body, vector=lanes == 1)


def _folds(low: Lowering, v: Value) -> bool:
    """Whether a reduction combines both parts of complex elements together."""
    node = low.producer[v]
    complex_ = dtype_of(node.inputs[0].type).kind == "c"
    return complex_ and getattr(node.op, "combine", "") != "sum"


def _lower_arg(low: Lowering, v: Value) -> list[Stmt]:
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
    target = Target(low.name("r"), node.op.name, "i64", x, where=node.where)
    # Lanes go along the axis whose elements are neighbours.
    last = axis == t.order[-1]
    low.scope.body.append(Reduce(names[axis], t.shape[axis], tuple(inner), (target,), vector=last))
    kept = [a for a in range(t.ndim) if a != axis]
    outside = [a for a in t.order if a != axis]
    low.store(v, tuple(symbol(names[a]) for a in kept), Var(target.name, "i64"))
    body = low.scope.body
    low.scope = outer
    return nest([(names[a], t.shape[a]) for a in outside], body, vector=not last)


def _lower_scan(low: Lowering, v: Value) -> list[Stmt]:
    """cumsum, cumprod and recurrences along one axis: strictly from left to right, starting at
    the first element.
    """
    node = low.producer[v]
    t, axis = node.inputs[0].type, node.attrs["axis"]
    assert isinstance(t, ArrayType) and isinstance(node.op, Scan)
    outer = low.nested()
    names = [low.loop_var() for _ in range(t.ndim)]
    index = tuple(symbol(n) for n in names)
    line_scope = low.nested()
    elements = [low.element(x, index) for x in node.inputs]
    parts = elements[-1] if isinstance(elements[-1], tuple) else (elements[-1],)
    names_of = [low.name("c") for _ in parts]
    old = [Var(name, part.dtype) for name, part in zip(names_of, parts, strict=True)]
    steps = _next_of_scan(low, node, (old[0], old[1]) if len(old) == 2 else old[0], elements)
    first = Call("equal", (IndexValue(symbol(names[axis])), Const(0, "i64")), "b1")
    carries, results = [], []
    neutral = node.op.neutral(len(parts))
    for carry, part, step in zip(old, parts, steps, strict=True):
        # Without a neutral element to begin with, the first element itself.
        if neutral is None:
            step = Call("select", (first, part, step), part.dtype)
        new = low.let(step)
        start = 0.0 if neutral is None else neutral
        whole = part.dtype[0] in "iu"
        value = False if part.dtype == "b1" else int(start) if whole else start
        carries.append(Carry(carry.name, part.dtype, Const(value, part.dtype), new))
        results.append(new)
    low.store(v, index, (results[0], results[1]) if len(results) == 2 else results[0])
    inner = low.scope.body
    low.scope = line_scope
    low.scope.body.append(ScanLoop(names[axis], t.shape[axis], tuple(inner), tuple(carries)))
    body = low.scope.body
    low.scope = outer
    kept = [a for a in range(t.ndim) if a != axis]
    inner_kept = bool(kept) and kept[-1] == t.ndim - 1
    return nest([(names[a], t.shape[a]) for a in kept], body, vector=inner_kept)


def _next_of_scan(
    low: Lowering, node: Node, old: Element, elements: Sequence[Element]
) -> tuple[Expr, ...]:
    """The parts of what a scan carries on, from those of what it carries and of the operands."""
    assert isinstance(node.op, Scan)
    dtype = dtype_name(dtype_of(node.outputs[0].type))
    *factors, step = elements
    for factor in factors:
        old = low.let_element(_MULTIPLY.scalar((factor, old), [dtype] * 2, dtype))
    rule = cast("Elementwise", OPS[node.op.combine])
    new = low.let_element(rule.scalar((old, step), [dtype] * 2, dtype))
    return new if isinstance(new, tuple) else (new,)


def _lower_all(
    region: Graph, strides: Strides, flat: bool, overwrites: Mapping[Value, Value]
) -> Kernel:
    low = Lowering(region, strides, flat, overwrites)
    roots = list(region.outputs)
    node = low.producer[roots[0]]
    if isinstance(node.op, Reduction) and not over_rows(node):
        from tracejit.codegen.lowering.folds import lower_fold

        folded = [v for v in roots if _folds(low, v)]
        body = [stmt for v in folded for stmt in lower_fold(low, v)]
        if others := [v for v in roots if v not in folded]:
            body += _lower_reduce(low, others)
    elif isinstance(node.op, ArgExtreme) and _folds(low, roots[0]):
        from tracejit.codegen.lowering.folds import lower_arg_fold

        body = lower_arg_fold(low, roots[0])
    elif isinstance(node.op, ArgExtreme):
        body = _lower_arg(low, roots[0])
    elif isinstance(node.op, Scan):
        body = _lower_scan(low, roots[0])
    elif isinstance(node.op, Concatenate):
        body = lower_concatenate(low, roots[0])
    elif node.op.updates:
        body = lower_update(low, roots[0], overwrites)
    else:
        body = _lower_map(low, roots)
    body = collapse(split(body))
    params = [p for p in low.params if not p.output]
    params += [replace(p) for v in roots for p in low.params if p.name == low.outputs[v]]
    sizes = _kernel_sizes(params, body)
    return columns(Kernel(region.name, tuple(params), sizes, tuple(low.scalars), tuple(body)))


def _kernel_sizes(params: Sequence[Param], body: Sequence[Stmt]) -> tuple[str, ...]:
    """Every symbol that the kernel mentions and does not bind itself."""
    used: set[str] = set()
    bound: set[str] = set()

    def dim(d: Dim) -> None:
        if isinstance(d, Poly):
            used.update(free_symbols(d))

    seen: set[int] = set()

    def expr(e: Expr) -> None:
        if id(e) in seen:
            return
        seen.add(id(e))
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
                    for name, divisor in s.quotients:
                        bound.add(name)
                        dim(divisor)
                    dim(size)
                    walk(inner)
                    for t in targets:
                        expr(t.expr)
                case ScanLoop(var, size, inner, carries):
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
    region: Graph,
    strides: Strides | None = None,
    *,
    in_place: bool = False,
    overwrites: Mapping[Value, Value] | None = None,
) -> Kernel:
    """The kernel of a fusion's region: buffers in the order inputs, outputs; scalars by value.

    `strides` gives the element strides of inputs and results that are not dense. `overwrites` maps
    results to the inputs that lie in their memory: such an input is no buffer of its own, and an
    update writes only the elements that change. `passes/analysis/aliasing.py` says where that is
    right; `in_place` stands for it where the region is one update. Raises GraphError for an op that
    kernels cannot compute.
    """
    strides, overwrites = strides or {}, dict(overwrites or {})
    if in_place:
        (result,) = region.outputs
        overwrites[result] = region.producers()[result].inputs[0]
    try:
        return _lower_all(region, strides, True, overwrites)
    except NeedsNest:
        return _lower_all(region, strides, False, overwrites)
