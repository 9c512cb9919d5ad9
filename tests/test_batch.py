"""A batched graph gives what a Python loop over its lanes gives: every op, from its samples."""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit
import tracejit.ops
from tests.batch_programs import EFFECTS, GRADIENTS, PROGRAMS, Program
from tests.compare import assert_same
from tests.random_graphs import random_graph
from tracejit.errors import Bailout, Unbatchable
from tracejit.ir.batching import batched_type
from tracejit.ir.calculus import Calculus
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, GraphBuilder
from tracejit.ir.op import OPS, Op
from tracejit.ir.text import parse_graph
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type
from tracejit.ir.verify import verify
from tracejit.runtime.graph_call import run_graph
from tracejit.transforms.batch import batch_graph, batch_nodes
from tracejit.transforms.regions import nested

PLAIN = [
    name
    for name, op in sorted(OPS.items())
    if not hasattr(op, "evaluate_regions") and op.kind not in ("dataflow", "effect", "stack")
]
#: Samples that are tried of each op, at most.
SAMPLES = 14
MATRICES = ("inv", "cholesky", "solve", "lu_diagonal")


def fresh_names() -> Callable[[], str]:
    """Names of sizes that no graph here has."""
    count = itertools.count()
    return lambda: f"z{next(count)}"


def type_of(x: Any) -> Type:
    """The type of a concrete value, with its layout."""
    if isinstance(x, np.ndarray):
        order = tuple(sorted(range(x.ndim), key=lambda a: -abs(x.strides[a])))
        return ArrayType(x.dtype, x.shape, order)
    return NpScalar(x.dtype) if isinstance(x, np.generic) else PyScalar(type(x).__name__)


def graph_of(op: Op, inputs: Sequence[Any], attrs: dict[str, Any]) -> Graph:
    """The graph of one node."""
    builder = GraphBuilder("f")
    values = [builder.input(type_of(x)) for x in inputs]
    if op.name == "bind_size":
        builder.emit(op, values, attrs, binds=("s",))
        return builder.build(builder.emit(OPS["dim_value"], [], {"dim": symbol("s")}))
    return builder.build(builder.emit(op, values, attrs))


def stacked(values: Sequence[Any]) -> np.ndarray:
    """The batch of lanes, those of Python numbers as an i64, f64, c128 or b1."""
    return np.stack([np.asarray(v) for v in values])


def lane_of(batch: Any, t: Type, k: int) -> Any:
    """Lane k of a batch as a value of type `t`."""
    if isinstance(t, ArrayType):
        return batch[k, ...]
    return batch[k].item() if isinstance(t, PyScalar) else batch[k]


def compare(
    graph: Graph,
    lanes: Sequence[Sequence[Any]],
    batched: Sequence[bool],
    run: Callable[..., tuple[Any, ...]] = evaluate,
    size: Dim | None = None,
    **allowed: Any,
) -> Graph:
    """Check the batched graph against the lanes, each by itself; gives the batched graph.

    `lanes` are the operands of each; those that are not `batched` are taken from the first.
    """
    dim = len(lanes) if size is None else size
    made, flags = batch_graph(graph, batched, dim, fresh_names())
    verify(made, "trace")
    given = [
        stacked([lane[k] for lane in lanes]) if flag else lanes[0][k]
        for k, flag in enumerate(batched)
    ]
    sizes = {s: len(lanes) if s == str(size) else None for s in made.sizes}
    own = [
        [x if flag else y for x, y, flag in zip(lane, lanes[0], batched, strict=True)]
        for lane in lanes
    ]
    known = None if None in sizes.values() else sizes
    arguments = (given,) if run is not evaluate else (given, known)
    try:
        expected = [evaluate(graph, lane) for lane in own]
    except Bailout:
        with pytest.raises(Bailout):
            run(made, *arguments)
        return made
    outs = run(made, *arguments)
    for k, (out, flag) in enumerate(zip(outs, flags, strict=True)):
        for j, lane in enumerate(expected):
            found = lane_of(out, graph.outputs[k].type, j) if flag else out
            assert_same(lane[k], found, where=f"result {k} of lane {j}", **allowed)
    return made


# Every op ---------------------------------------------------------------------------------------


def variants(op: Op, samples: Sequence[Any], number: int, k: int) -> list[Any]:
    """Three operands like operand k of a sample, for three lanes."""
    x = samples[number][0][k]
    if isinstance(x, np.ndarray):
        if op.name in MATRICES:
            return [x, x * 2, x + x.dtype.type(1) * (k == 1)]
        return [np.roll(x.ravel(), j).reshape(x.shape) for j in range(3)]
    alike = [
        s[k]
        for s, attrs in samples
        if len(s) > k and type_of(s[k]) == type_of(x) and attrs.keys() == samples[number][1].keys()
    ]
    if op.name in ("gather", "scatter", "scatter_apply", "read_item", "write_item", "host_call"):
        alike = [x] if op.name == "host_call" else [x, type(x)(0), type(x)(-1)]
        return [alike[j % len(alike)] for j in range(3)]
    start = next(i for i, y in enumerate(alike) if y is x or repr(y) == repr(x))
    return [alike[(start + j) % len(alike)] for j in range(3)]


def tolerance(op: Op) -> dict[str, Any]:
    """How far a lane of a batch may be from the lane by itself."""
    match = re.fullmatch(r"(\w+)(?:\((\d+)\))?", op.parity)
    assert match
    if match[1] == "order":
        return {"parity": "order", "ulp": 64}
    # A lane's Python number is NumPy's in a batch: 2 ulp, and one more for the vectors' code.
    return {"parity": "ulp", "ulp": int(match[2]) + 3} if match[1] == "ulp" else {}


@pytest.mark.parametrize("name", PLAIN)
def test_batches_of_each_op_are_its_lanes(name: str) -> None:
    op = OPS[name]
    with np.errstate(all="ignore"):
        samples = list(op.samples())
    step = max(1, len(samples) // SAMPLES)
    for number in range(0, len(samples), step):
        inputs, attrs = samples[number]
        with np.errstate(all="ignore"):
            operands = [variants(op, samples, number, k) for k in range(len(inputs))]
        lanes = list(zip(*operands, strict=True))
        for flags in itertools.product((True, False), repeat=len(inputs)):
            if any(flags):
                size = symbol("b") if number % 2 else None
                compare(graph_of(op, inputs, attrs), lanes, flags, size=size, **tolerance(op))


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
        batch_nodes(Calculus(builder, names), graph.nodes, table, 2, graph.outputs)
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
def f(x: float):
    y: float = py_erfc(x)
    z: float = py_add(y, x)
    w: float = py_erfc(z)
    u: float = py_multiply(w, x)
    v: float = py_multiply(x, x)
    return u, v
"""
    graph = parse_graph(source)
    made = compare(graph, [(0.5,), (1.5,)], (True,), parity="ulp", ulp=2)
    assert loops(made) == 1
    (loop,) = (n for n in made.nodes if n.op.name == "while_loop")
    inside = [n.op.name for n in loop.regions[1].nodes]
    assert inside.count("py_erfc") == 2 and "py_add" in inside and "py_multiply" not in inside


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
