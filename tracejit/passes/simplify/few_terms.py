"""A contraction as a node: the op itself, or where its terms are few, their sum element by element.

    contract(x, k): y[n, c, p] = sum of x[n, c, p + i] * k[c, i] over i < 3
    ->  x[:, :, 0:m] * k[:, 0] + x[:, :, 1:m + 1] * k[:, 1] + x[:, :, 2:m + 2] * k[:, 2]

Where all of the result's axes are those of one operand, as in a depthwise convolution, nothing that
is read is multiplied twice: there are no tiles to keep in registers, and one kernel adds the terms.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from tracejit.errors import Where
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import Attrs, GraphBuilder, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, dtype_of
from tracejit.ops.array.contraction import Places

__all__ = ["emit_contraction", "has_few_terms"]

#: More terms are a loop's business.
_MOST_TERMS = 49


def emit_contraction(
    builder: GraphBuilder, sources: Sequence[Value], attrs: Attrs, where: Where | None
) -> Value:
    """The result of `contract` with these attributes, recorded in `builder`."""
    if has_few_terms(attrs):
        return _Terms(builder, sources, attrs, where).write()
    (out,) = builder.emit(OPS["contract"], sources, attrs, where=where)
    return out


def has_few_terms(attrs: Attrs) -> bool:
    """Whether a contraction is written as the sum of its terms."""
    terms, ndim = prod(attrs["summed"]), len(attrs["shape"])
    few = isinstance(terms, int) and 0 < terms <= _MOST_TERMS
    return few and _is_one_sided(attrs) and all(_is_sliced(side, ndim) for side in _sides(attrs))


def _sides(attrs: Attrs) -> tuple[Places, Places]:
    return attrs["left"], attrs["right"]


def _is_one_sided(attrs: Attrs) -> bool:
    """Whether one operand has all of the result's axes that are longer than one."""
    wide = {k for k, n in enumerate(attrs["shape"]) if n != 1}
    return any(
        wide <= {k for _, steps in side for k, c in enumerate(steps) if c != 0}
        for side in _sides(attrs)
    )


def _is_sliced(side: Places, ndim: int) -> bool:
    """Whether each term reads a slice: no axis is that of two of the result, or the other way."""
    used: list[int] = []
    for _, steps in side:
        own = [k for k, c in enumerate(steps[:ndim]) if c != 0]
        if len(own) > 1 or any(type(steps[k]) is not int for k in own):
            return False
        used += own
    return len(set(used)) == len(used)


class _Terms:
    """Writes the terms of a contraction one by one."""

    def __init__(
        self, builder: GraphBuilder, sources: Sequence[Value], attrs: Attrs, where: Where | None
    ) -> None:
        self.builder, self.sources, self.where = builder, sources, where
        self.shape: tuple[Dim, ...] = attrs["shape"]
        self.summed: tuple[int, ...] = attrs["summed"]
        self.sides = _sides(attrs)
        self.wide = attrs.get("wide", False) and dtype_of(sources[0].type) == DTYPES["f32"]

    def write(self) -> Value:
        """Their sum."""
        total: Value | None = None
        for place in itertools.product(*map(range, self.summed)):
            a, b = (self._part(k, place) for k in (0, 1))
            term = self._emit("multiply", a, b)
            total = term if total is None else self._emit("add", total, term)
        assert total is not None
        return self._emit("cast", total, dtype="f32") if self.wide else total

    def _emit(self, name: str, *inputs: Value, **attrs: object) -> Value:
        return self.builder.emit(OPS[name], inputs, attrs, where=self.where)[0]

    def _part(self, number: int, place: Sequence[int]) -> Value:
        """What one term reads of an operand, in the shape of the result."""
        ndim = len(self.shape)
        start, size, step, axes = [], [], [], []
        for offset, steps in self.sides[number]:
            own = [k for k, c in enumerate(steps[:ndim]) if c != 0]
            moved = offset
            for c, q in zip(steps[ndim:], place, strict=True):
                moved = moved + c * q
            start.append(moved)
            size.append(self.shape[own[0]] if own else 1)
            step.append(steps[own[0]] if own else 1)
            axes.append(own[0] if own else None)
        part = self._emit(
            "slice", self.sources[number], start=tuple(start), size=tuple(size), step=tuple(step)
        )
        wide = [a for a, k in enumerate(axes) if k is not None]
        order = sorted(wide, key=lambda a: axes[a] or 0)
        rest = [a for a in range(len(axes)) if axes[a] is None]
        part = self._emit("transpose", part, axes=(*rest, *order))
        found = {axes[a] for a in wide}
        spread = tuple(n if k in found else 1 for k, n in enumerate(self.shape))
        part = self._emit("reshape", part, shape=spread)
        part = self._emit("broadcast_to", part, shape=self.shape)
        return self._emit("cast", part, dtype="f64") if self.wide else part
