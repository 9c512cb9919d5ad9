"""a * b + c with one rounding: NumPy floats in, the float next to the exact result out."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

__all__ = ["fma"]


def fma(a: Any, b: Any, c: Any) -> Any:
    """C's fma of float32 or float64 numbers or arrays, element by element in exact arithmetic."""
    operands = np.broadcast_arrays(a, b, c)
    dtype = operands[0].dtype
    triples = zip(*(x.ravel().tolist() for x in operands), strict=True)
    with np.errstate(all="ignore"):
        out = np.array([_fma(dtype, *t) for t in triples], dtype)
    return out.reshape(operands[0].shape)[()]


def _fma(dtype: np.dtype[Any], a: float, b: float, c: float) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    if not exact:
        # 0.0, but of two zeros of one sign that zero.
        product = math.copysign(1.0, a) * math.copysign(1.0, b)
        return -0.0 if product < 0 and math.copysign(1.0, c) < 0 and not (c or a * b) else 0.0
    try:
        near = float(exact)
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
    if dtype == np.float64 or Fraction(near) == exact:
        return near
    # Rounded to odd, a double has a single's rounding of the exact number.
    if not np.float64(near).view(np.int64) & 1:
        near = math.nextafter(near, math.inf if exact > near else -math.inf)
    return near
