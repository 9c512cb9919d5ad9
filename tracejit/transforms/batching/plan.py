"""What becomes of each node where some values have a batch axis: the plan that `batch` follows.

A node runs once for all lanes where none of its operands is batched. Where one is, it runs by its
op's batching rule, if there is one for such operands. Else it is *apart*: lane after lane in a
loop. Apart are also

- effects (what takes a token), whatever they depend on: a Python loop over the batch has them once
  for each lane, all those of a lane before those of the next;
- what uses a stack that lanes push to and pop from in ways of their own;
- branches and loops that go other ways in other lanes, since no lane runs what it would not run by
  itself;
- what binds a size that may differ from lane to lane, and what reads such a size.

All nodes that are apart run in one loop, with the nodes that lie between them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.batching import may_be_batched
from tracejit.ir.graph import Graph, Node, Value, attr_sizes
from tracejit.ir.regions import nested
from tracejit.ir.types import TOKEN, type_sizes
from tracejit.ops.control.calls import Custom, Remat
from tracejit.ops.control.regions import Cond, WhileLoop
from tracejit.ops.control.stack import StackPop, StackPush
from tracejit.transforms.batching.stacks import StackFlags, stacks_of

__all__ = ["BatchPlan", "call_operands", "effect_tokens", "make_plan"]


@dataclass
class BatchPlan:
    """The nodes in the order in which they run: `before` the loop over lanes, `apart` in it, and
    `after` it.
    """

    #: The values that have a batch axis.
    batched: set[Value]
    stacks: StackFlags
    #: The size symbols that may differ from lane to lane.
    lane_sizes: set[str] = field(default_factory=set)
    before: list[Node] = field(default_factory=list)
    apart: list[Node] = field(default_factory=list)
    after: list[Node] = field(default_factory=list)
    #: Which results of each node are batched.
    flags: dict[Node, Sequence[bool]] = field(default_factory=dict)
    #: Whether there are loops over lanes, here or in regions.
    lane_loops: bool = False


def make_plan(nodes: Sequence[Node], batched: Collection[Value], stacks: StackFlags) -> BatchPlan:
    """The plan of nodes of which these values, from outside, are batched.

    It holds once making it adds nothing to `stacks`.
    """
    plan = BatchPlan(set(batched), stacks)
    apart = set()
    for node in nodes:
        flags = _results(node, plan)
        if flags is None:
            apart.add(node)
            stacks.leave(stacks_of(node))
            flags = [may_be_batched(v.type) for v in node.outputs]
            plan.lane_sizes.update(node.binds)
        plan.flags[node] = flags
        plan.batched.update(v for v, flag in zip(node.outputs, flags, strict=True) if flag)
    _order(nodes, apart, plan)
    plan.lane_loops = plan.lane_loops or bool(apart)
    return plan


def _order(nodes: Sequence[Node], apart: Collection[Node], plan: BatchPlan) -> None:
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


def _results(node: Node, plan: BatchPlan) -> Sequence[bool] | None:
    """Which results of a node are batched; None where it is apart."""
    used = stacks_of(node)
    if (
        _has_effects(node)
        or _reads_lane_sizes(node, plan)
        or not used.isdisjoint(plan.stacks.apart)
    ):
        return None
    flags = [v in plan.batched for v in node.inputs]
    if node.op.kind == "stack":
        return _stack_flags(node, flags, plan)
    if not any(flags) and not used:
        return [False] * len(node.outputs)
    if isinstance(node.op, Cond):
        return _branch_flags(node, flags, plan)
    if isinstance(node.op, WhileLoop):
        return _loop_flags(node, flags, plan)
    if isinstance(node.op, (Remat, Custom)):
        return _call_flags(node, flags, plan)
    types = [v.type for v in node.inputs]
    if not node.binds and node.op.vectorises(node.attrs, types, flags):
        return [True] * len(node.outputs)
    return None


def _stack_flags(node: Node, flags: Sequence[bool], plan: BatchPlan) -> list[bool]:
    if isinstance(node.op, StackPush):
        plan.stacks.push(node, flags[1:])
    if isinstance(node.op, StackPop):
        return [False, *plan.stacks.of(node, node.outputs[1:])]
    return [False]


def _has_effects(node: Node) -> bool:
    """Whether a node, or one in its regions, has effects that are ordered."""
    return any(
        n.op.kind != "stack" and not n.regions and any(v.type == TOKEN for v in n.inputs)
        for n in nested([node])
    )


def _reads_lane_sizes(node: Node, plan: BatchPlan) -> bool:
    read = node.sizes().union(*(type_sizes(v.type) for v in (*node.inputs, *node.outputs)))
    return not plan.lane_sizes.isdisjoint(read - set(node.binds))


# Regions ------------------------------------------------------------------------------------------


def _branch_flags(node: Node, flags: Sequence[bool], plan: BatchPlan) -> list[bool] | None:
    """Which results of a `cond` are batched; None where lanes may take different sides."""
    return None if flags[0] else _sides_flags(node, flags[1:], plan)


def _sides_flags(node: Node, flags: Sequence[bool], plan: BatchPlan) -> list[bool] | None:
    """Which results are batched, of one region or another; None where sizes differ by lanes."""
    sides = [_region_plan(region, flags, plan.stacks) for region in node.regions]
    if any(side is None for side in sides):
        return None
    plan.lane_loops = plan.lane_loops or any(side.lane_loops for side in sides if side)
    pairs = zip(sides, node.regions, strict=True)
    outs = [[v in side.batched for v in region.outputs] for side, region in pairs if side]
    return [any(pair) for pair in zip(*outs, strict=True)]


def _call_flags(node: Node, flags: Sequence[bool], plan: BatchPlan) -> list[bool] | None:
    """Which results of a call are batched: all of those of a `custom` one."""
    first, *others = [
        _region_plan(region, call_operands(node, flags, region), plan.stacks)
        for region in node.regions
    ]
    if first is None or None in others:
        return None
    plan.lane_loops = plan.lane_loops or first.lane_loops
    whole = isinstance(node.op, Custom)
    return [whole or v in first.batched for v in node.regions[0].outputs]


def call_operands(node: Node, flags: Sequence[bool], region: Graph) -> list[bool]:
    """Which inputs of a region of a call are batched, where these operands of the node are.

    What a `custom` node has derivatives by is, and so is what comes after its operands.
    """
    if not isinstance(node.op, Custom):
        return list(flags)
    args = node.attrs["args"]
    return [*[True] * args, *flags[args:], *[True] * (len(region.inputs) - len(flags))]


def _loop_flags(node: Node, flags: Sequence[bool], plan: BatchPlan) -> list[bool] | None:
    """Which carried values of a `while_loop` are batched; None where it is apart.

    So it is where trip counts may differ. A carried value is batched if it is before the first
    iteration or after any. A loop that would hold loops over lanes is apart too, since then a lane
    keeps its values in registers and caches, but for one with products of matrices and their like.
    """
    condition, body = node.regions
    count = node.attrs["carried"]
    carried, captured = list(flags[:count]), list(flags[count:])
    while True:
        given = [*carried, *captured]
        after, test = (_region_plan(region, given, plan.stacks) for region in (body, condition))
        if after is None or test is None or condition.outputs[0] in test.batched:
            return None
        joined = [a or v in after.batched for a, v in zip(carried, body.outputs, strict=True)]
        if joined == carried:
            if not after.lane_loops:
                return carried
            plan.lane_loops = True
            return carried if any(n.op.kind == "library" for n in nested(body.nodes)) else None
        carried = joined


def _region_plan(region: Graph, flags: Sequence[bool], stacks: StackFlags) -> BatchPlan | None:
    """The plan of a region; None where it gives sizes that differ from lane to lane."""
    inputs = [v for v, flag in zip(region.inputs, flags, strict=True) if flag]
    plan = make_plan(region.nodes, inputs, stacks)
    read: set[str] = set().union(*(attr_sizes(d) for d in region.size_outputs))
    read |= set().union(*(type_sizes(v.type) for v in region.outputs))
    return plan if plan.lane_sizes.isdisjoint(read) else None


def effect_tokens(nodes: Sequence[Node], given: Collection[Value]) -> set[Value]:
    """The tokens that say what comes after the effects that `given` stand for.

    Other tokens are stacks.
    """
    found = set(given)
    for node in nodes:
        tokens = [v for v in node.inputs if v in found]
        if isinstance(node.op, WhileLoop):
            found.update(v for v, x in zip(node.outputs, node.inputs, strict=False) if x in tokens)
        elif isinstance(node.op, Cond):
            for region in node.regions:
                pairs = zip(region.inputs, node.inputs[1:], strict=True)
                inner = effect_tokens(region.nodes, [v for v, x in pairs if x in tokens])
                pairs = zip(node.outputs, region.outputs, strict=True)
                found.update(v for v, x in pairs if x in inner)
        elif tokens:
            found.update(v for v in node.outputs if v.type == TOKEN)
    return found
