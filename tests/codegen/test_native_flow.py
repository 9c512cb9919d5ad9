"""Native programs of branches and loops: where arrays lie, what is undone, how a program leaves."""

from __future__ import annotations

import _thread
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.random.flow import random_flow
from tests.random.memory import random_memory
from tests.support.compare import assert_same
from tests.support.native_flow import NativeGraph
from tracejit.codegen.analysis.buffer_plan import BufferPlan
from tracejit.errors import Bailout
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import parse_graph
from tracejit.ir.types import TOKEN, type_sizes


def _copies(values: list[Any]) -> list[Any]:
    return [v.copy() if isinstance(v, np.ndarray) else v for v in values]


def _spread(x: np.ndarray[Any, Any], backwards: bool) -> np.ndarray[Any, Any]:
    """`x` as a view with gaps."""
    whole = np.full((3 * x.shape[0] + 2, *x.shape[1:]), 55, x.dtype)
    view = whole[1 : 1 + 3 * x.shape[0] : 3]
    view = view[::-1] if backwards else view
    view[...] = x
    return view


def _check(
    graph: Graph, inputs: list[Any], written: Sequence[int] = (), strided: Sequence[int] = ()
) -> BufferPlan:
    """Compare with the evaluator; inputs that are not written keep their values."""
    expected = list(evaluate(graph, _copies(inputs)))
    memory = _copies(inputs)
    for k in strided:
        memory[k] = _spread(inputs[k], k % 2 == 1)
    native = NativeGraph(graph, strided)
    actual = native(memory)
    assert actual is not None
    assert_same([*actual, *(memory[k] for k in written)], expected)
    for k, x in enumerate(inputs):
        if k not in written:
            assert_same(memory[k], x)
    return native.program.plan


# Random programs ----------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(16))
def test_programs_over_memory(seed: int) -> None:
    graph, inputs, written = random_memory(seed)
    rng = np.random.default_rng(seed)
    arrays = [k for k, x in enumerate(inputs) if isinstance(x, np.ndarray)]
    _check(graph, inputs, written, [k for k in arrays if rng.random() < 0.3])


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(16))
def test_programs_that_only_store_copy_nothing(seed: int) -> None:
    graph, inputs, written = random_memory(seed, objects=True)
    assert _check(graph, inputs, written).copies == []


@pytest.mark.sampled(8)
@pytest.mark.parametrize("seed", range(16))
def test_programs_that_bail_out_leave_memory_as_it_was(seed: int) -> None:
    graph, inputs, written = random_memory(seed, checks=True)
    strided = [0] if seed % 2 else []
    try:
        evaluate(graph, _copies(inputs))
    except Bailout:
        memory = _copies(inputs)
        for k in strided:
            memory[k] = _spread(inputs[k], backwards=False)
        assert NativeGraph(graph, strided)(memory) is None
        assert_same(memory, inputs)
        return
    _check(graph, inputs, written, strided)


@pytest.mark.parametrize("seed", range(16))
def test_branches_loops_and_sizes(seed: int) -> None:
    graph, inputs = random_flow(seed)
    sizes = set(graph.sizes)
    known = [v for v in graph.outputs if type_sizes(v.type) <= sizes and v.type != TOKEN]
    graph = Graph(graph.name, graph.sizes, graph.inputs, graph.nodes, tuple(known))
    native = NativeGraph(graph)
    try:
        expected = list(evaluate(graph, _copies(inputs)))
    except Bailout:
        assert native(inputs) is None
        return
    assert_same(native(_copies(inputs)), expected)


# Where arrays lie ---------------------------------------------------------------------------------

SWAP = """
@results("fresh", "fresh")
def f(n: size, x: f64[n], y: f64[n], trip: int):
    zero: int = constant(value=0, type="int")
    a: f64[n] = negative(x)
    b: f64[n] = negative(y)
    def test(n: size, k: int, a: f64[n], b: f64[n], trip: int):
        go: bool = py_less(k, trip)
        return go
    def body(n: size, k: int, a: f64[n], b: f64[n], trip: int):
        one: int = constant(value=1, type="int")
        m: int = py_add(k, one)
        p: f64[n - 2] = slice(a, start=(0,), size=(n - 2,), step=(1,))
        q: f64[n - 2] = slice(a, start=(2,), size=(n - 2,), step=(1,))
        s: f64[n - 2] = add(p, q)
        c: f64[n] = update_slice(b, s, start=(1,), size=(n - 2,), step=(1,))
        return m, c, a
    k, c, d = typed(while_loop(zero, a, b, trip, carried=3, sizes=((n,), (n,)),
        regions=(test, body)), int, f64[n], f64[n])
    return c, d
"""


@pytest.mark.parametrize("trip", (0, 1, 4, 7))
def test_names_that_are_swapped_move_pointers(trip: int) -> None:
    rng = np.random.default_rng(3)
    plan = _check(parse_graph(SWAP), [rng.standard_normal(30), rng.standard_normal(30), trip])
    assert len(plan.turns) == 1
    assert plan.edges == {}


