"""Which stored values are cheaper to compute again at every place where a stencil reads them.

    lap = 4*x[1:-1] - x[2:] - x[:-2]; y = lap[1:] - lap[:-1]     one kernel: lap at two places
    lap = exp(x); y = lap[1:] - lap[:-1]                         two kernels: exp costs more

Arithmetic in lanes costs less than a way to memory and back. A kernel computes an element at one
place only once, however many ways lead there, so what counts are its distinct (value, place).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.indexing import UpdateSlice
from tracejit.ops.array.reduction import Reduction
from tracejit.passes.analysis.aliasing import ElementPositions, position_of
from tracejit.passes.analysis.fusable import EXPENSIVE, is_literal, is_root_op
from tracejit.passes.analysis.order import Order

__all__ = ["worth_storing"]

#: Work, in additions, that costs as much as to write an element and read it again.
_ROUND_TRIP = 24.0
#: Kernels that compute more elements than this at one position would be all code.
_MOST = 250

#: The nodes that a root computes in registers, itself last, for a set of roots; None for more than
#: so many.
Inlined = Callable[[Node, set[Node], int], list[Node] | None]


def worth_storing(
    candidates: Sequence[Node],
    roots: set[Node],
    inlined: Inlined,
    consumers: Mapping[Value, Sequence[Node]],
    order: Order,
) -> None:
    """Take from `roots` the candidates, in graph order, that are cheaper to compute where read."""
    for c in reversed(candidates):
        own = inlined(c, roots, _MOST)
        if own is None or any(_own(n) >= EXPENSIVE for n in own):
            continue
        roots.remove(c)
        if not _is_cheaper(c, own, roots, inlined, consumers, order):
            roots.add(c)


def _is_cheaper(
    c: Node,
    own: Sequence[Node],
    fewer: set[Node],
    inlined: Inlined,
    consumers: Mapping[Value, Sequence[Node]],
    order: Order,
) -> bool:
    """Whether to compute `c`, from the nodes `own`, costs its readers less than to store it."""
    again, stored = 0.0, _work(c, own, c)
    readers = _readers(c, fewer, consumers)
    for r in sorted(readers, key=order.place.__getitem__):
        tree, before = inlined(r, fewer, _MOST), inlined(r, fewer | {c}, _MOST)
        if tree is None or before is None or not _may_read(r, c, tree, order):
            return False
        more, less = _work(r, tree, c), _work(r, before, c)
        if more is None or less is None or stored is None:
            return False
        again, stored = again + more, stored + less
    return bool(readers) and stored is not None and again <= stored + _ROUND_TRIP


def _readers(node: Node, roots: set[Node], consumers: Mapping[Value, Sequence[Node]]) -> set[Node]:
    """The roots that compute a node in registers, if it is not one itself."""
    found: set[Node] = set()
    seen, stack = {node}, [node]
    while stack:
        for u in consumers.get(stack.pop().outputs[0], ()):
            if u in roots:
                found.add(u)
            elif u not in seen:
                seen.add(u)
                stack.append(u)
    return found


def _may_read(root: Node, c: Node, tree: Sequence[Node], order: Order) -> bool:
    """Whether a root can compute `c` without reading what has changed, or more often than shown."""
    top = _top(root)
    if top is None or _wide(top) > _wide(c.outputs[0]):
        return False
    if isinstance(root.op, UpdateSlice) and any(
        root.inputs[0] in (*n.inputs, *n.outputs) for n in tree[:-1]
    ):
        return False
    return all(order.limit(n) > order.place[root] for n in tree[:-1])


def _top(root: Node) -> Value | None:
    """The value that a root's kernel computes element by element."""
    if isinstance(root.op, Reduction):
        return root.inputs[0]
    if isinstance(root.op, UpdateSlice):
        return root.inputs[1]
    return None if is_root_op(root) else root.outputs[0]


def _wide(v: Value) -> int:
    assert isinstance(v.type, ArrayType)
    return sum(n != 1 for n in v.type.shape)


def _work(root: Node, tree: Sequence[Node], c: Node) -> float | None:
    """The work for each element of `c`, or None where the places are not known or too many."""
    top = _top(root)
    if top is None:
        return None
    producer = {n.outputs[0]: n for n in tree if n is not root or n.outputs[0] is top}
    places = ElementPositions(producer, frozenset())
    assert isinstance(top.type, ArrayType)
    stack = [(top, position_of(top.type))]
    seen = set(stack)
    total = 0.0
    while stack:
        v, place = stack.pop()
        node = producer.get(v)
        if node is None:
            total += 1.0
            continue
        total += _own(node)
        for k, x in enumerate(node.inputs):
            made = producer.get(x)
            if not isinstance(x.type, ArrayType) or (made is not None and is_literal(made)):
                continue
            source = places.source(node, k, place)
            if source is None or len(seen) > _MOST:
                return None
            if (x, source) not in seen:
                seen.add((x, source))
                stack.append((x, source))
    return total * _share(top, c.outputs[0])


def _share(top: Value, c: Value) -> float:
    """How many elements a kernel computes, for each element of `c`; 1 where that is not known."""
    assert isinstance(top.type, ArrayType) and isinstance(c.type, ArrayType)
    own, other = top.type.size, c.type.size
    return own / other if isinstance(own, int) and isinstance(other, int) and other else 1.0


def _own(node: Node) -> float:
    """The work of one node for an element; moves are part of addresses."""
    if not isinstance(node.op, Elementwise):
        return 0.0
    return node.op.cost([x.type for x in node.inputs], node.attrs)
