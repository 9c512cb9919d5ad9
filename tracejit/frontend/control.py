"""The explicit forms of control flow: `cond` and `while_loop`, traced into regions.

Outside a trace they are plain Python, so that a function that uses them runs under NumPy as it is.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.containers import flatten_state, unflatten
from tracejit.frontend.shapes import SymInt
from tracejit.frontend.tracer import (
    Cell,
    Trace,
    TracedArray,
    Tracer,
    current_trace,
    here,
    lift,
    user_line,
)
from tracejit.frontend.ufuncs import binary_operator
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Graph, Value, sizes_read, symbols
from tracejit.ir.types import (
    DTYPES,
    PYBOOL,
    ArrayType,
    NpScalar,
    Type,
    type_substitute,
)

__all__ = ["cond", "while_loop"]

_ROUNDS = 4


def cond(
    predicate: Any,
    then: Callable[..., Any],
    orelse: Callable[..., Any],
    *operands: Any,
) -> Any:
    """`then(*operands)` if the predicate holds, else `orelse(*operands)`.

    `predicate` is a bool, or a scalar or 0-d array of bools. In compiled code only one of the two
    runs; both must give results of the same types and structure.
    """
    if current_trace() is None or not isinstance(predicate, Tracer):
        return then(*operands) if predicate else orelse(*operands)
    trace = here()
    p = _predicate(predicate).value()
    sides = [_side(trace, f, operands) for f in (then, orelse)]
    (first, tree, kinds), (second, other_tree, other_kinds) = sides
    if tree != other_tree or kinds != other_kinds:
        raise TraceError("TJ011", f"{_describe(first)} and {_describe(second)}", user_line())
    captures = list(dict.fromkeys(v for t in (first, second) for v in t.captures))
    graphs, sizes = [], []
    for side in (first, second):
        graph = _close(side, [], captures, side.results)
        graphs.append(graph)
        sizes.append(symbols(graph.sizes))
    types = [[v.type for v in g.outputs] for g in graphs]
    if types[0] != types[1]:
        raise TraceError("TJ011", f"{_describe(first)} and {_describe(second)}", user_line())
    outs = trace.emit_all("cond", (p, *captures), {"sizes": tuple(sizes)}, regions=tuple(graphs))
    return unflatten(tree, _restore(trace, outs, first.static))


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """`state = init; while condition(state): state = body(state)`; gives the last state.

    The state is a number, an array or a container of them, of the same structure and types in every
    iteration; sizes of arrays may change.
    """
    trace = current_trace()
    if trace is None:
        state = init
        while condition(state):
            state = body(state)
        return state
    leaves, tree = flatten_state(init)
    for x in leaves:
        if not isinstance(x, (Tracer, SymInt, bool, int, float, complex, np.generic)):
            raise TraceError("TJ003", f"a loop state with a {type(x).__name__}", user_line())
    start = [lift(x) for x in leaves]
    return unflatten(tree, _trace_loop(trace, condition, body, start, tree))


def _predicate(x: Any) -> Tracer:
    p = lift(x)
    if isinstance(p, TracedArray):
        if p.ndim:
            raise TraceError("TJ001", "the truth of an array with axes", user_line())
        p = lift(p[()])
    if p.type in (PYBOOL, NpScalar(DTYPES["b1"])):
        return p
    return lift(binary_operator(operator.ne, p, 0))


class _Region(Trace):
    """A region being traced: its results, and which of them are constants outside the graph."""

    results: list[Value]
    static: list[Any]


def _region(trace: Trace, name: str) -> _Region:
    return _Region(name, trace.env, trace)


def _finish(region: _Region, result: Any) -> Any:
    """Record a region's results: numbers become constants, other objects stay outside the graph."""
    flat, tree = flatten_state(result)
    region.results, region.static = [], []
    for x in flat:
        if isinstance(x, (Tracer, SymInt, bool, int, float, complex, np.generic)):
            region.results.append(lift(x).value())
            region.static.append(None)
        else:
            region.static.append((x,))
    return tree


