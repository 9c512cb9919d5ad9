"""Deterministic concrete operands for the ops' samples: every dtype, layouts, edge values."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tracejit.ir.types import DTYPES

__all__ = ["FLOATS", "LAYOUTS", "REALS", "array", "arrays", "edges"]

#: How a sample lies in memory; "strided" has a gap after each element and runs backwards.
LAYOUTS = ("C", "F", "strided")
FLOATS = ("f32", "f64", "c64", "c128")
REALS = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "f32", "f64")


def array(dtype: str, shape: tuple[int, ...], layout: str = "C") -> np.ndarray[Any, Any]:
    """Small distinct values of mixed sign where the dtype has one; complex ones have both parts."""
    count = int(np.prod(shape))
    ramp = (np.arange(count) * 37 + 11) % 101
    d = DTYPES[dtype]
    if d.kind == "b":
        flat = (ramp % 3 == 0).astype(d)
    elif d.kind == "u":
        flat = ramp.astype(d)
    elif d.kind == "i":
        flat = (ramp - 50).astype(d)
    else:
        flat = ((ramp - 50) / 8).astype(d)
        if d.kind == "c":
            flat = (flat + 1j * (np.roll(ramp, 1) - 40) / 4).astype(d)
    return in_layout(flat.reshape(shape), layout)


def in_layout(x: np.ndarray[Any, Any], layout: str) -> np.ndarray[Any, Any]:
    """A copy of `x` that lies in memory as `layout` says."""
    if layout == "strided":
        memory = np.zeros(tuple(2 * n for n in x.shape), x.dtype)
        view = memory[tuple(slice(None, None, -2) for _ in x.shape) + (...,)]
        view[...] = x
        return view
    return np.array(x, order="F" if layout == "F" else "C")


def arrays(*shapes: tuple[int, ...]) -> Iterator[np.ndarray[Any, Any]]:
    """One array for each dtype and shape, with the layouts taken in turn."""
    for i, dtype in enumerate(DTYPES):
        for k, shape in enumerate(shapes):
            yield array(dtype, shape, LAYOUTS[(i + k) % len(LAYOUTS)])


def edges(dtype: str) -> np.ndarray[Any, Any]:
    """One axis of special values: extremes, signed zeros, infinities, NaN, subnormals."""
    d = DTYPES[dtype]
    if d.kind == "b":
        return np.array([True, False, False, True])
    if d.kind in "iu":
        info = np.iinfo(d)
        return np.array([3, info.max, 0, info.min, 1, info.max, 1, 7], d)
    part = np.finfo(d)
    values = [1.5, -0.0, part.max, -2.0, np.inf, 3.0, part.smallest_subnormal, 0.0, np.nan, -np.inf]
    real = np.array(values, part.dtype)
    if d.kind != "c":
        return real
    out = np.empty(len(real), d)
    out.real, out.imag = real, real[::-1]
    return out
