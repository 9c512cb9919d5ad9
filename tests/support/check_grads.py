"""Checks derivatives of a graph or an op: against finite differences, and modes with each other.

    check_grads(OPS["matmul"], [A, B])
    check_grads(graph, inputs, order=2, modes=("jvp", "vjp"))

Forward mode is compared with central differences along a random direction, extrapolated to step
zero (Richardson); how far they may be apart follows from the table of extrapolations and from the
rounding of the function's values. Reverse mode is compared with forward mode by the identity
Re<ct, J t> = Re<J^T ct, t>. The derivative graphs are then checked in the same way.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.ir.derivatives import differentiable, tangent_type
from tracejit.ir.evaluate import evaluate, type_of
from tracejit.ir.graph import Graph, GraphBuilder
from tracejit.ir.op import Op
from tracejit.ir.types import Type, dtype_of, shape_of
from tracejit.ir.verify import verify
from tracejit.transforms.autodiff.forward import jvp_graph
from tracejit.transforms.autodiff.reverse import vjp_graph

__all__ = ["check_grads", "graph_of", "is_float", "numeric_jvp", "run"]

_MODES = ("jvp", "vjp")
#: Steps of the differences, as powers of two, by the precision of the values.
_STEPS = {np.float16: range(3, 6), np.float32: range(4, 9), np.float64: range(4, 11)}
#: Above this share of the values' size a difference says nothing about the derivative.
_USEFUL = {np.float16: 0.3, np.float32: 0.02, np.float64: 1e-5}


def graph_of(op: Op, inputs: Sequence[Any], attrs: dict[str, Any] | None = None) -> Graph:
    """A graph of one node, its inputs in C order."""
    builder = GraphBuilder(op.name)
    values = [builder.input(type_of(x), f"x{k}") for k, x in enumerate(inputs)]
    return builder.build(builder.emit(op, values, attrs or {}))


def is_float(x: Any) -> bool:
    """Whether a concrete value has derivatives."""
    return differentiable(type_of(x))


def check_grads(
    what: Graph | Op,
    inputs: Sequence[Any],
    order: int = 2,
    modes: Sequence[str] = _MODES,
    *,
    attrs: dict[str, Any] | None = None,
    active: Sequence[bool] | None = None,
    seed: int = 0,
) -> None:
    """Check the derivatives of `what` at `inputs` up to `order`. Raises AssertionError.

    `active` are the inputs with derivatives (all floats and complex numbers without it). The
    function must be smooth, and defined, within 2**-4 of the inputs in relative terms.
    """
    graph = graph_of(what, inputs, attrs) if isinstance(what, Op) else what
    flags = [is_float(x) for x in inputs] if active is None else list(active)
    if not any(flags) or not any(differentiable(v.type) for v in graph.outputs):
        return
    _check(graph, list(inputs), flags, order, modes, np.random.default_rng(seed))


def _check(
    graph: Graph,
    inputs: list[Any],
    active: list[bool],
    order: int,
    modes: Sequence[str],
    rng: np.random.Generator,
) -> None:
    forward = jvp_graph(graph, active)
    verify(forward)
    tangents = [_random(x, v.type, rng) for x, v, a in _zip(inputs, graph, active) if a]
    outputs = run(graph, inputs)
    pushed = _derivatives(graph, forward, [*inputs, *tangents], outputs)
    _compare(graph, inputs, active, tangents, outputs, pushed)
    graphs = {"jvp": (forward, tangents)}
    if "vjp" in modes:
        reverse = vjp_graph(graph, active)
        verify(reverse)
        kinds = [(y, v.type) for y, v in zip(outputs, graph.outputs, strict=True)]
        cotangents = [_random(y, t, rng) for y, t in kinds if differentiable(t)]
        pulled = _derivatives(graph, reverse, [*inputs, *cotangents], outputs)
        _adjoint(graph, cotangents, pushed, pulled, tangents)
        _unwanted(graph, inputs, active, cotangents, pulled)
        graphs["vjp"] = (reverse, cotangents)
    if order > 1:
        for mode in modes:
            derived, extra = graphs[mode]
            _check(
                derived, [*inputs, *extra], [*active, *map(is_float, extra)], order - 1, modes, rng
            )


def _zip(inputs: Sequence[Any], graph: Graph, active: Sequence[bool]) -> Any:
    return zip(inputs, graph.inputs, active, strict=True)


def run(graph: Graph, inputs: Sequence[Any]) -> tuple[Any, ...]:
    """The outputs of a graph, without the sizes that follow them."""
    return evaluate(graph, inputs)[: len(graph.outputs)]


def _random(x: Any, t: Type, rng: np.random.Generator) -> Any:
    """A tangent of size 1/2 to 1 of the value's own size, of its type."""
    t = tangent_type(t)
    dtype, shape = np.asarray(x).dtype, np.shape(x)
    size = rng.uniform(0.5, 1.0, shape) * np.where(rng.random(shape) < 0.5, -1, 1)
    if dtype.kind == "c":
        size = size * np.exp(1j * rng.uniform(0, 2 * np.pi, shape))
    out = np.asarray(size).astype(dtype)
    assert len(shape_of(t)) == out.ndim
    return out if isinstance(x, np.ndarray) else out[()]


