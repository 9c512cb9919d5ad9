"""Loop invariants leave loops, and only where nobody can tell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
