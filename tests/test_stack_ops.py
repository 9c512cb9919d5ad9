"""Stacks of records: what they mean, what passes must leave alone, and native code with memory."""

from __future__ import annotations

import gc
import resource
from typing import Any

import numpy as np
import pytest

from tests.compare import assert_same
from tests.native_flow import NativeGraph
from tests.random_stacks import random_program
from tracejit.codegen.blocks import kept_bytes
from tracejit.codegen.engine import optimized_text
from tracejit.codegen.liveness import Liveness
from tracejit.codegen.memory_use import memory_use
from tracejit.errors import Bailout, GraphError, TraceError
from tracejit.ir.dims import symbol
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, GraphBuilder, replay
from tracejit.ir.op import OPS
from tracejit.ir.text import parse_graph, print_graph
from tracejit.ir.types import DTYPES, TOKEN, ArrayType, NpScalar, PyScalar, Type
from tracejit.ir.verify import verify
from tracejit.ops.stack import STACK_OPS, record_types, types_of_record
from tracejit.passes.control_flow import lower_control_flow
from tracejit.passes.cse import cse
from tracejit.passes.dce import dce
from tracejit.passes.hoist_checks import hoist_checks
from tracejit.passes.licm import licm
from tracejit.passes.manager import PASSES, run_passes
from tracejit.runtime.executor import run_dataflow
from tracejit.runtime.graph_call import run_graph

F64, I64 = '("numpy", "f64")', '("python", "int")'
VECTOR = '("array", "f64", (n,), (0,))'


def read(text: str) -> Graph:
    """The graph of a text, which is printed and read again."""
    graph = parse_graph(text)
    verify(graph, "trace")
    printed = print_graph(graph)
    assert print_graph(parse_graph(printed)) == printed
    return graph


def agree(graph: Graph, *inputs: Any) -> tuple[Any, ...]:
    """What the definition gives, which every pass, native code and the executor give too."""
    expected = evaluate(graph, inputs)
    after = graph
    for step in PASSES:
        after = step(after)
        verify(after, step.__name__)
        assert_same(expected, evaluate(after, inputs), where=step.__name__)
    assert_same(expected, run_graph(graph, inputs), where="native")
    flat = lower_control_flow(after)
    assert_same(expected, run_dataflow(flat, inputs, seed=1).outputs, where="executor")
    return expected


def op_names(graph: Graph) -> list[str]:
    """The names of all nodes, those of regions after their node's."""
    out = []
    for node in graph.nodes:
        out += [node.op.name, *(name for region in node.regions for name in op_names(region))]
    return out


def type_of(x: Any) -> Type:
    if isinstance(x, np.ndarray):
        return ArrayType(x.dtype, x.shape)
    return NpScalar(x.dtype) if isinstance(x, np.generic) else PyScalar(type(x).__name__)


# Meaning -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("k", range(5))
def test_records_of_every_type_come_back(k: int) -> None:
    (_, *record), attrs = OPS["stack_push"].samples()[k]
    builder = GraphBuilder("f")
    given = [builder.input(type_of(x)) for x in record]
    t = builder.one(OPS["stack_new"], (), stack="s")
    for _ in range(3):
        t = builder.one(OPS["stack_push"], (t, *given), **attrs)
    out: list[Any] = []
    for _ in range(3):
        types = record_types([v.type for v in given])
        t, *found = builder.emit(OPS["stack_pop"], (t,), {**attrs, "types": types})
        out += found
    graph = builder.build(out)
    verify(graph, "trace")
    assert_same(agree(graph, *record), tuple(record * 3))


def test_samples_of_pops_are_of_their_types() -> None:
    for inputs, attrs in OPS["stack_pop"].samples():
        below, *record = OPS["stack_pop"].evaluate(inputs, attrs)
        assert tuple(map(type_of, record)) == types_of_record(attrs["types"])
        again = OPS["stack_push"].evaluate((below, *record), {"stack": "s"})
        assert_same(OPS["stack_pop"].evaluate(again, attrs)[1:], tuple(record))


