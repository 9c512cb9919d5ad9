"""Loop invariants leave loops, and only where nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.conftest import Golden
from tests.support.compare import assert_same
from tracejit.errors import Bailout
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.types import DTYPES, PYINT, NpScalar, PyScalar
from tracejit.ir.verify import verify
from tracejit.passes.analysis.effects import may_bail
from tracejit.passes.loops.licm import licm
from tracejit.passes.simplify.dce import dce

X = np.array([1.5, -2.0, 0.0])

#: `e`, `s` and `h` are invariants worth moving; the slice and the broadcast number are not; the
#: division may raise, and what reads `y` or the counter changes.
LOOP = """
def f(n: size, x: f64[n], g: f64, k: int, limit: int):
    zero: int = constant(value=0, type="int")
    def more(t: size, n: size, y: f64[n], x: f64[n], g: f64, k: int, limit: int):
        i: int = dim_value(dim=t)
        half: float = py_scalar(g, kind="float")
        two: float = constant(value=2.0, type="float")
        bound: float = py_multiply(half, two)
        far: float = py_scalar(i, kind="float")
        a: bool = py_less(far, bound)
        b: bool = py_less(i, limit)
        go: bool = py_and(a, b)
        return go
    def body(t: size, m: size, y: f64[m], x: f64[m], g: f64, k: int, limit: int):
        e: f64[m] = exp(x)
        h: f64 = sqrt(g)
        wide: f64[m] = broadcast_to(h, shape=(m,))
        s: f64[m] = multiply(e, wide)
        one: int = constant(value=1, type="int")
        q: int = py_floordiv(one, k)
        part: f64[m - 1] = slice(x, start=(1,), size=(m - 1,), step=(1,))
        z: f64[m] = add(y, s)
        v: f64[m] = update_slice(z, part, start=(0,), size=(m - 1,), step=(1,))
        w: f64[m] = add(v, wide)
        return w, size(t + 1)
    y: f64[n] = while_loop(x, x, g, k, limit, sizes=((0, n), (0, n)), carried=1, \
regions=(more, body), binds=(last,))
    return y
"""

NESTED = """
def f(n: size, x: f64[n], k: int):
    def more(n: size, i: int, y: f64[n], x: f64[n]):
        zero: int = constant(value=0, type="int")
        go: bool = py_greater(i, zero)
        return go
    def body(n: size, i: int, y: f64[n], x: f64[n]):
        one: int = constant(value=1, type="int")
        j: int = py_subtract(i, one)
        def inner(n: size, i: int, y: f64[n], a: f64[n], x: f64[n]):
            e: f64[n] = exp(x)
            f: f64[n] = exp(a)
            g: f64[n] = add(e, f)
            z: f64[n] = add(y, g)
            one: int = constant(value=1, type="int")
            j: int = py_subtract(i, one)
            return j, z
        l, z = typed(while_loop(i, y, y, x, sizes=((n,), (n,)), carried=2, \
regions=(again, inner)), int, f64[n])
        return j, z
    i, y = typed(while_loop(k, x, x, sizes=((n,), (n,)), carried=2, regions=(more, body)), \
int, f64[n])
    return y
