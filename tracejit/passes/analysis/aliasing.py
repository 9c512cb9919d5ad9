"""Which inputs of a fusion may share memory with its results: where a kernel reads what it writes.

    b = fusion(a) { v = a[1:] * 2; update(a, v, 1:) }      a may be updated where it lies
    b = fusion(a) { v = a[:-1] * 2; update(a, v, 1:) }     v must be finished first

A kernel computes the elements of its results one position after another, in any order. Memory that
it writes may be read at the very index that is being written, and at places that it never writes.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Set
from dataclasses import field
from typing import TypeAlias

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, bounds, substitute, symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import ArrayType
from tracejit.ops.array.creation import Constant
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.indexing import Gather, UpdateSlice
from tracejit.ops.array.items import WriteItem
from tracejit.ops.array.reduction import Reduction
from tracejit.ops.array.shape import BroadcastTo, Reshape, Slice, Transpose

__all__ = [
    "ElementPositions",
    "Read",
    "conflicting_reads",
    "overwritable",
    "position_of",
    "updated_input",
]

#: A place in an array, in terms of the position that is computed; None: it may be any.
Place: TypeAlias = "tuple[Dim, ...] | None"


@dataclass(frozen=True)
class Read:
    """`reader` takes an element of an array at `place`."""

    reader: Node
    place: Place


def overwritable(node: Node) -> dict[Value, tuple[Value, ...]]:
    """For each result of a node the inputs in whose memory it may be computed.

    They have the result's type, and the node reads nothing of them that it has overwritten. Whether
    anything else still needs them is not looked at.
    """
    if node.op.updates:
        return {node.outputs[0]: (node.inputs[0],)} if isinstance(node.op, WriteItem) else {}
    if "written" in node.attrs:
        pairs = [(node.outputs[k], node.inputs[operand]) for k, operand in node.attrs["written"]]
        return {out: (v,) for out, v in pairs if node.inputs.count(v) == 1}
    if node.op.kind != "fusion":
        return {}
    (region,) = node.regions
    producer = region.producers()
    found: dict[Value, tuple[Value, ...]] = {}
    roots = [producer[v] for v in region.outputs]

    @functools.cache
    def pointwise(v: Value) -> bool:
        return all(_pointwise(r, producer, v) for r in roots)

    for outer, root in zip(node.outputs, roots, strict=True):
        if root.op.updates:
            old = root.inputs[0]
            candidates = [old] if old in region.inputs else []
            if any(True for _ in conflicting_reads(root, producer, old)):
                candidates = []
        elif _is_map(root):
            candidates = [
                v for v in region.inputs if v.type == root.outputs[0].type and pointwise(v)
            ]
        else:
            candidates = []
        given = [node.inputs[region.inputs.index(v)] for v in candidates]
        # An array that is passed twice is read under its other name too.
        found[outer] = tuple(v for v in given if node.inputs.count(v) == 1)
    return found


def updated_input(node: Node) -> Value | None:
    """The array that a fusion of one update, or a `write_item`, may update where it lies."""
    if node.op.kind == "fusion":
        (region,) = node.regions
        if not region.producers()[region.outputs[0]].op.updates:
            return None
    found = overwritable(node).get(node.outputs[0], ()) if node.outputs else ()
    return found[0] if found else None


def conflicting_reads(
    update: Node, producer: Mapping[Value, Node], old: Value, stored: Set[Value] = frozenset()
) -> Iterator[Read]:
    """The reads of `old` on the way to an update's new values that an update in place would spoil.

    Values in `stored`, and those without a producer, are read from memory of their own.
    """
    places = ElementPositions(producer, stored)
    new = update.inputs[1]
    assert isinstance(new.type, ArrayType) and isinstance(old.type, ArrayType)
    position = position_of(new.type)
    written = places.written(update, position)
    extents = {f"@{k}": d for k, d in enumerate(new.type.shape)}
    for read in places.reads(update, new, position, old):
        if read.place is None or written is None:
            yield read
        elif read.place != written and not _apart(read.place, written, extents):
            yield read
    for index in update.inputs[2:]:
        # Index operands are read while elements are being stored.
        yield from places.reads(update, index, None, old)


def _is_map(root: Node) -> bool:
    return root.op.fused in ("element", "index") or isinstance(root.op, Constant)


def _pointwise(root: Node, producer: Mapping[Value, Node], v: Value) -> bool:
    """Whether `root` reads `v` only at the position that it computes."""
    if isinstance(root.op, Reduction):
        if root.op.chained(root.inputs[0].type.dtype):  # type: ignore[union-attr]
            return False
        top = root.inputs[0]
    elif _is_map(root):
        top = root.outputs[0]
    else:
        return False
    assert isinstance(top.type, ArrayType)
    position = position_of(top.type)
    reads = ElementPositions(producer, frozenset()).reads(root, top, position, v)
    return all(read.place == position for read in reads)


def position_of(t: ArrayType) -> tuple[Dim, ...]:
    """The position that a kernel computes, as the place of an element of such an array."""
    # Names that no size has.
    return tuple(symbol(f"@{k}") if n != 1 else 0 for k, n in enumerate(t.shape))


@dataclass
class ElementPositions:
    """Follows elements from a result down to the arrays in memory that they are read from."""

    producer: Mapping[Value, Node]
    stored: Set[Value]
    _names: dict[tuple[Value, Dim], Dim] = field(default_factory=dict)

    def reads(self, reader: Node, v: Value, place: Place, wanted: Value) -> Iterator[Read]:
        """The places of `wanted` that the element of `v` at `place` needs."""
        seen: set[tuple[Value, Place]] = set()
        stack = [(reader, v, place)]
        while stack:
            reader, v, place = stack.pop()
            if not isinstance(v.type, ArrayType) or (v, place) in seen:
                continue
            seen.add((v, place))
            if v is wanted:
                yield Read(reader, place)
            elif v in self.producer and v not in self.stored:
                node = self.producer[v]
                stack += [(node, x, self.source(node, k, place)) for k, x in enumerate(node.inputs)]

    def source(self, node: Node, operand: int, place: Place) -> Place:
        """Where the element of a node at `place` comes from in one of its operands."""
        if place is None:
            return None
        if isinstance(node.op, Elementwise):
            return place
        t = node.inputs[operand].type
        if not isinstance(t, ArrayType):
            return ()
        attrs = node.attrs
        match node.op:
            case Transpose():
                back: list[Dim] = [0] * len(place)
                for k, axis in enumerate(attrs["axes"]):
                    back[axis] = place[k]
                return tuple(back)
            case BroadcastTo():
                inner = place[len(place) - t.ndim :]
                return tuple(0 if n == 1 else i for n, i in zip(t.shape, inner, strict=True))
            case Slice():
                parts = zip(attrs["start"], place, attrs["step"], strict=True)
                return tuple(start + i * step for start, i, step in parts)
            case Reshape():
                return _reshaped(t, node.outputs[0].type, place)
            case Gather() if operand == 0:
                head = self.numbers(node.inputs[1:], t)
                return None if head is None else (*head, *place)
        return None

    def written(self, update: Node, position: tuple[Dim, ...]) -> Place:
        """Where an update stores the new value's element at `position`."""
        if isinstance(update.op, UpdateSlice):
            parts = zip(update.attrs["start"], position, update.attrs["step"], strict=True)
            return tuple(start + i * step for start, i, step in parts)
        old = update.inputs[0].type
        assert isinstance(old, ArrayType)
        head = self.numbers(update.inputs[2:], old)
        return None if head is None else (*head, *position)

    def numbers(self, indices: tuple[Value, ...], source: ArrayType) -> Place:
        """Index operands that are single numbers, as the places in `source` that they mean."""
        if any(isinstance(v.type, ArrayType) for v in indices):
            return None
        # The size of the axis belongs to it: negative numbers count from the end.
        keys = zip(indices, source.shape, strict=False)
        return tuple(self._names.setdefault(k, symbol(f"@at{len(self._names)}")) for k in keys)


