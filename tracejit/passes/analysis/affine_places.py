"""Where the elements of views come from, as sums of loop axes: reshapes, slices, windows by index.

    windows[n, c, h, i, w, j] = x[n, c, h + i, w + j]
    windows.reshape(n * c, -1)[r, k] = x[r0, r1, k0 + k1, k2 + k3]    where r is (r0, r1)

A loop axis is taken apart where a reshape joins axes of what it reads. Only what is certain is
found: an index that may be negative or out of range, or digits that may carry, end the walk.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any, TypeAlias

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.axis_groups import groups, row_steps
from tracejit.ir.dims import ARITHMETIC, Dim, Poly, bounds, prod, substitute, symbol, total
from tracejit.ir.graph import ConstArray, Node, Value
from tracejit.ir.polynomials import Monomial, collect, terms_of
from tracejit.ir.types import DTYPES, ArrayType, dtype_of
from tracejit.ops.array.creation import Constant, DimValue, Iota
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.array.indexing import Gather
from tracejit.ops.array.shape import BroadcastTo, Reshape, Slice, Transpose
from tracejit.ops.python.conversion import ToNpScalar

__all__ = ["Index", "LoopAxes", "digits", "indexed", "linear_form", "origin"]

#: One index into each axis of an array.
Index: TypeAlias = tuple[Dim, ...]


@dataclass
class LoopAxes:
    """Loop axes by symbol, with their sizes; those that were taken apart, as sums of others."""

    sizes: dict[str, Dim] = field(default_factory=dict)
    parts: dict[str, list[str]] = field(default_factory=dict)
    sums: dict[str, Dim] = field(default_factory=dict)

    def add(self, size: Dim) -> str:
        """A new axis."""
        # No size of a program is called so.
        name = f"axis.{len(self.sizes)}"
        self.sizes[name] = size
        return name

    def split(self, name: str, sizes: Sequence[Dim]) -> None:
        """Take an axis apart into others, the last counting fastest."""
        self.parts[name] = [self.add(n) for n in sizes]
        steps = zip(self.parts[name], row_steps(sizes), strict=True)
        self.sums[name] = total([symbol(part) * step for part, step in steps])

    def leaves(self, name: str) -> list[str]:
        """The axes that an axis now consists of, those of one place left out."""
        if name in self.parts:
            return [leaf for part in self.parts[name] for leaf in self.leaves(part)]
        return [] if self.sizes[name] == 1 else [name]

    def now(self, d: Dim) -> Dim:
        """`d` in terms of the axes that are left whole; an axis of one place is 0."""
        while isinstance(d, Poly) and not d.symbols.isdisjoint(self.sums):
            d = substitute(d, self.sums)
        if isinstance(d, Poly):
            d = substitute(d, {s: 0 for s in d.symbols if self.sizes.get(s) == 1})
        return d

    def form(self, d: Dim) -> tuple[Dim, dict[str, Dim]] | None:
        """An offset, and the factor of each axis in `d`; None where it is not linear in them."""
        return linear_form(self.now(d), self.sizes)

    def ends(self, d: Dim) -> tuple[Dim, Dim] | None:
        """What `d` is at least and at most; None where that is not certain."""
        form = self.form(d)
        if form is None:
            return None
        low = high = form[0]
        for name, factor in form[1].items():
            end = factor * (self.sizes[name] - 1)
            least, most = bounds(factor, {})
            if least is not None and least >= 0:
                high = high + end
            elif most is not None and most <= 0:
                low = low + end
            else:
                return None
        return low, high


def linear_form(d: Dim, names: Mapping[str, object]) -> tuple[Dim, dict[str, Dim]] | None:
    """An offset, and the factor of each of the symbols `names`; None where `d` is not linear."""
    found: dict[str, list[tuple[Monomial, int]]] = {}
    rest: list[tuple[Monomial, int]] = []
    for monomial, number in terms_of(d):
        own = [a for a in monomial if isinstance(a, str) and a in names]
        others = tuple(a for a in monomial if not (isinstance(a, str) and a in names))
        inside = any(not isinstance(a, str) and not a.symbols.isdisjoint(names) for a in others)
        if len(own) > 1 or inside:
            return None
        (found.setdefault(own[0], []) if own else rest).append((others, number))
    return collect(rest), {name: collect(terms) for name, terms in found.items()}


def origin(
    v: Value, index: Index, axes: LoopAxes, producer: Mapping[Value, Node]
) -> tuple[Value, Index]:
    """The array that the element of `v` at `index` is one of, through all views, and where."""
    while (node := producer.get(v)) is not None:
        before = _before(node, index, axes, producer)
        if before is None:
            break
        v, index = node.inputs[0], before
    return v, tuple(axes.now(d) for d in index)


def _before(
    node: Node, index: Index, axes: LoopAxes, producer: Mapping[Value, Node]
) -> Index | None:
    """Where in its operand an op that moves elements finds one; None where that is not certain."""
    op, attrs = node.op, node.attrs
    if not node.inputs or not isinstance(node.inputs[0].type, ArrayType):
        return None
    source = node.inputs[0].type
    if isinstance(op, Transpose):
        back = dict(zip(attrs["axes"], index, strict=True))
        return tuple(back[a] for a in range(source.ndim))
    if isinstance(op, Slice):
        given = zip(attrs["start"], index, attrs["step"], strict=True)
        return tuple(start + i * step for start, i, step in given)
    if isinstance(op, BroadcastTo):
        own = index[len(index) - source.ndim :]
        return tuple(0 if n == 1 else i for n, i in zip(source.shape, own, strict=True))
    if isinstance(op, Reshape) and "assume" not in attrs:
        return _reshaped(node, source, index, axes)
    if isinstance(op, Gather):
        return indexed(node.inputs[1:], source, index, axes, producer)
    return None


def indexed(
    indices: Sequence[Value],
    source: ArrayType,
    index: Index,
    axes: LoopAxes,
    producer: Mapping[Value, Node],
) -> Index | None:
    """The place in `source` that element `index` of `source[indices]` is from; None if not certain.

    No place that is found counts from the end of its axis, or is outside.
    """
    first = indices[0].type
    own = index[: first.ndim] if isinstance(first, ArrayType) else ()
    out: list[Dim] = []
    for v, size in zip(indices, source.shape, strict=False):
        place = _number(v, own, axes, producer)
        ends = None if place is None else axes.ends(place)
        if place is None or ends is None:
            return None
        # Counted from the end, or outside: whoever computes it checks that.
        if not (_is_at_least(ends[0], 0) and _is_at_least(size - 1, ends[1])):
            return None
        out.append(place)
    return (*out, *index[len(own) :])


def _number(v: Value, index: Index, axes: LoopAxes, producer: Mapping[Value, Node]) -> Dim | None:
    """A whole number computed from places and sizes alone; None for any other."""
    if dtype_of(v.type) != DTYPES["i64"]:
        return None
    if isinstance(v.type, ArrayType):
        v, index = origin(v, index, axes, producer)
    node = producer.get(v)
    if node is None:
        return None
    if isinstance(node.op, Iota):
        return index[0]
    if isinstance(node.op, DimValue):
        dim: Dim = node.attrs["dim"]
        return dim
    if isinstance(node.op, Constant):
        value = node.attrs["value"]
        if isinstance(value, ConstArray):
            return _of_table(value.array, index)
        return value if type(value) is int else None
    if isinstance(node.op, (ToNpScalar, BroadcastTo)):
        return _number(node.inputs[0], (), axes, producer)
    found = ARITHMETIC.get(node.op.arithmetic)
    if found is None or not isinstance(node.op, Elementwise):
        return None
    a, b = (_number(x, index, axes, producer) for x in node.inputs)
    return None if a is None or b is None else found(a, b)


def _of_table(table: np.ndarray[Any, Any], index: Index) -> Dim | None:
    """The element of a constant array, where each step along an axis adds the same."""
    if table.size == 0:
        return None
    first = int(table[(0,) * table.ndim])
    steps = [
        int(table[tuple(int(a == k) for a in range(table.ndim))]) - first if n > 1 else 0
        for k, n in enumerate(table.shape)
    ]
    grids = np.ogrid[tuple(map(slice, table.shape))]
    told = sum((s * g for s, g in zip(steps, grids, strict=True)), start=np.int64(first))
    if not (np.broadcast_to(told, table.shape) == table).all():
        return None
    return total([first, *(s * i for s, i in zip(steps, index, strict=True))])


def _reshaped(node: Node, source: ArrayType, index: Index, axes: LoopAxes) -> Index | None:
    out = node.outputs[0].type
    assert isinstance(out, ArrayType)
    found: list[Dim] = [0] * source.ndim
    for inner, outer in groups(source.shape, out.shape):
        sizes = [source.shape[a] for a in inner]
        steps = row_steps([out.shape[a] for a in outer])
        place = total([index[a] * step for a, step in zip(outer, steps, strict=True)])
        spread = digits(place, sizes, axes)
        if spread is None:
            return None
        for a, digit in zip(inner, spread, strict=True):
            found[a] = digit
    return tuple(found)


def digits(place: Dim, sizes: Sequence[Dim], axes: LoopAxes) -> list[Dim] | None:
    """A position as an index of axes of those sizes; a loop axis that spans several is split."""
    if len(sizes) == 1:
        return [place]
    steps = row_steps(sizes)
    form = axes.form(place)
    if form is None or form[0] != 0:
        return None
    found: list[Dim] = [0] * len(sizes)
    most: list[Dim] = [0] * len(sizes)
    for name, factor in form[1].items():
        n = axes.sizes[name]
        span = _spanned(factor, n, sizes, steps)
        if span is None:
            return None
        axis, times = span
        if not _is_at_least(sizes[axis], n * times):
            parts = _split_sizes(n * times, sizes[: axis + 1])
            if times != 1 or parts is None:
                return None
            axes.split(name, parts)
            return digits(axes.now(place), sizes, axes)
        found[axis] = found[axis] + symbol(name) * times
        most[axis] = most[axis] + (n - 1) * times
    fits = all(_is_at_least(n - 1, m) for n, m in zip(sizes, most, strict=True))
    return found if fits else None


def _spanned(
    factor: Dim, n: Dim, sizes: Sequence[Dim], steps: Sequence[Dim]
) -> tuple[int, int] | None:
    """The axis that a loop axis with this factor moves along, and by how many places."""
    for axis, step in enumerate(steps):
        if factor == step and sizes[axis] != 1:
            return axis, 1
        if isinstance(factor, int) and isinstance(step, int) and factor > 0 and step > 0:
            if factor >= step and factor % step == 0:
                return axis, factor // step
    return None


def _split_sizes(n: Dim, sizes: Sequence[Dim]) -> list[Dim] | None:
    """How an axis of `n` places covers the last of the axes of these sizes, from the outside in."""
    for first in range(len(sizes) - 1, -1, -1):
        inner = prod(list(sizes[first + 1 :]))
        if prod(list(sizes[first:])) == n:
            return list(sizes[first:])
        if isinstance(n, int) and isinstance(inner, int):
            outermost = sizes[first]
            if isinstance(outermost, int) and 0 < n < inner * outermost:
                return [n // inner, *sizes[first + 1 :]] if n % inner == 0 else None
    return None


def _is_at_least(a: Dim, b: Dim) -> bool:
    low, _ = bounds(a - b, {}) if not isinstance(a - b, int) else (a - b, 0)
    return isinstance(low, int) and low >= 0
