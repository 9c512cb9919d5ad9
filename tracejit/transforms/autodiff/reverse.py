"""Reverse mode: cotangents are pulled back through the nodes, last first.

The decisions of the forward pass are replayed in reverse: a branch goes back through the side that
was taken, a loop through its iterations, last first, as often as it ran. What the backward pass
needs of the forward one is had as `residuals.py` and `backward_pass.py` say. The forward pass's
nodes keep their outputs; those with regions that save something are replaced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.errors import Underivable
from tracejit.ir.derivatives import DerivativeBuilder, NodeAdaptor, differentiable, tangent_type
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value
from tracejit.ir.op import OPS
from tracejit.ir.regions import fresh_sizes
from tracejit.ir.types import TOKEN
from tracejit.loops.iterations import at_once
from tracejit.ops.control.calls import Custom, Remat
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.transforms.autodiff.backward_pass import BackwardPass
from tracejit.transforms.autodiff.calls import pull_remat
from tracejit.transforms.autodiff.copies import without_copies
from tracejit.transforms.autodiff.custom_rules import pull_custom
from tracejit.transforms.autodiff.residuals import Block, overwrites
from tracejit.transforms.autodiff.reverse_cond import pull_cond
from tracejit.transforms.autodiff.reverse_while import pull_while
from tracejit.transforms.autodiff.segments import Segment
from tracejit.transforms.autodiff.sparse_rows import RowReads
from tracejit.transforms.autodiff.stacks import pops_records

__all__ = ["Pullback", "pull_back", "pull_segment", "vjp_graph"]


def vjp_graph(graph: Graph, wanted: Sequence[bool]) -> Graph:
    """The graph with its backward pass.

    It takes the inputs, then a cotangent for each differentiable output; it gives the outputs, then
    the cotangents of the inputs that are wanted. Raises Underivable for a node on the way that has
    no rule.
    """
    builder = GraphBuilder(graph.name, graph.sizes)
    builder.inputs += graph.inputs
    builder.nodes += graph.nodes
    given = [
        builder.input(tangent_type(v.type), f"ct_{v.name}" if v.name else "")
        for v in graph.outputs
        if differentiable(v.type)
    ]
    wrt = [v for v, is_wanted in zip(graph.inputs, wanted, strict=True) if is_wanted]
    pull = Pullback(Segment(builder, 0), wrt, fresh_sizes(graph), "r")
    outputs = [v for v in graph.outputs if differentiable(v.type)]
    gradients = pull.run(outputs, given)
    return builder.build([*graph.outputs, *gradients])


class Pullback:
    """The backward pass of a segment of nodes, recorded at the end of its builder.

    `stack` is the name of the stack on which residuals are kept, no other pass's. `rows` are
    further values to be differentiated by, of which only rows are read.
    """

    def __init__(
        self,
        segment: Segment,
        wrt: Sequence[Value],
        fresh: Callable[[], str],
        stack: str,
        rows: RowReads | None = None,
    ) -> None:
        self.rows = rows
        self.segment, self.wrt, self.stack = segment, tuple(wrt), stack
        #: By values in `rows`, after the run: the rows that were read, and their cotangents.
        self.row_gradients: dict[Value, tuple[Value, Value]] = {}
        #: Whether it may go on from the effects of its builder.
        self.may_have_effects = True
        #: After the run: the token of the last effect, where the backward pass has some.
        self.effects: Value | None = None
        #: Records nodes of the backward pass; cotangents may be computed there.
        self.c = DerivativeBuilder(segment.builder.beside(), fresh)

    def run(self, outputs: Sequence[Value], cotangents: Sequence[Value | None]) -> list[Value]:
        """Record the backward pass: the cotangents of `wrt`, laid out as these are."""
        return [g for g in self.pull(outputs, cotangents, zeros=True) if g is not None]

    def pull(
        self, outputs: Sequence[Value], cotangents: Sequence[Value | None], *, zeros: bool = False
    ) -> list[Value | None]:
        """As `run`; without `zeros`, None where nothing was added to a cotangent."""
        nodes, same = without_copies(at_once(self.segment.nodes, self.c.fresh))
        outputs = [same.get(v, v) for v in outputs]
        block = Block(self.wrt, nodes, outputs)
        block.spread((*self.wrt, *(self.rows.found if self.rows is not None else ())))
        c = self.c
        backward_pass = BackwardPass(c, block, self.stack)
        backward_pass.rows = self.rows
        first = backward_pass.token
        if self.may_have_effects:
            c.effects = _last_effect(self.segment.builder.nodes)
        before = c.effects
        for v, g in zip(outputs, cotangents, strict=True):
            if g is not None:
                backward_pass.add(v, g)
        pull_back(backward_pass)
        self.effects = None if c.effects is before else c.effects
        gradients: list[Value | None] = []
        for v in self.wrt:
            found = backward_pass.cotangents.get(v)
            if found is None and zeros:
                found = c.zeros(v.type)
            gradients.append(None if found is None else c.laid_out(found, v.type))
        self.row_gradients = {}
        if self.rows is not None:
            assert not any(map(backward_pass.cotangents.has, self.rows.tables)), (
                "rows that are not kept"
            )
            self.row_gradients = {v: self.rows.gradient(c, v) for v in self.rows.found}
        forward = nodes
        if block.pushes or block.counted:
            (token,) = (
                new := Node(OPS["stack_new"], (), {"stack": self.stack}, (Value(TOKEN),))
            ).outputs
            forward, last = block.rebuilt(token, self.stack)
            if block.pushes:
                forward.insert(0, new)
            for node in c.builder.nodes:
                node.inputs = tuple(last if v is first else v for v in node.inputs)
        builder = self.segment.builder
        if c.builder is not builder:
            self.segment.replace(forward)
            builder.nodes += c.builder.nodes
        return gradients


def _last_effect(nodes: Sequence[Node]) -> Value | None:
    """The token that the last node with effects gives; None where that is not known."""
    for node in reversed(nodes):
        tokens = [v for v in node.outputs if v.type == TOKEN]
        if tokens and node.op.kind != "stack":
            return tokens[0] if not node.regions else None
    return None


def pull_segment(
    c: DerivativeBuilder,
    start: int,
    wrt: Sequence[Value],
    outputs: Sequence[Value],
    cotangents: Sequence[Value | None],
) -> list[Value | None]:
    """The backward pass of what a builder has recorded since, as a part of another one."""
    segment = Segment(c.builder, start)
    pull = Pullback(segment, wrt, c.fresh, f"r{c.fresh()}")
    pull.may_have_effects = False
    return pull.pull(outputs, cotangents)


def pull_back(backward_pass: BackwardPass) -> None:
    """Record the backward pass of a block, from the cotangents that it holds."""
    builder = backward_pass.c.builder
    for node in reversed(backward_pass.block.nodes):
        before = len(builder.nodes)
        try:
            _pull(backward_pass, node)
        except Underivable as e:
            e.where = e.where or node.where
            raise
        for new in builder.nodes[before:]:
            new.where = new.where or node.where


def _pull(backward_pass: BackwardPass, node: Node) -> None:
    found = [backward_pass.cotangents.pop(v, None) for v in node.outputs]
    if overwrites(node) and backward_pass.holds(node.outputs[0]):
        backward_pass.undo(node)
    held = any(backward_pass.holds(v) for v in node.outputs)
    if not held and all(g is None for g in found) and not pops_records(backward_pass.block, node):
        return
    if isinstance(node.op, Cond):
        pull_cond(backward_pass, node, found, pull_back)
        return
    if isinstance(node.op, WhileLoop):
        pull_while(backward_pass, node, found, pull_back)
        return
    if isinstance(node.op, Remat):
        pull_remat(backward_pass, node, found, pull_segment)
        return
    if isinstance(node.op, Custom):
        pull_custom(backward_pass, node, found, pull_segment)
        return
    if node.op.kind == "stack":
        backward_pass.pull_stack(node, found)
        return
    if backward_pass.rows is not None and backward_pass.rows.reads(node) and found[0] is not None:
        backward_pass.rows.add(backward_pass.c, node, found[0])
        return
    wanted = [v in backward_pass.block.active for v in node.inputs]
    if node.op.constant or not any(wanted):
        return
    at = NodeAdaptor(
        node,
        backward_pass.attrs(node.attrs),
        [backward_pass.type(v.type) for v in node.inputs],
        [backward_pass.type(v.type) for v in node.outputs],
        backward_pass.primal,
        backward_pass.c,
        wanted,
        backward_pass.block.producers,
    )
    for v, g, is_wanted in zip(
        node.inputs, node.op.vjp(backward_pass.c, at, found), wanted, strict=True
    ):
        if g is not None and is_wanted:
            backward_pass.add(v, g)
