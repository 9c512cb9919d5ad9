"""Stacks in native code: random programs, memory that grows and comes back, what stays in it."""

from __future__ import annotations

import gc
import resource

import numpy as np
import pytest

from tests.ops.stack_samples import (
    F64,
    I64,
    RAGGED,
    SUMS,
    VECTOR,
    agree,
    op_names,
    read,
)
from tests.random.stacks import random_program
from tests.support.compare import assert_same
from tests.support.native_flow import NativeGraph
from tracejit.codegen.analysis.liveness import Liveness
from tracejit.codegen.analysis.memory_use import memory_use
from tracejit.codegen.llvm.engine import optimized_text
from tracejit.codegen.support.allocator import kept_bytes
from tracejit.errors import Bailout, TraceError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.passes.control.lower import lower_control_flow
from tracejit.passes.loops.hoist_checks import hoist_checks
from tracejit.passes.manager import run_passes
from tracejit.runtime.compile.graph_call import run_graph


@pytest.mark.sampled(20)
@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    text, inputs = random_program(seed)
    graph = read(text)
    expected = agree(graph, *inputs)
    # The same for any sizes: there records have sizes that only the run knows.
    assert_same(tuple(NativeGraph(graph)(inputs) or ()), expected)


def test_a_loop_may_have_a_version_for_valid_indices() -> None:
    graph = read(SUMS)
    assert op_names(hoist_checks(graph)).count("stack_push") == 2
    x = np.random.default_rng(1).normal(size=50)
    agree(graph, x, 50)
    agree(graph, x, 0)
    with pytest.raises(Bailout):
        run_graph(graph, (x, 51))


def test_memory_comes_back_where_a_run_bails_out_or_ends() -> None:
    native = NativeGraph(read(SUMS))
    x = np.ones(50_000)
    gc.collect()
    before = kept_bytes()
    assert native((x, 50_000)) is not None
    kept = kept_bytes()
    assert before + 800_000 <= kept <= before + 2_000_000
    for _ in range(100):
        assert native((x, 50_001)) is None
        assert native((x, 49_999)) is not None
    assert kept_bytes() == kept
    del native
    gc.collect()
    assert kept_bytes() == before


def test_ten_thousand_calls_take_no_more_memory() -> None:
    native = NativeGraph(read(SUMS))
    x = np.ones(500)

    def calls(count: int) -> int:
        for _ in range(count):
            native((x, 500))
            native((x, 501))
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    before = calls(200)
    assert calls(5000) - before < 1024, "kilobytes"


def test_ragged_arrays_and_growth_over_many_doublings() -> None:
    graph = read(RAGGED)
    x = np.random.default_rng(1).normal(size=37)
    for times in (0, 1, 2, 40):
        agree(graph, x, times)
    native = NativeGraph(graph)
    expected = {times: evaluate(graph, (x, times)) for times in (10, 1000)}
    for times in (1000, 10, 1000):
        assert_same(tuple(native((x, times)) or ()), expected[times])


ORDERS = """\
def f(n: size, x: f64[n, 3] @ (1, 0,), y: c64[3, n]):
    z: f64[3, n] = transpose(x, axes=(1, 0))
    t: token = stack_new(stack="s")
    t1: token = stack_push(t, x, stack="s")
    t2: token = stack_push(t1, z, y, stack="s")
    t3, z1, y1 = typed(stack_pop(t2, stack="s", types=(("array", "f64", (3, n), (0, 1)), ("array", "c64", (3, n), (0, 1)))), token, f64[3, n], c64[3, n])
    t4, x1 = typed(stack_pop(t3, stack="s", types=(("array", "f64", (n, 3), ORDER),)), token, f64[n, 3] @ (1, 0,))
    return x1, z1, y1
"""  # noqa: E501


def test_axis_orders() -> None:
    x = np.arange(12.0).reshape(4, 3)
    y = np.arange(12).reshape(3, 4).astype(np.complex64)
    agree(read(ORDERS.replace("ORDER", "(1, 0)")), x, y)
    other = read(ORDERS.replace("ORDER", "(0, 1)").replace("f64[n, 3] @ (1, 0,))", "f64[n, 3])"))
    assert_same(evaluate(other, (x, y))[0], x)
    with pytest.raises(TraceError, match="unlike axis orders"):
        run_graph(other, (x, y))


