"""Where a mask holds: from bools to the positions of those that are true."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.errors import Bailout
from tracejit.ir.dims import Poly
from tracejit.ir.graph import Attrs, Graph
from tracejit.ir.op import Op, register, require
from tracejit.ir.types import DTYPES, ArrayType, Type
from tracejit.ops.checks import array_of, only_attrs, take
from tracejit.ops.samples import array

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

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        take(self.name, inputs, 1)
        only_attrs(self.name, attrs, "size")
        mask, size = array_of(self.name, inputs[0], 1), attrs["size"]
        require(mask.dtype.kind == "b" and mask.ndim == 1, f"{self.name} takes bools, not {mask}")
        valid = isinstance(size, Poly) or (type(size) is int and size >= 0)
        require(valid, f"{self.name}: size {size!r}")
        return (ArrayType(DTYPES["i64"], (size,)),)

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        found = np.flatnonzero(inputs[0]).astype(np.int64)
        if len(found) != attrs["size"]:
            raise Bailout(f"{len(found)} elements are true, not {attrs['size']}")
        return (found,)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        masks = [array("b1", (n,), layout) for n in (0, 1, 7, 300) for layout in ("C", "strided")]
        masks += [np.ones(9, bool), np.zeros(9, bool)]
        return [([m], {"size": int(np.count_nonzero(m))}) for m in masks]
