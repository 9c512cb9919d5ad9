"""Which stored values are cheaper to compute again at every place where a stencil reads them.

    lap = 4*x[1:-1] - x[2:] - x[:-2]; y = lap[1:] - lap[:-1]     one kernel: lap at two places
    lap = exp(x); y = lap[1:] - lap[:-1]                         two kernels: exp costs more

Arithmetic in lanes costs less than a way to memory and back. A kernel computes an element at one
place only once, however many ways lead there, so what counts are its distinct (value, place).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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

#: The nodes that a root computes in registers, itself last, for a set of roots.
Inlined = Callable[[Node, set[Node]], list[Node]]


def worth_storing(
    candidates: Sequence[Node], roots: set[Node], inlined: Inlined, order: Order
) -> set[Node]:
    """`roots` without those candidates, in graph order, that are cheaper to compute where read."""
    for c in reversed(candidates):
        if any(_own(n) >= EXPENSIVE for n in inlined(c, roots)):
            continue
        fewer = roots - {c}
        trees = {
            r: inlined(r, fewer)
            for r in sorted(fewer, key=order.place.__getitem__)
            if order.place[r] > order.place[c]
        }
        readers = {r: tree for r, tree in trees.items() if c in tree}
        if not readers or not all(_may_read(r, c, tree, order) for r, tree in readers.items()):
            continue
        again = _total(_work(r, tree, c) for r, tree in readers.items())
        stored = _total(_work(r, inlined(r, roots), c) for r in (*readers, c))
        if again is not None and stored is not None and again <= stored + _ROUND_TRIP:
            roots = fewer
    return roots


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


def _total(work: Iterable[float | None]) -> float | None:
    parts = list(work)
    known = [w for w in parts if w is not None]
    return sum(known) if len(known) == len(parts) else None
