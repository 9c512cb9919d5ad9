"""The fused multiply-add of NumPy floats against the C library's."""

from __future__ import annotations

import ctypes
import itertools
from typing import Any

import numpy as np
import pytest

from tests.support.native_kernels import same_bits
from tracejit.ir.fma import fma

C = {np.float64: (ctypes.c_double, "fma"), np.float32: (ctypes.c_float, "fmaf")}
COUNT = 3_000

Array = np.ndarray[Any, Any]


def c_function(kind: Any, operands: Array) -> Array:
    number, name = C[kind]
    function = getattr(ctypes.CDLL(None), name)
    function.restype, function.argtypes = number, [number] * 3
    return np.array([function(*map(float, row)) for row in operands.T], kind)


def operands(kind: Any) -> list[Array]:
    """Awkward numbers, random bits, sums that cancel, and results at the ends of the range."""
    info, draw = np.finfo(kind), np.random.default_rng(2)
    edges = [0, 0.5, 1, 2, info.max, info.tiny, info.smallest_subnormal, info.eps, np.inf, np.nan]
    every = np.array([*edges, *(-e for e in edges)], kind)
    pattern = np.dtype(f"u{kind().itemsize}")
    random = draw.integers(0, np.iinfo(pattern).max, (3, COUNT), pattern, endpoint=True)
    usual = draw.standard_normal((3, COUNT)) * np.exp2(draw.integers(-40, 40, (3, COUNT)))
    groups = [np.array(list(itertools.product(every, repeat=3))).T, random.view(kind), usual]
    for scale in (1.0, float(info.tiny) ** 0.5, float(info.max) ** 0.5):
        near = (draw.standard_normal((3, COUNT)) * scale).astype(kind)
        places = draw.integers(-2, 3, COUNT) * info.eps
        with np.errstate(all="ignore"):
            near[2] = -(near[0] * near[1]) * (1 + places)
        groups.append(near)
    return [group.astype(kind) for group in groups]


@pytest.mark.parametrize("kind", C)
def test_rounds_once(kind: Any) -> None:
    for group in operands(kind):
        want = c_function(kind, group)
        assert same_bits(fma(*group), want)
        some = group[:, ::37]
        one_by_one = np.array([fma(*row) for row in some.T], kind)
        assert same_bits(one_by_one, want[::37])


@pytest.mark.parametrize("kind", C)
def test_operands_broadcast(kind: Any) -> None:
    column, row = np.arange(3, dtype=kind)[:, None], np.arange(4, dtype=kind)
    got = fma(column, row, kind(1))
    assert got.dtype == kind and np.array_equal(got, column * row + 1)
    assert type(fma(kind(2), kind(3), kind(4))) is kind
