"""Single elements: reads and writes of one element lose the arrays around the number.

    r = slice(a, start=(i, 0), size=(1, 1)); s = reshape(r, ()); v = element(s)
    ->  v = read_item(a, at=(i, 0))
    g = gather(a, i, j); v = element(g)         ->  v = read_item(a, i, j, at=(None, None))
    w = broadcast_to(v, (1,)); b = update_slice(a, w, start=(i,), size=(1,))
    ->  b = write_item(a, v, at=(i,))
    r = slice(a, start=(i, 0), size=(1, n)); s = reshape(r, (n,)); w = write_item(s, v, j)
    b = update_slice(a, reshape(w, (1, n)), start=(i, 0), size=(1, n))
    ->  b = write_item(a, v, j, at=(i, None))

An index into a part of an axis becomes one into the axis: one from the end counts from that of the
part, and one that is out of the part's range is out of the axis' range.

Elementwise ops on the way become ops on scalars, if those give the same bits. A read keeps its
place before the node that updates the array, and one that may fail stays on its side of a node with
effects. What made the arrays is left to `dce`, but for what may fail: the reads do that now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, floordiv, mod
from tracejit.ir.graph import Attr, Graph, GraphBuilder, Node, Value, keep, replay
from tracejit.ir.op import OPS, Op
from tracejit.ir.types import ArrayType, NpScalar
from tracejit.ops.array.creation import Constant, Iota
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.indexing import Gather, Scatter, UpdateSlice
from tracejit.ops.array.items import WriteItem
from tracejit.ops.array.shape import BroadcastTo, Element, Reshape, Slice, Transpose
from tracejit.passes.analysis.effects import is_barrier
from tracejit.passes.analysis.fusable import fusable, is_root_op
from tracejit.passes.analysis.order import updated_by
from tracejit.passes.simplify.fold import emit_constant, known_constant
from tracejit.passes.simplify.index import (
    apart,
    index_of_part,
    is_outside,
    moved_axes,
)
from tracejit.passes.simplify.rewriter import without

__all__ = ["scalarize"]

#: Elementwise ops that one element may take: more are left to a kernel.
_MOST_OPS = 16


@dataclass(frozen=True)
class _Cut:
    """Elements of an axis: the first one, the step, how many, and how many the axis has."""

    start: Dim
    step: int
    size: Dim
    whole: Dim


@dataclass(frozen=True)
class _Index:
    """An index operand into an axis of `size` elements; it may be negative.

    It counts in the innermost of `cuts`, each of which is a part of the next one.
    """

    value: Value
    size: Dim
    checked: bool
    cuts: tuple[_Cut, ...] = ()


#: Where an element lies, axis by axis.
_Place: TypeAlias = "tuple[Dim | _Index, ...]"


class _GiveUp(Exception):
    """The element has no scalar form."""


def scalarize(graph: Graph) -> Graph:
    """`graph` with single elements read and written as scalars."""
    work = _Scalarizer()
    after = replay(graph, work.emit, region=scalarize)
    return without(after, work.replaced)


class _Scalarizer:
    def __init__(self) -> None:
        #: Nodes whose work single reads and writes now do.
        self.replaced: set[Node] = set()
        self._producer: dict[Value, Node] = {}
        self._position: dict[Node, int] = {}
        self._updates: dict[Value, list[int]] = {}
        self._updaters: dict[Value, list[Node]] = {}
        self._barriers: list[int] = []
        self._here = -1

    def emit(self, builder: GraphBuilder, node: Node, inputs: tuple[Value, ...]) -> Sequence[Value]:
        """The `emit` of a replay."""
        self._here += 1
        mark = len(builder.nodes)
        reader = _Reader(self, builder)
        try:
            outputs: Sequence[Value] = self._rewrite(builder, reader, node)
            self.replaced |= reader.passed
        except _GiveUp:
            del builder.nodes[mark:]
            outputs = keep(builder, node)
        for made in builder.nodes[mark:]:
            self._position[made] = self._here
            self._producer |= dict.fromkeys(made.outputs, made)
            for v in updated_by(made):
                self._updates.setdefault(v, []).append(self._here)
                self._updaters.setdefault(v, []).append(made)
            if is_barrier(made):
                self._barriers.append(self._here)
        return outputs

    def _rewrite(self, builder: GraphBuilder, reader: _Reader, node: Node) -> Sequence[Value]:
        if isinstance(node.op, Element):
            number = reader.number(node.inputs[0], (), self._here)
            if number.type != node.outputs[0].type:
                raise _GiveUp
            return (number,)
        if isinstance(node.op, Reshape) and (inner := self._written_whole(node)):
            return self._write_through(builder, node, *inner)
        if not isinstance(node.op, (UpdateSlice, Scatter)):
            raise _GiveUp
        old, new, *indices = node.inputs
        assert isinstance(old.type, ArrayType) and isinstance(new.type, ArrayType)
        if isinstance(node.op, UpdateSlice) and (inner := self._written_in(node)):
            return self._write_through(builder, node, *inner)
        if any(n != 1 for n in new.type.shape) or any(_is_array(v) for v in indices):
            raise _GiveUp
        number = reader.number(new, (0,) * new.type.ndim, self._here)
        rest = old.type.ndim - len(indices)
        at = (None,) * len(indices) + (0,) * rest
        if isinstance(node.op, UpdateSlice):
            at = node.attrs["start"]
        attrs: dict[str, Attr] = {"at": at}
        if not node.attrs.get("checked", True):
            attrs["checked"] = False
        return builder.emit(OPS["write_item"], (old, number, *indices), attrs)

    def _written_in(self, update: Node) -> tuple[Node, Value, _Place] | None:
        """The write into a slice that goes back to where it was cut out, the array, its place."""
        found = self._write_into_view(update.inputs[1], (Reshape, Transpose))
        if found is None:
            return None
        write, v, place = found
        node = self._producer.get(v)
        if node is None or not isinstance(node.op, Slice) or not self._is_cut(node, update):
            return None
        return write, update.inputs[0], _source(node, place)

    def _is_cut(self, cut: Node, update: Node) -> bool:
        """Whether a slice is what an update replaces, as it was before that."""
        if any(cut.attrs[k] != update.attrs[k] for k in ("start", "size", "step")):
            return False
        v = update.inputs[0]
        while not self._is_one(v, cut.inputs[0]):
            node = self._producer.get(v)
            if node is None or not isinstance(node.op, (UpdateSlice, WriteItem)):
                return False
            if not apart(cut, node):
                return False
            v = node.inputs[0]
        return True

    def _is_one(self, a: Value, b: Value) -> bool:
        """Whether two values are the same view of one array."""
        while a is not b:
            m, n = self._producer.get(a), self._producer.get(b)
            if m is None or n is None or m.op is not n.op or m.attrs != n.attrs:
                return False
            if not isinstance(m.op, (Reshape, Transpose, Slice)):
                return False
            (a,), (b,) = m.inputs, n.inputs
        return True

    def _written_whole(self, node: Node) -> tuple[Node, Value, _Place] | None:
        """As `_written_in`, for a write into a reshaped array that is shaped as it was."""
        found = self._write_into_view(node.inputs[0], (Reshape,))
        if found is None:
            return None
        write, v, place = found
        if v.type != node.outputs[0].type:
            return None
        return write, v, place

    def _write_into_view(
        self, v: Value, kinds: tuple[type[Op], ...]
    ) -> tuple[Node, Value, _Place] | None:
        """The write whose result is `v` after moves of these kinds, what it writes to before it is
        moved, and its place there."""
        write, *back = (*self._shaped(v, kinds)[::-1], None)
        if write is None or not isinstance(write.op, WriteItem):
            return None
        there: list[Node] = []
        t = write.inputs[0].type
        assert isinstance(t, ArrayType)
        indices = iter(write.inputs[2:])
        checked = bool(write.attrs.get("checked", True))
        later = any(k > self._position[write] for k in self._barriers)
        if later and checked and len(write.inputs) > 2:
            return None
        at = zip(write.attrs["at"], t.shape, strict=True)
        place = tuple(_Index(next(indices), n, checked) if d is None else d for d, n in at)
        v = write.inputs[0]
        node = self._producer.get(v)
        while node is not None and isinstance(node.op, kinds):
            place = _source(node, place)
            there.append(node)
            v = node.inputs[0]
            node = self._producer.get(v)
        moves = [*there[::-1], *filter(None, back)]
        if any(isinstance(move.op, Transpose) for move in moves) and not _is_undone(v, moves):
            return None
        return write, v, place

    def _shaped(self, v: Value, kinds: tuple[type[Op], ...]) -> list[Node]:
        """The moves of axes that give `v`, the last first, and what gives its elements."""
        nodes = []
        while (node := self._producer.get(v)) is not None:
            nodes.append(node)
            if not isinstance(node.op, kinds):
                return nodes
            (v,) = node.inputs
        return []

    def _write_through(
        self, builder: GraphBuilder, node: Node, write: Node, array: Value, place: _Place
    ) -> Sequence[Value]:
        """The write of an element where the array itself has it."""
        indices = [d for d in place if isinstance(d, _Index)]
        attrs: dict[str, Attr] = {"at": tuple(None if d in indices else d for d in place)}
        if indices and not indices[0].checked:
            attrs["checked"] = False
        self.replaced.update(self._shaped(node.inputs[-1], (Reshape, Transpose)))
        operands = (array, write.inputs[1], *(_place_of(builder, d) for d in indices))
        return builder.emit(OPS["write_item"], operands, attrs)

    def producer(self, v: Value) -> Node | None:
        """The node that gives `v`, as it is in the new graph."""
        return self._producer.get(v)

    def position(self, node: Node) -> int:
        """The place in the old graph of what became `node`."""
        return self._position[node]

    def newest(self, source: Value, place: _Place) -> Value:
        """The newest state of an array that has the same element at `place`."""
        while len(updaters := self._updaters.get(source, [])) == 1:
            (update,) = updaters
            if not _spares(update, place):
                break
            (source,) = update.outputs
        return source

    def may_read_late(self, source: Value, first: int, checked: bool) -> bool:
        """Whether a read of `source` from place `first` may be made here instead."""
        later = self._updates.get(source, [])
        return not any(k > first for k in (*later, *(self._barriers if checked else ())))


def _spares(update: Node, place: _Place) -> bool:
    """Whether an update leaves the element at `place` as it is."""
    if not isinstance(update.op, (UpdateSlice, WriteItem)):
        return False
    return any(not isinstance(d, _Index) and is_outside(d, update, k) for k, d in enumerate(place))


def _is_undone(v: Value, moves: Sequence[Node]) -> bool:
    """Whether the axes of `v` are where they were after all moves."""
    assert isinstance(v.type, ArrayType)
    axes = moved_axes(list(range(v.type.ndim)), moves)
    return axes is not None and all(a in (None, k) for k, a in enumerate(axes))


def _is_array(v: Value) -> bool:
    return isinstance(v.type, ArrayType)


class _Reader:
    """Writes the scalar form of one element."""

    def __init__(self, work: _Scalarizer, builder: GraphBuilder) -> None:
        self.work, self.builder = work, builder
        self.passed: set[Node] = set()
        self._ops = 0
        self._known: dict[tuple[Value, _Place], Value] = {}

    def number(self, v: Value, place: _Place, first: int) -> Value:
        """The element of `v` at `place`, which a node at the place `first` reads."""
        key = (v, place)
        if key not in self._known:
            self._known[key] = self._number(v, place, first)
        return self._known[key]

    def _number(self, v: Value, place: _Place, first: int) -> Value:
        node = self.work.producer(v)
        computed = node is not None and (fusable(node) or isinstance(node.op, Constant))
        if node is None or not computed or is_root_op(node):
            return self._read(v, place, first)
        if node.attrs.get("assume"):
            raise _GiveUp
        self.passed.add(node)
        here = self.work.position(node)
        if isinstance(node.op, Elementwise):
            self._ops += 1
            parity = node.op.parity_of([x.type for x in node.inputs])
            if self._ops > _MOST_OPS or parity != "exact":
                raise _GiveUp
            args = [self.number(x, place, here) for x in node.inputs]
            return self.builder.emit(node.op, args, node.attrs)[0]
        if isinstance(node.op, Constant):
            return self._constant(v, node, place, first)
        if isinstance(node.op, Iota):
            raise _GiveUp
        if not _is_array(node.inputs[0]):
            _require_checked(place)
            return node.inputs[0]
        return self.number(node.inputs[0], _source(node, place), here)

    def _constant(self, v: Value, node: Node, place: _Place, first: int) -> Value:
        array = known_constant(node)
        if array.size == 1:
            _require_checked(place)
            return emit_constant(self.builder, array.reshape(-1)[0], NpScalar(array.dtype))
        if all(type(d) is int for d in place):
            return emit_constant(self.builder, array[place], NpScalar(array.dtype))
        self.passed.discard(node)
        return self._read(v, place, first)

    def _read(self, source: Value, place: _Place, first: int) -> Value:
        source = self.work.newest(source, place)
        indices = [d for d in place if isinstance(d, _Index)]
        checked = any(d.checked for d in indices)
        if not self.work.may_read_late(source, first, checked):
            raise _GiveUp
        attrs: dict[str, Attr] = {"at": tuple(None if d in indices else d for d in place)}
        if indices and not checked:
            attrs["checked"] = False
        operands = (source, *(_place_of(self.builder, d) for d in indices))
        return self.builder.one(OPS["read_item"], operands, **attrs)


def _require_checked(dropped: _Place) -> None:
    """Raise _GiveUp if an index operand would no longer be checked."""
    if any(isinstance(d, _Index) and d.checked for d in dropped):
        raise _GiveUp


def _source(node: Node, place: _Place) -> _Place:
    """Where the element at `place` of an index op comes from in its operand. Raises _GiveUp."""
    t, out = node.inputs[0].type, node.outputs[0].type
    assert isinstance(t, ArrayType) and isinstance(out, ArrayType)
    attrs = node.attrs
    match node.op:
        case Transpose():
            return tuple(place[k] for k in np.argsort(attrs["axes"]))
        case BroadcastTo():
            new = len(place) - t.ndim
            pairs = list(zip(t.shape, place[new:], strict=True))
            _require_checked((*place[:new], *(d for n, d in pairs if n == 1)))
            return tuple(0 if n == 1 else d for n, d in pairs)
        case Slice():
            parts = zip(attrs["start"], attrs["step"], place, out.shape, t.shape, strict=True)
            return tuple(_moved(*part) for part in parts)
        case Reshape():
            wide = [(k, n) for k, n in enumerate(t.shape) if n != 1]
            given = [(k, n) for k, n in enumerate(out.shape) if n != 1]
            if [n for _, n in wide] != [n for _, n in given]:
                return _unflattened(place, out.shape, t.shape)
            _require_checked(tuple(place[k] for k, n in enumerate(out.shape) if n == 1))
            back = dict(zip((k for k, _ in wide), (place[k] for k, _ in given), strict=True))
            return tuple(back.get(k, 0) for k in range(t.ndim))
        case Gather() if not any(_is_array(v) for v in node.inputs[1:]):
            indices = zip(node.inputs[1:], t.shape, strict=False)
            checked = bool(attrs.get("checked", True))
            return (*(_Index(v, n, checked) for v, n in indices), *place)
    raise _GiveUp


def _unflattened(place: _Place, shape: Sequence[Dim], other: Sequence[Dim]) -> _Place:
    """Where an array of the `other` shape has the element, in C order. Raises _GiveUp."""
    number: Dim = 0
    for d, n in zip(place, shape, strict=True):
        if isinstance(d, _Index):
            raise _GiveUp
        number = number * n + d
    found: list[Dim] = []
    for n in reversed(other[1:]):
        found.append(mod(number, n))
        number = floordiv(number, n)
    return (*([number] if other else []), *reversed(found))


def _moved(start: Dim, step: int, d: Dim | _Index, size: Dim, whole: Dim) -> Dim | _Index:
    """An index into a slice of an axis as one into the axis."""
    if not isinstance(d, _Index):
        return start + d * step
    if (start, step, size) == (0, 1, whole):
        return d
    return replace(d, cuts=(*d.cuts, _Cut(start, step, size, whole)))


def _place_of(builder: GraphBuilder, d: _Index) -> Value:
    """The index operand into the whole axis."""
    v = d.value
    for cut in d.cuts:
        v = index_of_part(builder, v, cut.start, cut.step, cut.size, cut.whole, d.checked)
    return v
