"""Where a mask holds: from bools to the positions of those that are true, or what lies there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.dims import Dim, Poly
from tracejit.ir.graph import Attrs
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, ArrayType, Type
from tracejit.ops.checks import array_of, only_attrs, take
from tracejit.ops.rules.indexing import CompressRules
from tracejit.ops.samples import array, arrays

__all__: list[str] = []


@register
class TruePositions(Op):
    """The positions (i64, ascending) of the elements of a vector of bools that are true.

    There are `size` of them; where there are not, the run bails out.
    """

    name: ClassVar[str] = "true_positions"
    kind: ClassVar[str] = "library"
    numpy: ClassVar[Any] = np.flatnonzero
    constant: ClassVar[bool] = True
    by_package = staticmethod(lambda xp, x, attrs: (xp.flatnonzero(x[0]),))

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        return (ArrayType(DTYPES["i64"], (_size(self.name, inputs[0], attrs),)),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        return (_counted(np.flatnonzero(inputs[0]).astype(np.int64), attrs["size"]),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        masks = [array("b1", (n,), layout) for n in (0, 1, 7, 300) for layout in ("C", "strided")]
        masks += [np.ones(9, bool), np.zeros(9, bool)]
        return [([m], {"size": int(np.count_nonzero(m))}) for m in masks]


@register
class Compress(CompressRules, Op):
    """The elements of a vector where a mask holds: `x[true_positions(mask)]` in one step."""

    name: ClassVar[str] = "compress"
    kind: ClassVar[str] = "library"
    numpy: ClassVar[Any] = np.compress
    by_package = staticmethod(lambda xp, x, attrs: (x[0][x[1]],))

    def types(self, inputs: Sequence[Type], attrs: Attrs) -> tuple[Type, ...]:
        take(self.name, inputs, 2)
        x, mask = (array_of(self.name, t, 1) for t in inputs)
        require(x.shape == mask.shape, f"{self.name}: {x} and {mask} do not fit")
        return (ArrayType(x.dtype, (_size(self.name, mask, attrs),)),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        x, mask = inputs
        return (_counted(x[mask], attrs["size"]),)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        out: list[tuple[Sequence[Any], dict[str, Any]]] = []
        for n in (0, 1, 7, 300):
            mask = array("b1", (n,))
            out += [([x, mask], {"size": int(np.count_nonzero(mask))}) for x in arrays((n,))]
        x = array("f64", (40,), "strided")
        return [
            *out,
            ([x, np.ones(40, bool)], {"size": 40}),
            ([x, x > 9], {"size": int((x > 9).sum())}),
        ]


def _size(op: str, mask: Type, attrs: Attrs) -> Dim:
    """How many elements of a mask are true."""
    only_attrs(op, attrs, "size")
    t, size = array_of(op, mask, 1), attrs["size"]
    require(t.dtype.kind == "b" and t.ndim == 1, f"{op} takes bools, not {t}")
    valid = isinstance(size, Poly) or (type(size) is int and size >= 0)
    require(valid, f"{op}: size {size!r}")
    return size  # type: ignore[no-any-return]


def _counted(found: np.ndarray[Any, Any], size: int) -> np.ndarray[Any, Any]:
    if len(found) != size:
        raise Bailout(f"{len(found)} elements are true, not {size}")
    return found
