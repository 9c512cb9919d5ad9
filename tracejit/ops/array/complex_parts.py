"""Complex numbers apart and together: real, imag, make_complex. No part is rounded."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs
from tracejit.ir.op import register, require
from tracejit.ir.terms import Tangent, Term
from tracejit.ir.types import DTYPES, dtype_name
from tracejit.ops.array.complex_elements import Element, parts_dtype
from tracejit.ops.array.elementwise import Elementwise, edge_values, times_i
from tracejit.ops.rules.partials import LinearMap

__all__: list[str] = []

#: Complex dtypes by the dtype of their parts.
_WHOLE = {DTYPES[parts_dtype(name)]: DTYPES[name] for name in ("c64", "c128")}


class _Part(Elementwise):
    part: ClassVar[int]

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        require(dtypes[0].kind == "c", f"{self.name}: operand must be complex")
        return DTYPES[parts_dtype(dtype_name(dtypes[0]))]

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        part = inputs[0].imag if self.part else inputs[0].real
        return part.copy() if isinstance(part, np.ndarray) else part

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        return True

    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        (a,) = args
        assert isinstance(a, tuple)
        return a[self.part]

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([edge_values(d, 0)], {}) for d in _WHOLE.values()]


def _imag(v: Tangent, z: Term, y: Term) -> Term | None:
    if not z.is_complex:
        return None
    return v.op("imag") if v.is_complex else times_i(-v)


def _imaginary(v: Tangent, re: Term, im: Term, y: Term) -> Term:
    """Of a complex number by its imaginary part; the transpose is minus the imaginary part."""
    return -v.op("imag") if v.is_complex else times_i(v)


@register
class Real(_Part):
    """The real part of a complex operand."""

    name = "real"
    # The rule takes the real part where a complex number becomes real.
    partials = (1,)
    part = 0


@register
class Imag(_Part):
    """The imaginary part of a complex operand."""

    name = "imag"
    partials = (LinearMap(_imag),)
    part = 1


@register
class MakeComplex(Elementwise):
    """The complex number with these real and imaginary parts."""

    name = "make_complex"
    partials = (1, LinearMap(_imaginary))
    arity = 2

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        require(dtypes[0] == dtypes[1] and dtypes[0] in _WHOLE, f"make_complex: {dtypes}")
        return _WHOLE[dtypes[0]]

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        re, im = inputs
        out = np.empty_like(re + im, dtype=_WHOLE[re.dtype])
        out.real, out.imag = re, im
        return out if isinstance(re, np.ndarray) else out[()]

    def scalar(self, args: tuple[Element, ...], dtypes: Sequence[str], out: str) -> Element:
        re, im = args
        assert not isinstance(re, tuple) and not isinstance(im, tuple)
        return re, im

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        return [([edge_values(d, 0), edge_values(d, 2)], {}) for d in _WHOLE]
