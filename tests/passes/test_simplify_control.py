"""Branches and loops by what is known of their operands: each rule keeps every result."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.conftest import Golden
from tests.support.compare import assert_same
from tracejit.errors import Bailout
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.verify import verify
from tracejit.passes.control.simplify_control import simplify_control
from tracejit.passes.simplify.dce import dce

X = np.array([1.5, -2.0, 0.0])


def parse(text: str) -> Graph:
    graph = parse_graph(text)
    verify(graph, "trace")
    return graph


def outcome(graph: Graph, inputs: list[Any]) -> Any:
    try:
        return evaluate(graph, inputs)
    except Bailout:
        return "bails out"


def check(graph: Graph, *inputs: Any) -> Graph:
    """The graph after the pass, which is well formed, final and equal in its results."""
    after = dce(simplify_control(graph))
    verify(after, "simplify_control")
    assert dce(simplify_control(after)) is after
    for given in inputs:
        expected, found = outcome(graph, list(given)), outcome(after, list(given))
        if isinstance(expected, str) or isinstance(found, str):
            assert expected == found
        else:
            assert_same(found, expected)
    return after


SIDES = """
    def then(k: size, a: f64[k]):
        b: f64[k] = exp(a)
        return b
    def orelse(k: size, a: f64[k]):
        b: f64[k] = negative(a)
        return b
    y: f64[n] = cond(p, x, sizes=((n,), (n,)), regions=(then, orelse))
    return y
"""

KNOWN = 'def f(n: size, x: f64[n]):\n    p: bool = constant(value=True, type="bool")' + SIDES
TURNED = "def f(n: size, q: bool, x: f64[n]):\n    p: bool = py_not(q)" + SIDES

#: Inside the first side q holds, and so does what it is made of; in the second one it does not.
NESTED = """
def f(n: size, p: bool, q: bool, x: f64[n]):
    both: bool = py_and(p, q)
    def then(k: size, b: bool, p: bool, a: f64[k]):
        def one(k: size, a: f64[k]):
            c: f64[k] = exp(a)
            return c
        def two(k: size, a: f64[k]):
            c: f64[k] = sin(a)
            return c
        c: f64[k] = cond(p, a, sizes=((k,), (k,)), regions=(one, two))
        d: f64[k] = cond(b, c, sizes=((k,), (k,)), regions=(two, one))
        return d
    def orelse(k: size, b: bool, p: bool, a: f64[k]):
        def one(k: size, a: f64[k]):
            c: f64[k] = cos(a)
            return c
        def two(k: size, a: f64[k]):
            c: f64[k] = tan(a)
            return c
        c: f64[k] = cond(b, a, sizes=((k,), (k,)), regions=(one, two))
        d: f64[k] = cond(p, c, sizes=((k,), (k,)), regions=(one, two))
        return d
    y: f64[n] = cond(both, both, p, x, sizes=((n,), (n,)), regions=(then, orelse))
    return y
"""

SAME = """
def f(n: size, p: bool, x: f64[n], y: f64[n]):
    def then(k: size, a: f64[k], b: f64[k]):
        t: bool = constant(value=True, type="bool")
        u: bool = constant(value=False, type="bool")
        one: float = constant(value=1.5, type="float")
        zero: float = constant(value=0.0, type="float")
        c: f64[k] = add(a, b)
        return a, t, u, one, zero, c, c
    def orelse(k: size, a: f64[k], b: f64[k]):
        t: bool = constant(value=False, type="bool")
        u: bool = constant(value=True, type="bool")
        one: float = constant(value=1.5, type="float")
        zero: float = constant(value=-0.0, type="float")
        c: f64[k] = subtract(a, b)
        return a, t, u, one, zero, c, c
    a, t, u, one, zero, c, d = typed(cond(p, x, y, sizes=((n,), (n,)), regions=(then, orelse)), \
f64[n], bool, bool, float, float, f64[n], f64[n])
    return a, t, u, one, zero, c, d
"""

#: `step` is carried but never changes, `twice` is captured two times, one of `limit` is a constant.
LOOP = """
def f(n: size, x: f64[n], step: float):
    zero: int = constant(value=0, type="int")
    limit: int = constant(value=5, type="int")
    def more(n: size, i: int, s: float, y: f64[n], limit: int, a: f64[n], b: f64[n]):
        go: bool = py_less(i, limit)
        return go
    def body(n: size, i: int, s: float, y: f64[n], limit: int, a: f64[n], b: f64[n]):
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        p: bool = py_less(limit, one)
        def then(n: size, y: f64[n]):
            w: f64[n] = exp(y)
            return w
        def orelse(n: size, y: f64[n]):
            w: f64[n] = sin(y)
            return w
        w: f64[n] = cond(p, y, sizes=((n,), (n,)), regions=(then, orelse))
        v: f64[n] = add(w, a)
        u: f64[n] = multiply(v, b)
        h: f64 = np_scalar(s, dtype="f64")
        g: f64[n] = broadcast_to(h, shape=(n,))
        z: f64[n] = add(u, g)
        return j, s, z
    i, s, y = typed(while_loop(zero, step, x, limit, x, x, sizes=((n,), (n,)), carried=3, \
regions=(more, body)), int, float, f64[n])
    return y, s
