"""Dead code: a pure node goes when nothing reads its results or the sizes that it defines.

    v1 = op(x); return x              ->   return x
    a, b = cond(p, x, y); return a    ->   a = cond(p, x); return a

A size is read by the attributes and result types of live nodes and by the sizes that a graph
returns. A node stays where Python or NumPy could raise an exception in its place, read or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejit.ir.dims import Poly
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, attr_sizes, keep, replay
from tracejit.ir.types import dtype_of, shape_of, type_sizes
from tracejit.passes.conversions import lossless

__all__ = ["dce", "may_raise"]

#: For some operands these mean an exception: an index out of range, a singular matrix, a division
#: of Python numbers by zero.
_RAISES = frozenset(
    ("gather", "scatter", "solve", "inv", "cholesky")
    + ("py_truediv", "py_floordiv", "py_mod", "py_power")
)


def dce(graph: Graph) -> Graph:
    """`graph` without the pure nodes that nothing depends on."""
    plan = _Plan(graph)
    if not plan.changes:
        return graph
    steps = iter(plan.steps)

    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        step = next(steps)
        if step is None:
            # The old outputs stand for the results: nothing reads them.
            return node.outputs
        keep(builder, step)
        return node.outputs

    return replay(graph, emit)


def may_raise(node: Node) -> bool:
    """Whether there may be operands for which eager execution raises an exception."""
    name = node.op.name
    match name:
        case "np_scalar" | "py_scalar":
            # int(nan), np.int8(300)
            source, to = dtype_of(node.inputs[0].type), dtype_of(node.outputs[0].type)
            return to.kind in "iu" and not lossless(source, to)
        case "power":
            return dtype_of(node.inputs[0].type).kind == "i"
        case "reduce_min" | "reduce_max" | "argmin" | "argmax":
            return any(isinstance(d, Poly) for d in shape_of(node.inputs[0].type))
        case "read_item" | "write_item":
            return None in node.attrs["at"]
    if name in _RAISES or "assume" in node.attrs:
        return True
    return any(may_raise(inner) for region in node.regions for inner in region.nodes)


class _Plan:
    """What becomes of each node: `steps` holds it, a smaller one, or None where it goes."""

    def __init__(self, graph: Graph) -> None:
        self._values = set(graph.outputs)
        self._sizes = set().union(*map(attr_sizes, graph.size_outputs))
        self._defines_sizes = any(node.binds for node in graph.nodes)
        backwards = [self._step(node) for node in reversed(graph.nodes)]
        self.steps = backwards[::-1]
        self.changes = any(a is not b for a, b in zip(self.steps, graph.nodes, strict=True))

    def _step(self, node: Node) -> Node | None:
        needed = (
            not node.op.pure
            or not self._values.isdisjoint(node.outputs)
            or not self._sizes.isdisjoint(node.binds)
            or may_raise(node)
        )
        if not needed:
            return None
        if node.regions:
            node = self._shrink(node)
        self._values.update(node.inputs)
        if self._defines_sizes:
            self._sizes |= node.sizes().union(*(type_sizes(v.type) for v in node.outputs))
        return node

    def _shrink(self, node: Node) -> Node:
        """The node with its regions cleaned; a `cond` also without results that nobody reads."""
        outputs, inputs = list(node.outputs), list(node.inputs)
        regions = list(node.regions)
        fresh = all(result == "fresh" for region in regions for result in region.results)
        if node.op.name == "cond" and fresh:
            live = [k for k, v in enumerate(outputs) if v in self._values]
            outputs = [outputs[k] for k in live]
            regions = [dce(_with_outputs(region, live)) for region in regions]
            read = [_inputs_read(region) for region in regions]
            kept = [k for k in range(len(inputs) - 1) if any(k in numbers for numbers in read)]
            inputs = [inputs[0], *(inputs[k + 1] for k in kept)]
            regions = [_with_inputs(region, kept) for region in regions]
        else:
            regions = [dce(region) for region in regions]
        if tuple(regions) == node.regions:
            return node
        return Node(
            node.op,
            tuple(inputs),
            node.attrs,
            tuple(outputs),
            tuple(regions),
            node.binds,
            node.where,
        )


def _with_outputs(graph: Graph, numbers: list[int]) -> Graph:
    if len(numbers) == len(graph.outputs):
        return graph
    results = tuple(graph.results[k] for k in numbers) if graph.results else ()
    outputs = tuple(graph.outputs[k] for k in numbers)
    return replace(graph, outputs=outputs, results=results)


def _inputs_read(graph: Graph) -> set[int]:
    uses = graph.uses()
    return {k for k, v in enumerate(graph.inputs) if v in uses}


def _with_inputs(graph: Graph, numbers: list[int]) -> Graph:
    if len(numbers) == len(graph.inputs):
        return graph
    return replace(graph, inputs=tuple(graph.inputs[k] for k in numbers))
