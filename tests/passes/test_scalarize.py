"""Elements of arrays as scalars: the pass, its order with updates, and its native code."""

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
from tracejit.passes.simplify.dce import dce
from tracejit.passes.simplify.scalarize import scalarize
from tracejit.runtime.compile.graph_call import run_graph

READS = """
def f(n: size, m: size, a: f64[n, m], i: int, j: int):
    p: f64[()] = gather(a, i, j)
    x: f64 = element(p)
    row: f64[m] = gather(a, i)
    q: f64[()] = gather(row, j)
    y: f64 = element(q)
    r: f64[1, 1] = slice(a, start=(1, m - 1), size=(1, 1), step=(1, 1))
    s: f64[()] = reshape(r, shape=())
    t: f64[()] = multiply(s, s)
    z: f64 = element(t)
    u: f64[m, n] @ (1, 0,) = transpose(a, axes=(1, 0))
    v: f64[1, n] @ (1, 0,) = slice(u, start=(0, 0), size=(1, n), step=(1, 1))
    w: f64[n] = reshape(v, shape=(n,))
    k: f64[()] = gather(w, i)
    l: f64 = element(k)
    return x, y, z, l
"""

WRITES = """
def f(n: size, m: size, a: f64[n, m], i: int, j: int, x: f64):
    b: f64[n, m] = scatter(a, X, i, j)
    p: f64[1, 1] = broadcast_to(x, shape=(1, 1))
    c: f64[n, m] = update_slice(b, p, start=(n - 1, 0), size=(1, 1), step=(1, 1))
    q: f64[()] = gather(c, i, j)
    r: f64[()] = add(q, X)
    d: f64[n, m] = scatter(c, r, i, j)
    return d
""".replace("X", "v").replace("    b:", "    v: f64[()] = broadcast_to(x, shape=())\n    b:")

#: A read whose first node comes before an update of the array and whose last one comes after.
LATE = """
def f(n: size, a: f64[n], i: int, x: f64):
    p: f64[()] = gather(a, i)
    v: f64[()] = broadcast_to(x, shape=())
    b: f64[n] = scatter(a, v, i)
    y: f64 = element(p)
    return b, y
"""

#: An index into an axis that is dropped has still to be checked.
DROPPED = """
def f(n: size, x: f64, i: int):
    a: f64[n] = broadcast_to(x, shape=(n,))
    p: f64[()] = gather(a, i)
    y: f64 = element(p)
    return y
"""

#: A negative index counts from the end of the part, not of the array.
PART = """
def f(n: size, a: f64[n], i: TYPE, x: f64):
    s: f64[n - 1] = slice(a, start=(1,), size=(n - 1,), step=(1,))
    r: f64[n - 2] = slice(s, start=(n - 2,), size=(n - 2,), step=(-1,))
    p: f64[()] = gather(r, i)
    y: f64 = element(p)
    v: f64[()] = broadcast_to(x, shape=())
    t: f64[n - 2] = scatter(r, v, i)
    b: f64[n - 1] = update_slice(s, t, start=(n - 2,), size=(n - 2,), step=(-1,))
    c: f64[n] = update_slice(a, b, start=(1,), size=(n - 1,), step=(1,))
    return y, c
"""

KEPT = {"late": LATE, "dropped": DROPPED}


def parse(text: str) -> Graph:
    graph = parse_graph(text)
    verify(graph, "trace")
    return graph


def outcome(run: Any, *args: Any) -> Any:
    try:
        return run(*args)
    except Bailout:
        return "bails out"


def same_everywhere(graph: Graph, inputs: list[Any]) -> None:
    """The graph, the graph after the pass and its native code agree, failures included."""
    after = scalarize(graph)
    verify(after, "scalarize")
    expected = outcome(evaluate, graph, inputs)
    for found in (outcome(evaluate, after, inputs), outcome(run_graph, graph, inputs)):
        if expected == "bails out":
            assert found == expected
        else:
            assert_same(found, expected)