""".replace(
    "        def inner(",
    """        def again(n: size, i: int, y: f64[n], a: f64[n], x: f64[n]):
            zero: int = constant(value=0, type="int")
            go: bool = py_greater(i, zero)
            return go
        def inner(""",
)


def parse(text: str) -> Graph:
    graph = parse_graph(text)
    verify(graph, "trace")
    return graph


def moved(text: str) -> Graph:
    after = licm(parse(text))
    verify(after, "licm")
    assert licm(after) is after
    return dce(after)


@pytest.mark.parametrize("limit", [0, 1, 4])
@pytest.mark.parametrize("k", [0, 3])
def test_invariants_are_computed_in_front(k: int, limit: int, golden: Golden) -> None:
    graph, after = parse(LOOP), moved(LOOP)
    given = [X, np.float64(4.0), k, limit]
    if k == 0 and limit:
        for one in (graph, after):
            with pytest.raises(Bailout):
                evaluate(one, given)
    else:
        assert_same(evaluate(after, given), evaluate(graph, given))
    golden("licm.txt", print_graph(after))


def test_what_leaves_an_inner_loop_may_leave_the_outer_one(golden: Golden) -> None:
    graph, after = parse(NESTED), moved(NESTED)
    for k in (0, 1, 3):
        assert_same(evaluate(after, [X, k]), evaluate(graph, [X, k]))
    assert [n.op.name for n in after.nodes] == ["exp", "while_loop"]
    golden("licm-nested.txt", print_graph(after))


def names_in(graph: Graph) -> set[str]:
    """The ops of a graph and its regions."""
    inner = (names_in(region) for n in graph.nodes for region in n.regions)
    return {n.op.name for n in graph.nodes}.union(*inner)


FAILING = """
def f(x: f64[4], p: float, q: float, n: int):
    zero: int = constant(value=0, type="int")
    def more(i: int, y: f64[4], x: f64[4], p: float, q: float, n: int):
        go: bool = py_less(i, n)
        return go
    def body(i: int, y: f64[4], x: f64[4], p: float, q: float, n: int):
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        part: float = py_truediv(p, q)
        scale: f64 = np_scalar(part, dtype="f64")
        wide: f64[4] = broadcast_to(scale, shape=(4,))
        z: f64[4] = multiply(x, wide)
        w: f64[4] = add(y, z)
        return j, w
    j, y = typed(while_loop(zero, x, x, p, q, n, sizes=((), ()), carried=2, \
regions=(more, body), binds=()), int, f64[4])
    return y
"""


def test_numbers_that_may_fail_are_made_where_an_iteration_follows(golden: Golden) -> None:
    graph, after = parse(FAILING), moved(FAILING)
    (loop,) = [n for n in after.nodes if n.op.name == "while_loop"]
    assert "py_truediv" not in set().union(*map(names_in, loop.regions))
    x = np.array([1.0, 2.0, 3.0, 4.0])
    for n, q in ((3, 2.0), (1, 0.5), (0, 2.0), (0, 0.0)):
        given = [x, 3.0, q, n]
        assert_same(evaluate(after, given), evaluate(graph, given))
    for one in (graph, after):
        with pytest.raises(Bailout):
            evaluate(one, [x, 3.0, 0.0, 1])
    golden("licm-failing.txt", print_graph(after))


def diffused(u: Any, nu: Any, dt: Any, dx: Any, n: Any) -> Any:
    for _ in range(n):
        for i in range(1, len(u) - 1):
            u[i] = u[i] + nu * dt / dx**2 * (u[i + 1] - 2 * u[i] + u[i - 1])
    return u


def printed(u: Any, a: Any, b: Any, n: Any) -> Any:
    k, s = 0, 0.0
    while k < n:
        print("step", k)
        if u[k] < 0:
            raise ValueError(k)
        s += u[k] * (a // b)
        k += 1
    return s


def chosen(u: Any, a: Any, b: Any, n: Any) -> Any:
    s = u[0]
    for k in range(n):
        if u[k] > 0:
            s += a / b
    return s


def left(u: Any, a: Any, b: Any, n: Any) -> Any:
    k, s = 0, u[0]
    while True:
        s += u[k] * (a // b)
        k += 1
        if k >= n:
            break
    return s


def looked_up(u: Any, k: Any, n: Any) -> Any:
    s = u[0]
    for i in range(n):
        s += u[k] * i
    return s


X5 = np.array([1.0, -1.0, 2.0, 0.5, 3.0])
UP = np.abs(X5)


@pytest.mark.compiles
@pytest.mark.parametrize(
    "function, calls",
    [
        (
            diffused,
            [
                (X5, 0.1, 0.2, 0.5, 3),
                (X5[:4], 0.2, 0.3, 0.4, 4),
                (X5, 0.1, 0.2, 0.0, 0),
                (X5[:2], 0.1, 0.2, 0.0, 3),
                (X5, 0.1, 0.2, 0.0, 3),
                (X5, 0.1, 0.2, 1e200, 3),
            ],
        ),
        (
            printed,
            [
                (UP, 7, 2, 3),
                (UP, 9, 4, 5),
                (X5, 8, 3, 5),
                (UP, 8, 0, 0),
                (UP, 8, 0, 2),
                (-UP, 8, 0, 2),
            ],
        ),
        (
            chosen,
            [(X5, 1.0, 2.0, 3), (X5, 2.0, 4.0, 5), (-UP, 1.0, 0.0, 4), (UP, 1.0, 0.0, 2)],
        ),
        (
            looked_up,
            [(X5, 2, 3), (X5[:4], -3, 5), (X5[:3], 9, 0), (X5[:3], 3, 4), (X5, 4, 7)],
        ),
        (left, [(X5, 7, 2, 3), (X5, 9, 4, 5), (X5, 8, 3, 1), (X5, 8, 0, 2)]),
    ],
    ids=["diffused", "printed", "chosen", "looked_up", "left"],
)
def test_errors_come_as_in_python(function: Any, calls: Any, capsys: Any) -> None:
    """An error that no iteration meets is none; what comes before one has happened once."""
    jitted = tracejit.jit(function)
    for args in calls:
        seen = []
        for f in (function, jitted):
            given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
            try:
                result: Any = f(*given)
            except (ArithmeticError, ValueError, IndexError) as e:
                result = type(e), e.args
            seen.append((result, given, capsys.readouterr().out))
        assert_same(seen[0], seen[1])
    assert jitted.report().fallbacks == []
    assert jitted.report().repeats["without an exception"] == 0


def test_what_may_fail_leaves_all_loops_around_it() -> None:
    graph = tracejit.jit(diffused).lower(X5, 0.1, 0.2, 0.5, 3).graphs["licm"]
    loops = [n for n in graph.nodes if n.op.name == "while_loop"]
    assert loops and not any("py_truediv" in names_in(r) for n in loops for r in n.regions)


def node(name: str, *types: Any, **attrs: Any) -> Node:
    op = OPS[name]
    out = op.infer(types, attrs, (), ())
    return Node(op, tuple(Value(t) for t in types), attrs, tuple(Value(t) for t in out))


def test_what_may_bail_out() -> None:
    real, double = PyScalar("float"), NpScalar(DTYPES["f64"])
    stays = [
        node("py_add", PYINT, PYINT),
        node("py_truediv", real, real),
        node("py_scalar", double, kind="int"),
        node("py_less", PYINT, real),
    ]
    leaves = [
        node("py_add", real, real),
        node("py_less", PYINT, PYINT),
        node("py_scalar", double, kind="float"),
        node("add", double, double),
        node("py_equal", PyScalar("complex"), PyScalar("complex")),
    ]
    assert all(map(may_bail, stays))
    assert not any(map(may_bail, leaves))