def _side(
    trace: Trace, f: Callable[..., Any], operands: Sequence[Any]
) -> tuple[_Region, Any, list[Any]]:
    region = _region(trace, f.__name__.replace("<lambda>", "lambda_"))
    with region.active():
        tree = _finish(region, f(*operands))
    return region, tree, [None if s is None else s[0] for s in region.static]


def _describe(region: _Region) -> str:
    return f"({', '.join(str(v.type) for v in region.results)})"


def _restore(trace: Trace, outs: Sequence[Value], static: Sequence[Any]) -> list[Any]:
    values = iter(outs)
    return [trace.wrap(next(values)) if s is None else s[0] for s in static]


def _close(
    region: Trace,
    carried_sizes: Sequence[str],
    captures: Sequence[Value],
    outputs: Sequence[Value],
    size_outputs: tuple[Dim, ...] = (),
) -> Graph:
    """The region as a closed graph: every capture of the node is an input, in the node's order."""
    builder = region.builder
    carried = [v for v in builder.inputs if v not in set(region.captures.values())]
    inputs = [
        region.captures[c] if c in region.captures else Value(c.type, c.name) for c in captures
    ]
    raw = Graph(
        builder.name,
        (),
        (*carried, *inputs),
        tuple(builder.nodes),
        tuple(outputs),
        (),
        size_outputs,
    )
    bound = {s for n in builder.nodes for s in n.binds}
    free = sorted(sizes_read(raw) - set(carried_sizes) - bound)
    return Graph(
        raw.name,
        (*carried_sizes, *free),
        raw.inputs,
        raw.nodes,
        raw.outputs,
        (),
        size_outputs,
    )


def _trace_loop(
    trace: Trace,
    condition: Callable[[Any], Any],
    body: Callable[[Any], Any],
    start: Sequence[Tracer],
    tree: Any,
) -> list[Any]:
    """Trace the body until the types it carries repeat; sizes that change become carried sizes."""
    values = [x.value() for x in start]
    types: list[Type] = [v.type for v in values]
    carried: dict[str, Dim] = {}
    for _ in range(_ROUNDS):
        traced = _trace_body(trace, body, start, types, tree)
        found = [v.type for v in traced.results]
        if found == types:
            break
        widened, symbols_now = _carry_sizes(trace, types, found, values, carried)
        if widened == types:
            back = _size_outputs(types, found, symbols_now)
            if [type_substitute(t, back) for t in types] == found:
                break
        types, carried = widened, symbols_now
    else:
        raise TraceError(
            "TJ011", f"a loop carries {_types(types)}, then {_types(found)}", user_line()
        )
    return _emit_loop(trace, condition, traced, start, values, types, tree, carried, found)


def _types(types: Sequence[Type]) -> str:
    return f"({', '.join(map(str, types))})"


class _Body(_Region):
    carried: list[Tracer]
    returned: list[Any]


def _trace_body(
    trace: Trace,
    body: Callable[[Any], Any],
    start: Sequence[Tracer],
    types: Sequence[Type],
    tree: Any,
) -> _Body:
    region = _Body("body", trace.env, trace)
    with region.active():
        region.carried = _carry(region, start, types)
        result = body(unflatten(tree, list(region.carried)))
        flat, new_tree = flatten_state(result)
        if new_tree != tree:
            raise TraceError("TJ011", "the body changes the structure of the state", user_line())
        region.returned = flat
        _finish(region, result)
        if len(region.results) != len(types):
            raise TraceError("TJ011", "the body returns objects that are not numbers", user_line())
    return region


def _carry(region: Trace, start: Sequence[Tracer], types: Sequence[Type]) -> list[Tracer]:
    """Tracers of the carried values. Stores are refused where the caller could see them."""
    out: list[Tracer] = []
    for k, (x, t) in enumerate(zip(start, types, strict=True)):
        v = region.builder.input(t, f"c{k}")
        cell = None
        if isinstance(x, TracedArray):
            outside = x.cell.input is not None or bool(x.views) or x.cell.trace is not region.parent
            shared = sum(1 for y in start if isinstance(y, TracedArray) and y.cell is x.cell) > 1
            cell = Cell(region, v, -1 if outside or shared else None)
        out.append(region.wrap(v, cell))
    return out


