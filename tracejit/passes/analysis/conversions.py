"""Which conversions between dtypes lose nothing, and which pairs of them are one."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["lossless", "one_step"]


def lossless(a: np.dtype[Any], b: np.dtype[Any]) -> bool:
    """Whether every value of `a` is a value of `b`."""
    if a == b or a.kind == "b":
        return True
    if a.kind in "iu":
        bits = a.itemsize * 8 - (a.kind == "i")
        if b.kind in "iu":
            return b.itemsize * 8 - (b.kind == "i") >= bits and (a.kind == "u" or b.kind == "i")
        return b.kind in "fc" and bits <= np.finfo(b).nmant + 1
    if a.kind == "f":
        return b.kind in "fc" and np.finfo(b).nmant >= np.finfo(a).nmant
    return b.kind == "c" and b.itemsize >= a.itemsize


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
