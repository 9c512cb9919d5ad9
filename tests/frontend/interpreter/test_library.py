"""Functions of NumPy are traced from the prelude, or called: the results are the same."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any
from unittest import mock

import numpy as np
import pytest

import tracejit
from tests.frontend.interpreter import library_samples as s
from tests.support.check_grads import check_grads
from tests.support.compare import assert_same
from tracejit.frontend.interpreter import library
from tracejit.frontend.numpy.registry import PRELUDE

pytestmark = pytest.mark.sampled(9)


def hosted(compiled: Any, *args: Any) -> list[str]:
    """The functions that the program of a compiled function calls."""
    graph = compiled.lower(*args).graphs["dce"]
    return [n.attrs["function"] for n in graph.nodes if n.op.name == "host_call"]


@pytest.mark.sampled(48)
@pytest.mark.parametrize("name", s.CALLS)
def test_results_are_those_of_the_call(name: str) -> None:
    f, x = s.CALLS[name]
    compiled = tracejit.jit(f)
    for _ in range(2):
        assert_same(compiled(x), f(x), parity="order", ulp=8)
    assert not compiled.report().fallbacks and not compiled.report().bailouts
    if operator.attrgetter(name)(np) in PRELUDE:
        last = name.rpartition(".")[2]
        assert not any(path.endswith(f":{last}") for path in hosted(compiled, x))


@pytest.mark.sampled(6)
@pytest.mark.parametrize("name", s.SMOOTH)
def test_gradients_are_those_of_the_source(name: str) -> None:
    f, x = s.CALLS[name]
    graph = tracejit.jit(f).trace(x)
    check_grads(graph, [x], order=1)


@pytest.mark.parametrize("method", ["lower", "higher", "nearest", "midpoint", "hazen", "weibull"])
def test_gradients_of_each_kind_of_quantile(method: Any) -> None:
    graph = tracejit.jit(lambda x: np.quantile(x, [0.3, 0.8], axis=0, method=method)).trace(s.A)
    x = np.random.default_rng(3).permutation(12).reshape(3, 4) / 3
    check_grads(graph, [x], order=1)


def test_quantiles_of_weighted_numbers() -> None:
    f = tracejit.jit(
        lambda x, w: np.quantile(x, [0.3, 0.7], axis=0, weights=w, method="inverted_cdf")
    )
    for x in (s.A, np.where(s.A == 2, np.nan, s.A)):
        for w in (np.array([1.0, 2.0, 0.5]), s.A + 1):
            expected = np.quantile(x, [0.3, 0.7], axis=0, weights=w, method="inverted_cdf")
            assert_same(f(x, w), expected)
    assert not f.report().fallbacks and not f.report().bailouts


def test_errors_are_those_of_the_source() -> None:
    for f in (
        lambda x: np.vander(x[None]),
        lambda x: np.percentile(x, 130),
        lambda x: np.percentile(x, 40 * x),
        lambda x: np.quantile(x, 0.3, method="none"),
        lambda x: np.asarray_chkfinite(x / 0),
        lambda x: np.insert(x, 9, 1.0),
        lambda x: np.insert(x, 1, 1.0, axis=2),
        lambda x: np.histogram(x, 4, range=(2, 1)),
        lambda x: np.histogram(x, -1),
        lambda x: np.nanargmax(x * np.nan),
    ):
        with np.errstate(all="ignore"), pytest.raises(Exception) as expected:
            f(s.X)
        with np.errstate(all="ignore"), pytest.raises(expected.type) as found:
            tracejit.jit(f)(s.X)
        assert str(found.value) == str(expected.value)


SEARCHED = {
    "sorted": np.array([-1.0, 0.5, 0.5, 2.0, 7.0, np.nan, np.nan]),
    "unsorted": np.array([3.0, 1.0, np.nan, 2.0, 5.0, 4.0]),
    "descending": np.array([5.0, 3.0, 1.0]),
    "one": np.array([2.0]),
    "none": np.array([]),
    "many": np.linspace(-2, 8, 5000),
    "many, unsorted": np.linspace(8, -2, 5000),
    "ints": np.array([1, 3, 5]),
}
KEYS = (
    np.array([0.5, np.nan, -np.inf, 7.0, 2.0, 9.0, np.inf, 0.4]),
    np.array([[2, 5], [0, 9]]),
    np.array([]),
    np.float64(2.0),
)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int8])
def test_many_bytes_are_looked_up(dtype: Any) -> None:
    draw = np.random.default_rng(4)
    for side in ("left", "right"):
        f = tracejit.jit(lambda a, v, side=side: np.searchsorted(a, v, side), strict=True)
        for n in (1, 300, 5000):
            for count in (1000, 1024, 3000):
                a, v = (draw.integers(-128, 128, k).astype(dtype) for k in (n, count))
                a.sort()
                assert_same(f(a, v), np.searchsorted(a, v, side))


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", SEARCHED)
def test_searches_are_those_of_numpy_in_any_order(name: str) -> None:
    """Where elements are not in order, NumPy's own results are asked for."""
    a = SEARCHED[name]
    for side in ("left", "right"):
        f = tracejit.jit(lambda a, v, side=side: np.searchsorted(a, v, side))
        for v in KEYS:
            assert_same(f(a, v), np.searchsorted(a, v, side))
    points = np.arange(len(a)) % 7 - 3.0
    values = [points, np.where(points == 1, np.inf, points), np.where(points == 2, np.nan, points)]
    f = tracejit.jit(lambda v, a, y: np.interp(v, a, y))
    known = len(a) > 0 and not (len(a) > 4096 and "unsorted" in name)
    for v in KEYS:
        for y in values if known else ():
            assert_same(f(v, a, y), np.interp(v, a, y), parity="order", ulp=4)


