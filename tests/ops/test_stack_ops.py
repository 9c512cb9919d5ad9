"""The ops of stacks: what they mean, and what passes leave alone or make smaller."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ops.stack_samples import (
    F64,
    FIELDS,
    I64,
    VECTOR,
    agree,
    op_names,
    read,
    type_of,
)
from tests.support.compare import assert_same
from tests.support.native_flow import NativeGraph
from tracejit.errors import GraphError, TraceError
from tracejit.ir.dims import symbol
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, GraphBuilder, replay
from tracejit.ir.op import OPS
from tracejit.ir.text.syntax import parse_graph
from tracejit.ir.types import DTYPES, TOKEN, NpScalar
from tracejit.ir.verify import verify
from tracejit.ops.control.stack import record_types, types_of_record
from tracejit.passes.control.tape_fields import tape_fields
from tracejit.passes.loops.licm import licm
from tracejit.passes.manager import run_passes
from tracejit.passes.simplify.cse import cse
from tracejit.passes.simplify.dce import dce
from tracejit.runtime.compile.graph_call import run_graph

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
        assert sum(OPS[name].kind == "stack" for name in op_names(loop.regions[1])) == 5
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
    uses = [name for name in op_names(fused) if OPS[name].kind == "stack"]
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
    assert all(OPS[name].kind != "stack" for name in op_names(dce(graph)))


def test_what_no_pop_needs_is_not_pushed() -> None:
    """A field unread, one pushed twice, a constant; records of which nothing is read."""
    graph = read(FIELDS.replace("LAST", "y"))
    after = tape_fields(graph)
    verify(after, "tape_fields")
    (pop,) = [n for n in after.nodes if n.op.name == "stack_pop"]
    assert [str(v.type) for v in pop.outputs] == ["token", "f64[n]"]
    assert op_names(after).count("stack_push") == 2 and "exp" not in op_names(after)
    assert tape_fields(after) is after
    for p in (True, False):
        agree(graph, np.arange(5.0), np.float64(2), p)


@pytest.mark.parametrize("last", ["d", "b", "unread"])
def test_what_a_pop_reads_stays(last: str) -> None:
    graph = read(FIELDS.replace("LAST", last))
    for p in (True, False):
        agree(graph, np.zeros(5), np.float64(2), p)


@pytest.mark.parametrize("reserve", ["-n", "10**17*n*n", "n", "1000000"])
def test_a_reservation_is_but_a_hint(reserve: str) -> None:
    text = FIELDS.replace("LAST", "b").replace('(stack="s")', f'(stack="s", reserve=({reserve},))')
    graph = parse_graph(text.replace("10**17", "100000000000000000"))
    agree(graph, np.arange(5.0), np.float64(2), True)
    assert native_result(graph, np.arange(5.0), np.float64(2), True) is not None


def native_result(graph: Graph, *inputs: Any) -> Any:
    """What the program for any sizes gives."""
    return NativeGraph(graph)(inputs)
