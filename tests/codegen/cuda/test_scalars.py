"""Printed scalar functions, executed with NumPy's numbers: the bits of the native code."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest

from tests.codegen.cuda.scalar_cases import (
    FLOATS,
    INTEGERS,
    ROUNDED,
    Case,
    cases,
    columns,
    elementary_operands,
    exact,
    function_source,
    native,
    simulated,
)
from tests.support.native_kernels import Array, same_bits
from tracejit.codegen.cuda.device_functions import SOURCES
from tracejit.codegen.cuda.scalars import ScalarPrinter, supports
from tracejit.codegen.cuda.simulated_functions import simulated_namespace
from tracejit.codegen.vector_math.evaluate import evaluate
from tracejit.ir.types import DTYPES

_CASES = list(cases())


def check(some: Sequence[Case]) -> None:
    """The print's results are the native code's."""
    operands = [columns(case) for case in some]
    for case, given, want in zip(some, operands, native(some, operands), strict=True):
        got = simulated(case, given)
        rows = [row for row in zip(*given, got, want, strict=True) if not same_bits(*row[-2:])]
        assert same_bits(got, want), (case, rows[:5], function_source(case))


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", ("b1", *INTEGERS, *FLOATS))
def test_exact_functions(dtype: str) -> None:
    check([case for case in _CASES if case[1][0] == dtype and case[0] != "cast" and exact(case)])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", ("b1", *INTEGERS, *FLOATS))
def test_casts(dtype: str) -> None:
    check([case for case in _CASES if case[1][0] == dtype and case[0] == "cast"])


@pytest.mark.sampled(18)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", sorted(SOURCES - {"gcd", "integer_power", "power_exceeds"}))
def test_functions_in_source_have_the_bits_of_the_definition(name: str, dtype: str) -> None:
    for case in _CASES:
        if case[0] == name and case[1][0] == dtype:
            operands = elementary_operands(case)
            want = evaluate(name, *operands, fma=True)
            assert same_bits(simulated(case, operands), want)


def _ulps(got: Array, want: Array) -> Array:
    """The distance in units in the last place of `want`; infinite where a special value differs."""
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(np.where(np.isfinite(want), want, 1)))
        distance = np.abs(got.astype(np.float64) - want.astype(np.float64)) / unit
    same = (got == want) & (np.signbit(got) == np.signbit(want)) | np.isnan(got) & np.isnan(want)
    return np.where(same, 0, np.where(np.isfinite(got) & np.isfinite(want), distance, np.inf))


@pytest.mark.parametrize("dtype", FLOATS)
def test_library_functions_are_close_to_the_native_code(dtype: str) -> None:
    some = [case for case in _CASES if case[0] in ROUNDED and case[1][0] == dtype]
    operands = [elementary_operands(case) for case in some]
    for case, given, want in zip(some, operands, native(some, operands), strict=True):
        got = simulated(case, given)
        off = _ulps(got, want)
        worst = int(np.argmax(off))
        row = [float(x[worst]) for x in (*given, got, want)]
        assert off[worst] <= 2, (case, row, off[worst])


def _print(fn: str, args: Sequence[str], dtypes: Sequence[str], dtype: str) -> list[str]:
    lines: list[str] = []
    names = (f"_{k}" for k in itertools.count())
    result = ScalarPrinter(lines, lambda: next(names)).call(fn, args, dtypes, dtype)
    return [*lines, result]


def test_prints() -> None:
    of = ("i32", "i32")
    assert _print("add", ("x", "y"), of, "i32") == ["_0 = int32(x + y)", "_0"]
    assert _print("remainder", ("x", "int32(8)"), of, "i32") == ["_0 = int32(x & int32(7))", "_0"]
    assert _print("less", ("int32(1)", "int32(2)"), of, "b1") == ["True"]
    assert _print("logical_and", ("x", "True"), ("b1", "b1"), "b1") == ["x"]
    assert _print("positive", ("uint64(18446744073709551615)",), ("u64",), "u64") == [
        "uint64(18446744073709551615)"
    ]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_literal_operands(dtype: str) -> None:
    """Divisors and counts that are literals have code of their own."""
    (x,) = columns(("negative", (dtype,), dtype))
    for fn in ("floor_divide", "remainder", "fmod", "left_shift", "right_shift", "less"):
        for k in (0, 1, 3, 8, 100, *((-1, -5) if dtype[0] == "i" else ())):
            *lines, result = _print(
                fn, ("x", ScalarPrinter([], str).const(k, dtype)), (dtype, dtype), dtype
            )
            space = simulated_namespace()
            body = "".join(f"    {line}\n" for line in [*lines, f"return {result}"])
            exec(f"def function(x):\n{body}", space)
            with np.errstate(all="ignore"):
                want = getattr(np, fn)(x, np.array(k, x.dtype))
                got = np.array([space["function"](v) for v in x], want.dtype)
            assert same_bits(got, want), (fn, k, body)


def test_literals() -> None:
    const = ScalarPrinter([], str).const
    assert const(0.5, "f32") == "float32(0.5)"
    assert const(True, "b1") == "True"
    assert const(-1, "u8") == "uint8(255)"
    assert const(1 << 63, "i64") == "int64(-9223372036854775808)"
    space = simulated_namespace()
    for value in (0.1, -0.0, 1e300, -math.inf, math.nan, 65519.0, 3):
        for dtype in FLOATS:
            with np.errstate(all="ignore"):
                want = np.array(value).astype(DTYPES[dtype])
            got = eval(const(value, dtype), space)
            assert type(got) is (np.float64 if dtype == "f64" else np.float32)
            assert same_bits(np.array(got).astype(want.dtype), want)
            assert dtype == "f64" or same_bits(np.array(got), want.astype(np.float32))


def test_unknown_functions_are_refused() -> None:
    for fn in ("frobnicate", "wrap_index"):
        assert not supports(fn, ("i64", "i64"))
        with pytest.raises(NotImplementedError, match=fn):
            _print(fn, ("x", "y"), ("i64", "i64"), "i64")
    assert not supports("add", ("c128", "c128"))
