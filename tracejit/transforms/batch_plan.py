"""What becomes of each node where some values have a batch axis: the plan that `batch` follows.

A node runs once for all lanes where none of its operands is batched. Where one is, it runs by its
op's batching rule, if there is one for such operands. Else it is *apart*: lane after lane in a
loop. Apart are also

- effects (what takes a token), whatever they depend on: a Python loop over the batch has them once
  for each lane, all those of a lane before those of the next;
- what pushes to or pops from stacks, which belong to one lane;
- branches and loops that go other ways in other lanes, since no lane runs what it would not run by
  itself;
- what binds a size that may differ from lane to lane, and what reads such a size.

All nodes that are apart run in one loop, with the nodes that lie between them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from tracejit.ir.batching import may_be_batched
from tracejit.ir.graph import Graph, Node, Value, attr_sizes
from tracejit.ir.types import NONE, type_sizes
from tracejit.transforms.regions import nested

__all__ = ["Plan", "branch_flags", "call_flags", "loop_flags", "make_plan"]


@dataclass
class Plan:
    """The nodes in the order in which they run: `before` the loop over lanes, `apart` in it, and
    `after` it.
    """

    #: The values that have a batch axis.
    batched: set[Value]
    #: The size symbols that may differ from lane to lane.
    lane_sizes: set[str] = field(default_factory=set)
    before: list[Node] = field(default_factory=list)
    apart: list[Node] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)


def make_plan(nodes: Sequence[Node], batched: Collection[Value]) -> Plan:
    """The plan of nodes of which these values, from outside, are batched."""
    plan = Plan(set(batched))
    apart = set()
    for node in nodes:
        flags = _results(node, plan)
        if flags is None:
            apart.add(node)
            flags = [may_be_batched(v.type) for v in node.outputs]
            plan.lane_sizes.update(node.binds)
        plan.batched.update(v for v, flag in zip(node.outputs, flags, strict=True) if flag)
    _order(nodes, apart, plan)
    return plan


def _order(nodes: Sequence[Node], apart: Collection[Node], plan: Plan) -> None:
    """Sort the nodes into those before, in and after the loop over lanes."""
    later: set[Value] = set()
    following = set()
    for node in nodes:
        if node in apart or not later.isdisjoint(node.inputs):
            following.add(node)
            later.update(node.outputs)
    needed: set[Value] = set()
    inside = set()
    for node in reversed(nodes):
        if node in apart or (node in following and not needed.isdisjoint(node.outputs)):
            inside.add(node)
            needed.update(node.inputs)
    for node in nodes:
        place = plan.apart if node in inside else plan.after if node in following else plan.before
        place.append(node)


def _results(node: Node, plan: Plan) -> Sequence[bool] | None:
    """Which results of a node are batched; None where it is apart."""
    if _one_by_one(node) or _reads_lane_sizes(node, plan):
        return None
    flags = [v in plan.batched for v in node.inputs]
    if not any(flags):
        return [False] * len(node.outputs)
    if node.op.name == "cond":
        return branch_flags(node, flags)
    if node.op.name == "while_loop":
        return loop_flags(node, flags)
    if node.op.name == "checkpoint":
        return call_flags(node, flags)
    types = [v.type for v in node.inputs]
    if not node.binds and node.op.vectorises(node.attrs, types, flags):
        return [True] * len(node.outputs)
    return None


def _one_by_one(node: Node) -> bool:
    """Whether a node has effects, or stacks, which belong to one lane."""
    return any(
        n.op.kind == "stack" or not all(may_be_batched(v.type) or v.type == NONE for v in n.inputs)
        for n in nested([node])
    )


def _reads_lane_sizes(node: Node, plan: Plan) -> bool:
    read = node.sizes().union(*(type_sizes(v.type) for v in (*node.inputs, *node.outputs)))
    return not plan.lane_sizes.isdisjoint(read - set(node.binds))


# Regions ------------------------------------------------------------------------------------------


def branch_flags(node: Node, flags: Sequence[bool]) -> list[bool] | None:
    """Which results of a `cond` are batched; None where lanes may take different sides."""
    if flags[0]:
        return None
    sides = [_region_flags(region, flags[1:]) for region in node.regions]
    if any(side is None for side in sides):
        return None
    return [any(pair) for pair in zip(*(side for side in sides if side), strict=True)]


def call_flags(node: Node, flags: Sequence[bool]) -> list[bool] | None:
    """Which results of a `checkpoint` are batched; None where they have sizes by lanes."""
    return _region_flags(node.regions[0], flags)


def loop_flags(node: Node, flags: Sequence[bool]) -> list[bool] | None:
    """Which carried values of a `while_loop` are batched; None where trip counts may differ.

    A carried value is batched if it is before the first iteration or after any.
    """
    condition, body = node.regions
    count = node.attrs["carried"]
    carried, captured = list(flags[:count]), list(flags[count:])
    while True:
        after = _region_flags(body, [*carried, *captured])
        test = _region_flags(condition, [*carried, *captured])
        if after is None or test is None or test[0]:
            return None
        joined = [a or b for a, b in zip(carried, after, strict=True)]
        if joined == carried:
            return carried
        carried = joined


def _region_flags(region: Graph, flags: Sequence[bool]) -> list[bool] | None:
    """Which outputs of a region are batched; None where it gives sizes that differ by lanes."""
    inputs = [v for v, flag in zip(region.inputs, flags, strict=True) if flag]
    plan = make_plan(region.nodes, inputs)
    read: set[str] = set().union(*(attr_sizes(d) for d in region.size_outputs))
    read |= set().union(*(type_sizes(v.type) for v in region.outputs))
    if not plan.lane_sizes.isdisjoint(read):
        return None
    return [v in plan.batched for v in region.outputs]
