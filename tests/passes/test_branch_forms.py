"""Branches as selects, and branches that end loops: how they are written, and what they compute."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit.codegen.analysis.branch_hints import LoopExits
from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.text.syntax import parse_graph
from tracejit.passes.control.lower import lower_control_flow
from tracejit.runtime.compile.graph_call import lower_graph

#: THEN and ELSE are the sides of a branch in a loop, LAST says what the loop carries as its flag.
LOOP = """
def f(x: float, limit: int):
    start: int = constant(value=0, type="int")
    on: bool = constant(value=True, type="bool")
    def more(y: float, k: int, go: bool, x: float, limit: int):
        short: bool = py_less(k, limit)
        both: bool = py_and(go, short)
        return both
    def body(y: float, k: int, go: bool, x: float, limit: int):
        one: int = constant(value=1, type="int")
        k1: int = py_add(k, one)
        p: bool = py_less(y, x)
        def then(y: float, x: float):
            z: float = THEN
            return z
        def orelse(y: float, x: float):
            z: float = ELSE
            return z
        y1: float = cond(p, y, x, sizes=((), ()), regions=(then, orelse))
        last: bool = LAST
        return y1, k1, last
    y, k, go = typed(while_loop(x, start, on, x, limit, sizes=((), ()), carried=3, \
regions=(more, body)), float, int, bool)
    return y
"""


def loop(then: str, orelse: str, last: str = "py_less(k1, limit)") -> str:
    return LOOP.replace("THEN", then).replace("ELSE", orelse).replace("LAST", last)


CHEAP = loop("py_add(y, x)", "py_subtract(y, x)")
DIVIDES = loop("py_truediv(y, x)", "py_subtract(y, x)")
BREAKS = loop("py_add(y, x)", "py_subtract(y, x)", "py_not(p)")
BREAKS_ELSE = loop("py_add(y, x)", "py_subtract(y, x)", "py_and(p, p)")


def branch(text: str) -> tuple[DataflowGraph, Section]:
    """The flat graph, and the section that ends in the branch of the loop's body."""
    graph = lower_control_flow(parse_graph(text))
    (section,) = (s for s in graph.sections if s.kind == "body" and len(s.successors) == 2)
    return graph, section


def test_cheap_sides_become_a_select() -> None:
    text = lower_graph(parse_graph(CHEAP), "llvm")
    assert "select i1" in text and "!prof" not in text
    assert "select i1" not in lower_graph(parse_graph(DIVIDES), "llvm")


@pytest.mark.parametrize("text, side", [(CHEAP, None), (BREAKS, 0), (BREAKS_ELSE, 1)])
def test_branches_that_end_the_loop_are_known(text: str, side: int | None) -> None:
    graph, section = branch(text)
    assert LoopExits(graph).side(section) == side
    code = lower_graph(parse_graph(text), "llvm")
    assert ("!prof !1" in code, "!prof !0" in code) == (side == 1, side == 0)


def clipped(x: Any, low: float, high: float) -> Any:
    count = 0
    for v in x:
        if v < low:
            v = low
        elif v > high:
            v = high
        else:
            count += 1
    return count


def best_of(x: Any) -> Any:
    best, where = -np.inf, -1
    for k in range(len(x)):
        if x[k] > best:
            best, where = x[k], k
    return best, where


def first_above(x: Any, bound: float) -> Any:
    total = 0.0
    for v in x:
        if v > bound:
            break
        total = total + v
    return total


def signs(x: Any) -> Any:
    a, b = 1, 2
    for v in x:
        if v > 0:
            a, b = b, a + b
        else:
            a, b = a - b, 3 * a
    return a, b


X = np.array([0.5, -1.25, 3.0, np.nan, 2.0, -0.0, 3.0])


@pytest.mark.parametrize(
    "f, args",
    [
        (clipped, (-1.0, 2.0)),
        (best_of, ()),
        (first_above, (2.5,)),
        (first_above, (9.0,)),
        (signs, ()),
    ],
)
def test_native_code_agrees_with_python(f: Any, args: tuple[float, ...]) -> None:
    jitted = tracejit.jit(f)
    for x in (X, -X, X[:1], np.repeat(X, 40)):
        assert_same(jitted(x, *args), f(x, *args))
    assert not jitted.report().fallbacks
