"""The square root of a sum of squares, as norms and standard deviations take it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.ir.graph import Attrs
from tracejit.ir.kernel import Call
from tracejit.ir.op import register, require
from tracejit.ir.terms import equal, where
from tracejit.ops.array.complex_elements import Element
from tracejit.ops.array.elementwise import Elementwise, edge_values

__all__: list[str] = []


@register
class RootOfSquares(Elementwise):
    """The square root of real numbers that are sums of squares.

    Where the sum is 0 its derivative is 0 (that of a square root is infinite): so the gradient of a
    norm at 0 is 0, its subgradient of least norm, not infinity times 0.
    """

    name = "root_of_squares"
    work = 4.0
    partials = (lambda x, root: where(equal(root, 0), 0, 0.5 / root),)

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        require(dtypes[0].kind == "f", f"{self.name} takes real floats, not {dtypes[0]}")
        return dtypes[0]

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        return np.sqrt(inputs[0])

    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        (x,) = args
        assert not isinstance(x, tuple)
        return Call("sqrt", (x,), out)

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([edge_values(np.dtype(d), 0)], {}) for d in ("f2", "f4", "f8")]
