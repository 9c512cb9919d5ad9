"""A graph by itself gives compiled what it gives under NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from tests.random.graphs import random_graph
from tests.support.compare import assert_same
from tracejit.errors import Bailout, GraphError
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph
from tracejit.ir.text.syntax import parse_graph
from tracejit.runtime.compile.graph_call import fused, lower_graph, run_graph

BODY = """
def f(n: size, x: f64[n, 3] @ (1, 0,), k: int, s: f32):
    y: f64[n, 3] @ (1, 0,) = add(x, x)
    z: f64[n] = reduce_sum(y, axes=(1,))
    one: int = constant(value=1, type="int")
    m: int = py_floordiv(one, k)
    return y, z, m, s
"""


def exact_part(graph: Graph) -> Graph:
    """The graph with only those outputs that no inexact op has a part in."""
    inexact = set()
    for node in graph.nodes:
        if node.op.parity != "exact" or not inexact.isdisjoint(node.inputs):
            inexact.update(node.outputs)
    values = [v for node in graph.nodes for v in node.outputs if v not in inexact]
    return Graph(graph.name, graph.sizes, graph.inputs, graph.nodes, tuple(values[-8:]))


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(20))
def test_exact_graphs_agree_to_the_last_bit(seed: int) -> None:
    graph, inputs = random_graph(seed)
    graph = exact_part(graph)
    assert_same(evaluate(graph, inputs), run_graph(graph, inputs))


def test_kinds_layouts_and_sizes() -> None:
    graph = parse_graph(BODY)
    x = np.arange(12.0).reshape(4, 3)
    for layout in (x, np.asfortranarray(x), x[:, ::-1]):
        inputs = [layout, 1, np.float32(2.5)]
        assert_same(evaluate(graph, inputs), run_graph(graph, inputs))
    found = run_graph(graph, [np.zeros((0, 3)), 1, np.float32(1)])
    assert found[1].shape == (0,)


def test_bailing_out_and_wrong_inputs() -> None:
    graph = parse_graph(BODY)
    x = np.zeros((4, 3))
    with pytest.raises(Bailout):
        run_graph(graph, [x, 0, np.float32(1)])
    with pytest.raises(GraphError, match="declared types"):
        run_graph(graph, [x, True, np.float32(1)])
    with pytest.raises(GraphError, match="declared types"):
        run_graph(graph, [x.astype(np.float32), 1, np.float32(1)])


def test_text_of_both_backends() -> None:
    graph = parse_graph(BODY)
    assert "define" in lower_graph(graph, "llvm")
    assert "def k" in lower_graph(graph, "reference")


def test_a_fused_graph_is_taken_as_it_is() -> None:
    graph = fused(parse_graph(BODY))
    assert fused(graph) is graph
