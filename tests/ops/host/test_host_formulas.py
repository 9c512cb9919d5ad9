"""Derivatives of calls through NumPy that equal formulas over ops, and their batches."""

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.ops.host.test_host_derivatives import (  # noqa: F401 - a fixture
    F,
    check,
    numbers,
    same_numbers,
)

pytestmark = pytest.mark.sampled(7)

NARROW = {"f": np.float32, "c": np.complex64}


def check_all(f: F, *args: Any, batched: bool = True) -> None:
    """Second order in double precision, first order in single, and a batch against a loop."""
    check(f, *args)
    check(f, *(narrow(x) for x in args), order=1)
    if batched:
        check_batch(f, *args)


def narrow(x: Any) -> Any:
    """In single precision, if it is a float or complex number."""
    kind = np.asarray(x).dtype.kind
    return x.astype(NARROW[kind]) if kind in NARROW else x


def check_batch(f: F, *args: Any) -> None:
    """Values and gradients of two lanes are those of each alone."""

    def total(*args: Any) -> Any:
        leaves = f(*args)
        leaves = leaves if isinstance(leaves, (tuple, list)) else [leaves]
        out = 0.0
        for y in leaves:
            out = out + np.sum(np.sin(np.real(y)) + np.imag(y) ** 2)
        return out

    lanes = [[x, x * (x.dtype.type(1.25))] for x in map(np.asarray, args)]
    wrt = tuple(range(len(args)))
    slope = tracejit.value_and_grad(total, argnums=wrt)
    value, gradients = tracejit.vmap(slope)(*map(np.stack, lanes))
    for k in range(2):
        alone, expected = slope(*(x[k] if x[k].ndim else x[k][()] for x in lanes))
        np.testing.assert_allclose(value[k], alone, rtol=1e-10)
        for found, g in zip(gradients, expected, strict=True):
            np.testing.assert_allclose(found[k], g, rtol=1e-8, atol=1e-10)


POLYNOMIALS: list[tuple[F, tuple[tuple[int, ...], ...], str]] = [
    (lambda x: np.vander(x), ((4,),), "fc"),
    (lambda x: np.vander(x, 3, increasing=True), ((4,),), "fc"),
    (lambda x: np.vander(x, 1), ((4,),), "f"),
    (lambda p, q: np.polyadd(p, q), ((3,), (5,)), "fc"),
    (lambda p, q: np.polysub(p, q), ((4,), (2,)), "fc"),
    (lambda p: np.sum(np.polyder(p, 2) ** 3), ((5,),), "fc"),
    (lambda p: np.sum(np.polyint(p) ** 3), ((4,),), "fc"),
    (lambda p, k: np.sum(np.polyint(p, 2, k) ** 3), ((4,), (2,)), "f"),
    (lambda p, q: np.sum(np.polymul(p, q) ** 3), ((4,), (3,)), "fc"),
    (lambda p, q: np.sum(np.polymul(p * [0, 1, 1, 1], q) ** 3), ((4,), (3,)), "f"),
    (lambda p, x: np.polyval(p, x), ((4,), (2, 3)), "fc"),
    (lambda a, b, x: np.polyval([a, b, 2 * a, 1.0], x), ((), (), (3,)), "f"),
    (lambda x: np.poly(x), ((4,),), "fc"),
    (lambda p: np.roots(p), ((4,),), "c"),
    (lambda p: np.sum(np.abs(np.roots(p * [0, 1, 1, 1, 0])) ** 2), ((5,),), "c"),
    (lambda x, y: np.polyfit(x, y, 2), ((6,), (6,)), "f"),
    (lambda x, y: np.polyfit(x, y, 1), ((6,), (6, 2)), "f"),
    (lambda x, y, w: np.polyfit(x, y, 1, w=w), ((6,), (6,), (6,)), "f"),
]


@pytest.mark.sampled(18)
@pytest.mark.parametrize("k", range(len(POLYNOMIALS)))
def test_polynomials(k: int) -> None:
    f, shapes, kinds = POLYNOMIALS[k]
    for kind in kinds:
        dtype = {"f": np.float64, "c": np.complex128}[kind]
        check_all(f, *(numbers(*shape, dtype=dtype) for shape in shapes))


def test_real_polynomials_with_complex_roots() -> None:
    p = np.array([1.0, -2.0, 4.0, -3.0, 7.0])
    g = tracejit.grad(lambda p: np.sum(np.abs(np.roots(p)) ** 3))(p)
    for k in range(5):
        a, b = (np.sum(np.abs(np.roots(p + h * np.eye(5)[k])) ** 3) for h in (1e-5, -1e-5))
        np.testing.assert_allclose(g[k], (a - b) / 2e-5, rtol=1e-7)


# Arrays -------------------------------------------------------------------------------------------

HOLES = np.array([[1.0, np.nan, 2.5, -3], [0.3, 4, np.nan, -1.5], [7, -2, 9, 5]])
FILLED = np.where(np.isnan(HOLES), 99, HOLES)

QUANTILES: list[F] = [
    lambda x: np.nanmedian(x),
    lambda x: np.nanmedian(x, axis=0),
    lambda x: np.nanmedian(x, axis=(0, 1), keepdims=True),
    lambda x: np.nanquantile(x, 0.3, axis=1),
    lambda x: np.nanquantile(x, [0.0, 0.4, 1.0], axis=0, keepdims=True),
    lambda x: np.nanpercentile(x, 37),
    lambda x: np.nanpercentile(x, [20.0, 50, 70], axis=-1),
]


