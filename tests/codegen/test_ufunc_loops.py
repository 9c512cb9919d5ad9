"""Decompositions and Fourier transforms by NumPy's own loops: bit for bit what NumPy gives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit.link.ufunc_loops import loop_of

NORMS = (None, "backward", "ortho", "forward")
TRANSFORMS = (np.fft.fft, np.fft.ifft, np.fft.rfft, np.fft.irfft)
DTYPES = ("?", "i8", "f4", "f8", "c8", "c16")


def matrix(*shape: int) -> Any:
    random = np.random.default_rng(3)
    return random.normal(size=shape) + 1j * random.normal(size=shape)


def of_dtype(x: Any, dtype: str) -> Any:
    return (x if dtype[0] == "c" else x.real * 4).astype(dtype)


def check(f: Callable[..., Any], *args: Any, strict: bool = True) -> None:
    """The same bits as NumPy's, twice, without a call of Python."""
    jitted: Any = tracejit.jit(f, strict=strict)
    for _ in range(2):
        assert_same(f(*args), jitted(*args))


DECOMPOSED: tuple[Callable[[Any], Any], ...] = (
    lambda a: np.linalg.eigh(a + np.conj(np.swapaxes(a, -1, -2))),
    lambda a: np.linalg.eigh(a, UPLO="U"),
    lambda a: np.linalg.eigvalsh(a),
    lambda a: np.linalg.svd(a),
    lambda a: np.linalg.svd(a[..., 1:], full_matrices=False),
    lambda a: np.linalg.svd(a[..., 1:, ::2], compute_uv=False),
    lambda a: np.linalg.svd(np.swapaxes(a, -1, -2)[..., :2, :]),
)


@pytest.mark.sampled(9)
@pytest.mark.parametrize("f", DECOMPOSED)
@pytest.mark.parametrize("dtype", DTYPES)
def test_decompositions(f: Callable[[Any], Any], dtype: str) -> None:
    for shape in ((4, 4), (2, 3, 3)):
        check(f, of_dtype(matrix(*shape), dtype))


def test_stacks_of_stacks_and_empty_stacks() -> None:
    for shape in ((2, 3, 2, 2), (0, 3, 3), (2, 0, 3, 3)):
        check(lambda a: np.linalg.svd(a), matrix(*shape))
        check(lambda a: np.fft.fft(a), matrix(*shape))


@pytest.mark.sampled(48)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_transforms(transform: Any, norm: Any, dtype: str) -> None:
    if transform is np.fft.rfft and dtype[0] == "c":
        return
    x = of_dtype(matrix(3, 7), dtype)
    # NumPy multiplies by a number of single precision in a loop of double precision.
    strict = dtype != "f4" or transform is np.fft.rfft
    check(lambda x: transform(x, norm=norm), x, strict=strict)
    check(lambda x, n: transform(x[1], n, norm=norm), x, 5, strict=strict)
    check(lambda x: transform(x[:, ::2], n=4, axis=0, norm=norm), x, strict=strict)
    check(lambda x: transform(x.T, n=12, norm=norm), x, strict=strict)


def test_of_varying_sizes() -> None:
    jitted: Any = tracejit.jit(lambda x, n: (np.fft.rfft(x[:n]), np.fft.irfft(x, n)), strict=True)
    x = matrix(40).real
    for n in (8, 9, 15, 30, 31, 40):
        assert_same((np.fft.rfft(x[:n]), np.fft.irfft(x, n)), jitted(x, n))


def test_what_numpy_refuses() -> None:
    """The compiled program leaves such calls to NumPy."""
    for f in (np.linalg.svd, np.linalg.eigh, np.linalg.eigvalsh):
        jitted: Any = tracejit.jit(lambda a, f=f: f(a))
        a = np.eye(3)
        assert_same(f(a), jitted(a))
        a[0, 0] = np.nan
        try:
            expected = f(a)
        except np.linalg.LinAlgError as e:
            with pytest.raises(np.linalg.LinAlgError, match=str(e)):
                jitted(a)
        else:
            assert_same(expected, jitted(a))
    jitted = tracejit.jit(lambda x, n: np.fft.fft(x, n))
    assert_same(np.fft.fft(np.ones(4), 3), jitted(np.ones(4), 3))
    for n in (0, -2):
        with pytest.raises(ValueError, match="Invalid number of FFT data points"):
            jitted(np.ones(4), n)


def test_flags_before_the_call_are_no_failure() -> None:
    def f(a: Any) -> Any:
        b = a - a.max() * 0 * np.inf
        return np.isnan(b).all(), np.linalg.svd(a, compute_uv=False)

    with np.errstate(invalid="ignore"):
        check(f, matrix(3, 3).real)


def test_transposed_in_gradients() -> None:
    x = matrix(8).real.astype("f4")
    gradient = tracejit.grad(lambda x: (np.abs(np.fft.rfft(x)) ** 2).sum())(x)
    assert gradient.dtype == np.float32
    wide: Any = tracejit.grad(lambda x: (np.abs(np.fft.rfft(x)) ** 2).sum())(x.astype(float))
    np.testing.assert_allclose(gradient, wide, rtol=1e-5)


def test_no_loop_of_other_dtypes() -> None:
    assert loop_of(np.add, "dd->d") is not None
    assert loop_of(np.add, "dd->f") is None


SYSTEMS: tuple[Callable[..., Any], ...] = (
    np.linalg.solve,
    lambda a, b: np.linalg.solve(np.swapaxes(a, -1, -2)[..., ::-1, :], b),
    lambda a, b: np.linalg.inv(a),
)


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", DTYPES[2:])
@pytest.mark.parametrize("f", SYSTEMS)
def test_stacks_of_systems(f: Callable[..., Any], dtype: str) -> None:
    """Also of operands that are repeated along axes of the stack."""
    a = of_dtype(matrix(2, 3, 4, 4), dtype) + 9 * np.eye(4, dtype=dtype)
    b = of_dtype(matrix(3, 4, 2), dtype)
    for args in ((a, b), (a, b[0, :, 0]), (a[0], b[:1]), (a[:1], a), (a[0, :1], b)):
        check(lambda a, b: f(a, b), *args)


@pytest.mark.parametrize("dtype", DTYPES[2:])
def test_stacks_of_factors(dtype: str) -> None:
    a = of_dtype(matrix(2, 3, 4, 4), dtype)
    a = a @ np.conj(np.swapaxes(a, -1, -2)) + np.eye(4, dtype=dtype)
    check(lambda a: (np.linalg.cholesky(a), np.linalg.cholesky(a, upper=True)), a)


def test_singular_systems_of_a_stack() -> None:
    jitted: Any = tracejit.jit(lambda a: np.linalg.inv(a))
    a = np.stack([np.eye(3), np.zeros((3, 3))])
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        jitted(a)
    assert_same(np.linalg.inv(a[:1]), jitted(a[:1]))
    assert_same(np.linalg.inv(a[:, :0, :0]), jitted(a[:, :0, :0]))
