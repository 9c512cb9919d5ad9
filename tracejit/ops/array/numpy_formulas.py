"""Complex products, sizes and powers by the formulas of NumPy's vector loops, each an op.

    multiply            re = a c - b e                    NumPy's scalars; loops without vectors
    fused_multiply      re = fma(a, c, -(b e))            loops over arrays, where there is an FMA
    absolute            hypot(a, b)
    scaled_absolute     max sqrt(1 + (min / max)**2)
    fused_absolute      max sqrt(fma(min / max, min / max, 1))
    uniform_power       x * x for x**2, sqrt(x) for x**0.5: loops with one exponent for all elements

Which one NumPy takes depends on the machine, on NumPy's version, and on how the operands lie in
memory; the tracer asks NumPy (`frontend/numpy/ufunc_loops.py`) and says in the graph what it has
found.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from tracejit.ir.graph import Attrs
from tracejit.ir.op import OPS, register, require
from tracejit.ir.types import DTYPES, dtype_name
from tracejit.ops.array.complex_elements import (
    fused_product,
    on_values,
    parts_dtype,
    scaled_absolute,
)
from tracejit.ops.array.elementwise import Elementwise, edge_values
from tracejit.ops.rules.partials import partials_of

__all__ = ["FORMULAS", "UNIFORM_POWERS", "formula_value"]

#: ufunc -> the ops of complex numbers, one of which each of its loops means.
FORMULAS: dict[Any, tuple[str, ...]] = {
    np.multiply: ("multiply", "fused_multiply"),
    np.square: ("square", "fused_multiply"),
    np.absolute: ("absolute", "fused_absolute", "scaled_absolute"),
    np.divide: ("divide",),
    np.reciprocal: ("reciprocal",),
}
#: Exponent -> the ufunc that NumPy's loops with one exponent take in place of the power.
UNIFORM_POWERS: dict[float, Any] = {
    2.0: np.square,
    1.0: np.positive,
    -1.0: np.reciprocal,
    0.5: np.sqrt,
}


def formula_value(name: str, inputs: Sequence[Any]) -> Any:
    """What the op of that name gives for complex arrays, by its formula alone."""
    op = OPS[name]
    assert isinstance(op, Elementwise)
    operands = [*inputs, *inputs][: op.arity]
    return on_values(type(op).complex_rule, operands)


class _Formula(Elementwise):
    #: The ufunc whose formula it is.
    ufunc: ClassVar[Any]

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        valid = dtypes[0].kind == "c" and all(d == dtypes[0] for d in dtypes)
        require(valid, f"{self.name} takes complex numbers, not {dtypes}")
        return dtypes[0]

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        if _is_formula_of_arrays(self.name, inputs[0].dtype):
            return (
                type(self)
                .ufunc(*(np.array(x, order="K", ndmin=1) for x in inputs))
                .reshape(np.shape(inputs[0]))[() if isinstance(inputs[0], np.generic) else ...]
            )
        return formula_value(self.name, inputs)

    def native(self, dtypes: Sequence[str], attrs: Attrs) -> bool:
        return True

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        values = [[edge_values(np.dtype(d), k) for k in range(self.arity)] for d in ("c8", "c16")]
        return [([x[: min(map(len, v))] for x in v], {}) for v in values]


@lru_cache
def _is_formula_of_arrays(name: str, dtype: np.dtype[Any]) -> bool:
    """Whether this machine's NumPy has that formula for arrays without gaps: it is quicker."""
    op = OPS[name]
    assert isinstance(op, _Formula)
    with np.errstate(all="ignore"):
        k, edges = np.arange(1.0, 100.0), edge_values(dtype, 0)
        x = np.append(edges, np.sin(k) + 1j * np.cos(2.3 * k)).astype(dtype)
        operands = [x, x[::-1].copy()][: op.arity]
        found = type(op).ufunc(*operands)
    return same_bits(found, formula_value(name, operands))


def same_bits(a: Any, b: Any) -> bool:
    """Whether two arrays of floats hold the same bits, NaNs aside."""
    a, b = (np.ascontiguousarray(x).view(x.real.dtype) for x in (a, b))
    equal = (a == b) & (np.signbit(a) == np.signbit(b)) | np.isnan(a) & np.isnan(b)
    return bool(equal.all())


@register
class FusedMultiply(_Formula):
    """The product of complex numbers with one rounding for two operations in each part."""

    name = "fused_multiply"
    partials = partials_of("multiply")
    arity = 2
    ufunc = np.multiply
    complex_rule = staticmethod(fused_product)


class _Size(_Formula):
    partials = partials_of("absolute")
    ufunc = np.absolute
    work = 8.0

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        return DTYPES[parts_dtype(dtype_name(super().result_dtype(dtypes, attrs)))]


@register
class FusedAbsolute(_Size):
    """The absolute value of complex numbers by the quotient of their parts, with an FMA."""

    name = "fused_absolute"
    complex_rule = staticmethod(scaled_absolute(fused=True))


@register
class ScaledAbsolute(_Size):
    """The absolute value of complex numbers by the quotient of their parts."""

    name = "scaled_absolute"
    complex_rule = staticmethod(scaled_absolute(fused=False))


@register
class UniformPower(Elementwise):
    """`x ** y` of floats, in which the exponents 2, 1, -1 and 0.5 are x * x, x, 1 / x and sqrt(x).

    So NumPy computes it where one exponent is for all elements: -inf ** 0.5 is NaN, not infinity.
    """

    name = "uniform_power"
    partials = partials_of("power")
    arity = 2
    parity = "ulp(2)"
    work = 45.0

    def result_dtype(self, dtypes: tuple[np.dtype[Any], ...], attrs: Attrs) -> np.dtype[Any]:
        valid = dtypes[0].kind == "f" and dtypes[0] == dtypes[1]
        require(valid, f"{self.name} takes two floats, not {dtypes}")
        return dtypes[0]

    def compute(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> Any:
        x, y = inputs
        out = OPS["power"].evaluate(inputs, {})[0]
        for exponent, ufunc in UNIFORM_POWERS.items():
            out = np.where(y == exponent, ufunc(x), out)
        result = np.empty_like(x)
        result[...] = out
        return result if isinstance(x, np.ndarray) else result[()]

    def samples(self) -> Sequence[tuple[Sequence[Any], dict[str, Any]]]:
        values = [[edge_values(np.dtype(d), k) for k in (0, 1)] for d in ("f2", "f4", "f8")]
        return [([x[: len(y)], y[: len(x)]], {}) for x, y in values]
