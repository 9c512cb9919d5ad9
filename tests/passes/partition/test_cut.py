"""Random cuts of random programs, and of programs as users write them."""

from __future__ import annotations

import contextlib
import dataclasses
import io
from typing import Any

import numpy as np
import pytest

from tests.control_programs import PROGRAMS
from tests.control_programs.program import Program
from tests.control_programs.readers import (
    NotForReadersError,
    NotTracedError,
    RaisedInTraceError,
    Readers,
)
from tests.passes.partition.in_pieces import Left, at_random, run_pieces
from tests.random.flow import random_flow
from tests.support.compare import assert_same
from tracejit.errors import GraphError
from tracejit.ir.evaluate import bind_sizes, evaluate
from tracejit.ir.graph import Graph, replay
from tracejit.ir.regions import nested
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.ir.types import TOKEN, type_sizes
from tracejit.ir.verify import verify
from tracejit.passes.partition.cut import Piece, cut
from tracejit.runtime.compile.graph_call import run_graph

#: Programs in one test: 50 of them make 500 cuts.
_BLOCK = 10


def without_tokens(graph: Graph) -> Graph:
    outputs = tuple(v for v in graph.outputs if v.type != TOKEN)
    return dataclasses.replace(graph, outputs=outputs, results=())


def check(graph: Graph, inputs: list[Any], sizes: dict[str, int], seed: int) -> list[Piece]:
    """A cut means what the whole does, and every message is read; or both are left."""
    graph = without_tokens(graph)
    pieces = at_random(graph, sizes, seed)
    for piece in pieces:
        verify(piece.graph, "trace")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        try:
            expected = evaluate(graph, inputs, sizes)
        except Exception:
            expected = None
    again = io.StringIO()
    with contextlib.redirect_stdout(again):
        found, errors, unread = run_pieces(pieces, inputs, len(graph.outputs))
    if expected is None:
        assert any(not isinstance(e, Left) for e in errors)
        return pieces
    assert errors == [] and unread == 0
    assert_same(list(expected), found)
    assert again.getvalue() == out.getvalue()
    return pieces


@pytest.mark.sampled(27)
@pytest.mark.parametrize("block", range(50))
def test_random_programs(block: int) -> None:
    transfers = 0
    for seed in range(block * _BLOCK, (block + 1) * _BLOCK):
        graph, inputs = random_flow(seed, effects=seed % 3 == 0)
        pieces = check(graph, inputs, bind_sizes(graph, inputs), seed)
        every = [n for p in pieces for n in nested(p.graph.nodes)]
        transfers += sum(n.op.name == "send" for n in every)
    assert transfers > 2 * _BLOCK


@pytest.mark.sampled(108, kind=lambda program: program.theme)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_control_programs(program: Program) -> None:
    readers = Readers(program.f, program.calls)
    for seed, args in enumerate(program.calls):
        try:
            reading = readers._read(args)
        except (NotTracedError, RaisedInTraceError, NotForReadersError):
            continue
        check(reading.lowered.traced.graph, reading.inputs, reading.sizes, seed)


@pytest.mark.sampled(14)
@pytest.mark.parametrize("seed", range(30))
def test_pieces_are_native_programs(seed: int) -> None:
    """Each goes through the text that workers are sent."""
    graph, inputs = random_flow(seed)
    sizes = bind_sizes(graph, inputs)
    graph = replay(graph, sizes=sizes)
    known = tuple(v for v in graph.outputs if not type_sizes(v.type))
    graph = dataclasses.replace(graph, outputs=known, results=())
    pieces = []
    for piece in at_random(graph, {}, seed):
        constants: dict[str, Any] = {}
        text = print_graph(piece.graph, constants)
        pieces.append(dataclasses.replace(piece, graph=parse_graph(text, constants)))
    expected = evaluate(graph, inputs)
    found, errors, unread = run_pieces(pieces, inputs, len(known), run_graph)
    assert errors == [] and unread == 0
    assert_same(list(expected), found, parity="order", ulp=8)


def test_a_value_crosses_once_and_counters_do_not() -> None:
    graph = parse_graph(
        """
def f(x: f64[4]):
    i: int = constant(value=0, type="int")
    n: int = constant(value=5, type="int")
    def test(i: int, y: f64[4], n: int, x: f64[4]):
        p: bool = py_less(i, n)
        return p
    def body(i: int, y: f64[4], n: int, x: f64[4]):
        one: int = constant(value=1, type="int")
        j: int = py_add(i, one)
        a: f64[4] = add(y, x)
        b: f64[4] = multiply(a, x)
        c: f64[4] = add(b, x)
        return j, c
    k, z = typed(
        while_loop(i, x, n, x, carried=2, sizes=((), ()), regions=(test, body)), int, f64[4]
    )
    return z
"""
    )
    there = {"multiply"}
    pieces = cut(graph, lambda n: "worker:0" if n.op.name in there else "host", ["host"], ["host"])
    host, worker = (p.graph for p in pieces)
    sent = [n.op.name for n in nested(host.nodes) if n.op.name == "send"]
    # x once, before the loop; and in each iteration a and b, but no counter and no predicate.
    assert [n.op.name for n in host.nodes if n.op.name == "send"] == ["send"] and len(sent) == 2
    assert sum(n.op.name == "recv" for n in nested(worker.nodes)) == 2
    x = np.arange(4.0)
    found, errors, unread = run_pieces(pieces, [x], 1)
    assert not errors and not unread
    assert_same(list(evaluate(graph, [x])), found)


def test_sizes_must_be_numbers() -> None:
    graph, _ = random_flow(0)
    hosts = ["host"] * len(graph.inputs), ["host"] * len(graph.outputs)
    with pytest.raises(GraphError, match="the sizes n, m are not known"):
        cut(graph, lambda n: "host", *hosts)