def _carry_sizes(
    trace: Trace,
    types: Sequence[Type],
    found: Sequence[Type],
    values: Sequence[Value],
    carried: dict[str, Dim],
) -> tuple[list[Type], dict[str, Dim]]:
    """Types in which every dimension that changes is a carried size."""
    out: list[Type] = []
    carried = dict(carried)
    for t, f, v in zip(types, found, values, strict=True):
        same = isinstance(t, ArrayType) and isinstance(f, ArrayType)
        if not same:
            if t != f:
                raise TraceError("TJ011", f"a loop carries {t}, then {f}", user_line())
            out.append(t)
            continue
        assert isinstance(t, ArrayType) and isinstance(f, ArrayType)
        assert isinstance(v.type, ArrayType)
        if (t.dtype, t.ndim, t.order) != (f.dtype, f.ndim, f.order):
            raise TraceError("TJ011", f"a loop carries {t}, then {f}", user_line())
        shape: list[Dim] = []
        for now, then, first in zip(t.shape, f.shape, v.type.shape, strict=True):
            if now == then or (str(now) in carried):
                shape.append(now)
                continue
            name = trace.fresh_size()
            carried[name] = first
            shape.append(symbol(name))
        out.append(ArrayType(t.dtype, tuple(shape), t.order))
    return out, carried


def _size_outputs(
    types: Sequence[Type], found: Sequence[Type], carried: dict[str, Dim]
) -> dict[str, Dim]:
    out: dict[str, Dim] = {}
    for t, f in zip(types, found, strict=True):
        if isinstance(t, ArrayType) and isinstance(f, ArrayType):
            for now, then in zip(t.shape, f.shape, strict=True):
                if str(now) in carried:
                    out.setdefault(str(now), then)
    return out


def _emit_loop(
    trace: Trace,
    condition: Callable[[Any], Any],
    traced: _Body,
    start: Sequence[Tracer],
    values: Sequence[Value],
    types: Sequence[Type],
    tree: Any,
    carried: dict[str, Dim],
    found: Sequence[Type],
) -> list[Any]:
    test = _region(trace, "condition")
    with test.active():
        holds = condition(unflatten(tree, _carry(test, start, types)))
        predicate = _predicate(holds).value()
    captures = list(dict.fromkeys((*test.captures, *traced.captures)))
    back = _size_outputs(types, found, carried)
    names = list(carried)
    size_outputs = tuple(back[n] for n in names)
    graphs = (
        _close(test, names, captures, [predicate]),
        _close(traced, names, captures, traced.results, size_outputs),
    )
    sizes = tuple((*carried.values(), *symbols(g.sizes[len(names) :])) for g in graphs)
    binds = tuple(trace.fresh_size() for _ in names)
    outs = trace.emit_all(
        "while_loop",
        (*values, *captures),
        {"carried": len(values), "sizes": sizes},
        regions=graphs,
        binds=binds,
    )
    return _after_loop(trace, traced, start, outs)


def _after_loop(
    trace: Trace, traced: _Body, start: Sequence[Tracer], outs: Sequence[Value]
) -> list[Any]:
    """The state after the loop. An array stored into is still the array the loop began with."""
    results: list[Any] = []
    for x, inner, returned, out in zip(start, traced.carried, traced.returned, outs, strict=True):
        stored = isinstance(inner, TracedArray) and inner.cell.written
        if stored and returned is inner and isinstance(x, TracedArray):
            x.cell.store(trace, out)
            results.append(x)
            continue
        if stored and isinstance(x, TracedArray):
            # Which iteration's array this is depends on the trip count: reading it falls back.
            x.cell.lost = True
        results.append(trace.wrap(out))
    return results
