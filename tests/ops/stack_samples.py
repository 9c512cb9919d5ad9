"""Graphs with stacks, and the comparison of everything that runs them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.support.compare import assert_same
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, Type
from tracejit.ir.verify import verify
from tracejit.ir.verify_dataflow import verify_dataflow
from tracejit.passes.control.lower import lower_control_flow
from tracejit.passes.manager import PASSES
from tracejit.runtime.compile.graph_call import run_graph
from tracejit.runtime.dataflow.executor import run_dataflow

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
    verify_dataflow(flat)
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


FIELDS = """\
def f(n: size, x: f64[n], y: f64, p: bool):
    c: f64 = constant(value=-0.0, type="f64")
    t: token = stack_new(stack="s")
    def then(n: size, t: token, x: f64[n], y: f64):
        c: f64 = constant(value=-0.0, type="f64")
        e: f64[n] = exp(x)
        t1: token = stack_push(t, x, y, e, x, c, stack="s")
        t2: token = stack_push(t1, y, stack="s")
        return t2
    def orelse(n: size, t: token, x: f64[n], y: f64):
        c: f64 = constant(value=-0.0, type="f64")
        z: f64[n] = add(x, x)
        t1: token = stack_push(t, z, y, x, z, c, stack="s")
        t2: token = stack_push(t1, c, stack="s")
        return t2
    t1: token = cond(p, t, x, y, sizes=((n,), (n,)), regions=(then, orelse))
    t2, unread = typed(stack_pop(t1, stack="s", types=(("numpy", "f64"),)), token, f64)
    t3, a, b, d, g, h = typed(stack_pop(t2, stack="s", types=(A, ("numpy", "f64"), A, A, ("numpy", "f64"))), token, f64[n], f64, f64[n], f64[n], f64)
    return a, g, h, LAST
""".replace("A,", VECTOR + ",")  # noqa: E501


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