def test_stacks_are_values() -> None:
    """A push does not change the stack that it is given; native code refuses such a program."""
    graph = read(f"""\
def f(x: f64, y: f64):
    t: token = stack_new(stack="s")
    a: token = stack_push(t, x, stack="s")
    b: token = stack_push(t, y, stack="s")
    a1, p = typed(stack_pop(a, stack="s", types=({F64},)), token, f64)
    b1, q = typed(stack_pop(b, stack="s", types=({F64},)), token, f64)
    return p, q
""")
    inputs = (np.float64(1), np.float64(2))
    assert evaluate(graph, inputs) == inputs
    with pytest.raises(TraceError, match="not the newest"):
        run_graph(graph, inputs)


def test_arrays_are_copied() -> None:
    x = np.ones(3)
    (t,) = OPS["stack_new"].evaluate((), {"stack": "s"})
    (t,) = OPS["stack_push"].evaluate((t, x), {"stack": "s"})
    x[0] = 5
    types = (("array", "f64", (3,), (0,)),)
    for _ in range(2):
        _, y = OPS["stack_pop"].evaluate((t,), {"stack": "s", "types": types})
        assert_same(y, np.ones(3))
        y[1] = 7


@pytest.mark.parametrize(
    ("stack", "types", "message"),
    [
        ("s", (("numpy", "f32"),), "gives"),
        ("s", (("numpy", "f64"), ("numpy", "f64")), "gives"),
        ("r", (("numpy", "f64"),), "is not the stack r"),
    ],
)
def test_a_pop_of_something_else_fails(stack: str, types: Any, message: str) -> None:
    (t,) = OPS["stack_new"].evaluate((), {"stack": "s"})
    (t,) = OPS["stack_push"].evaluate((t, np.float64(1)), {"stack": "s"})
    with pytest.raises(GraphError, match=message):
        OPS["stack_pop"].evaluate((t,), {"stack": stack, "types": types})


EMPTY = f"""\
def f(n: int):
    t: token = stack_new(stack="s")
    t1: token = stack_push(t, n, stack="s")
    t2, a = typed(stack_pop(t1, stack="s", types=({I64},)), token, int)
    t3, b = typed(stack_pop(t2, stack="s", types=({I64},)), token, int)
    return a, b
"""


def test_a_pop_of_nothing_fails() -> None:
    graph = read(EMPTY)
    with pytest.raises(GraphError, match="is empty"):
        evaluate(graph, (1,))
    with pytest.raises(GraphError, match="empty stack"):
        run_graph(graph, (1,))