def _derivatives(
    graph: Graph, derived: Graph, inputs: Sequence[Any], outputs: Sequence[Any]
) -> list[Any]:
    """What a derivative graph gives beside the function's own outputs, which are the same."""
    out = run(derived, inputs)
    for y, again in zip(outputs, out, strict=False):
        np.testing.assert_array_equal(again, y, err_msg=f"{graph.name}: the value has changed")
    return list(out[len(outputs) :])


# Finite differences -------------------------------------------------------------------------------


def _precision(graph: Graph) -> Any:
    """The coarsest type of floats that the graph computes with."""
    values = [*graph.inputs, *(v for node in graph.nodes for v in node.outputs)]
    parts = [np.finfo(dtype_of(v.type)) for v in values if differentiable(v.type)]
    return max(parts, key=lambda info: float(info.eps)).dtype.type


def _moved(x: Any, t: Any, h: float) -> Any:
    """x + h t, of the kind that x is."""
    if type(x) in (float, complex):
        return type(x)(x + h * t.item())
    moved = x + np.asarray(t).real.dtype.type(h) * t
    return np.asarray(moved) if isinstance(x, np.ndarray) else moved


def numeric_jvp(
    f: Callable[[Sequence[Any]], Sequence[Any]],
    inputs: Sequence[Any],
    tangents: Sequence[Any],
    precision: Any = np.float64,
) -> list[tuple[Any, Any]]:
    """For each result of `f` its derivative along `tangents` (None: inactive), and its error.

    A table of central differences for steps h and Richardson's extrapolations of them: column m
    cancels the error's term in h**(2m). The error of an entry is estimated by its distance from
    those that it was made of, and by the rounding of values and arguments (in a type of floats,
    `precision`) over the step; the entry with the least is taken, element by element. None for a
    result that is no float.
    """
    values = [np.asarray(y) for y in f(inputs)]
    reach = 1 + max(_largest(x) for x in inputs if is_float(x))
    tables: list[list[list[Any]]] = [[] for _ in values]
    best: list[Any] = [None] * len(values)
    for k in _STEPS[precision]:
        h = 2.0**-k
        above, below = (
            f([x if t is None else _moved(x, t, s) for x, t in zip(inputs, tangents, strict=True)])
            for s in (h, -h)
        )
        for j, (a, b) in enumerate(zip(above, below, strict=True)):
            if not is_float(a):
                continue
            row, error = _extrapolated(a, b, h, tables[j])
            slope = _largest(row[0]) * reach
            noise = 4 * float(np.finfo(precision).eps) * (_largest(values[j]) + slope) / h
            for entry, distance in zip(row[1:], error, strict=True):
                best[j] = _better(best[j], entry, distance + noise)
            tables[j].append(row)
    return best


def _largest(x: Any) -> float:
    return float(np.max(np.abs(np.asarray(x)), initial=0))


