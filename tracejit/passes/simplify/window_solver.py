"""What products added to windows sum up for each element, solved from where they are added.

    result[2 * h + i] += y[h] * k[i]    ->    result[2 * q + p] = sum of y[q - j] * k[2 * j + p]

The place along each axis is linear in loop axes; the axis of one operand alone follows from the
others. Where its factor is not one, elements of the result that are so far apart have sums alike.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence

from tracejit.base.lazy_dataclass import dataclass
from tracejit.ir.dims import Dim, Poly, bounds, free_symbols, prod, substitute, symbol, total
from tracejit.ir.types import ArrayType
from tracejit.passes.analysis.affine_places import Index, LoopAxes
from tracejit.passes.simplify.products import Factor, places

__all__ = ["Found", "Part", "Solver"]

#: How much more may be multiplied than where products are added to windows.
_MOST_WASTE = 1.6
#: Elements of the result that are sums of their own: as many for windows four apart on two axes.
_MOST_PARTS = 16


@dataclass(frozen=True)
class Part:
    """Elements of the result `step` apart from `start` on, and the sums that they are."""

    start: tuple[Dim, ...]
    sizes: tuple[Dim, ...]
    step: tuple[int, ...]
    summed: tuple[Dim, ...]
    left: tuple[tuple[Dim, tuple[Dim, ...]], ...]
    right: tuple[tuple[Dim, tuple[Dim, ...]], ...]


@dataclass(frozen=True)
class Found:
    """The parts of the result, and the frame of each operand: by axis, what is before and after."""

    parts: list[Part]
    frames: tuple[dict[int, tuple[Dim, Dim]], dict[int, tuple[Dim, Dim]]]


@dataclass
class _Axis:
    """An axis of the result. `solved` is the loop axis whose place follows from the others."""

    solved: str
    step: int
    offset: Dim
    others: dict[str, Dim]
    #: The operand that has the loop axis as an axis of its own, and which one that is.
    owner: int = -1
    place: int = -1


class Solver:
    """Solves place = offset + step * solved + others for `solved`, on each axis of the result."""

    def __init__(
        self, axes: LoopAxes, t: ArrayType, targets: Index, operands: Sequence[Factor]
    ) -> None:
        self.axes, self.t, self.operands = axes, t, operands
        self.targets = targets
        self.indices = [tuple(axes.now(d) for d in x.index) for x in operands]

    def solve(self) -> Found | None:
        """The sums for each element of the result; None where they are not certain."""
        solved: list[_Axis] = []
        for number, place in enumerate(self.targets):
            axis = self._axis(number, place)
            if axis is None:
                return None
            solved.append(axis)
        names = [axis.solved for axis in solved if axis.solved]
        if len(set(names)) < len(names):
            return None
        if any(name in axis.others for name in names for axis in solved):
            return None
        if math.prod(axis.step for axis in solved) > _MOST_PARTS:
            return None
        # Along the diagonal of two axes: each would be summed by itself.
        others = [name for axis in solved for name in axis.others]
        if len(set(others)) < len(others):
            return None
        parts = list(self._parts(solved))
        frames = self._frames(solved)
        if not parts or None in parts or frames is None or self._wastes(solved, parts):
            return None
        shifted = [self._shifted(p, frames, solved) for p in parts if p is not None]
        return Found(shifted, frames)

    # Axes ---------------------------------------------------------------------------------------

    def _axis(self, number: int, place: Dim) -> _Axis | None:
        form = self.axes.form(place)
        if form is None:
            return None
        offset, factors_ = form
        size = self.t.shape[number]
        if len(factors_) == 1 and offset == 0:
            ((name, factor),) = factors_.items()
            if factor == 1 and self.axes.sizes[name] == size:
                return _Axis(name, 1, 0, {})
        if not factors_:
            return _Axis("", 1, 0, {}) if size == 1 and offset == 0 else None
        best: _Axis | None = None
        for name, factor in factors_.items():
            owner = self._owner(name)
            if owner is None or type(factor) is not int or factor < 1:
                continue
            others = {k: c for k, c in factors_.items() if k != name}
            known = all(type(c) is int and c > 0 for c in others.values())
            if not known or (factor > 1 and not self._all_known(size, offset, name, others)):
                continue
            if best is None or self._is_larger(name, best.solved):
                best = _Axis(name, factor, offset, others, *owner)
        return best

    def _all_known(self, size: Dim, offset: Dim, name: str, others: dict[str, Dim]) -> bool:
        sizes = (size, offset, self.axes.sizes[name], *(self.axes.sizes[k] for k in others))
        return len(others) <= 1 and all(type(d) is int for d in sizes)

    def _is_larger(self, name: str, other: str) -> bool:
        a, b = self.axes.sizes[name], self.axes.sizes[other]
        if isinstance(a, int) and isinstance(b, int):
            return a > b
        return isinstance(a, Poly) and isinstance(b, int)

    def _owner(self, name: str) -> tuple[int, int] | None:
        """The only operand with this loop axis, and the axis of it that is that alone."""
        inside = [
            (k, a)
            for k, index in enumerate(self.indices)
            for a, d in enumerate(index)
            if isinstance(d, Poly) and name in d.symbols
        ]
        if len(inside) != 1 or sum(name in free_symbols(d) for d in self.targets) != 1:
            return None
        ((k, a),) = inside
        source = self.operands[k].source.type
        assert isinstance(source, ArrayType)
        whole = source.shape[a] == self.axes.sizes[name]
        return (k, a) if whole and self.indices[k][a] == symbol(name) else None

    # Parts --------------------------------------------------------------------------------------

    def _parts(self, solved: Sequence[_Axis]) -> Iterator[Part | None]:
        choices = [range(axis.step) for axis in solved]
        for phases in itertools.product(*choices):
            part = self._part(solved, phases)
            if part is not _NOTHING:
                yield part

    def _part(self, solved: Sequence[_Axis], phases: Sequence[int]) -> Part | None:
        axes = LoopAxes(dict(self.axes.sizes))
        now: dict[str, Dim] = {}
        names, sizes = [], []
        kept: list[str] = []
        for size, axis, phase in zip(self.t.shape, solved, phases, strict=True):
            count: Dim = size
            if axis.step > 1:
                assert isinstance(size, int)
                count = -(-(size - phase) // axis.step)
            name = axes.add(count)
            names.append(name)
            sizes.append(count)
            if not axis.solved:
                continue
            if axis.owner < 0:
                now[axis.solved] = symbol(name)
                continue
            place: Dim = symbol(name)
            rest: Dim = phase - axis.offset
            for other, factor in axis.others.items():
                first, step, trips = 0, 1, axes.sizes[other]
                if axis.step > 1:
                    assert isinstance(rest, int) and isinstance(factor, int)
                    found = _congruent(rest, factor, axis.step, trips)
                    if found is None:
                        return _NOTHING
                    first, step, trips = found
                moved = axes.add(trips)
                kept.append(moved)
                now[other] = first + symbol(moved) * step
                rest = rest - factor * first
                place = place - symbol(moved) * _quotient(factor * step, axis.step)
            if axis.step > 1:
                assert isinstance(rest, int)
                if rest % axis.step:
                    return _NOTHING
                rest = rest // axis.step
            now[axis.solved] = place + rest
        gone = set(now)
        # Also those that nothing is read along: the same is then added as often.
        summed = [s for s in self._loops() if s not in gone]
        loops = [*names, *summed, *kept]
        left, right = (
            places(tuple(substitute(d, now) for d in index), loops, axes) for index in self.indices
        )
        if left is None or right is None:
            return None
        return Part(
            tuple(phases),
            tuple(sizes),
            tuple(axis.step for axis in solved),
            tuple(axes.sizes[s] for s in (*summed, *kept)),
            left,
            right,
        )

    def _loops(self) -> list[str]:
        """The axes of all products that are added, those that were taken apart as their parts."""
        sizes, parts = self.axes.sizes, self.axes.parts
        return [s for s in sizes if s not in parts and sizes[s] != 1]

    def _frames(
        self, solved: Sequence[_Axis]
    ) -> tuple[dict[int, tuple[Dim, Dim]], dict[int, tuple[Dim, Dim]]] | None:
        """How far the solved places reach outside of their operands."""
        out: tuple[dict[int, tuple[Dim, Dim]], dict[int, tuple[Dim, Dim]]] = ({}, {})
        for size, axis in zip(self.t.shape, solved, strict=True):
            if axis.owner < 0:
                continue
            reach = total([c * (self.axes.sizes[k] - 1) for k, c in axis.others.items()])
            before, after = axis.offset + reach, size - 1 - axis.offset
            if axis.step > 1:
                assert isinstance(before, int) and isinstance(after, int)
                before, after = before // axis.step, after // axis.step
            after = after - (self.axes.sizes[axis.solved] - 1)
            if not (_is_positive(before) and _is_positive(after)):
                if not isinstance(before, int) or not isinstance(after, int):
                    return None
                before, after = max(before, 0), max(after, 0)
            if before != 0 or after != 0:
                out[axis.owner][axis.place] = before, after
        return out

    def _shifted(
        self,
        part: Part,
        frames: tuple[dict[int, tuple[Dim, Dim]], dict[int, tuple[Dim, Dim]]],
        solved: Sequence[_Axis],
    ) -> Part:
        def moved(
            own: tuple[tuple[Dim, tuple[Dim, ...]], ...], frame: dict[int, tuple[Dim, Dim]]
        ) -> tuple[tuple[Dim, tuple[Dim, ...]], ...]:
            return tuple(
                (offset + frame[a][0] if a in frame else offset, steps)
                for a, (offset, steps) in enumerate(own)
            )

        left, right = moved(part.left, frames[0]), moved(part.right, frames[1])
        return Part(part.start, part.sizes, part.step, part.summed, left, right)

    def _wastes(self, solved: Sequence[_Axis], parts: Sequence[Part | None]) -> bool:
        """Whether zeros of the frames are too much of what would be multiplied."""
        before = prod([self.axes.sizes[s] for s in self._loops()])
        work = total([prod([*p.sizes, *p.summed]) for p in parts if p is not None])
        if not isinstance(before, int) or not isinstance(work, int):
            return False
        return work > _MOST_WASTE * before


#: A part of the result that nothing is added to.
_NOTHING = Part((), (), (), (), (), ())


def _quotient(a: Dim, b: int) -> Dim:
    if b == 1:
        return a
    assert isinstance(a, int)
    return a // b


def _congruent(rest: int, factor: int, modulus: int, trips: Dim) -> tuple[int, int, int] | None:
    """First, step and count of the k < trips with factor * k = rest modulo `modulus`, if any."""
    assert isinstance(trips, int)
    step = modulus // math.gcd(factor, modulus)
    for first in range(min(step, trips)):
        if (rest - factor * first) % modulus == 0:
            return first, step, -(-(trips - first) // step)
    return None


def _is_positive(d: Dim) -> bool:
    low = d if isinstance(d, int) else bounds(d, {})[0]
    return low is not None and low >= 0
