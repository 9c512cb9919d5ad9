"""Reverse mode of branches: back through the side that was taken."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.ir.derivatives import differentiable, tangent_type
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.regions import Region, nested
from tracejit.ir.types import TOKEN, Type
from tracejit.ops.control.stack import StackPop
from tracejit.transforms.autodiff.array_states import previous_state
from tracejit.transforms.autodiff.backward_pass import BackwardPass, RegionBackwardPass
from tracejit.transforms.autodiff.residuals import Block
from tracejit.transforms.autodiff.stacks import find_stack, pops_records, stack_of

__all__ = ["pull_cond"]


def pull_cond(
    backward_pass: BackwardPass,
    node: Node,
    found: Sequence[Value | None],
    pull_back: Callable[[BackwardPass], None],
) -> None:
    """Record the backward pass of a `cond` for the cotangents of its results."""
    operands = node.inputs[1:]
    given = {j: g for j, g in enumerate(found) if g is not None and g.type != TOKEN}
    read = [k for k, v in enumerate(operands) if _is_pulled(backward_pass, v)]
    tokens = _tokens(backward_pass, node, found)
    read = sorted({*read, *tokens})
    # What nothing has been added to yet begins on the side that adds to it.
    begun = [k for k in read if k in tokens or backward_pass.cotangents.has(operands[k])]
    states = _states(backward_pass, node)
    ended = _ended(backward_pass, node, tokens)
    sides = [
        _Side(backward_pass, node, number, given, begun, tokens, states) for number in range(2)
    ]
    for side in sides:
        pull_back(side.inner)
    kept = [k for k in read if any(side.adds_to(k) for side in sides)]
    # What is left of a stack whose records below have no cotangents is not handed on.
    spent = [k for k in tokens if operands[k] not in backward_pass.block.active]
    kept = [k for k in kept if k not in spent]
    pushes = any(side.block.pushes for side in sides)
    inputs = [backward_pass.primal(node.inputs[0]), *given.values()]
    for k, j in tokens.items():
        g = found[j]
        if g is not None:
            backward_pass.cotangents[operands[k]] = g
    for k in (*kept, *spent):
        if k in begun:
            so_far = backward_pass.cotangents.pop(operands[k], None)
            inputs.append(backward_pass.laid_out(so_far, operands[k]))
    inputs += [backward_pass.held(node.outputs[j]) for j in states]
    if pushes:
        inputs.append(backward_pass.token)
    captures = list(dict.fromkeys(v for side in sides for v in side.region.captures))
    closed = [side.close(kept, spent, ended, pushes, captures) for side in sides]
    results = list(
        backward_pass.c.ops(
            "cond",
            [*inputs, *captures],
            regions=tuple(graph for graph, _ in closed),
            sizes=tuple(sizes for _, sizes in closed),
        )
    )
    if pushes:
        backward_pass.token = results.pop()
        backward_pass.block.inner[node] = [side.block for side in sides]
    for k in (*kept, *ended):
        g = results.pop(0)
        if operands[k].type == TOKEN:
            backward_pass.cotangents[operands[k]] = g
        else:
            backward_pass.add(operands[k], g)
    for j, place in states.items():
        backward_pass.hold(node.outputs[j], operands[place], results.pop(0))


def _is_pulled(backward_pass: BackwardPass, v: Value) -> bool:
    return v in backward_pass.block.active and differentiable(v.type)


def _tokens(
    backward_pass: BackwardPass, node: Node, found: Sequence[Value | None]
) -> dict[int, int]:
    """The operands that are stacks with cotangents, with the results that these are afterwards."""
    block = backward_pass.block
    pops = pops_records(block, node)
    later = {
        stack_of(block, v): j
        for j, v in enumerate(node.outputs)
        if v.type == TOKEN and v in block.active and (pops or found[j] is not None)
    }
    if not later:
        return {}
    tokens = [(k, v) for k, v in enumerate(node.inputs[1:]) if v.type == TOKEN]
    earlier = {find_stack(block, v): k for k, v in tokens}
    return {earlier[name]: j for name, j in later.items()}


def _ended(backward_pass: BackwardPass, node: Node, tokens: dict[int, int]) -> dict[int, str]:
    """The operands that are stacks whose last records with cotangents are popped here, so that no
    result is what is left of them, with the names of their stacks of cotangents.
    """
    block, operands = backward_pass.block, node.inputs[1:]
    popped = {n.attrs["stack"] for n in nested([node]) if isinstance(n.op, StackPop)}
    return {
        k: backward_pass.cotangent_stack(v)
        for k, v in enumerate(operands)
        if v.type == TOKEN and v in block.active and k not in tokens
        if find_stack(block, v) in popped
    }


def _cotangent_type(backward_pass: BackwardPass, v: Value) -> Type:
    return v.type if v.type == TOKEN else tangent_type(backward_pass.type(v.type))


def _states(backward_pass: BackwardPass, node: Node) -> dict[int, int]:
    """The results whose arrays are restored, with the operands that these are states of."""
    out = {}
    for j, v in enumerate(node.outputs):
        if backward_pass.holds(v):
            place = previous_state(node, v)
            assert place is not None
            out[j] = place - 1
    return out


class _Side:
    """One side on the way back: it takes the cotangents `given` of results, by number, those so
    far of the operands `begun`, and the arrays to be restored. `tokens` are operands that are
    stacks, with the results that these are stacks after.
    """

    def __init__(
        self,
        backward_pass: BackwardPass,
        node: Node,
        number: int,
        given: dict[int, Value],
        begun: Sequence[int],
        tokens: dict[int, int],
        states: dict[int, int],
    ) -> None:
        graph, operands = node.regions[number], node.inputs[1:]
        self.graph, self.tokens, self.states = graph, tokens, states
        self.given = {j: Value(g.type) for j, g in given.items()}
        self.so_far = {k: Value(_cotangent_type(backward_pass, operands[k])) for k in begun}
        self.arrays = {j: Value(backward_pass.type(node.outputs[j].type)) for j in states}
        self.block = Block(graph.inputs, graph.nodes, graph.outputs)
        pairs = zip(graph.inputs, operands, strict=True)
        self.block.spread(v for v, o in pairs if o in backward_pass.block.active)
        self.region = Region(f"{graph.name}_back", backward_pass.c.fresh)
        attr = node.attrs["sizes"][number]
        sizes = {s: backward_pass.dim(d) for s, d in zip(graph.sizes, attr, strict=True)}
        chains = {place: j for j, place in states.items()}
        held = {place: self.arrays[j] for j, place in states.items()}
        self.inner = RegionBackwardPass(
            backward_pass, self.region, graph, self.block, operands, sizes, chains, held
        )
        self.first = self.inner.open()
        self._begin()

    def _begin(self) -> None:
        inner, graph = self.inner, self.graph
        for k, v in self.so_far.items():
            # A stack is as it was left; other cotangents grow from where they are.
            start = graph.outputs[self.tokens[k]] if k in self.tokens else graph.inputs[k]
            if start in self.block.active or k in self.tokens:
                inner.cotangents[start] = v
        for j, v in self.given.items():
            out = graph.outputs[j]
            if out in self.block.active:
                inner.add(out, inner.laid_out(v, out))

    def adds_to(self, k: int) -> bool:
        """Whether the cotangent of operand k changes on this side."""
        so_far = self.so_far.get(k)
        return self.inner.cotangents.get(self.graph.inputs[k], so_far) is not so_far

    def _records(self, k: int, stack: str) -> Value:
        """The cotangents of the records that are popped from operand k; none on the other side."""
        g = self.inner.cotangents.get(self.graph.inputs[k])
        return self.inner.c.op("stack_new", stack=stack) if g is None else g

    def _result(self, k: int) -> Value:
        v = self.graph.inputs[k]
        g = self.inner.cotangents.get(v, self.so_far.get(k))
        return self.inner.laid_out(g, v)

    def close(
        self,
        kept: Sequence[int],
        spent: Sequence[int],
        ended: dict[int, str],
        pushes: bool,
        captures: Sequence[Value],
    ) -> tuple[Graph, tuple[Dim, ...]]:
        """The region's graph and its sizes."""
        last = [self._result(k) for k in kept]
        last += [self._records(k, stack) for k, stack in ended.items()]
        last += [self.inner.held(self.graph.inputs[place]) for place in self.states.values()]
        token = self.inner.finish()
        first = [
            *self.given.values(),
            *(self.so_far[k] for k in (*kept, *spent) if k in self.so_far),
        ]
        first += self.arrays.values()
        if pushes:
            first, last = [*first, token], [*last, self.inner.token]
        return self.region.close(first, captures, last)