def _reshaped(source: ArrayType, out: object, place: tuple[Dim, ...]) -> Place:
    assert isinstance(out, ArrayType)
    wide = [(k, n) for k, n in enumerate(source.shape) if n != 1]
    given = [(k, n) for k, n in enumerate(out.shape) if n != 1]
    if [n for _, n in wide] != [n for _, n in given]:
        return None
    back: list[Dim] = [0] * source.ndim
    for (a, _), (b, _) in zip(wide, given, strict=True):
        back[a] = place[b]
    return tuple(back)


def _apart(a: tuple[Dim, ...], b: tuple[Dim, ...], extents: Mapping[str, Dim]) -> bool:
    """Whether two places differ along some axis whatever positions they are taken at."""
    for x, y in zip(a, b, strict=True):
        first, second = _span(x, extents), _span(y, extents)
        if first is None or second is None:
            continue
        if _is_positive(first[0] - second[1]) or _is_positive(second[0] - first[1]):
            return True
    return False


def _span(d: Dim, extents: Mapping[str, Dim]) -> tuple[Dim, Dim] | None:
    """The least and the greatest value over all positions, of which there is at least one."""
    low = high = d
    for name, extent in extents.items():
        step = substitute(d, {name: 1}) - substitute(d, {name: 0})
        if not isinstance(step, int):
            return None
        first, last = (0, extent - 1) if step >= 0 else (extent - 1, 0)
        low, high = substitute(low, {name: first}), substitute(high, {name: last})
    return low, high


def _is_positive(d: Dim) -> bool:
    low = bounds(d, {})[0]
    return low is not None and low > 0
