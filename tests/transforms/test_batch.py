"""Batched graphs of programs give what a Python loop over their lanes gives."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.random.graphs import random_graph
from tests.support.compare import assert_same
from tests.transforms.batch_programs import EFFECTS, GRADIENTS, MAPPED, PROGRAMS, Program
from tests.transforms.batching import compare, fresh_names, stacked
from tracejit.errors import Bailout, Unbatchable
from tracejit.ir.batching import batched_type
from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import symbol
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, GraphBuilder
from tracejit.ir.regions import nested
from tracejit.ir.text.syntax import parse_graph
from tracejit.ir.verify import verify
from tracejit.runtime.compile.graph_call import run_graph
from tracejit.transforms.batching.batch import batch_graph, batch_nodes

# Control flow -------------------------------------------------------------------------------------


def traced(program: Program) -> Graph:
    """The graph of one lane."""
    with np.errstate(all="ignore"):
        return tracejit.jit(program.function).trace(*copy.deepcopy(program.lanes[0]))


def subsets(program: Program) -> Sequence[tuple[bool, ...]]:
    """The subsets of operands to be batched."""
    return program.subsets or ((True,) * len(program.lanes[0]),)


def loops(graph: Graph) -> int:
    """How many loops have been made to run lane after lane."""
    return sum(
        n.op.name == "while_loop" and n.regions[1].name == "lane" for n in nested(graph.nodes)
    )


ULPS: dict[str, Any] = {"parity": "ulp", "ulp": 8}
#: Sums run in another order than NumPy's.
NATIVE: dict[str, Any] = {"parity": "order", "ulp": 64}


@pytest.mark.sampled(12)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.function.__name__)
def test_batches_of_programs_are_their_lanes(program: Program) -> None:
    graph = traced(program)
    for flags in subsets(program):
        made = compare(graph, program.lanes, flags, **ULPS)
        if program.apart is not None and all(flags):
            assert bool(loops(made)) == program.apart
        for lanes in (program.lanes, program.lanes[:1], program.lanes * 2):
            compare(graph, lanes, flags, size=symbol("b"), **ULPS)


def outcome(run: Callable[[], Any]) -> tuple[Any, str, str]:
    """What a run gives, what it prints, and the exception that leaves it; seeded."""
    np.random.seed(7)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        try:
            return run(), printed.getvalue(), ""
        except ValueError as e:
            return None, printed.getvalue(), repr(e)


@pytest.mark.parametrize("native", [False, True], ids=["evaluated", "native"])
@pytest.mark.parametrize("program", EFFECTS, ids=lambda p: p.function.__name__)
def test_effects_are_those_of_a_loop_over_the_lanes(program: Program, native: bool) -> None:
    graph = traced(program)
    run = run_graph if native else evaluate
    for flags in subsets(program):
        own = [
            [x if flag else y for x, y, flag in zip(lane, program.lanes[0], flags, strict=True)]
            for lane in program.lanes
        ]
        expected, printed, error = outcome(lambda own=own: [program.function(*a) for a in own])
        made, batched = batch_graph(graph, flags, 3, fresh_names())
        verify(made, "trace")
        given = [
            stacked([lane[k] for lane in own]) if f else own[0][k] for k, f in enumerate(flags)
        ]
        results, text, raised = outcome(functools.partial(run, made, given))
        assert (text, raised) == (printed, error)
        for j, lane in enumerate(expected or ()):
            lane = lane if isinstance(lane, tuple) else (lane,)
            for out, flag, value in zip(results, batched, lane, strict=True):
                np.testing.assert_allclose(out[j] if flag else out, value, rtol=1e-14)


def test_no_lanes_have_no_effects() -> None:
    for program in EFFECTS:
        graph = traced(program)
        flags = (True,) * len(graph.inputs)
        made, _ = batch_graph(graph, flags, symbol("b"), fresh_names())
        given = [stacked(column)[:0] for column in zip(*program.lanes, strict=True)]
        for run in (evaluate, run_graph):
            results, text, raised = outcome(functools.partial(run, made, given))
            assert (text, raised) == ("", "")
            assert all(len(x) == 0 for x in results)


@pytest.mark.sampled(7)
@pytest.mark.parametrize("program", GRADIENTS, ids=lambda p: p.function.__name__)
def test_gradients_in_batches(program: Program) -> None:
    gradient = tracejit.grad(program.function, argnums=(0, 1))
    graph = tracejit.jit(gradient).trace(*program.lanes[0])
    for flags in subsets(program):
        made = compare(graph, program.lanes, flags, size=symbol("b"), **NATIVE)
        compare(graph, program.lanes, flags, run_graph, **NATIVE)
        if all(flags):
            assert bool(loops(made)) == program.apart


# Batches of batches, sizes ------------------------------------------------------------------------


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.function.__name__)
def test_batches_of_batches(program: Program) -> None:
    graph, names = traced(program), fresh_names()
    flags = (True,) * len(graph.inputs)
    once, first = batch_graph(graph, flags, symbol("b"), names)
    twice, second = batch_graph(once, flags, symbol("d"), names)
    verify(twice, "trace")
    assert first == second == (True,) * len(graph.outputs)
    given = [stacked([lane[k] for lane in program.lanes]) for k in range(len(flags))]
    given = [np.stack([x, x[::-1]]) for x in given]
    try:
        expected = [evaluate(once, [x[k] for x in given]) for k in range(2)]
    except Bailout:
        with pytest.raises(Bailout):
            evaluate(twice, given)
        return
    for k, out in enumerate(evaluate(twice, given)):
        for j in range(2):
            assert_same(expected[j][k], np.asarray(out)[j], **ULPS)


@pytest.mark.sampled(45, kind=lambda program, **_: program.function.__name__)
@pytest.mark.parametrize("size", [0, 1])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.function.__name__)
def test_no_lanes_and_one(program: Program, size: int) -> None:
    graph = traced(program)
    flags = (True,) * len(graph.inputs)
    for dim in (size, symbol("b")):
        if size:
            compare(graph, program.lanes[:1], flags, size=dim, **ULPS)
            compare(graph, program.lanes[:1], flags, run_graph, size=dim, **NATIVE)
            continue
        made, _ = batch_graph(graph, flags, dim, fresh_names())
        verify(made, "trace")
        given = [stacked(column)[:0] for column in zip(*program.lanes, strict=True)]
        for out, v in zip(evaluate(made, given), made.outputs, strict=True):
            assert (len(out), out.ndim, out.dtype) == (0, v.type.ndim, v.type.dtype)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.function.__name__)
def test_batches_of_programs_run_natively(program: Program) -> None:
    graph = traced(program)
    for flags in subsets(program):
        compare(graph, program.lanes, flags, run_graph, size=symbol("b"), **NATIVE)


SYMBOLIC = """
def f(n: size, m: size, x: f64[n, m] @ (1, 0,), i: int, s: f32):
    y: f64[n, m] @ (1, 0,) = add(x, x)
    z: f64[n] = reduce_sum(y, axes=(1,))
    k: int = dim_value(dim=n*m)
    j: int = py_add(k, i)
    t: f64[n*m] = reshape(x, shape=(n*m,))
    def condition(q: size, n: size, c: f64[n], d: f64[n]):
        a: int = dim_value(dim=q)
        b: int = dim_value(dim=n)
        e: bool = py_less(a, b)
        return e
    def body(q: size, n: size, c: f64[n], d: f64[n]):
        a: f64[n] = add(c, d)
        return a, size(q + 1)
    w: f64[n] = while_loop(z, z, carried=1, sizes=((0, n), (0, n)), regions=(condition, body),\
        binds=(r,))
    u: f64[r] = slice(w, start=(0,), size=(r,), step=(1,))
    return z, j, t, w, s, u