@pytest.mark.parametrize("trip", (0, 1, 4, 7))
def test_swapped_arguments_are_left_alone_or_written_at_the_end(trip: int) -> None:
    rng = np.random.default_rng(4)
    inputs = [rng.standard_normal(30), rng.standard_normal(30), trip]
    text = SWAP.replace("negative(x)", "positive(x)").replace("negative(y)", "positive(y)")
    _check(parse_graph(text), inputs)
    written = text.replace('"fresh", "fresh"', '"write 0", "write 1"')
    for strided in ([], [0], [0, 1]):
        _check(parse_graph(written), inputs, [0, 1], strided)
    crossed = text.replace('"fresh", "fresh"', '"write 1", "write 0"')
    graph = parse_graph(crossed)
    memory = _copies(inputs)
    assert NativeGraph(graph)(memory) == []
    expected = evaluate(graph, _copies(inputs))
    assert_same([memory[1], memory[0]], list(expected))


def test_arguments_change_places_without_a_loop() -> None:
    graph = parse_graph("""
@results("write 1", "write 0")
def f(n: size, x: f64[n], y: f64[n]):
    return x, y
""")
    memory = [np.arange(5.0), np.arange(5.0, 10.0)]
    assert NativeGraph(graph)(memory) == []
    assert_same(memory, [np.arange(5.0, 10.0), np.arange(5.0)])


def test_one_array_for_two_results() -> None:
    graph = parse_graph("""
def f(n: size, x: f64[n]):
    y: f64[n] = negative(x)
    return y, x, y
""")
    _check(graph, [np.arange(6.0)])


def test_an_elementwise_loop_needs_one_buffer() -> None:
    graph = parse_graph("""
def f(n: size, x: f64[n], trip: int):
    zero: int = constant(value=0, type="int")
    a: f64[n] = negative(x)
    def test(n: size, k: int, a: f64[n], trip: int):
        go: bool = py_less(k, trip)
        return go
    def body(n: size, k: int, a: f64[n], trip: int):
        one: int = constant(value=1, type="int")
        m: int = py_add(k, one)
        b: f64[n] = add(a, a)
        return m, b
    k, c = typed(while_loop(zero, a, trip, carried=2, sizes=((n,), (n,)),
        regions=(test, body)), int, f64[n])
    return c
""")
    plan = _check(graph, [np.arange(40.0), 5])
    assert plan.slots == [] and plan.copies == [] and plan.turns == {}


GROWS = """
def f(n: size, x: f64[n]):
    def test(k: size, w: size, n: size, a: f64[w]):
        number: int = dim_value(dim=k)
        limit: int = constant(value=6, type="int")
        go: bool = py_less(number, limit)
        return go
    def body(k: size, w: size, n: size, a: f64[w]):
        b: f64[2*w] = concatenate(a, a, axis=0)
        return b, size(k + 1), size(2*w)
    c: f64[last] = while_loop(x, carried=1, sizes=((0, n, n), (0, n, n)),
        regions=(test, body), binds=(count, last))
    total: f64[()] = reduce_sum(c, axes=(0,))
    return total
"""


def test_arrays_that_grow() -> None:
    plan = _check(parse_graph(GROWS), [np.arange(4.0)])
    assert any(s.grows for s in plan.allocation.values())


def test_slots_of_dead_arrays_are_used_again() -> None:
    lines = ["def f(n: size, x: f64[n, n]):"]
    previous = "x"
    for k in range(12):
        lines.append(f"    v{k}: f64[n, n] = matmul({previous}, x)")
        previous = f"v{k}"
    graph = parse_graph("\n".join([*lines, f"    return {previous}", ""]))
    plan = _check(graph, [np.eye(3) * 2.0])
    assert len(plan.slots) <= 2


# Undo ---------------------------------------------------------------------------------------------

STORES = """
@results("write 0")
def f(n: size, x: f64[n], i: int, v: f64):
    a: f64[n] = write_item(x, v, at=(0,))
    w: f64 = read_item(a, i, at=(None,))
    b: f64[n] = write_item(a, w, at=(1,))
    return b
"""


@pytest.mark.parametrize("strided", ([], [0]))
def test_stores_are_undone_before_a_bail_out(strided: list[int]) -> None:
    graph = parse_graph(STORES)
    native = NativeGraph(graph, strided)
    for i in (2, -1, 99, -7):
        plain = np.arange(6.0)
        x = _spread(plain, True) if strided else plain.copy()
        whole = np.array(x.base)
        result = native([x, i, 5.0])
        if -6 <= i < 6:
            assert result == []
            assert_same(x, np.array([5.0, 5.0 if i == 0 else plain[i], 2.0, 3.0, 4.0, 5.0]))
        else:
            assert result is None
            assert_same(x, plain)
            assert_same(np.array(x.base), whole)


