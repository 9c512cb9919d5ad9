"""Special functions in lanes: errors against mpmath and beside SciPy's, special values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.special

from benchmarks.vector_math.contenders import ours
from benchmarks.vector_math.special_sweep import NAMES, PRECISE, errors, points, rounded_and_rest
from benchmarks.vector_math.sweep import DTYPES, pairs, ulp_errors
from tests.codegen.test_vector_math import (
    CPUS,
    WIDTHS,
    check_that_no_library_is_called,
    compiled,
    specials,
)
from tracejit.codegen.vector_math.define import ARITY

Array = np.ndarray[Any, Any]
COUNT = 120

#: Bounds of the errors of float64 results, in ULP: those of docs/vector_math.md, rounded up.
BOUNDS = {
    "erfc": 4.0,
    "erfcinv": 3.0,
    "erfcx": 4.0,
    "erfinv": 3.0,
    "expit": 1.6,
    "log_expit": 2.0,
    "log_ndtr": 3.5,
    "logit": 1.5,
    "ndtr": 3.5,
    "ndtri": 4.0,
    "gamma": 6.0,
    "gammaln": 6.0,
    "psi": 5.0,
    "i0": 4.0,
    "i0e": 3.5,
    "i1": 4.0,
    "i1e": 3.0,
    "j0": 5.0,
    "j1": 5.0,
    "y0": 5.0,
    "y1": 5.0,
}
CASES = [(name, dtype) for name in NAMES for dtype in DTYPES]
FUSED = [True, False]


@pytest.mark.sampled(72, kind=lambda name, **_: name)
@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_error_bound(name: str, dtype: str, fma: bool) -> None:
    with np.errstate(over="ignore"):
        x = points(name, COUNT).astype(DTYPES[dtype])
    found = errors(name, x, compiled(name, dtype, fma)[8](x))
    worst = int(np.argmax(found))
    bound = BOUNDS[name] if dtype == "f64" else 0.51
    assert found[worst] <= bound, f"{found[worst]:.3f} ULP at {float(x[worst])!r}"


@pytest.mark.sampled(21)
@pytest.mark.parametrize("name", NAMES)
def test_scipys_error_is_no_smaller_but_for_a_few_ulp(name: str) -> None:
    x = points(name, COUNT)
    with np.errstate(all="ignore"):
        scipys = np.asarray(getattr(scipy.special, name)(x))
    ours, theirs = (errors(name, x, y).max() for y in (compiled(name, "f64", True)[8](x), scipys))
    assert ours <= max(theirs, 6.0)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["gammaln", "psi", "gamma"])
def test_negative_numbers(name: str, dtype: str) -> None:
    """Near zeros of the function itself the terms that cancel are what counts."""
    draw = np.random.default_rng(5)
    x = -np.concatenate([draw.uniform(0.5, 12, 300), draw.uniform(12, 160, 100)])
    x = x.astype(DTYPES[dtype])
    got = compiled(name, dtype, True)[8](x)
    head, rest = rounded_and_rest(name, [x])
    terms = np.abs(head) if name == "gamma" else np.maximum(np.abs(head), 4)
    unit = np.spacing(np.abs(head)).astype(np.float64)
    found = ulp_errors(got, head, rest) * unit / np.maximum(unit, np.spacing(terms))
    assert found.max() <= (6.0 if dtype == "f64" else 0.51)


@pytest.mark.sampled(16)
@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_special_values_are_scipys(name: str, dtype: str, fma: bool) -> None:
    more = [2.5, 4.0, 5.0, 6.25, 6.5, 7.0, 8.0, 20.0, 100.0, 171.0, 172.0, 2.0**52, 2.0**53 + 2]
    x = np.concatenate([specials(dtype), np.array([*more, *(-v for v in more)], DTYPES[dtype])])
    # mpmath's, where the value is a number: SciPy's are wrong for some of the least numbers.
    want, _ = rounded_and_rest(name, [x])
    got = compiled(name, dtype, fma)[4](x)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))
    exact = number & (np.isinf(want) | (want == 0) | (np.abs(want) == 1))
    np.testing.assert_array_equal(got[exact], want[exact])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_every_width_computes_the_same(name: str, dtype: str, fma: bool) -> None:
    with np.errstate(over="ignore"):
        x = np.concatenate([points(name, COUNT).astype(DTYPES[dtype]), specials(dtype)])
    functions = compiled(name, dtype, fma)
    want = functions[1](x)
    for width in WIDTHS[1:]:
        np.testing.assert_array_equal(functions[width](x), want, err_msg=f"width {width}")


@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
def test_exact_where_the_result_is_representable(fma: bool) -> None:
    def value(name: str, *x: float) -> list[float]:
        return [float(y) for y in compiled(name, "f64", fma)[1](np.array(x))]

    factorials = scipy.special.factorial(np.arange(23), exact=False)
    assert value("gamma", *np.arange(1.0, 24.0)) == factorials.tolist()
    assert value("gammaln", 1.0, 2.0) == [0.0, 0.0]
    assert value("expit", 0.0) == value("ndtr", 0.0) == [0.5]
    assert value("logit", 0.5) == value("ndtri", 0.5) == value("erfcinv", 1.0) == [0.0]
    assert value("erfc", 0.0) == value("i0", 0.0) == value("i0e", 0.0) == value("j0", 0.0) == [1.0]


@pytest.mark.parametrize("fma", FUSED, ids=["fused", "plain"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_divergences_of_numbers_that_are_close(dtype: str, fma: bool) -> None:
    """SciPy's lose all digits there: x log(x / y) is nearly x - y."""
    with np.errstate(all="ignore"):
        x, y = pairs("kl_div", dtype, 600)
    got = ours("kl_div", dtype, fma)(x, y)
    found = ulp_errors(got, *rounded_and_rest("kl_div", [x, y]))
    assert found.max() <= (7.0 if dtype == "f64" else 0.51)


def test_inverses_lead_back() -> None:
    p = np.concatenate([np.linspace(0.001, 0.999, 500), 10.0 ** -np.arange(3.0, 300.0)])
    for there, back in (("ndtri", "ndtr"), ("logit", "expit"), ("erfcinv", "erfc")):
        x = compiled(there, "f64", True)[8](p)
        np.testing.assert_allclose(compiled(back, "f64", True)[8](x), p, rtol=2e-12)


def test_every_function_of_one_number_is_here() -> None:
    assert set(PRECISE) & set(ARITY) == {*NAMES, "erf", "kl_div"} and set(BOUNDS) == set(NAMES)


@pytest.mark.sampled(8)
@pytest.mark.parametrize(("triple", "cpu", "fma", "widths"), CPUS, ids=[c[1] for c in CPUS])
@pytest.mark.parametrize("dtype", DTYPES)
def test_needs_no_library_on_any_cpu(
    dtype: str, triple: str, cpu: str, fma: bool, widths: tuple[int, ...]
) -> None:
    cases = [(name, dtype) for name in NAMES]
    check_that_no_library_is_called(cases, triple, cpu, fma, widths)
