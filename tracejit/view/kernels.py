"""A fused graph becomes a table: each kernel or call, what it reads and writes, why it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tracejit.codegen.analysis.liveness import is_array
from tracejit.inspect.fusion_map import why_not_fused
from tracejit.ir.dims import evaluate
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.items import ReadItem

__all__ = ["kernel_table"]


def kernel_table(graph: Graph, sizes: Mapping[str, int]) -> list[dict[str, Any]]:
    """A row for each node that works on arrays, regions included; bytes are those at `sizes`."""
    rows = []
    for owner, node in _nodes(graph):
        arrays = [v for v in (*node.inputs, *node.outputs) if is_array(v)]
        quiet = node.op.renames or isinstance(node.op, (Constant, ReadItem))
        if not arrays or quiet or node.regions and not _fuses(node):
            continue
        places = sorted({w.line for w in _places(node)})
        rows.append(
            {
                "name": node.regions[0].name if _fuses(node) else node.op.name,
                "lines": ", ".join(map(str, places)),
                "ops": ", ".join(dict.fromkeys(n.op.name for n in _inner(node)))[:160],
                "read": _bytes([v for v in node.inputs if is_array(v)], sizes),
                "written": _bytes([v for v in node.outputs if is_array(v)], sizes),
                "why": why_not_fused(owner, node),
            }
        )
    return rows


def _fuses(node: Node) -> bool:
    return node.op.kind == "fusion"


def _nodes(graph: Graph) -> Iterator[tuple[Graph, Node]]:
    for node in graph.nodes:
        yield graph, node
        if not _fuses(node):
            for region in node.regions:
                yield from _nodes(region)


def _inner(node: Node) -> list[Node]:
    return [n for r in node.regions for n in r.nodes] if _fuses(node) else [node]


def _places(node: Node) -> Iterator[Any]:
    for n in (node, *_inner(node)):
        if n.where is not None:
            yield n.where


def _bytes(values: list[Value], sizes: Mapping[str, int]) -> str:
    total = 0
    for v in values:
        assert isinstance(v.type, ArrayType)
        try:
            total += evaluate(v.type.size, sizes) * v.type.dtype.itemsize
        except KeyError:
            return f"{v.type.size} x {v.type.dtype.itemsize}"
    return f"{total:,}".replace(",", " ")