"""


def test_sizes_of_the_graph_and_of_the_batch() -> None:
    graph = parse_graph(SYMBOLIC)
    x = np.arange(24.0).reshape(2, 3, 4)
    lanes = [(np.asfortranarray(x[k]), k + 2, np.float32(k)) for k in range(2)]
    for flags in itertools.product((True, False), repeat=3):
        if flags[0]:
            for size in (2, symbol("b"), symbol("n") - 1):
                compare(graph, lanes, flags, size=size)
        if any(flags):
            compare(graph, lanes, flags, size=2)


def test_nodes_are_batched_twice_into_one_graph() -> None:
    """What the nodes bind gets new names each time."""
    graph = parse_graph(SYMBOLIC)
    builder, names = GraphBuilder("g", ("n", "m")), fresh_names()
    inputs = [builder.input(batched_type(v.type, 2)) for v in graph.inputs]
    outputs = []
    for _ in range(2):
        table = {v: (x, True) for v, x in zip(graph.inputs, inputs, strict=True)}
        batch_nodes(DerivativeBuilder(builder, names), graph.nodes, table, 2, graph.outputs)
        outputs.append(table[graph.outputs[3]][0])
    made = builder.build(outputs)
    verify(made, "trace")
    x = np.arange(24.0).reshape(2, 3, 4)
    first, second = evaluate(made, [x, np.array([1, 2]), np.zeros(2, np.float32)])
    assert_same(first, second)


# What no batch can hold ---------------------------------------------------------------------------


def refused(source: str, *flags: bool) -> str:
    """Why a graph cannot be batched."""
    with pytest.raises(Unbatchable) as e:
        batch_graph(parse_graph(source), flags, 3, fresh_names())
    return str(e.value)


def test_what_is_refused() -> None:
    masked = """
