"""Where the arrays of a program lie: outputs in their own memory, temporaries in reused slots.

An update (`update_slice`, `scatter`) is done in place where its old array is a temporary that
nothing reads afterwards. Values inside regions get slots of their own; the arrays that a loop
carries get two, so that an iteration never writes what it reads.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tracejit.codegen.library import scratch_sizes
from tracejit.errors import TraceError
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Graph, Node, Value
from tracejit.ir.types import ArrayType, type_sizes

__all__ = ["MemoryPlan", "plan_memory"]


@dataclass
class MemoryPlan:
    """Slots by byte size, and the slot of each value; `buffers` are a loop's own, two a carry."""

    slots: list[Dim] = field(default_factory=list)
    place: dict[Value, int] = field(default_factory=dict)
    fixed: dict[Value, str] = field(default_factory=dict)
    buffers: dict[Value, list[int]] = field(default_factory=dict)
    #: Fusions that update an array in place, with that array.
    in_place: dict[Node, Value] = field(default_factory=dict)
    #: Temporaries of library calls.
    scratch: dict[Node, list[int]] = field(default_factory=dict)
    _free: dict[Dim, list[int]] = field(default_factory=dict)

    def slot(self, size: Dim) -> int:
        """A slot of `size` bytes that is not in use."""
        if self._free.get(size):
            return self._free[size].pop()
        self.slots.append(size)
        return len(self.slots) - 1

    def release(self, size: Dim, number: int) -> None:
        """Let a slot be used again."""
        self._free.setdefault(size, []).append(number)


def _nbytes(v: Value) -> Dim:
    assert isinstance(v.type, ArrayType)
    return v.type.size * v.type.dtype.itemsize


def plan_memory(graph: Graph, outputs: dict[Value, str], sizes: set[str]) -> MemoryPlan:
    """Place every array that `graph` computes. `outputs` have pointers already.

    Raises TraceError for an array whose size is known only at run time.
    """
    plan = MemoryPlan()
    _plan(graph, plan, outputs, sizes, owned=set(), inner=False)
    return plan


def _plan(
    graph: Graph,
    plan: MemoryPlan,
    outputs: dict[Value, str],
    sizes: set[str],
    owned: set[Value],
    inner: bool,
) -> None:
    last: dict[Value, int] = {}
    for k, node in enumerate(graph.nodes):
        for v in node.inputs:
            last[v] = k
    for v in graph.outputs:
        last[v] = len(graph.nodes)
    owned = set(owned)
    held: dict[Value, Value] = {}
    for node in reversed(graph.nodes):
        if node.op.name == "transpose":
            # An alias: its memory is in use as long as it is.
            (v,), (alias,) = node.inputs, node.outputs
            last[v] = max(last.get(v, 0), last.get(alias, 0))
    for k, node in enumerate(graph.nodes):
        _plan_regions(node, plan, sizes)
        if node.op.name == "transpose":
            continue
        wanted = scratch_sizes(node) if node.op.kind == "library" else []
        plan.scratch[node] = [plan.slot(size) for size in wanted]
        old = _updated_in_place(node, last, k, owned)
        if old is not None and node.outputs[0] not in outputs:
            (new,) = node.outputs
            plan.in_place[node] = old
            owned.discard(old)
            owned.add(new)
            held[new] = held.get(old, old)
            continue
        for v in node.outputs:
            if not isinstance(v.type, ArrayType) or node.op.name == "constant":
                continue
            if not type_sizes(v.type) <= sizes:
                raise TraceError("TJ015", "the size of a temporary", node.where)
            if v in outputs:
                plan.fixed[v] = outputs[v]
                continue
            plan.place[v] = plan.slot(_nbytes(v))
            owned.add(v)
        # Slots in regions are not reused: a later iteration, or the other side, may run first.
        if not inner:
            for size, number in zip(wanted, plan.scratch[node], strict=True):
                plan.release(size, number)
            for v in dict.fromkeys((*node.inputs, *node.outputs)):
                base = held.get(v, v)
                if base in plan.place and last.get(v, k) == k and v in owned:
                    owned.discard(v)
                    plan.release(_nbytes(base), plan.place[base])


def _updated_in_place(
    node: Node, last: dict[Value, int], k: int, owned: set[Value]
) -> Value | None:
    """The array that the fusion `node` may update where it lies, or None."""
    if node.op.name == "write_item":
        (old,) = node.inputs[:1]
        return old if last[old] == k and old in owned else None
    if node.op.kind != "fusion" or len(node.outputs) != 1:
        return None
    (region,) = node.regions
    (result,) = region.outputs
    producer = region.producers().get(result)
    if producer is None or producer.op.name not in ("update_slice", "scatter"):
        return None
    old = producer.inputs[0]
    if old not in region.inputs or region.uses()[old] != 1:
        return None
    outer = node.inputs[region.inputs.index(old)]
    others = sum(v is outer for v in node.inputs)
    return outer if others == 1 and last[outer] == k and outer in owned else None


def _plan_regions(node: Node, plan: MemoryPlan, sizes: set[str]) -> None:
    if node.op.kind == "fusion" or not node.regions:
        return
    if node.binds:
        raise TraceError("TJ015", "a loop whose arrays change size", node.where)
    carried = node.attrs.get("carried", 0)
    for region, given in zip(node.regions, node.attrs["sizes"], strict=True):
        if tuple(map(str, given)) != region.sizes:
            raise TraceError("TJ015", "a region that renames sizes", node.where)
        own = {v for v in region.inputs[:carried] if isinstance(v.type, ArrayType)}
        _plan(region, plan, {}, sizes, own if region is node.regions[-1] else set(), inner=True)
    body = node.regions[-1]
    for v in body.inputs[:carried]:
        if isinstance(v.type, ArrayType):
            if not type_sizes(v.type) <= sizes:
                raise TraceError("TJ015", "the size of a temporary", node.where)
            plan.buffers[v] = [plan.slot(_nbytes(v)), plan.slot(_nbytes(v))]