"""

NEVER = """
def f(n: size, x: f64[n]):
    i: int = constant(value=3, type="int")
    def more(n: size, i: int, y: f64[n]):
        three: int = constant(value=3, type="int")
        go: bool = py_less(i, three)
        return go
    def body(n: size, i: int, y: f64[n]):
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        z: f64[n] = exp(y)
        return j, z
    j, y = typed(while_loop(i, x, sizes=((n,), (n,)), carried=2, regions=(more, body)), int, f64[n])
    return y, j
"""

#: A loop inside the side that is taken binds a size whose name is taken outside.
NAMES = """
def f(n: size, x: f64[n]):
    p: bool = constant(value=True, type="bool")
    def then(m: size, a: f64[m]):
        def more(k: size, m: size, s: float):
            i: int = dim_value(dim=k)
            stop: int = dim_value(dim=m)
            go: bool = py_less(i, stop)
            return go
        def body(k: size, m: size, s: float):
            two: float = constant(value=2.0, type="float")
            r: float = py_multiply(s, two)
            return r, size(k + 1)
        one: float = constant(value=1.0, type="float")
        s: float = while_loop(one, sizes=((0, m), (0, m)), carried=1, regions=(more, body), \
binds=(t,))
        last: int = dim_value(dim=t)
        return s, last
    def orelse(m: size, a: f64[m]):
        s: float = constant(value=0.0, type="float")
        last: int = constant(value=0, type="int")
        return s, last
    a, b = typed(cond(p, x, sizes=((n,), (n,)), regions=(then, orelse)), float, int)
    k: int = dim_value(dim=n)
    bind_size(k, binds=(t,))
    c: i64[t] = iota(size=t, dtype="i64")
    return a, b, c
"""

CHECKED = """
def f(p: bool, i: int, j: int):
    def then(i: int, j: int):
        k: int = py_floordiv(i, j)
        return i
    def orelse(i: int, j: int):
        return i
    k: int = cond(p, i, j, sizes=((), ()), regions=(then, orelse))
    return k
"""


def names(graph: Graph) -> list[str]:
    return [node.op.name for node in graph.nodes]


def test_a_known_predicate_leaves_its_side(golden: Golden) -> None:
    after = check(parse(KNOWN), (X,))
    assert names(after) == ["exp"]
    golden("control-known.txt", print_graph(after))


def test_sides_change_places_for_a_negated_predicate() -> None:
    after = check(parse(TURNED), (True, X), (False, X))
    assert names(after) == ["cond"]
    assert [names(region) for region in after.nodes[0].regions] == [["negative"], ["exp"]]


@pytest.mark.parametrize("p", [True, False])
@pytest.mark.parametrize("q", [True, False])
def test_a_predicate_is_known_inside_its_sides(p: bool, q: bool, golden: Golden) -> None:
    after = check(parse(NESTED), (p, q, X))
    first, second = after.nodes[-1].regions
    assert names(first) == ["exp", "sin"]
    assert names(second) == ["tan", "cond"]
    golden("control-nested.txt", print_graph(after))


def test_results_that_do_not_depend_on_the_side(golden: Golden) -> None:
    after = check(parse(SAME), (True, X, X + 1), (False, X, X + 1))
    (branch,) = (node for node in after.nodes if node.op.name == "cond")
    assert [str(v.type) for v in branch.outputs] == ["float", "f64[n]"]
    golden("control-same.txt", print_graph(after))


def test_a_loop_captures_what_it_need_not_carry(golden: Golden) -> None:
    after = check(parse(LOOP), (X, 0.25))
    loop = after.nodes[-1]
    assert loop.attrs["carried"] == 2 and len(loop.inputs) == 4
    assert "cond" not in names(loop.regions[1])
    golden("control-loop.txt", print_graph(after))


def test_a_loop_that_never_runs_is_its_start() -> None:
    assert names(check(parse(NEVER), (X,))) == ["constant"]
    runs = NEVER.replace("i: int = constant(value=3", "i: int = constant(value=2")
    assert "while_loop" in names(check(parse(runs), (X,)))


def test_sizes_of_what_is_inlined_get_free_names() -> None:
    after = check(parse(NAMES), (X,))
    assert [n.binds for n in after.nodes if n.binds] == [("t_",), ("t",)]


@pytest.mark.parametrize("p", [True, False])
@pytest.mark.parametrize("j", [0, 2])
def test_a_branch_that_may_raise_stays_though_its_result_is_known(p: bool, j: int) -> None:
    after = check(parse(CHECKED), (p, 7, j))
    assert names(after) == ["cond"]