@pytest.mark.parametrize("form", ["ascending", "equal", "with NaN last", "descending", "few"])
def test_points_in_order_are_met_one_by_one(form: str) -> None:
    """`interp` of many points that ascend walks along the table; of others it searches."""
    rng = np.random.default_rng(4)
    table = np.array([0.0, 1.0, 1.0, 2.5, 3.0, 7.0])
    heights = [rng.normal(size=6), np.array([1.0, 2.0, np.inf, 3.0, np.nan, 3.0])]
    x = np.sort(np.append(rng.uniform(-1, 8, 2000), table))
    x = {"equal": np.full(1500, 2.5), "descending": x[::-1].copy(), "few": x[:100]}.get(form, x)
    if form == "with NaN last":
        x[-3:] = np.nan
    f = tracejit.jit(lambda x, a, y: np.interp(x, a, y, left=-9.0), strict=True)
    for y in heights:
        assert_same(f(x, table, y), np.interp(x, table, y, left=-9.0), parity="order", ulp=4)
    slope = tracejit.grad(lambda x: np.interp(x, table, heights[0]).sum())(x[:1500])
    inside = (x[:1500] > 0) & (x[:1500] < 7) & ~np.isin(x[:1500], table)
    rises = np.diff(heights[0]) / np.where(np.diff(table) > 0, np.diff(table), 1)
    steps = rises[np.clip(np.searchsorted(table, x[:1500], "right") - 1, 0, 4)]
    np.testing.assert_allclose(slope[inside], steps[inside], rtol=1e-12)


@pytest.mark.sampled(24)
@pytest.mark.parametrize("m", range(1, 20))
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions_of_any_length(m: int, mode: Any) -> None:
    rng = np.random.default_rng(m)
    a, v = rng.normal(size=9), rng.normal(size=m)
    f = tracejit.jit(lambda a, v: (np.convolve(a, v, mode), np.correlate(a, v, mode)), strict=True)
    expected = np.convolve(a, v, mode), np.correlate(a, v, mode)
    assert_same(f(a, v), expected, parity="order", ulp=16)
    v[0] = np.inf
    expected = np.convolve(a, v, mode), np.correlate(a, v, mode)
    assert_same(f(a, v), expected, parity="order", ulp=16)


def given_up(x: Any) -> Any:
    return np.interp(x / 2, np.sort(x), x * 1j) + 1


def test_what_is_not_traced_is_given_up_once() -> None:
    """Values of points are complex: NumPy is called, as for any function without an op."""
    library._REFUSED.clear()
    compiled = tracejit.jit(given_up)
    assert_same(compiled(s.X), given_up(s.X))
    assert hosted(compiled, s.X) == ["numpy:interp"]
    known = set(library._REFUSED)
    other = tracejit.jit(lambda x: given_up(x) * 2)
    assert_same(other(s.X), given_up(s.X) * 2)
    assert library._REFUSED == known


def test_a_function_of_the_program_is_not_one_of_numpy() -> None:
    """What NumPy's code calls back is traced as before: its own calls are the program's."""
    f = tracejit.jit(lambda x: np.piecewise(x, [x > 2], [lambda t: np.sort(t)[::-1] * 2, 0.0]))
    x = s.X
    assert_same(f(x), np.piecewise(x, [x > 2], [lambda t: np.sort(t)[::-1] * 2, 0.0]))


def test_replaced_functions_of_numpy_are_seen() -> None:
    f = tracejit.jit(lambda x: np.percentile(x, 30))
    before = f(s.X)
    with mock.patch("numpy.percentile", lambda x, q: x[0] + 100):
        assert f(s.X) == np.percentile(s.X, 30) > 90
    assert f(s.X) == before


@pytest.mark.parametrize("f", s.IMPORTS)
def test_imports_inside_functions(f: Callable[[Any], Any]) -> None:
    assert_same(tracejit.jit(f, strict=True)(s.X), f(s.X))


def test_modules_that_are_not_there_are_imported_by_python() -> None:
    compiled = tracejit.jit(s.falls_back_on_what_is_there)
    assert_same(compiled(s.X), np.sin(s.X))
    assert [x.code for x in compiled.report().fallbacks] == ["TJ008"]