def f(m: b1[4], k: int):
    bind_size(k, binds=(s,))
    p: i64[s] = true_positions(m, size=s)
    return p
"""
    assert "sizes of their own" in refused(masked, True, True)
    assert "i64[3, s]" not in refused(masked, False, True)
    stores = """
@results("write 0")
def f(x: f64[2], y: f64[2]):
    z: f64[2] = add(x, y)
    return z
"""
    assert "one for all" in refused(stores, False, True)
    assert "no batch axis" in refused("def f(t: token):\n    return t\n", True)


def test_a_store_into_a_batched_input_stays_one() -> None:
    stores = """
@results("write 0")
def f(x: f64[2, 3] @ (1, 0,), y: f64[2, 3]):
    z: f64[2, 3] = add(y, y)
    w: f64[2, 3] @ (1, 0,) = update_slice(x, z, start=(0, 0), size=(2, 3), step=(1, 1))
    return w
"""
    lanes = [(np.ones((2, 3), order="F"), np.full((2, 3), float(k))) for k in range(3)]
    for flags in ((True, True), (True, False)):
        made = compare(parse_graph(stores), lanes, flags)
        assert made.results == ("write 0",)
        assert made.outputs[0].type == made.inputs[0].type


def test_a_loop_over_lanes_holds_what_lies_between() -> None:
    """Two nodes without a rule, one after the other, are one loop, and so is what joins them."""
    source = """
def f(x: int):
    y: int = py_int_power(x, x)
    z: int = py_add(y, x)
    w: int = py_int_power(z, x)
    u: int = py_multiply(w, x)
    v: int = py_multiply(x, x)
    return u, v
"""
    graph = parse_graph(source)
    made = compare(graph, [(2,), (3,)], (True,))
    assert loops(made) == 1
    (loop,) = (n for n in made.nodes if n.op.name == "while_loop")
    inside = [n.op.name for n in loop.regions[1].nodes]
    assert inside.count("py_int_power") == 2
    assert "py_add" in inside and "py_multiply" not in inside


@pytest.mark.parametrize("seed", range(12))
def test_batches_of_random_graphs(seed: int) -> None:
    graph, inputs = random_graph(seed)
    lanes = [tuple(_rolled(x, j) for x in inputs) for j in range(3)]
    rng = np.random.default_rng(seed)
    for _ in range(2):
        flags = tuple(bool(b) for b in rng.integers(0, 2, len(inputs)))
        if any(flags):
            compare(graph, lanes, flags, size=symbol("lanes"), parity="order", ulp=256)


def _rolled(x: Any, j: int) -> Any:
    if isinstance(x, np.ndarray):
        return np.roll(x.ravel(), j).reshape(x.shape)
    return x


@pytest.mark.sampled(10)
@pytest.mark.parametrize("program", MAPPED, ids=lambda p: p.function.__name__)
def test_vmap_is_a_loop_whose_results_are_stacked(program: Program) -> None:
    for flags in subsets(program):
        first = program.lanes[0]
        own = [
            [x if flag else y for x, y, flag in zip(lane, first, flags, strict=True)]
            for lane in program.lanes
        ]
        expected = [program.function(*copy.deepcopy(lane)) for lane in own]
        given = [stacked([lane[k] for lane in own]) if f else first[k] for k, f in enumerate(flags)]
        mapped = tracejit.vmap(program.function, in_axes=tuple(0 if f else None for f in flags))
        compiled = tracejit.jit(mapped)
        columns = zip(*expected, strict=True) if isinstance(expected[0], tuple) else [expected]
        results = compiled(*given)
        assert ": 1 compiled, 0 eager" in str(compiled.report())
        results = results if isinstance(results, tuple) else (results,)
        for column, result in zip(columns, results, strict=True):
            assert_same(stacked(column), result, **NATIVE)
