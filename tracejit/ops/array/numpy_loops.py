"""Functions of elements by NumPy's own loops, where a result has NumPy's bits to the last place.

    numpy_log10     np.log10(x)
    numpy_power     np.power(x, y)          of elements that lie side by side

Kernels compute `log10` and `power` within their parity classes. The grids that NumPy spaces by
these functions have the bits of the machine's NumPy instead: a program calls it for them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs
from tracejit.ir.op import OPS, register
from tracejit.ops.array.elementwise import Elementwise
from tracejit.ops.rules.partials import partials_of

__all__: list[str] = []


class _Called(Elementwise):
    #: The ufunc, which is the meaning of another op.
    ufunc: ClassVar[Any]
    parity = "exact"

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        return self._compiled.result_dtype(dtypes, attrs)

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        # NumPy has loops of another rounding for arrays that lie otherwise.
        out = type(self).ufunc(*(np.reshape(x, -1, copy=True) for x in inputs))
        return out.reshape(inputs[0].shape)[() if isinstance(inputs[0], np.generic) else ...]

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        return False

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        found = self._compiled.samples()
        return [sample for sample in found if sample[0][0].dtype.kind in "fc"]

    @property
    def _compiled(self) -> Elementwise:
        """The op of the same ufunc that kernels compute."""
        op = OPS[type(self).ufunc.__name__]
        assert isinstance(op, Elementwise)
        return op


@register
class NumPyLog10(_Called):
    """The logarithm to the base 10, by NumPy's loop."""

    name = "numpy_log10"
    partials = partials_of("log10")
    ufunc = np.log10
    work = 40.0


@register
class NumPyPower(_Called):
    """`x ** y`, by NumPy's loop."""

    name = "numpy_power"
    partials = partials_of("power")
    arity = 2
    ufunc = np.power
    work = 45.0