def test_a_strided_argument_is_pushed_dense() -> None:
    graph = read("""\
def f(n: size, x: f64[n, 3]):
    t: token = stack_new(stack="s")
    t1: token = stack_push(t, x, stack="s")
    t2, y = typed(stack_pop(t1, stack="s", types=(("array", "f64", (n, 3), (0, 1)),)), token, f64[n, 3])
    return y
""")  # noqa: E501
    x = np.arange(42.0).reshape(7, 6)[::-2, ::2]
    assert_same(NativeGraph(graph, strided=(0,))((x,)), [x.copy()])


READ_AFTER = f"""\
def f(n: size, x: f64[n], more: bool):
    t: token = stack_new(stack="s")
    t1: token = stack_push(t, x, stack="s")
    t2, y = typed(stack_pop(t1, stack="s", types=({VECTOR},)), token, f64[n])
    z: f64[n] = add(x, x)
    PUSH
    t4, w = typed(stack_pop(t3, stack="s", types=({VECTOR},)), token, f64[n])
    d: f64[n] = subtract(y, w)
    return d
"""


@pytest.mark.parametrize("pushed", ["z", "y"])
def test_a_popped_array_stays_where_nothing_overwrites_it(pushed: str) -> None:
    push = f't3: token = stack_push(t2, {pushed}, stack="s")'
    graph = read(READ_AFTER.replace("PUSH", push))
    agree(graph, np.arange(500.0), True)
    live = Liveness(lower_control_flow(run_passes(graph, verify=True)))
    pops = [n for _, n in live.graph.nodes() if n.op.name == "stack_pop"]
    assert [n.outputs[1] in live.fixed for n in pops] == [False, True]


def test_popped_arrays_may_be_stored_into_and_handed_on() -> None:
    graph = read(f"""\
def f(n: size, x: f64[n], v: f64):
    t: token = stack_new(stack="s")
    t1: token = stack_push(t, x, stack="s")
    t2: token = stack_push(t1, x, stack="s")
    t3, y = typed(stack_pop(t2, stack="s", types=({VECTOR},)), token, f64[n])
    y1: f64[n] = write_item(y, v, at=(1,))
    t4, z = typed(stack_pop(t3, stack="s", types=({VECTOR},)), token, f64[n])
    y2: f64[n] = write_item(y1, v, at=(0,))
    zero: int = constant(value=0, type="int")
    def test(n: size, i: int, a: f64[n], b: f64[n]):
        three: int = constant(value=3, type="int")
        go: bool = py_less(i, three)
        return go
    def body(n: size, i: int, a: f64[n], b: f64[n]):
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        return j, b, a
    k, a, b = typed(while_loop(zero, y2, z, carried=3, sizes=((n,), (n,)), regions=(test, body)), int, f64[n], f64[n])
    return a, b, z
""")  # noqa: E501
    agree(graph, np.arange(4.0), np.float64(-1))


def test_the_report_tells_what_is_kept() -> None:
    native = NativeGraph(read(RAGGED))
    (use,) = native.program.plan.stacks
    assert [str(d) for d in use.records] == ["16*w", "8"] and use.taken_bytes == 0
    native((np.arange(20.0), 100))
    assert 100 * 16 * 9 <= use.taken_bytes <= 2 * 100 * (2 * 256 + 64)
    flat = lower_control_flow(run_passes(native.graph, verify=True))
    found = memory_use(flat, native.program.plan, {"n": 20})
    (line,) = [line for line in found.lines() if line.startswith("stack")]
    assert line.startswith("stack s: 16*w or 8 bytes a push, room for ")


def test_a_push_of_scalars_calls_only_where_the_stack_is_full() -> None:
    """The calls lie in blocks that are marked unlikely."""
    graph = read(SUMS)
    text = optimized_text(NativeGraph(graph).program.text)
    blocks = [block for block in text.split("\n\n") if "@tj_extend(" in block]
    pushes = op_names(run_passes(graph, verify=True)).count("stack_push")
    calls = sum("call ptr @tj_extend" in block for block in blocks)
    assert calls == pushes
    assert all("store double" not in block for block in blocks if "call" in block)


