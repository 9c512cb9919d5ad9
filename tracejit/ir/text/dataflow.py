"""Dataflow graphs to text: the syntax of syntax.py, with the sections as labelled blocks.

    def f(x: float, y: float, z: float):
        with section(0, "entry"):
            p: bool = less(x, y)
            x_else, x_then = typed(switch(x, p), float, float)
            branch(p, 1, 2)
        with section(1, "then", when=p):
            jump(3)
        with section(2, "else", unless=p):
            jump(3)
        with section(3, "join", after=(1, 2)):
            return v

`after` is left out where the section follows the one before; `frame` names the section's loop and
`pivot` the value that its nodes without inputs wait for.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.ir.dataflow import DataflowGraph, Section
from tracejit.ir.graph import Graph
from tracejit.ir.text.print import (
    NameTable,
    TextLine,
    def_lines,
    identifier,
    node_line,
    results_line,
)

__all__ = ["dataflow_lines", "print_dataflow"]

Array = np.ndarray[Any, Any]


def print_dataflow(graph: DataflowGraph, constants: dict[str, Array] | None = None) -> str:
    """The text of `graph`; its large constants are added to `constants` by their hash."""
    return "\n".join(_lines(graph, constants)) + "\n"


def dataflow_lines(graph: DataflowGraph) -> list[str]:
    """The lines of `print_dataflow`; those of nodes are `TextLine`s."""
    return list(_lines(graph, None))


def _lines(graph: DataflowGraph, constants: dict[str, Array] | None) -> Iterator[str]:
    nodes = tuple(node for _, node in graph.nodes())
    flat = Graph(graph.name, graph.sizes, graph.inputs, nodes, graph.outputs, graph.results)
    names = NameTable(flat)
    yield from results_line(graph.results)
    params = [f"{s}: size" for s in graph.sizes]
    params += [f"{names.value(v)}: {v.type}" for v in graph.inputs]
    yield f"def {identifier(graph.name)}({', '.join(params)}):"
    index = 0
    for section in graph.sections:
        yield f"    with {_label(section, names)}:"
        for node in section.nodes:
            for k, region in enumerate(node.regions):
                yield from def_lines(region, names.region(index, k), constants, " " * 8)
            text = " " * 8 + node_line(node, index, names, constants, 8)
            yield TextLine(text, node.where)
            index += 1
        yield " " * 8 + _end(section, graph, names)


def _label(section: Section, names: NameTable) -> str:
    parts = [str(section.id), f'"{section.kind}"']
    if section.frame.name:
        parts.append(f'frame="{section.frame.name}"')
    if section.predicate is not None:
        value, side = section.predicate
        parts.append(f"{'when' if side else 'unless'}={names.value(value)}")
    if section.pivot is not None:
        parts.append(f"pivot={names.value(section.pivot)}")
    before = section.predecessors
    if section.id and before != (section.id - 1,):
        parts.append(f"after=({', '.join(map(str, before))}{',' if len(before) == 1 else ''})")
    return f"section({', '.join(parts)})"


def _end(section: Section, graph: DataflowGraph, names: NameTable) -> str:
    match section.successors:
        case ():
            return f"return {', '.join(map(names.value, graph.outputs))}".rstrip()
        case (after,):
            return f"jump({after})"
        case several:
            assert section.branch is not None
            return f"branch({names.value(section.branch)}, {', '.join(map(str, several))})"
