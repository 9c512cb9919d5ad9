"""Which pairs of conversions between dtypes are one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.ir.types import lossless

__all__ = ["one_step"]


def one_step(x: np.dtype[Any], middle: np.dtype[Any], to: np.dtype[Any]) -> bool:
    """Whether converting from `x` to `middle` to `to` is converting from `x` to `to`."""
    if "b" in (middle.kind, to.kind) and x.kind != "b":
        return to.kind == "b" and lossless(x, middle)
    if x.kind in "iu" and middle.kind in "iu" and to.kind in "iu":
        # Modulo 2**bits throughout.
        return lossless(x, middle) or to.itemsize <= middle.itemsize
    if not lossless(x, middle):
        return False
    if lossless(x, to):
        return True
    # What is left rounds or truncates. From floats to integers out of range, and from integers to
    # f16 (which NumPy rounds twice), the way matters.
    return to.kind in "fc" and not (to == np.float16 and x.kind in "iu")
