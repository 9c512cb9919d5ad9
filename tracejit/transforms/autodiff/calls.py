"""Regions written into the graph around them, and derivatives of functions that are computed again.

A backward pass through a `remat` copies the region to where it is recorded, on operands that
are had there, and goes back through the copy. At the top level the operands are made
`optimization_barrier`, so that the copy is not taken for what the forward pass has computed, and
kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from tracejit.ir.derivatives import DerivativeBuilder, differentiable
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, Node, Value, attr_sizes
from tracejit.ir.regions import copy_node
from tracejit.ir.types import ArrayType, NpScalar, PyScalar, type_sizes
from tracejit.ops.control.effects import Check
from tracejit.transforms.autodiff.backward_pass import BackwardPass

__all__ = ["PullSegment", "needed_for", "paste", "pull_remat", "sizes_in"]

#: Records the backward pass of the nodes from number `start` on: (builder, start, what is
#: differentiated by, outputs, their cotangents) -> cotangents; None is zero.
PullSegment: TypeAlias = Callable[
    [DerivativeBuilder, int, Sequence[Value], Sequence[Value], Sequence[Value | None]],
    "list[Value | None]",
]


def needed_for(graph: Graph, numbers: Sequence[int], *, again: bool = False) -> Graph:
    """The graph with only these outputs, and without what they do not need.

    With `again` it has run before on the same operands: its checks hold, and go too.
    """
    outputs = tuple(graph.outputs[k] for k in numbers)
    values, sizes = set(outputs), set[str]()
    for d in graph.size_outputs:
        sizes |= attr_sizes(d)
    kept = []
    for node in reversed(graph.nodes):
        unread = values.isdisjoint(node.outputs) and sizes.isdisjoint(node.binds)
        if unread and (again or not isinstance(node.op, Check)):
            continue
        kept.append(node)
        values.update(node.inputs)
        sizes |= node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
    return replace(graph, nodes=tuple(reversed(kept)), outputs=outputs, results=())


def paste(
    c: DerivativeBuilder,
    graph: Graph,
    inputs: Mapping[Value, Value],
    sizes: Mapping[str, Dim],
    *,
    again: bool = False,
) -> list[Value]:
    """Record the nodes of a region with other inputs; the values of its outputs.

    `sizes` are the region's own. With `again` it has run before on the same operands: indices are
    in range.
    """
    table, named = dict(inputs), dict(sizes)
    for node in graph.nodes:
        if again and node.op.checks_index:
            attrs = {**node.attrs, "checked": False}
            node = Node(node.op, node.inputs, attrs, node.outputs, where=node.where)
        outs = copy_node(c, node, [table[v] for v in node.inputs], named)
        table.update(zip(node.outputs, outs, strict=True))
    return [table[v] for v in graph.outputs]


def sizes_in(backward_pass: BackwardPass, node: Node, number: int) -> dict[str, Dim]:
    """The sizes of a node's region in the terms of where a backward pass is recorded."""
    given = node.attrs["sizes"][number]
    return {s: backward_pass.dim(d) for s, d in zip(node.regions[number].sizes, given, strict=True)}


def pull_remat(
    backward_pass: BackwardPass, node: Node, found: Sequence[Value | None], pull: PullSegment
) -> None:
    """Record the backward pass of a `remat` for the cotangents of its results."""
    c, site = backward_pass.c, backward_pass.c.fresh()
    given = [j for j, g in enumerate(found) if g is not None]
    region = needed_for(node.regions[0], given, again=True)
    read = region.uses()
    operands: dict[Value, Value] = {}
    wrt: dict[Value, Value] = {}
    for outer, inner in zip(node.inputs, region.inputs, strict=True):
        if inner not in read:
            continue
        x = backward_pass.primal(outer)
        if isinstance(x.type, (ArrayType, NpScalar, PyScalar)):
            x = c.op("optimization_barrier", x, site=site)
        operands[inner] = x
        if outer in backward_pass.block.active and differentiable(outer.type):
            wrt[outer] = x
    cotangents = [backward_pass.laid_out(found[j], node.outputs[j]) for j in given]
    sizes = sizes_in(backward_pass, node, 0)
    start = len(c.builder.nodes)
    results = paste(c, region, operands, sizes, again=True)
    gradients = pull(c, start, list(wrt.values()), results, cotangents)
    for outer, g in zip(wrt, gradients, strict=True):
        if g is not None:
            backward_pass.add(outer, g)