def test_nothing_is_saved_where_nothing_must_be_undone() -> None:
    graph = parse_graph("""
@results("write 0")
def f(n: size, x: f64[n], i: int, v: f64):
    w: f64 = read_item(x, i, at=(None,))
    b: f64[n] = write_item(x, w, at=(1,))
    return b
""")
    native = NativeGraph(graph)
    assert "@tj_take" not in native.program.text
    x = np.arange(4.0)
    assert native([x, 99, 1.0]) is None
    assert_same(x, np.arange(4.0))
    assert native([x, 3, 1.0]) == []
    assert_same(x, np.array([0.0, 3.0, 2.0, 3.0]))


def test_stores_of_earlier_iterations_are_undone() -> None:
    graph = parse_graph("""
@results("write 0")
def f(n: size, x: f64[n], at: i64[n]):
    def test(k: size, n: size, x: f64[n], at: i64[n]):
        number: int = dim_value(dim=k)
        limit: int = dim_value(dim=n)
        go: bool = py_less(number, limit)
        return go
    def body(k: size, n: size, x: f64[n], at: i64[n]):
        i: i64 = read_item(at, at=(k,))
        one: f64 = constant(value=1.0, type="f64")
        v: f64 = read_item(x, i, at=(None,))
        w: f64 = add(v, one)
        y: f64[n] = write_item(x, w, i, at=(None,))
        return y, size(k + 1)
    y: f64[n] = while_loop(x, at, carried=1, sizes=((0, n), (0, n)),
        regions=(test, body), binds=(last,))
    return y
""")
    native = NativeGraph(graph)
    x = np.zeros(5)
    assert native([x, np.array([0, 0, 4, -1, 2])]) == []
    assert_same(x, np.array([2.0, 0.0, 1.0, 0.0, 2.0]))
    assert native([x, np.array([0, 0, 4, 5, 2])]) is None
    assert_same(x, np.array([2.0, 0.0, 1.0, 0.0, 2.0]))


# Leaving ------------------------------------------------------------------------------------------


def test_an_exception_leaves_present_values_behind() -> None:
    graph = parse_graph("""
@results("write 0", "fresh")
def f(n: size, x: f64[n], y: f64[n], bad: bool):
    t: token = start_token()
    a: f64[n] = add(x, y)
    b: f64[n] = add(a, x)
    def then(n: size, t: token, a: f64[n], b: f64[n]):
        u: token = raise_error(t, b,
            error=("call", "builtins:ValueError", 0, (("constant", 1),), ()), states=(0,))
        return u
    def orelse(n: size, t: token, a: f64[n], b: f64[n]):
        return t
    u: token = cond(bad, t, a, b, sizes=((n,), (n,)), regions=(then, orelse))
    c: f64[n] = subtract(a, b)
    return c, b
""")
    native = NativeGraph(graph)
    x, y = np.arange(5.0), np.ones(5)
    assert_same(native([x, y, False]), [np.arange(5.0) * 2 + 1])
    assert_same(x, 0.0 - np.arange(5.0))
    x = np.arange(5.0)
    with pytest.raises(ValueError, match="1"):
        native([x, y, True])
    assert_same(x, np.arange(5.0) * 2 + 1)


def test_an_argument_may_change_only_where_an_exception_leaves() -> None:
    graph = parse_graph("""
@results("fresh")
def f(n: size, x: f64[n], bad: bool):
    t: token = start_token()
    a: f64[n] = add(x, x)
    def then(n: size, t: token, a: f64[n]):
        u: token = raise_error(t, a, error=("call", "builtins:ValueError", 0, (), ()), states=(0,))
        return u
    def orelse(n: size, t: token, a: f64[n]):
        return t
    u: token = cond(bad, t, a, sizes=((n,), (n,)), regions=(then, orelse))
    b: f64[n] = negative(a)
    return b
""")
    native = NativeGraph(graph)
    x = np.arange(1.0, 5.0)
    assert_same(native([x, False]), [-2 * x])
    assert_same(x, np.arange(1.0, 5.0))
    with pytest.raises(ValueError):
        native([x, True])
    assert_same(x, 2 * np.arange(1.0, 5.0))


def _never_ends(x: Any) -> Any:
    total = 0.0
    while total + x[0] < 1e30:
        total = total * 0.5 + x[1]
    return total


def _never_ends_with_arrays(x: Any) -> Any:
    y = x.copy()
    while y[0] < 1e30:
        y = y * 0.5 + x
    return y


def _never_ends_inside(x: Any) -> Any:
    total = 0.0
    while total < 1e30:
        for i in range(3):
            total = total * 0.5 + x[i]
    return total


@pytest.mark.parametrize("f", (_never_ends, _never_ends_with_arrays, _never_ends_inside))
def test_a_signal_ends_a_loop(f: Any) -> None:
    jitted = tracejit.jit(f, strict=True)
    assert jitted(np.full(4, 1e31)) is not None
    began: list[float] = []

    def interrupt() -> None:
        time.sleep(0.3)
        began.append(time.perf_counter())
        _thread.interrupt_main()

    thread = threading.Thread(target=interrupt)
    thread.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            jitted(np.ones(4))
    finally:
        thread.join()
    assert jitted.report().fallbacks == []
    assert_same(tracejit.jit(lambda x: x + 1)(np.ones(3)), np.full(3, 2.0))
