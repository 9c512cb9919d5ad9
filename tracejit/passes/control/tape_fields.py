"""Records of stacks without what no pop needs, so that just what the backward pass reads is kept.

    t1 = stack_push(t, x, y, x); ...; u, a, b, c = stack_pop(t1); return a, c
    ->  t1 = stack_push(t, x);   ...; u, a = stack_pop(t1); return a, a

A value that no pop of such a record has read goes, and so does a second one that every push gives
the same value as another, or the same constant. Records that are left empty go altogether. Records
of one form on stacks of one name are taken together: a pop finds only what has its own form.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.graph import Graph, GraphBuilder, Node, Value, attr_key, keep, replay
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType
from tracejit.ops.array.creation import Constant
from tracejit.ops.control.stack import StackPop, StackPush, record_form, record_of
from tracejit.passes.analysis.regions import constant_node
from tracejit.passes.simplify.dce import dce

__all__ = ["tape_fields"]

#: The name of a stack and the form of a record.
_Key = tuple[object, ...]


@dataclass
class _Records:
    """All records of one form: what their pushes are given and their pops are read for."""

    types: Sequence[Value]
    pushed: list[list[object]] = field(default_factory=list)
    constants: list[list[Node | None]] = field(default_factory=list)
    popped: list[list[object]] = field(default_factory=list)
    read: set[int] = field(default_factory=set)

    def plan(self) -> list[int | Node | None]:
        """For each field: its own number if it stays, the number of the one that stands for it, a
        constant that does, or None where nobody reads it.
        """
        out: list[int | Node | None] = []
        for k in range(len(self.types)):
            if k not in self.read:
                out.append(None)
            else:
                out.append(self._constant(k) or next(j for j in range(k + 1) if self._same(j, k)))
        return out

    def _same(self, j: int, k: int) -> bool:
        if j not in self.read:
            return False
        return all(r[j] is r[k] for r in self.pushed) and all(r[j] == r[k] for r in self.popped)

    def _constant(self, k: int) -> Node | None:
        made = [c[k] for c in self.constants]
        first = made[0] if made else None
        if first is None or isinstance(first.outputs[0].type, ArrayType):
            return None
        value = attr_key(first.attrs["value"])
        same = all(c is not None and attr_key(c.attrs["value"]) == value for c in made)
        return first if same else None


def tape_fields(graph: Graph) -> Graph:
    """`graph` with smaller records."""
    found: dict[_Key, _Records] = {}
    for node, inside, read in _stack_nodes(graph):
        records = found.setdefault(_key(node), _Records(record_of(node)))
        if isinstance(node.op, StackPush):
            records.pushed.append(list(record_of(node)))
            records.constants.append([_made_constant(v, inside) for v in record_of(node)])
        else:
            records.popped.append([v.type for v in record_of(node)])
            records.read |= {k for k, v in enumerate(record_of(node)) if v in read}
    plans = {key: records.plan() for key, records in found.items()}
    plans = {key: plan for key, plan in plans.items() if plan != list(range(len(plan)))}
    plans = _without_clashes(plans, found)
    return dce(_rewritten(graph, plans)) if plans else graph


def _stack_nodes(
    graph: Graph,
) -> Iterator[tuple[Node, Mapping[Value, Node], Mapping[Value, int]]]:
    """The pushes and pops, with the producers and the reads of the regions that they are in."""
    producers: Mapping[Value, Node] | None = None
    read: Mapping[Value, int] = {}
    for node in graph.nodes:
        for region in node.regions:
            yield from _stack_nodes(region)
        if isinstance(node.op, (StackPush, StackPop)):
            if producers is None:
                producers, read = graph.producers(), graph.uses()
            yield node, producers, read


def _key(node: Node) -> _Key:
    return (node.attrs["stack"], record_form(record_of(node)))


def _made_constant(v: Value, producers: Mapping[Value, Node]) -> Node | None:
    made = producers.get(v)
    return made if made is not None and isinstance(made.op, Constant) else None


def _without_clashes(
    plans: dict[_Key, list[int | Node | None]], found: Mapping[_Key, _Records]
) -> dict[_Key, list[int | Node | None]]:
    """The plans of those stacks whose records of unlike forms stay unlike."""
    forms: dict[object, list[object]] = {}
    for key, records in found.items():
        left = _kept(plans[key]) if key in plans else range(len(records.types))
        form = record_form([records.types[k] for k in left])
        if form:
            forms.setdefault(key[0], []).append(form)
    clash = {name for name, own in forms.items() if len(set(own)) < len(own)}
    return {key: plan for key, plan in plans.items() if key[0] not in clash}


def _kept(plan: Sequence[int | Node | None]) -> list[int]:
    return [k for k, stands in enumerate(plan) if type(stands) is int and stands == k]


def _rewritten(graph: Graph, plans: Mapping[_Key, Sequence[int | Node | None]]) -> Graph:
    def emit(builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        plan = None
        if isinstance(node.op, (StackPush, StackPop)):
            plan = plans.get(_key(node))
        if plan is None:
            return keep(builder, node)
        kept = _kept(plan)
        if isinstance(node.op, StackPush):
            if not kept:
                return inputs[:1]
            record = record_of(node)
            return builder.emit(
                OPS["stack_push"], (inputs[0], *(record[k] for k in kept)), node.attrs
            )
        return _popped(builder, node, plan, kept)

    return replay(graph, emit, region=lambda region: _rewritten(region, plans))


def _popped(
    builder: GraphBuilder, node: Node, plan: Sequence[int | Node | None], kept: Sequence[int]
) -> list[Value]:
    """The results of a pop of fewer values; the old ones stand for those that nobody reads."""
    token, found = node.inputs[0], dict[int, Value]()
    if kept:
        attrs = {**node.attrs, "types": tuple(node.attrs["types"][k] for k in kept)}
        token, *values = builder.emit(OPS["stack_pop"], node.inputs, attrs)
        found = dict(zip(kept, values, strict=True))
    out = [token]
    for k, stands in enumerate(plan):
        if isinstance(stands, Node):
            constant = constant_node(stands)
            builder.nodes.append(constant)
            out.append(constant.outputs[0])
        else:
            out.append(node.outputs[k + 1] if stands is None else found[stands])
    return out