SEVERAL = f"""\
def f(n: size, x: f64[n], times: int):
    zero: int = constant(value=0, type="int")
    t: token = stack_new(stack="s")
    one: f64 = constant(value=1.0, type="f64")
    def test(n: size, i: int, t: token, a: f64, x: f64[n], times: int):
        go: bool = py_less(i, times)
        return go
    def body(n: size, i: int, t: token, a: f64, x: f64[n], times: int):
        b: f64 = sin(a)
        c: f64 = add(a, b)
        t1: token = stack_push(t, a, b, stack="s")
        t2: token = stack_push(t1, i, c, i, stack="s")
        t3: token = PUSHED
        t4: token = stack_push(t3, c, stack="s")
        t5: token = stack_push(t4, b, stack="s")
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        return j, t5, c
    k, t2, c = typed(while_loop(zero, t, one, x, times, carried=3, sizes=((n,), (n,)), regions=(test, body)), int, token, f64)
    def more(n: size, i: int, t: token, g: f64, s: int, x: f64[n]):
        none: int = constant(value=0, type="int")
        go: bool = py_less(none, i)
        return go
    def back(n: size, i: int, t: token, g: f64, s: int, x: f64[n]):
        t1, b = typed(stack_pop(t, stack="s", types=({F64},)), token, f64)
        t2, c = typed(stack_pop(t1, stack="s", types=({F64},)), token, f64)
        t3, y = typed(POPPED)
        t4, p, c1, q = typed(stack_pop(t3, stack="s", types=({I64}, {F64}, {I64})), token, int, f64, int)
        t5, a, b1 = typed(stack_pop(t4, stack="s", types=({F64}, {F64})), token, f64, f64)
        d: f64 = subtract(c, b1)
        e: f64 = multiply(d, c1)
        h: f64 = multiply(g, b)
        g1: f64 = add(h, e)
        first: f64 = FIRST
        g2: f64 = add(g1, first)
        g3: f64 = subtract(g2, a)
        u: int = py_add(s, p)
        v: int = py_subtract(u, q)
        w: int = py_add(v, q)
        one: int = constant(value=1, type="int")
        j: int = py_subtract(i, one)
        return j, t5, g3, w, x
    l, t3, g, s, x1 = typed(while_loop(k, t2, one, zero, x, carried=5, sizes=((n,), (n,)), regions=(more, back)), int, token, f64, int, f64[n])
    return c, g, s, x1
"""  # noqa: E501

#: The record in the middle: only a number, or an array too.
SHORT = {
    "PUSHED": 'stack_push(t2, b, stack="s")',
    "t3, y = typed(POPPED)": f't3, y = typed(stack_pop(t2, stack="s", types=({F64},)), token, f64)',
    "FIRST": "add(y, y)",
}
LONG = {
    "PUSHED": 'stack_push(t2, x, b, stack="s")',
    "t3, y = typed(POPPED)": f't3, z, y = typed(stack_pop(t2, stack="s", types=({VECTOR}, {F64})), '
    "token, f64[n], f64)",
    "FIRST": "read_item(z, at=(1,))",
}


def several(middle: dict[str, str]) -> Graph:
    """A loop that pushes five records in each iteration, and one that pops them."""
    text = SEVERAL
    for name, replacement in middle.items():
        text = text.replace(name, replacement)
    return read(text)


@pytest.mark.parametrize("middle", [SHORT, LONG], ids=["numbers", "arrays"])
def test_several_records_at_a_time_at_every_fill_of_the_memory(middle: dict[str, str]) -> None:
    """The first of several pushes makes room for all of them, whichever would not have had it."""
    graph = several(middle)
    x = np.random.default_rng(1).normal(size=5)
    native = NativeGraph(graph)
    for times in (0, 1, *range(8, 24), 300):
        assert_same(tuple(native((x, times)) or ()), evaluate(graph, (x, times)))
        if times < 12:
            agree(graph, x, times)


@pytest.mark.parametrize(
    "middle, pushes, pops", [(SHORT, 1, 1), (LONG, 2, 3)], ids=["numbers", "arrays"]
)
def test_of_several_records_the_first_is_checked(
    middle: dict[str, str], pushes: int, pops: int
) -> None:
    text = NativeGraph(several(middle)).program.text
    flow = text[text.index("@flow(") :]
    assert (flow.count("@tj_extend("), flow.count("label %.empty")) == (pushes, pops)
