"""The measuring of vector math: judges agree, wrong results are seen, the page is new."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import vector_math
from benchmarks.vector_math import errors as measured
from benchmarks.vector_math import table
from benchmarks.vector_math.contenders import LABELS, precise
from benchmarks.vector_math.special_sweep import rounded_and_rest
from benchmarks.vector_math.sweep import special_points
from tracejit.codegen.vector_math.define import ARITY


def test_results_that_are_off_are_seen() -> None:
    right = np.array([1.0, 1 + 2**-25, 0.0, np.inf, 2.0**128, np.nan, 5.0, -0.0])
    got = np.array([1.0, 1.0, -0.0, 1.0, np.inf, np.nan, np.nan, -0.0], np.float32)
    with np.errstate(all="ignore"):
        at, errors = measured.off(got, right, np.float32)
        last = np.array([np.finfo(np.float32).max])
        assert measured.off(last, np.array([2.0**128]), np.float32)[1].tolist() == [1.0]
    assert dict(zip(at.tolist(), errors.tolist(), strict=True)) == {2: np.inf, 3: np.inf, 6: np.inf}
    up = np.nextafter(np.float32(3), np.float32(4)).reshape(1)
    assert measured.off(up, np.array([3.0]), np.float32)[1].tolist() == [1.0]


def test_every_float32_is_asked_for_once() -> None:
    seen = np.concatenate([x.view(np.uint32) for x in measured.numbers(99_991)])
    assert np.array_equal(seen, np.arange(0, 2**32, 99_991))


@np.errstate(invalid="ignore")
def test_symmetric_functions_are_judged_at_all_numbers() -> None:
    for name in ("sin", "cos"):
        total = 0
        for (x,), right in measured.judged(name, "f32", 99_991, 0, np.positive):
            total += x.size
            number = ~np.isnan(x)
            expected = x if name == "sin" else np.abs(x)
            np.testing.assert_array_equal(right[number], expected[number])
        assert total == 2 * len(range(0, 2**31, 99_991))


@pytest.mark.parametrize("name", ["expit", "log_expit", "logit", "erf", "erfc", "gamma"])
def test_long_doubles_are_good_to_their_last_bits(name: str) -> None:
    x = special_points(name, "f64", 400)
    function = precise(name)
    assert function is not None
    with np.errstate(all="ignore"):
        values = function(x.astype(np.longdouble))
        head, rest = rounded_and_rest(name, [x])
        exact = head.astype(np.longdouble) + rest * np.spacing(np.abs(head)).astype(np.longdouble)
        normal = np.isfinite(head) & (np.abs(head) > np.finfo(np.float64).tiny)
        assert np.all(np.abs(values - exact)[normal] <= 2.0**-59 * np.abs(exact)[normal])


@pytest.mark.parametrize(("name", "dtype"), [("exp", "f32"), ("log", "f64"), ("power", "f64")])
def test_a_sweep_finds_errors_of_all(name: str, dtype: str) -> None:
    total, worst = measured.sweep(name, dtype, 99_991, 1_000, list(LABELS))
    assert total > 10_000 and {"ours", "NumPy", "libm"} <= set(worst)
    for label, results in worst.items():
        ulp, at = results.judged_again(name)
        assert 0.5 <= ulp < (4 if label == "NumPy" else 1) and at


def test_speeds_are_measured_and_shown() -> None:
    (row,) = vector_math.rows("cbrt", "f32", (1_000,), rounds=1)
    assert row["size"] == 1_000 and row["times numpy"] > 0
    assert {f"`{name}`" for name in ARITY} <= set("".join(table.tables({})).split())


def test_the_page_shows_the_figures() -> None:
    text = "".join(table.tables(measured.figures()))
    assert text in table.PAGE.read_text(encoding="utf-8")
