"""Reverse mode of loops: a loop back through the iterations, as many as there were.

It carries the cotangents of what the loop carries, those of what the loop reads from outside (added
up in place), and the arrays that are restored to the states that they were in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tracejit.errors import Underivable
from tracejit.ir.derivatives import differentiable, tangent_type
from tracejit.ir.dims import Dim, floordiv, symbol
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.regions import Region
from tracejit.ir.types import TOKEN, Type, type_sizes
from tracejit.transforms.autodiff.array_states import chains_of
from tracejit.transforms.autodiff.backward_pass import BackwardPass, RegionBackwardPass, Restart
from tracejit.transforms.autodiff.residuals import Block, loop_flags
from tracejit.transforms.autodiff.stacks import pops_records

__all__ = ["pull_while"]


def pull_while(
    backward_pass: BackwardPass,
    node: Node,
    found: Sequence[Value | None],
    pull_back: Callable[[BackwardPass], None],
) -> None:
    """Record the backward pass of a `while_loop` for the cotangents of its results."""
    chains = chains_of(node.regions[1])
    idle = set()
    if not pops_records(backward_pass.block, node):
        idle = {k for k, v in enumerate(node.outputs) if v.type == TOKEN and found[k] is None}
    restored = {k for k in chains if backward_pass.holds(node.outputs[k])}
    while True:
        mark = backward_pass.mark()
        attempt = _Backward(backward_pass, node, chains, restored, idle)
        try:
            attempt.run(pull_back)
        except Restart as e:
            if e.backward_pass is not attempt.inner:
                raise
            backward_pass.rollback(mark)
            restored = restored | {e.place}
            continue
        attempt.commit(found)
        return


class _Backward:
    """One attempt at the backward pass, with the arrays `restored`, by number, restored."""

    def __init__(
        self,
        backward_pass: BackwardPass,
        node: Node,
        chains: dict[int, int],
        restored: set[int],
        idle: set[int],
    ) -> None:
        self.backward_pass, self.node, self.restored = backward_pass, node, sorted(restored)
        #: The stacks, by number, that no cotangents are popped from.
        self.idle = idle
        self.carried = node.attrs["carried"]
        self.body: Graph = node.regions[1]
        self.flags = loop_flags(node, [v in backward_pass.block.active for v in node.inputs])
        self.block = Block(self.body.inputs, self.body.nodes, self.body.outputs)
        self.block.spread(v for v, f in zip(self.body.inputs, self.flags, strict=True) if f)
        fresh = backward_pass.c.fresh
        self.k = fresh()
        #: The size that the forward loop's iterations are counted in, if it does not count them.
        self.count: str | None = None
        self.trips, sizes = self._iterations()
        self.region = Region(f"{self.body.name}_back", fresh, (self.k,))
        self.states = {k: Value(backward_pass.type(node.outputs[k].type)) for k in self.restored}
        operands = [None if k < self.carried else v for k, v in enumerate(node.inputs)]
        self.inner = RegionBackwardPass(
            backward_pass, self.region, self.body, self.block, operands, sizes, chains, self.states
        )
        self.first = self.inner.open()

    def _iterations(self) -> tuple[Dim, dict[str, Dim]]:
        """How many there were, and the body's size symbols in the terms of the backward one."""
        node, body, backward_pass = self.node, self.body, self.backward_pass
        count = len(body.size_outputs)
        starts = [backward_pass.dim(d) for d in node.attrs["sizes"][1]]
        steps = []
        for s, new in zip(body.sizes, body.size_outputs, strict=False):
            step = new - symbol(s)
            if not isinstance(step, int):
                raise Underivable("a loop carries arrays whose sizes change")
            steps.append(step)
        moving = [j for j, step in enumerate(steps) if step]
        if moving:
            j = min(moving, key=lambda j: abs(steps[j]))
            trips = floordiv(backward_pass.dim(symbol(node.binds[j])) - starts[j], 1)
            if steps[j] != 1:
                trips = floordiv(trips * (1 if steps[j] > 0 else -1), abs(steps[j]))
        else:
            self.count = backward_pass.c.fresh()
            trips = backward_pass.dim(symbol(self.count))
        back = trips - 1 - symbol(self.k)
        sizes = {s: starts[j] + steps[j] * back for j, s in enumerate(body.sizes[:count])}
        sizes |= dict(zip(body.sizes[count:], starts[count:], strict=True))
        for v in body.inputs[: self.carried]:
            if type_sizes(v.type) & set(body.sizes[:count]):
                raise Underivable("a loop carries arrays whose sizes change")
        return trips, sizes

    def _is_pulled(self, k: int) -> bool:
        t = self.body.inputs[k].type
        return self.flags[k] and (differentiable(t) or t == TOKEN)

    def _cotangent(self, k: int) -> Value:
        t = self.node.inputs[k].type
        return Value(t if t == TOKEN else tangent_type(self.backward_pass.type(t)))

    def run(self, pull_back: Callable[[BackwardPass], None]) -> None:
        """Record the body."""
        inner, body = self.inner, self.body
        self.pulled = [k for k in range(self.carried) if self._is_pulled(k) and k not in self.idle]
        read = [
            k
            for k in range(self.carried, len(body.inputs))
            if self._is_pulled(k) and body.inputs[k].type != TOKEN
        ]
        self.given = {k: self._cotangent(k) for k in (*self.pulled, *read)}
        for k in read:
            inner.cotangents[body.inputs[k]] = self.given[k]
        for k in self.pulled:
            inner.add(body.outputs[k], self.given[k])
        pull_back(inner)
        # What nothing was added to need not go round.
        self.read = [k for k in read if inner.cotangents.get(body.inputs[k]) is not self.given[k]]
        self.results = {}
        # What is added to one may be read of another, before that is set to zero.
        for k in (*self.pulled, *self.read):
            inner.cotangents.add_up(body.inputs[k])
        for k in (*self.pulled, *self.read):
            v = body.inputs[k]
            g = inner.laid_out(inner.cotangents.get(v), v)
            t = self.given[k].type
            self.results[k] = g if t == TOKEN else inner.c.laid_out(g, t)
        self.ends = {k: inner.held(body.inputs[k]) for k in self.restored}

    def commit(self, found: Sequence[Value | None]) -> None:
        """Record the loop, and hand its results to the backward pass around it."""
        backward_pass, node, inner, c = (
            self.backward_pass,
            self.node,
            self.inner,
            self.backward_pass.c,
        )
        token = inner.finish()
        pushes = self.block.pushes
        order = [*self.pulled, *self.read]
        first = [self.given[k] for k in order] + [self.states[k] for k in self.restored]
        last = [self.results[k] for k in order] + [self.ends[k] for k in self.restored]
        initial = [backward_pass.laid_out(found[k], node.outputs[k]) for k in self.pulled]
        initial += [self._so_far(k) for k in self.read]
        for k in self.restored:
            out = node.outputs[k]
            initial.append(
                backward_pass.held(out) if backward_pass.holds(out) else backward_pass.primal(out)
            )
        if pushes:
            first, last, initial = (
                [*first, token],
                [*last, inner.token],
                [*initial, backward_pass.token],
            )
        captures = list(self.region.captures)
        body, body_sizes = self.region.close(first, captures, last, (symbol(self.k) + 1,))
        cond, cond_sizes = self._condition([v.type for v in (*first, *captures)])
        attrs = {"carried": len(first), "sizes": ((0, *cond_sizes), (0, *body_sizes))}
        binds = (c.fresh(),)
        results = list(
            c.ops("while_loop", [*initial, *captures], regions=(cond, body), binds=binds, **attrs)
        )
        self._hand_over(results, pushes)

    def _so_far(self, k: int) -> Value:
        """What has been added up of the cotangent of a value that the loop reads."""
        v = self.node.inputs[k]
        so_far = self.backward_pass.cotangents.pop(v, None)
        return self.backward_pass.laid_out(so_far, v)

    def _hand_over(self, results: list[Value], pushes: bool) -> None:
        backward_pass, node = self.backward_pass, self.node
        if pushes:
            backward_pass.token = results.pop()
        for k in self.pulled + self.read:
            g = results.pop(0)
            if node.inputs[k].type == TOKEN:
                backward_pass.cotangents[node.inputs[k]] = g
            else:
                backward_pass.add(node.inputs[k], g)
        for k in self.restored:
            array = results.pop(0)
            if backward_pass.holds(node.outputs[k]):
                backward_pass.hold(node.outputs[k], node.inputs[k], array)
        if pushes:
            backward_pass.block.inner[node] = [self.block]
        if self.count is not None:
            backward_pass.block.inner.setdefault(node, [self.block])
            backward_pass.block.counted[node] = self.count

    def _condition(self, types: Sequence[Type]) -> tuple[Graph, tuple[Dim, ...]]:
        """Whether there is an iteration left."""
        test = Region(f"{self.body.name}_left", self.backward_pass.c.fresh, (self.k,))
        c = test.c
        values = [c.op("dim_value", dim=d) for d in (symbol(self.k), self.trips)]
        return test.close([Value(t) for t in types], (), [c.op("py_less", *values)])
