"""Products with absorbing zeros in the form for sums: where nothing shows which zero they gave."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tests.support.native_flow import NativeGraph
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.op import OPS
from tracejit.ir.text.syntax import parse_graph
from tracejit.ir.verify import verify
from tracejit.passes.simplify.signed_zeros import signed_zeros

ZEROS = np.array([0.0, -0.0, 0.0, -0.0, 1.5, -2.0, np.nan, 0.0])
OTHERS = np.array([np.inf, 3.0, np.nan, -np.inf, np.inf, 0.0, 1.0, -4.0])


def graph_of(body: str, results: str, dtype: str = "f64") -> Graph:
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    text = f"def f(g: F[8], x: F[8], a: F):\n{lines}    return {results}\n"
    graph = parse_graph(re.sub(r": F\b", f": {dtype}", text))
    verify(graph, "pair_products")
    return graph


def names(graph: Graph) -> list[str]:
    return [n.op.name for n in graph.nodes]


SUMMED = {
    "directly": "v: F[8] = multiply_no_nan(g, x)\ns: F[()] = reduce_sum(v, axes=(0,))",
    "both zeros": "v: F[8] = product_no_nan(g, x)\ns: F[()] = reduce_sum(v, axes=(0,))",
    "quotient": "v: F[8] = divide_no_nan(g, x)\ns: F[()] = reduce_sum(v, axes=(0,))",
    "each alone": "v: F[8] = multiply_no_nan(g, x)\ns: F[8] = reduce_sum(v, axes=())",
    "moved": """
v: F[8] = multiply_no_nan(g, x)
w: F[2, 4] = reshape(v, shape=(2, 4))
y: F[4, 2] @ (1, 0) = transpose(w, axes=(1, 0))
z: F[4, 2] @ (1, 0) = negative(y)
s: F[4] = reduce_sum(z, axes=(1,))
""",
    "a term of a term": """
u: F[8] = multiply_no_nan(g, x)
v: F[8] = add(u, x)
w: F[8] = subtract(x, v)
s: F[()] = reduce_sum(w, axes=(0,), wide=False)
""",
    "a number": """
p: F = multiply_no_nan(a, a)
v: F[8] = broadcast_to(p, shape=(8,))
s: F[()] = reduce_sum(v, axes=(0,))
""",
}

SHOWN = {
    "a result": ("v: F[8] = multiply_no_nan(g, x)\ns: F[()] = reduce_sum(v, axes=(0,))", "s, v"),
    "a divisor": (
        "v: F[8] = multiply_no_nan(g, x)\n"
        "w: F[8] = divide(x, v)\n"
        "s: F[()] = reduce_sum(v, axes=(0,))\n"
        "t: F[()] = reduce_sum(w, axes=(0,))",
        "s, t",
    ),
    "a result of what moves": (
        "v: F[8] = multiply_no_nan(g, x)\n"
        "w: F[8] = negative(v)\n"
        "s: F[()] = reduce_sum(w, axes=(0,))",
        "s, w",
    ),
    "the least": (
        "v: F[8] = multiply_no_nan(g, x)\n"
        "s: F[()] = reduce_sum(v, axes=(0,))\n"
        "t: F[()] = reduce_min(v, axes=(0,))",
        "s, t",
    ),
    "a product": ("v: F[8] = multiply_no_nan(g, x)\nt: F[()] = reduce_prod(v, axes=(0,))", "t"),
}


def check(graph: Graph, dtype: Any) -> Graph:
    """What comes after the pass; it gives every bit, by its meaning and compiled."""
    after = signed_zeros(graph)
    verify(after, "signed_zeros")
    native = NativeGraph(graph)
    rng = np.random.default_rng(3)
    for _ in range(12):
        g, x = rng.choice(ZEROS, 8).astype(dtype), rng.choice(OTHERS, 8).astype(dtype)
        for g_, a in ((g, 0.0), (np.zeros_like(g), -0.0), (-np.zeros_like(g), 2.0)):
            inputs = [g_, x, np.dtype(dtype).type(a)]
            with np.errstate(all="ignore"):
                expected = evaluate(graph, inputs)
                assert_same(expected, evaluate(after, inputs))
            assert_same(expected, tuple(native(inputs) or ()))
    return after


@pytest.mark.parametrize("dtype", ["f16", "f32", "f64"])
@pytest.mark.parametrize("case", SUMMED)
def test_terms_of_sums_may_have_any_zero(case: str, dtype: str) -> None:
    graph = graph_of(SUMMED[case], "s", dtype)
    before = names(graph)
    after = check(graph, {"f16": np.float16, "f32": np.float32, "f64": np.float64}[dtype])
    assert names(after) == [getattr(OPS[name], "term", "") or name for name in before] != before


@pytest.mark.parametrize("case", SHOWN)
def test_zeros_that_show_are_kept(case: str) -> None:
    graph = graph_of(*SHOWN[case])
    assert check(graph, np.float64) is graph


def test_complex_products_are_kept() -> None:
    graph = graph_of(SUMMED["directly"], "s", "c128")
    assert signed_zeros(graph) is graph


def test_products_in_loops() -> None:
    """A gradient whose sums are in a loop, where the partial derivatives are not finite."""

    def f(x: Any, w: Any, scale: Any) -> Any:
        total = 0.0
        for i in range(x.shape[0]):
            terms = np.where(x[i] > 0, np.sqrt(np.abs(x[i])), 0.0) * w
            total = total + np.sum(terms) * scale[i]
        return total

    x, w = np.tile([[0.0, 4.0, -1.0], [1.0, 0.0, 9.0]], (20, 1)), np.array([3.0])
    scale = np.ones(40)
    gradient = tracejit.grad(f, argnums=(0, 1))
    dx, dw = gradient(x, w, scale)
    expected = np.zeros_like(x)
    np.divide(1.5, np.sqrt(np.abs(x)), where=x > 0, out=expected)
    np.testing.assert_array_equal(dx, expected)
    np.testing.assert_array_equal(dw, [120.0])
    assert "multiply_no_nan_term" in gradient.lower(x, w, scale).text("signed_zeros")