A = np.arange(12.0).reshape(4, 3) - 3.5
PLACES = [(0, 0), (3, 2), (-1, -3), (-4, 1), (4, 0), (0, 3), (-5, 0), (1, -4)]


@pytest.mark.parametrize("place", PLACES)
def test_reads(place: tuple[int, int]) -> None:
    same_everywhere(parse(READS), [A, *place])


@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("place", PLACES)
def test_writes(place: tuple[int, int], order: Any) -> None:
    same_everywhere(parse(WRITES), [np.array(A, order=order), *place, np.float64(-0.0)])


@pytest.mark.parametrize("name", KEPT)
@pytest.mark.parametrize("i", [0, 2, -1, -4, 4, 5])
def test_what_cannot_move_stays(name: str, i: int) -> None:
    graph = parse(KEPT[name])
    assert any(n.op.name == "element" for n in scalarize(graph).nodes)
    if name == "late":
        same_everywhere(graph, [A[0], i, np.float64(7.5)])


@pytest.mark.parametrize("kind", ["int", "i64"])
@pytest.mark.parametrize("i", [0, 2, 3, 4, 5, -1, -3, -4, -6])
def test_places_in_parts(i: int, kind: str) -> None:
    graph = parse(PART.replace("TYPE", kind))
    after = dce(scalarize(scalarize(graph)))
    assert not {"gather", "scatter", "update_slice"} & {n.op.name for n in after.nodes}
    same_everywhere(graph, [A[0].repeat(2), i if kind == "int" else np.int64(i), np.float64(-0.0)])


def test_reads_and_writes_as_text(golden: Golden) -> None:
    text = ""
    for before in (READS, WRITES):
        after = dce(scalarize(parse(before)))
        assert scalarize(after) is after
        kernels = {"gather", "scatter", "slice", "reshape", "broadcast_to", "element"}
        assert not kernels & {n.op.name for n in after.nodes}
        text += print_graph(after) + "\n"
    golden("scalarize.txt", text)


COUNTING = """
def f(n: size, m: size, data: i64[n], counts: i64[m]):
    zero: int = constant(value=0, type="int")
    def more(k: size, n: size, m: size, c: i64[m], data: i64[n]):
        i: int = dim_value(dim=k)
        stop: int = dim_value(dim=n)
        go: bool = py_less(i, stop)
        return go
    def body(k: size, n: size, m: size, c: i64[m], data: i64[n]):
        r: i64[1] = slice(data, start=(k,), size=(1,), step=(1,))
        s: i64[()] = reshape(r, shape=())
        v: i64 = element(s)
        p: i64[()] = gather(c, v)
        one: i64[()] = constant(value=array(i64[()], 1), type="i64[()]")
        q: i64[()] = add(p, one)
        d: i64[m] = scatter(c, q, v)
        return d, size(k + 1)
    c: i64[m] = while_loop(counts, data, sizes=((0, n, m), (0, n, m)), carried=1, \
regions=(more, body), binds=(t,))
    return c
"""


def test_a_loop_that_counts() -> None:
    """Elements read at a counter and at an index from data, and written in place."""
    graph = parse(COUNTING)
    after = dce(scalarize(graph))
    verify(after, "scalarize")
    body = next(n for n in after.nodes if n.op.name == "while_loop").regions[1]
    assert [n.op.name for n in body.nodes] == [
        "read_item",
        "read_item",
        "constant",
        "add",
        "write_item",
    ]
    data, counts = np.array([1, 1, -1, 0, 2, 1]), np.zeros(4, np.int64)
    assert_same(evaluate(after, [data, counts]), (np.array([1, 3, 1, 1]),))
    assert_same(evaluate(graph, [data, counts]), evaluate(after, [data, counts]))
    with pytest.raises(Bailout):
        evaluate(after, [np.array([4]), counts])