@pytest.mark.sampled(14)
@pytest.mark.parametrize("k", range(len(QUANTILES)))
def test_quantiles_that_leave_out_nan(k: int) -> None:
    f = QUANTILES[k]
    check_all(lambda x: f(np.where(x < 90, x, np.nan)), FILLED)
    g = tracejit.grad(lambda x: np.nansum(f(x)))(HOLES)
    assert not g[np.isnan(HOLES)].any()
    assert np.isfinite(g).all()


@pytest.mark.filterwarnings("ignore:All-NaN slice")
def test_quantiles_of_nothing() -> None:
    x = np.array([[np.nan, np.nan], [1.0, 2.0]])
    g = tracejit.grad(lambda x: np.nansum(np.nanquantile(x, 0.5, axis=1)))(x)
    assert g.tolist() == [[0, 0], [0.5, 0.5]]


def test_geometric_sequences() -> None:
    start, stop = np.array([0.5, -2.0]), np.array([3.0, -0.7])
    check_all(lambda a, b: np.geomspace(a, b, 5), start, stop)
    check_all(lambda a, b: np.geomspace(a, b, 4, endpoint=False, axis=1), start, stop)
    check_all(lambda a, b: np.geomspace(a, b, 3), start[0], stop[0])
    z = np.array([1 + 2j, -0.5 + 1j])
    check_all(lambda a, b: np.geomspace(a, b, 4), z, z[::-1] * 1.5)


def test_parts_of_numbers() -> None:
    x = np.array([0.3, -5.0, 17.0, 1.1])
    check_all(lambda x: np.frexp(x)[0] ** 2, x)
    assert tracejit.grad(lambda x: np.sum(np.spacing(x) * x))(x).tolist() == np.spacing(x).tolist()


def test_sums_of_segments() -> None:
    x = numbers(7, 3)
    indices = np.array([0, 2, 2, 6, 1])
    check_all(lambda x: np.add.reduceat(x, [0, 3, 5]), x)
    check(lambda x, k: np.add.reduceat(x, k), x, indices)
    check(lambda x: np.add.reduceat(x, [1, 0, 2], axis=1), numbers(4, 3, dtype=np.complex128))


ARRAYS: list[tuple[F, str]] = [
    (lambda x: np.resize(x, (5, 2)), "fc"),
    (lambda x: np.resize(x, 3), "f"),
    (lambda x: np.sort_complex(x), "fc"),
    (lambda x: np.nancumsum(x, axis=1), "fc"),
    (lambda x: np.nancumprod(x), "fc"),
    (lambda x: np.linalg.tensorinv(x.reshape(2, 2, 4, 1), ind=2), "f"),
    (lambda x: np.linalg.tensorsolve(x.reshape(4, 2, 2), x[0]), "fc"),
    (lambda x: np.linalg.tensorsolve(x.reshape(2, 4, 2), x[1], axes=(0,)), "f"),
    (lambda x: np.real_if_close(x) ** 2, "f"),
]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("k", range(len(ARRAYS)))
def test_arrays(k: int) -> None:
    f, kinds = ARRAYS[k]
    for kind in kinds:
        check_all(f, numbers(4, 4, dtype={"f": np.float64, "c": np.complex128}[kind]))


@pytest.mark.skipif(not hasattr(np, "cumulative_sum"), reason="not in this NumPy")
def test_running_sums_of_the_array_standard() -> None:
    for dtype in (np.float64, np.complex128):
        x = numbers(3, 4, dtype=dtype)
        check_all(lambda x: np.cumulative_sum(x, axis=1, include_initial=True), x)
        check_all(lambda x: np.cumulative_prod(x[0]), x)
        check_all(lambda x: np.unstack(x, axis=1), x)


@pytest.mark.sampled(8)
@pytest.mark.skipif(not hasattr(np, "matvec"), reason="not in this NumPy")
@pytest.mark.parametrize("stack", [((), ()), ((2,), ()), ((), (2,)), ((3, 1), (2,))])
def test_products_with_vectors(stack: Any) -> None:
    for dtype in (np.float64, np.complex128):
        a, v, w = (
            numbers(*stack[k > 0], *s, dtype=dtype) for k, s in enumerate([(3, 4), (4,), (3,)])
        )
        check_all(lambda a, v: np.matvec(a, v), a, v)
        check_all(lambda w, a: np.vecmat(w, a), w, a)


@pytest.mark.usefixtures("never_eager")
def test_values_of_new_functions() -> None:
    """Bit for bit those of NumPy."""
    x = np.where(numbers(4, 3) > 1, np.nan, numbers(4, 3))
    exact: list[F] = [lambda x: np.nancumsum(x, axis=0), lambda x: np.nancumprod(x.T)]
    if hasattr(np, "cumulative_sum"):
        exact += [
            lambda x: np.cumulative_sum(x, axis=1),
            lambda x: np.cumulative_prod(x, axis=0, include_initial=True),
            lambda x: np.unstack(x, axis=1)[1],
        ]
    for f in exact:
        for dtype in (np.float64, np.float32, np.complex128, np.int64):
            y = np.nan_to_num(x * 5).astype(dtype) if dtype is np.int64 else x.astype(dtype)
            expected, found = f(y), tracejit.jit(f)(y)
            assert found.dtype == expected.dtype
            np.testing.assert_array_equal(found, expected)


@pytest.mark.sampled(4)
@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
def test_residuals_and_singular_values_of_fits(dtype: Any) -> None:
    a, b = numbers(4, 2, dtype=dtype), numbers(4, 3, dtype=dtype)

    def f(a: Any, b: Any) -> Any:
        x, residuals, _, s = np.linalg.lstsq(a, b)
        return np.sum(residuals**2), x, s

    check_all(f, a, b)
    check(lambda a, b: np.sum(np.linalg.lstsq(a, b[:, 0])[1]), a, b)
    check(lambda a, b: np.linalg.lstsq(a.T, b[:2])[0], a, b)