@pytest.mark.parametrize(
    ("op", "inputs", "attrs", "message"),
    [
        ("stack_new", (), {"stack": 1}, "not a stack's name"),
        ("stack_new", (), {"stack": "s", "reserve": 8}, "a tuple of one size"),
        ("stack_push", (NpScalar(DTYPES["f64"]),), {"stack": "s"}, "takes a stack first"),
        ("stack_push", (TOKEN, TOKEN), {"stack": "s"}, "does not hold a token"),
        ("stack_pop", (TOKEN,), {"stack": "s", "types": (("numpy", "f65"),)}, "is no type"),
        ("stack_pop", (TOKEN,), {"stack": "s", "types": (("array", "f64", (3,), ()),)}, "axes"),
        ("stack_pop", (TOKEN,), {"stack": "s", "types": (("array", "f64", (-1,), (0,)),)}, "size"),
    ],
)
def test_what_the_type_rules_refuse(op: str, inputs: Any, attrs: Any, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        OPS[op].infer(inputs, attrs, (), ())


def test_sizes_in_the_types_of_a_record_are_substituted() -> None:
    graph = read(f"""\
def f(n: size, x: f64[n]):
    t: token = stack_new(stack="s", reserve=(8*n,))
    t1: token = stack_push(t, x, stack="s")
    t2, y = typed(stack_pop(t1, stack="s", types=({VECTOR},)), token, f64[n])
    return y
""")
    assert graph.nodes[2].sizes() == {"n"} == graph.nodes[0].sizes()
    fixed = replay(graph, sizes={"n": 2 * symbol("m")})
    verify(fixed, "trace")
    assert str(fixed.outputs[0].type) == "f64[2*m]"
    agree(graph, np.arange(4.0))
    agree(replay(graph, sizes={"n": 0}), np.zeros(0))


# Passes ------------------------------------------------------------------------------------------

INVARIANT = f"""\
def f(n: int, x: f64):
    zero: int = constant(value=0, type="int")
    t: token = stack_new(stack="s")
    nothing: f64 = constant(value=0.0, type="f64")
    def test(i: int, a: f64, t: token, x: f64, n: int):
        go: bool = py_less(i, n)
        return go
    def body(i: int, a: f64, t: token, x: f64, n: int):
        r: token = stack_new(stack="r")
        r1: token = stack_push(r, x, stack="r")
        r2: token = stack_push(r1, x, stack="r")
        r3, y = typed(stack_pop(r2, stack="r", types=({F64},)), token, f64)
        r4, z = typed(stack_pop(r3, stack="r", types=({F64},)), token, f64)
        b: f64 = add(a, y)
        c: f64 = add(b, z)
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        return j, c
    k, s = typed(while_loop(zero, nothing, t, x, n, carried=2, sizes=((), ()), regions=(test, body)), int, f64)
    return s
"""  # noqa: E501


def test_nothing_on_a_stack_leaves_a_loop() -> None:
    graph = read(INVARIANT)
    for step in (licm, cse):
        loop = step(graph).nodes[-1]
        assert sum(name in STACK_OPS for name in op_names(loop.regions[1])) == 5
    agree(graph, 3, np.float64(1.5))
    agree(graph, 0, np.float64(1.5))


def test_branches_with_a_stack_are_neither_hoisted_nor_merged() -> None:
    graph = read("""\
def f(n: int, p: bool, x: f64):
    zero: int = constant(value=0, type="int")
    t: token = stack_new(stack="s")
    def test(i: int, t: token, p: bool, x: f64, n: int):
        go: bool = py_less(i, n)
        return go
    def body(i: int, t: token, p: bool, x: f64, n: int):
        def then(t: token, x: f64):
            t1: token = stack_push(t, x, stack="s")
            return t1
        def orelse(t: token, x: f64):
            return t
        t1: token = cond(p, t, x, sizes=((), ()), regions=(then, orelse))
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        return j, t1
    k, t2 = typed(while_loop(zero, t, p, x, n, carried=2, sizes=((), ()), regions=(test, body)), int, token)
    def pop(t: token, x: f64):
        t1, y = typed(stack_pop(t, stack="s", types=(("numpy", "f64"),)), token, f64)
        return y
    def keep(t: token, x: f64):
        return x
    y: f64 = cond(p, t2, x, sizes=((), ()), regions=(pop, keep))
    return y
""")  # noqa: E501
    fused = run_passes(graph, verify=True)
    uses = [name for name in op_names(fused) if name in STACK_OPS]
    assert uses == ["stack_new", "stack_push", "stack_pop"]
    agree(graph, 4, True, np.float64(2.5))
    agree(graph, 4, False, np.float64(2.5))


def test_what_nothing_pops_is_not_pushed() -> None:
    """A carried stack goes with its pushes, on both sides of the loop."""
    graph = read(f"""\
def f(n: int, x: f64):
    zero: int = constant(value=0, type="int")
    t: token = stack_new(stack="s")
    def test(i: int, t: token, x: f64, n: int):
        go: bool = py_less(i, n)
        return go
    def body(i: int, t: token, x: f64, n: int):
        t1: token = stack_push(t, x, stack="s")
        y: f64 = multiply(x, x)
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        return j, t1, y
    k, t2, y = typed(while_loop(zero, t, x, n, carried=3, sizes=((), ()), regions=(test, body)), int, token, f64)
    def more(i: int, t: token, g: f64):
        none: int = constant(value=0, type="int")
        go: bool = py_less(none, i)
        return go
    def back(i: int, t: token, g: f64):
        t1, v = typed(stack_pop(t, stack="s", types=({F64},)), token, f64)
        h: f64 = add(g, v)
        one: int = constant(value=1, type="int")
        j: int = py_subtract(i, one)
        return j, t1, h
    l, t3, g = typed(while_loop(k, t2, y, carried=3, sizes=((), ()), regions=(more, back)), int, token, f64)
    return y
""")  # noqa: E501
    assert STACK_OPS.isdisjoint(op_names(dce(graph)))


# Native code -------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(30))
def test_random_programs(seed: int) -> None:
    text, inputs = random_program(seed)
    agree(read(text), *inputs)


#: Pushes in a loop whose indices can be checked in front of it.
SUMS = f"""\
def f(m: size, x: f64[m], n: int):
    zero: int = constant(value=0, type="int")
    t: token = stack_new(stack="s")
    s: f64 = constant(value=1.0, type="f64")
    def test(i: size, m: size, c: int, t: token, s: f64, x: f64[m], n: int):
        k: int = dim_value(dim=i)
        go: bool = py_less(k, n)
        return go
    def body(i: size, m: size, c: int, t: token, s: f64, x: f64[m], n: int):
        k: int = dim_value(dim=i)
        v: f64 = read_item(x, k, at=(None,))
        p: f64 = multiply(s, v)
        t1: token = stack_push(t, s, v, stack="s")
        one: int = constant(value=1, type="int")
        c1: int = py_add(c, one)
        return c1, t1, p, size(i + 1)
    count, t2, p = typed(while_loop(zero, t, s, x, n, carried=3, sizes=((0, m), (0, m)), regions=(test, body), binds=(trips,)), int, token, f64)
    def more(i: int, t: token, g: f64):
        none: int = constant(value=0, type="int")
        go: bool = py_less(none, i)
        return go
    def back(i: int, t: token, g: f64):
        t1, a, b = typed(stack_pop(t, stack="s", types=({F64}, {F64})), token, f64, f64)
        h: f64 = multiply(g, b)
        h1: f64 = add(h, a)
        one: int = constant(value=1, type="int")
        j: int = py_subtract(i, one)
        return j, t1, h1
    g: f64 = constant(value=0.5, type="f64")
    l, t3, g1 = typed(while_loop(count, t2, g, carried=3, sizes=((), ()), regions=(more, back)), int, token, f64)
    return p, g1
"""  # noqa: E501


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


#: Rows of a triangle, each as long as the iteration; sizes are pushed behind what they are of.
RAGGED = f"""\
def f(n: size, x: f64[n], times: int):
    zero: int = constant(value=0, type="int")
    t: token = stack_new(stack="s")
    def test(i: int, t: token, x: f64[n], times: int):
        go: bool = py_less(i, times)
        return go
    def body(i: int, t: token, x: f64[n], times: int):
        k: int = dim_value(dim=n)
        m: int = py_mod(i, k)
        bind_size(m, binds=(w,))
        v: f64[w] = slice(x, start=(0,), size=(w,), step=(1,))
        y: f64[w] = multiply(v, v)
        t1: token = stack_push(t, y, v, stack="s")
        t2: token = stack_push(t1, m, stack="s")
        half: f64 = constant(value=-0.5, type="f64")
        h: f64[n] = broadcast_to(half, shape=(n,))
        z: f64[n] = subtract(x, h)
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        return j, t2, z
    k, t2, z = typed(while_loop(zero, t, x, times, carried=3, sizes=((n,), (n,)), regions=(test, body)), int, token, f64[n])
    def more(n: size, i: int, t: token, g: f64[n]):
        none: int = constant(value=0, type="int")
        go: bool = py_less(none, i)
        return go
    def back(n: size, i: int, t: token, g: f64[n]):
        t1, m = typed(stack_pop(t, stack="s", types=({I64},)), token, int)
        bind_size(m, binds=(w,))
        t2, y, v = typed(stack_pop(t1, stack="s", types=(("array", "f64", (w,), (0,)), ("array", "f64", (w,), (0,)))), token, f64[w], f64[w])
        d: f64[w] = subtract(y, v)
        old: f64[w] = slice(g, start=(0,), size=(w,), step=(1,))
        sum: f64[w] = add(old, d)
        g1: f64[n] = update_slice(g, sum, start=(0,), size=(w,), step=(1,))
        one: int = constant(value=1, type="int")
        j: int = py_subtract(i, one)
        return j, t2, g1
    l, t3, g = typed(while_loop(k, t2, z, carried=3, sizes=((n,), (n,)), regions=(more, back)), int, token, f64[n])
    return z, g
""".replace("(i: int, t: token, x", "(n: size, i: int, t: token, x")  # noqa: E501


def test_ragged_arrays_and_growth_over_many_doublings() -> None:
    graph = read(RAGGED)
    x = np.random.default_rng(1).normal(size=37)
    for times in (0, 1, 2, 40, 1000):
        agree(graph, x, times)
    native = NativeGraph(graph)
    for times in (3000, 10, 3000):
        assert_same(tuple(native((x, times)) or ()), evaluate(graph, (x, times)))


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