def _extrapolated(
    above: Any, below: Any, h: float, rows: Sequence[list[Any]]
) -> tuple[list[Any], list[Any]]:
    """The next row of a table, and how far its entries but the first are from their sources."""
    wide = np.complex128 if np.iscomplexobj(above) else np.float64
    row = [(np.asarray(above, wide) - np.asarray(below, wide)) / (2 * h)]
    last = rows[-1] if rows else []
    for m, older in enumerate(last):
        row.append(row[m] + (row[m] - older) / (4.0 ** (m + 1) - 1))
    pairs = [(row[m], row[m - 1], last[m - 1]) for m in range(1, len(row))]
    return row, [np.maximum(np.abs(x - p), np.abs(x - q)) for x, p, q in pairs]


def _better(old: Any, value: Any, error: Any) -> tuple[Any, Any]:
    error = np.where(np.isfinite(error), error, np.inf)
    if old is None:
        return value, error
    take = error < old[1]
    return np.where(take, value, old[0]), np.where(take, error, old[1])


def _compare(
    graph: Graph,
    inputs: Sequence[Any],
    active: Sequence[bool],
    tangents: Sequence[Any],
    outputs: Sequence[Any],
    pushed: Sequence[Any],
) -> None:
    rest = iter(tangents)
    directions = [next(rest) if a else None for a in active]
    kind = _precision(graph)
    found = numeric_jvp(lambda xs: run(graph, xs), inputs, directions, kind)
    floats = [(y, n) for y, n in zip(outputs, found, strict=True) if is_float(y)]
    for (y, (expected, error)), t in zip(floats, pushed, strict=True):
        assert np.asarray(t).dtype == np.asarray(y).dtype, f"{graph.name}: {type(t)} for {type(y)}"
        assert np.shape(t) == np.shape(y), f"{graph.name}: {np.shape(t)} for {np.shape(y)}"
        scale = _largest(expected) + _largest(y)
        useful = _largest(error) <= _USEFUL[kind] * max(scale, 1e-30)
        assert useful, f"{graph.name}: no useful difference: {expected} with the error {error}"
        distance = np.abs(np.asarray(t) - expected)
        close = distance <= error + 64 * float(np.finfo(kind).eps) * scale
        assert np.all(close), (
            f"{graph.name}: the tangent is {t}, not {expected} within {error}, at {inputs} "
            f"along {directions}"
        )


# Reverse mode -------------------------------------------------------------------------------------


def _terms(a: Any, b: Any) -> Any:
    """Re(a * b) by elements, in wide precision."""
    return (np.asarray(a).astype(np.complex128) * np.asarray(b).astype(np.complex128)).real.ravel()


def _adjoint(
    graph: Graph,
    cotangents: Sequence[Any],
    pushed: Sequence[Any],
    pulled: Sequence[Any],
    tangents: Sequence[Any],
) -> None:
    for t, g in zip(tangents, pulled, strict=True):
        assert np.asarray(t).dtype == np.asarray(g).dtype, f"{graph.name}: {type(g)} for {type(t)}"
        assert np.shape(t) == np.shape(g), f"{graph.name}: {np.shape(g)} for {np.shape(t)}"
    left = np.concatenate([_terms(g, t) for g, t in zip(cotangents, pushed, strict=True)])
    right = np.concatenate([_terms(g, t) for g, t in zip(pulled, tangents, strict=True)])
    eps = float(np.finfo(_precision(graph)).eps)
    # Both sums have rounded terms; terms of one may hide sums that cancel in the other.
    size = float(np.sum(np.abs(left)) + np.sum(np.abs(right)))
    apart = abs(float(np.sum(left) - np.sum(right)))
    assert apart <= 64 * eps * size, (
        f"{graph.name}: <ct, J t> = {np.sum(left)}, <J^T ct, t> = {np.sum(right)}; "
        f"cotangents {cotangents} give {pulled}, tangents {tangents} give {pushed}"
    )


def _unwanted(
    graph: Graph,
    inputs: Sequence[Any],
    active: Sequence[bool],
    cotangents: Sequence[Any],
    pulled: Sequence[Any],
) -> None:
    """Each input's cotangent is the same where it alone is wanted."""
    places = [k for k, a in enumerate(active) if a]
    if len(places) < 2:
        return
    for k, expected in zip(places, pulled, strict=True):
        alone = vjp_graph(graph, [j == k for j in range(len(inputs))])
        (found,) = run(alone, [*inputs, *cotangents])[len(graph.outputs) :]
        np.testing.assert_array_equal(found, expected, err_msg=f"{graph.name}: input {k} alone")
