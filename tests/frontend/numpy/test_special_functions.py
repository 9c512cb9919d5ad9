"""SciPy's special functions as ops: dtypes, kinds of results, options, transforms, what is SciPy's.

NumPy's sinc and i0 are among them.
"""

import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import tracejit

F = Callable[..., Any]

UFUNCS: list[F] = [
    *(sp.erf, sp.erfc, sp.erfinv, sp.erfcinv, sp.erfcx, sp.expit, sp.log_expit, sp.logit, sp.entr),
    *(sp.ndtr, sp.log_ndtr, sp.ndtri, sp.gamma, sp.gammaln, sp.psi, sp.digamma),
    *(sp.i0, sp.i0e, sp.i1, sp.i1e, sp.j0, sp.j1, sp.y0, sp.y1),
]
UNARY = [*UFUNCS, np.sinc, np.i0]
BINARY: list[F] = [sp.xlogy, sp.xlog1py, sp.rel_entr, sp.kl_div]
every_unary = pytest.mark.parametrize("f", UNARY, ids=lambda f: f.__name__)
X = np.linspace(0.02, 0.98, 96)


def traced(f: F) -> F:
    """Compiled as a whole, without a call of SciPy or NumPy."""

    def program(*operands: Any) -> Any:
        return f(*operands)

    compiled = tracejit.jit(program, strict=True)

    def call(*operands: Any) -> Any:
        nodes = compiled.trace(*operands).nodes
        assert all(node.op.name != "host_call" for node in nodes)
        return compiled(*operands)

    return call


def check_same(want: Any, got: Any) -> None:
    """The same class, dtype and shape, and nearly the same numbers."""
    assert type(got) is type(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    if isinstance(want, np.ndarray):
        assert got.strides == want.strides
    rtol = 2e-6 if want.dtype == np.float32 else 2e-14
    np.testing.assert_allclose(got, want, rtol=rtol, atol=rtol / 10)


@pytest.mark.sampled(48)
@every_unary
@pytest.mark.parametrize("dtype", ["?", "b", "B", "h", "H", "i", "I", "l", "L", "f", "d"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_dtypes(f: F, dtype: str) -> None:
    x = (X * (1 if dtype in "fd" else 3)).astype(dtype)
    check_same(f(x), traced(f)(x))


@pytest.mark.parametrize("f", UFUNCS, ids=lambda f: f.__name__)
def test_half_precision_is_converted_as_the_loops_do(f: F) -> None:
    check_same(f(X.astype(np.float16)), traced(f)(X.astype(np.float16)))


@pytest.mark.parametrize("f", [np.sinc, np.i0], ids=lambda f: f.__name__)
def test_half_precision_of_numpys_functions_is_numpys(f: F) -> None:
    x = X.astype(np.float16)
    found = tracejit.jit(lambda x: f(x) * 2)(x)
    assert found.dtype == np.float16
    np.testing.assert_array_equal(found, f(x) * 2)


@pytest.mark.sampled(18)
@every_unary
def test_kinds_of_operands(f: F) -> None:
    """Scalars, arrays without axes, views: NumPy's i0 gives arrays even for scalars."""
    call = traced(f)
    grid = X.reshape(8, 12)
    for x in (X[3], np.float32(0.3), np.array(0.3), grid.T, grid[::2, ::-3], grid[:, :0]):
        check_same(f(x), call(x))
    check_same(np.asarray(f(0.25)), np.asarray(call(0.25)))


@pytest.mark.parametrize("f", BINARY, ids=lambda f: f.__name__)
def test_two_operands(f: F) -> None:
    column, row = np.array([[0.0], [-0.0], [1.5], [-2.0]]), np.array([0.0, 0.5, np.nan, np.inf])
    with np.errstate(all="ignore"):
        want = f(column, row)
    check_same(want, traced(f)(column, row))
    single = column.astype(np.float32)
    with np.errstate(all="ignore"):
        check_same(f(single, row.astype(np.float32)), traced(f)(single, row.astype(np.float32)))
        check_same(f(single, row), traced(f)(single, row))
    check_same(f(X, 3), traced(lambda x: f(x, 3))(X))


@every_unary
def test_the_edges_of_domains(f: F) -> None:
    x = np.array([0.0, -0.0, 1.0, -1.0, 2.0, -2.0, -3.0, np.inf, -np.inf, np.nan, 1.5, -1.5])
    with np.errstate(all="ignore"):
        want, got = f(x), traced(f)(x)
    np.testing.assert_allclose(got, want, rtol=2e-14)
    number = ~np.isnan(want)
    np.testing.assert_array_equal(np.signbit(got[number]), np.signbit(want[number]))


def test_options_of_ufuncs() -> None:
    def masked(x: Any) -> Any:
        out = np.zeros(x.shape)
        sp.gammaln(x, out=out, where=x > 0.5)
        return out

    def narrow(x: Any) -> Any:
        return sp.ndtr(x, dtype=np.float32, casting="same_kind")

    def outer(x: Any) -> Any:
        return sp.xlogy.outer(x[:3], x)

    for f in (masked, narrow, outer):
        check_same(f(X), tracejit.jit(f)(X))
    assert tracejit.jit(narrow)(X).dtype == np.float32


def test_complex_numbers_are_scipys() -> None:
    z = X + 0.5j
    for f in (sp.erf, sp.erfc, sp.gamma, sp.psi, sp.ndtr, sp.log_ndtr):
        np.testing.assert_array_equal(tracejit.jit(lambda z, f=f: f(z) + 1)(z), f(z) + 1)


@pytest.mark.sampled(12)
@every_unary
def test_gradients_and_batches(f: F) -> None:
    x = X.reshape(8, 12)[1:-1]
    step = 1e-6
    slope = tracejit.grad(lambda x: f(x).sum())(x)
    numeric = (f(x + step) - f(x - step)) / (2 * step)
    np.testing.assert_allclose(slope, numeric, rtol=1e-5, atol=1e-8)
    single = tracejit.grad(lambda x: f(x).sum())(x.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, slope, rtol=3e-5, atol=1e-6)
    np.testing.assert_allclose(tracejit.vmap(lambda row: f(row))(x), f(x), rtol=2e-14)


def test_sinc_has_a_slope_near_zero() -> None:
    x = np.array([0.0, 1e-9, -1e-5, 1e-3])
    slope = tracejit.grad(lambda x: np.sinc(x).sum())(x)
    np.testing.assert_allclose(slope, -(np.pi**2) / 3 * x, rtol=1e-5)


def test_huge_arguments_of_bessel_functions() -> None:
    """Where SciPy's have lost the phase."""
    got = tracejit.jit(lambda x: sp.j0(x))(np.array([1e10, 1e15]))
    # cos(x - pi / 4) sqrt(2 / (pi x)), of mpmath.
    np.testing.assert_allclose(got, [2.1755917502468917e-6, 6.156638646885022e-9], rtol=1e-13)


def test_scipy_is_not_imported_before_a_program_uses_it() -> None:
    code = "import sys, numpy as np, tracejit; print('scipy' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
