"""The flat dataflow graph: what control regions become, and what the checker refuses."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

import tracejit
from tests.conftest import Golden
from tests.passes.flow_samples import SAMPLES
from tests.random.flow import random_flow
from tracejit.errors import GraphError
from tracejit.ir.dataflow import DataflowGraph, Frame
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.text.dataflow import print_dataflow
from tracejit.ir.text.syntax import parse_graph
from tracejit.ir.types import PYINT, type_sizes
from tracejit.ir.verify import verify
from tracejit.ir.verify_dataflow import verify_dataflow
from tracejit.passes.control.lower import lower_control_flow


def lowered(text: str) -> DataflowGraph:
    graph = parse_graph(text)
    verify(graph, "trace")
    flat = lower_control_flow(graph)
    verify_dataflow(flat)
    return flat


@pytest.mark.parametrize("name", SAMPLES)
def test_lowering_as_text(name: str, golden: Golden) -> None:
    golden(f"lowering-{name}.txt", print_dataflow(lowered(SAMPLES[name])))


def textbook(x: Any, y: Any, z: Any) -> Any:
    return x + z if x < y else y**2


def test_a_conditional_expression_is_the_textbook_graph() -> None:
    """A switch for what either side reads, the two sides, and one merge."""
    compiled = tracejit.jit(textbook).lower(1.0, 2.0, 3.0)
    assert "dataflow" in compiled.stages
    flat = compiled.dataflow
    assert [s.kind for s in flat.sections] == ["entry", "then", "else", "join"]
    ops = [[n.op.name for n in s.nodes if n.op.name != "constant"] for s in flat.sections]
    entry, then, orelse, join = ops
    assert entry == ["py_less", "switch", "switch", "switch"]
    assert (then, join) == (["py_add"], ["merge"]) and len(orelse) == 1
    assert "= merge(" in compiled.text("dataflow")


def test_sections_are_basic_blocks() -> None:
    flat = lowered(SAMPLES["loop-in-branch"])
    kinds = [s.kind for s in flat.sections]
    assert kinds == "entry then head body head body exit exit else join".split()
    assert [s.frame.depth for s in flat.sections] == [0, 0, 1, 1, 2, 2, 1, 0, 0, 0]
    assert flat.sections[4].frame.parent == flat.sections[2].frame
    assert flat.sections[0].successors == (1, 8) and flat.sections[9].predecessors == (7, 8)
    assert flat.sections[2].predecessors == (1, 6) and flat.sections[2].successors == (3, 7)


def test_a_carried_size_is_an_integer_of_the_loop() -> None:
    flat = lowered(SAMPLES["carried-size"])
    by_size = {s: node for _, node in flat.nodes() for s in node.binds}
    assert {node.op.name for node in by_size.values()} == {"merge", "exit"}
    for size, node in by_size.items():
        assert flat.size_values[size] is node.outputs[0] and node.outputs[0].type == PYINT


@pytest.mark.sampled(6)
@pytest.mark.parametrize("seed", range(40))
def test_every_size_symbol_has_one_meaning(seed: int) -> None:
    graph, _ = random_flow(seed, effects=seed % 2 == 1)
    verify(graph, "trace")
    flat = lower_control_flow(graph)
    verify_dataflow(flat)
    bound = [s for _, node in flat.nodes() for s in node.binds]
    assert len({*bound, *flat.sizes}) == len(bound) + len(flat.sizes)
    read = {s for _, n in flat.nodes() for v in n.outputs for s in type_sizes(v.type)}
    assert read <= {*bound, *flat.sizes}
    assert print_dataflow(flat) == print_dataflow(lower_control_flow(graph))


def test_regions_that_are_one_object_become_two_pieces_of_code() -> None:
    text = SAMPLES["no-captures"].replace("regions=(then, orelse)", "regions=(then, then)")
    text = text.replace(text[text.index("    def orelse") : text.index("    r: int")], "")
    flat = lowered(text)
    assert [len(s.nodes) for s in flat.sections] == [1, 1, 1, 1]


# What the checker refuses -------------------------------------------------------------------------


def changed(flat: DataflowGraph, section: int, **fields: Any) -> DataflowGraph:
    new = dataclasses.replace(flat.sections[section], **fields)
    sections = tuple(new if s.id == section else s for s in flat.sections)
    return dataclasses.replace(flat, sections=sections)


def with_inputs(flat: DataflowGraph, op: str, number: int, *inputs: str) -> DataflowGraph:
    """Node `number` among those of an op reads the values of these names instead."""
    named = {v.name: v for v in [*flat.inputs, *flat.producers()]}
    section, node = [(s, n) for s, n in flat.nodes() if n.op.name == op][number]
    new = Node(
        node.op, tuple(named[i] for i in inputs), node.attrs, node.outputs, (), node.binds, None
    )
    nodes = tuple(new if n is node else n for n in section.nodes)
    return changed(flat, section.id, nodes=nodes)


def with_size(flat: DataflowGraph, op: str, number: int, dim: Dim) -> DataflowGraph:
    """Node `number` among those of an op has another attribute `dim`."""
    section, node = [(s, n) for s, n in flat.nodes() if n.op.name == op][number]
    new = Node(node.op, node.inputs, {"dim": dim}, node.outputs)
    return changed(flat, section.id, nodes=tuple(new if n is node else n for n in section.nodes))


def reversed_nodes(flat: DataflowGraph, section: int) -> DataflowGraph:
    return changed(flat, section, nodes=flat.sections[section].nodes[::-1])


def extra(
    flat: DataflowGraph, section: int, op: str, *inputs: Value, **attrs: Any
) -> DataflowGraph:
    rule = OPS[op]
    outputs = tuple(map(Value, rule.infer([v.type for v in inputs], attrs, (), ())))
    node = Node(rule, inputs, attrs, outputs)
    return changed(flat, section, nodes=(*flat.sections[section].nodes, node))


BROKEN: list[tuple[str, Callable[[DataflowGraph], DataflowGraph], str]] = [
    ("branch", lambda g: with_inputs(g, "py_add", 0, "x", "z_then"), "does not arrive"),
    ("branch", lambda g: with_inputs(g, "py_add", 0, "x_else", "z_then"), "does not arrive"),
    ("branch", lambda g: with_inputs(g, "merge", 0, "b", "a"), "does not arrive"),
    ("branch", lambda g: with_inputs(g, "switch", 0, "x", "x"), "goes by the branch"),
    ("branch", lambda g: reversed_nodes(g, 0), "read but not defined"),
    ("branch", lambda g: changed(g, 1, predicate=None), "begin by its predicate"),
    ("branch", lambda g: changed(g, 1, pivot=None), "pivot"),
    ("branch", lambda g: changed(g, 2, pivot=g.sections[1].pivot), "pivot"),
    ("branch", lambda g: changed(g, 0, branch=None), "successors"),
    ("branch", lambda g: changed(g, 0, successors=(2, 1)), "branches to"),
    ("branch", lambda g: changed(g, 3, predecessors=(1,)), "both ends"),
    ("branch", lambda g: changed(g, 0, kind="middle"), "a middle"),
    ("branch", lambda g: extra(g, 3, "merge", *g.outputs, *g.outputs), "does not arrive"),
    (
        "branch",
        lambda g: dataclasses.replace(g, outputs=(g.sections[1].pivot,)),
        "where the graph ends",
    ),
    ("loop", lambda g: with_inputs(g, "add", 0, "a_body", "x_in"), "does not arrive"),
    ("loop", lambda g: with_inputs(g, "merge", 1, "a_enter", "a_enter"), "hands on"),
    ("loop", lambda g: with_inputs(g, "merge", 0, "k_enter", "b"), "int and f64"),
    ("loop", lambda g: with_inputs(g, "exit", 0, "k_body"), "does not arrive"),
    ("loop", lambda g: with_inputs(g, "next_iteration", 0, "k"), "does not arrive"),
    ("loop", lambda g: changed(g, 1, pivot=None), "pivot"),
    ("loop", lambda g: changed(g, 1, frame=Frame("loop1", Frame("loop9"))), "frame"),
    ("carried-size", lambda g: dataclasses.replace(g, size_values={}), "size_values"),
    ("carried-size", lambda g: with_inputs(g, "next_iteration", 0, "w_first"), "does not arrive"),
    ("carried-size", lambda g: with_size(g, "dim_value", 1, symbol("w")), "is not f64"),
    ("carried-size", lambda g: with_size(g, "dim_value", 0, symbol("n") + 1), "is not f64"),
    ("carried-size", lambda g: with_size(g, "dim_value", 0, symbol("w1")), "size w1"),
    ("carried-size", lambda g: with_size(g, "dim_value", 2, symbol("w")), "another loop"),
    ("loop", lambda g: extra(g, 0, "dim_value", dim=symbol("m")), "size m"),
]


@pytest.mark.parametrize("number", range(len(BROKEN)))
def test_what_is_not_well_formed_is_refused(number: int) -> None:
    name, change, message = BROKEN[number]
    flat = change(lowered(SAMPLES[name]))
    with pytest.raises(GraphError, match=message):
        verify_dataflow(flat)
