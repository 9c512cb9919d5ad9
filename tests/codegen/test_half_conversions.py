"""Halves where the processor does not convert them: by integer operations, with F16C's bits."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.codegen.llvm.targets import LEVELS, host_target

HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
QUIET = {np.uint16: 0x0200, np.uint32: 0x00400000}


@pytest.fixture(autouse=True)
def no_f16c() -> Iterator[None]:
    """Compile as for a processor without conversions."""
    target = host_target()
    before = target.has_f16c
    object.__setattr__(target, "has_f16c", False)
    yield
    object.__setattr__(target, "has_f16c", before)


def hard(dtype: Any) -> Any:
    """All finite halves and the points half way between them, and the numbers next to each."""
    finite = np.unique(HALVES[np.isfinite(HALVES)].astype(dtype))
    middle = (finite[1:] + finite[:-1]) / 2
    beyond = [65519.0, 65520.0, 65521.0, 65536.0, 1e30, np.inf, np.nan, 2.0**-25, 2.0**-126, 1e-40]
    x = np.concatenate([finite, middle, np.array(beyond, dtype)])
    x = np.concatenate([x, np.nextafter(x, dtype(np.inf)), np.nextafter(x, dtype(-np.inf))])
    return np.concatenate([x, -x])


def assert_bits(found: Any, expected: Any) -> None:
    """The same bits, of NaNs too, which are all quiet."""
    assert found.dtype == expected.dtype
    kind = np.dtype(f"u{found.dtype.itemsize}").type
    quiet = np.where(np.isnan(expected), QUIET[kind], 0).astype(kind)
    np.testing.assert_array_equal(found.view(kind), expected.view(kind) | quiet)


@pytest.mark.parametrize("step", [1, 3], ids=["vectors", "one by one"])
def test_every_half_to_a_float_and_back(step: int) -> None:
    x = np.repeat(HALVES, step)[::step] if step > 1 else HALVES
    assert_bits(tracejit.jit(lambda x: x.astype(np.float32), strict=True)(x), x.astype(np.float32))
    turned = tracejit.jit(lambda x: (-x.astype(np.float32)).astype(np.float16), strict=True)
    assert_bits(turned(x), -x)


def test_floats_are_rounded_to_the_nearest_half() -> None:
    x = hard(np.float32)
    rounded = tracejit.jit(lambda x: x.astype(np.float16), strict=True)
    with np.errstate(over="ignore"):
        assert_bits(rounded(x), x.astype(np.float16))
    payloads = np.arange(0x7F800001, 0x80000000, 4099, dtype=np.uint32)
    found = rounded(payloads.view(np.float32)).view(np.uint16)
    np.testing.assert_array_equal(found, 0x7E00 | (payloads >> 13 & 0x03FF))


def test_doubles_are_rounded_once() -> None:
    x = hard(np.float64)
    rounded = tracejit.jit(lambda x: x.astype(np.float16))
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    found = rounded(x)
    some = ~np.isnan(expected)
    assert_bits(found[some], expected[some])
    assert np.isnan(found[~some]).all() and not rounded.report().fallbacks


def test_operations_round_each_result() -> None:
    x = HALVES[np.isfinite(HALVES)]
    y = np.roll(x, 12345)
    f = tracejit.jit(lambda x, y: (x + y, x * y, np.maximum(x, y), x > y, x.max()), strict=True)
    with np.errstate(all="ignore"):
        for a, b in zip(f(x, y), (x + y, x * y, np.maximum(x, y), x > y, x.max()), strict=True):
            np.testing.assert_array_equal(a, b)


#: What LLVM may make of halves in memory, as well.
PROGRAM = """
import numpy as np
import tracejit

def f(h, k, i):
    out = np.zeros_like(h)
    out[1:] = h[:-1] * 2
    out[0] = np.float16(h.sum())
    both = np.where(h > k, h, k), np.sort(h), h[::-1] + k[::2].repeat(2), h[i], h.T.copy()
    total = h[0]
    for v in h:
        total = total + v
    return out, both, h.astype(np.int32), h.astype(np.float64), np.cumsum(k), h.argmax(), total

rng = np.random.default_rng(0)
h, k = rng.standard_normal((2, 38)).astype(np.float16)
i = rng.permutation(38)
compiled = tracejit.jit(f, strict=True)
for found, expected in zip(compiled(h, k, i), f(h, k, i), strict=True):
    for a, b in zip(np.atleast_1d(found), np.atleast_1d(expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3)
        assert a.dtype == b.dtype
"""


@pytest.mark.skipif(not host_target().is_x86, reason="levels are those of x86-64")
@pytest.mark.parametrize("level", [k for k, (has, _) in LEVELS.items() if "f16c" not in has])
def test_levels_of_processors_without_conversions(level: str, tmp_path: Path) -> None:
    file = tmp_path / "halves.py"
    file.write_text(PROGRAM, encoding="utf-8")
    environment = {**os.environ, "TRACEJIT_TARGET": level, "TRACEJIT_CACHE": "off"}
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stderr
