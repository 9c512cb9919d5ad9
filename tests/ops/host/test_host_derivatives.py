"""Derivatives of whole NumPy programs, those of calls through NumPy among them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.ops.host.eager_agreement import check_eagerly
from tests.support.check_grads import check_grads, run
from tracejit.errors import Underivable
from tracejit.ir.graph import Graph
from tracejit.transforms.autodiff.reverse import vjp_graph

pytestmark = pytest.mark.sampled(14)

RNG = np.random.default_rng(7)
START = RNG.bit_generator.state
F = Callable[..., Any]


@pytest.fixture(autouse=True)
def same_numbers() -> None:
    """Every test has the same random numbers, whichever ran before it."""
    RNG.bit_generator.state = START


def numbers(*shape: int, dtype: Any = np.float64) -> Any:
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def graph_of(f: F, *args: Any) -> Graph:
    return tracejit.jit(f).trace(*args)


def check(f: F, *args: Any, order: int = 2) -> None:
    graph = graph_of(f, *args)
    check_grads(graph, list(args), order)
    check_eagerly(f, graph, *args)


def gradient(f: F, *args: Any) -> Any:
    """The gradient of a function with one real result."""
    graph = graph_of(f, *args)
    derived = vjp_graph(graph, [np.asarray(x).dtype.kind in "fc" for x in args])
    (y,) = run(graph, args)
    found = run(derived, [*args, np.ones_like(y)[()]])[1:]
    return found[0] if len(found) == 1 else found


TRANSFORMS: list[tuple[F, tuple[int, ...], str]] = [
    (lambda x: np.fft.fft(x), (5,), "fc"),
    (lambda x: np.fft.fft(x, n=8, norm="ortho"), (5,), "fc"),
    (lambda x: np.fft.fft(x, 3, axis=0, norm="forward"), (5, 2), "fc"),
    (lambda x: np.fft.ifft(x, 7), (2, 5), "fc"),
    (lambda x: np.fft.fft2(x), (2, 3, 4), "fc"),
    (lambda x: np.fft.ifft2(x, (4, 2), axes=(0, 2)), (2, 3, 4), "fc"),
    (lambda x: np.fft.fftn(x, axes=(0,)), (3, 4), "fc"),
    (lambda x: np.fft.fftn(x, s=(3, 5), axes=(0, 1), norm="ortho"), (4, 4), "fc"),
    (lambda x: np.fft.ifftn(x), (3, 4), "fc"),
    (lambda x: np.fft.rfft(x), (6,), "f"),
    (lambda x: np.fft.rfft(x, norm="ortho"), (5,), "f"),
    (lambda x: np.fft.rfft(x, 4, axis=0), (6, 2), "f"),
    (lambda x: np.fft.rfft(x, 9), (2, 6), "f"),
    (lambda x: np.fft.rfft2(x), (3, 4), "f"),
    (lambda x: np.fft.rfftn(x, axes=(1, 0)), (3, 4), "f"),
    (lambda x: np.fft.rfftn(x, s=(5, 6), axes=(0, 1), norm="forward"), (3, 4), "f"),
    (lambda x: np.fft.irfft(x), (4,), "c"),
    (lambda x: np.fft.irfft(x, 7), (4,), "c"),
    (lambda x: np.fft.irfft(x, 5, norm="ortho"), (4,), "c"),
    (lambda x: np.fft.irfft(x, 12, axis=0, norm="forward"), (4, 2), "c"),
    (lambda x: np.fft.irfft2(x), (3, 4), "c"),
    (lambda x: np.fft.irfftn(x, s=(3, 5), axes=(0, 1)), (3, 4), "c"),
    (lambda x: np.fft.hfft(x), (4,), "c"),
    (lambda x: np.fft.hfft(x, 5, norm="forward"), (4,), "c"),
    (lambda x: np.fft.ihfft(x), (5,), "f"),
    (lambda x: np.fft.ihfft(x, 8, norm="ortho"), (5,), "f"),
    (lambda x: np.fft.fftshift(x), (5,), "fc"),
    (lambda x: np.fft.ifftshift(x, axes=(1,)), (2, 5), "fc"),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("k", range(len(TRANSFORMS)))
def test_fourier_transforms(k: int) -> None:
    f, shape, kinds = TRANSFORMS[k]
    for kind in kinds:
        check(f, numbers(*shape, dtype={"f": np.float64, "c": np.complex128}[kind]))
        check(f, numbers(*shape, dtype={"f": np.float32, "c": np.complex64}[kind]), order=1)


# Decompositions -----------------------------------------------------------------------------------


def spread(m: int, n: int, dtype: Any = np.float64, *stack: int) -> Any:
    """Matrices whose singular values, and the gaps between them, are of order one."""
    x = numbers(*stack, m, n, dtype=dtype)
    u, _, vh = np.linalg.svd(x, full_matrices=False)
    return (u * (1.0 + 0.7 * np.arange(min(m, n)))) @ vh


KINDS = pytest.mark.parametrize("dtype", [np.float64, np.complex128])
SHAPES = pytest.mark.parametrize("shape", [(3, 3), (4, 2), (2, 4)])


@SHAPES
def test_singular_values_and_vectors(shape: Any) -> None:
    x = spread(*shape)
    check(lambda x: np.linalg.svd(x, full_matrices=False), x)
    check(lambda x: np.linalg.svd(x, compute_uv=False), x)
    check(lambda x: np.linalg.svdvals(x), x)
    check(lambda x: np.linalg.svd(x)[1], x, order=1)
    check(lambda x: np.linalg.svd(x, full_matrices=False)[0], np.stack([x, 2 * x + 0.1]))


@SHAPES
def test_singular_vectors_of_complex_matrices(shape: Any) -> None:
    x = spread(*shape, np.complex128)

    def f(x):
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        return s, np.abs(u) ** 2, np.abs(vh) ** 2, u[:, None, :] * vh.T[None, :, :]

    check(f, x)
    check(lambda x: np.linalg.svdvals(x), x)


def test_the_rest_of_a_basis_has_no_cotangent() -> None:
    with pytest.raises(Underivable, match="full_matrices"):
        gradient(lambda x: np.linalg.svd(x)[0].sum(), spread(4, 2))


@KINDS
def test_eigenvalues_of_hermitian_matrices(dtype: Any) -> None:
    x = spread(3, 3, dtype)
    x = x + np.conj(x.T) + np.diag([1.0, 5, 9])

    def f(x):
        w, v = np.linalg.eigh(x + np.conj(x.T))
        return w, v[:, None, :] * np.conj(v)[None, :, :]

    check(f, x)
    check(lambda x: np.linalg.eigvalsh(x + np.conj(x.T), "U"), x)
    stack = np.stack([x, 3 * x])
    check(lambda x: np.linalg.eigvalsh(x + np.conj(np.swapaxes(x, 1, 2))), stack)


def test_equal_eigenvalues() -> None:
    g = gradient(lambda x: np.sum(np.linalg.eigvalsh(x)), np.eye(3))
    np.testing.assert_allclose(g, np.eye(3), atol=1e-15)
    g = gradient(lambda x: np.sum(np.linalg.eigh(x)[1] ** 2), np.eye(3))
    assert np.isfinite(g).all()
    g = gradient(lambda x: np.linalg.svd(x)[1].sum(), np.zeros((2, 2)))
    assert np.isfinite(g).all()


@pytest.mark.sampled(6, kind=lambda dtype, **_: str(dtype))
@KINDS
@SHAPES
def test_qr(shape: Any, dtype: Any) -> None:
    x = spread(*shape, dtype)
    check(lambda x: np.linalg.qr(x), x)
    check(lambda x: np.linalg.qr(x, mode="r"), x)
    check(lambda x: np.linalg.qr(x)[0], np.stack([x, x * 2 + 0.3]))
    if shape[0] <= shape[1]:
        check(lambda x: np.linalg.qr(x, "complete"), x)
    else:
        with pytest.raises(Underivable, match="complete"):
            check(lambda x: np.linalg.qr(x, "complete"), x)


@KINDS
def test_general_eigenvalues(dtype: Any) -> None:
    x = np.diag([1.0, 3, 6]) + numbers(3, 3, dtype=dtype) / 4
    check(lambda x: np.linalg.eigvals(x), x)

    def f(x):
        w, v = np.linalg.eig(x)
        return w, np.abs(v) ** 2

    check(f, x)
    real = np.diag([1.0, 2, 4]) + numbers(3, 3) / 10
    check(lambda x: np.linalg.eig(x), real)
    check(lambda x: np.linalg.eigvals(x), np.stack([real, real * 2]))


@pytest.mark.sampled(6)
@KINDS
@SHAPES
def test_functions_of_singular_values(shape: Any, dtype: Any) -> None:
    x = spread(*shape, dtype)
    check(lambda x: np.linalg.pinv(x), x)
    check(lambda x: np.linalg.pinv(x, 0.5), x)
    check(lambda x: np.linalg.pinv(np.stack([x, 2 * x]), rtol=0.3), x)
    check(lambda x: np.linalg.norm(x, 2), x)
    check(lambda x: np.linalg.norm(x, -2), x)
    check(lambda x: np.linalg.norm(x, "nuc"), x)
    check(lambda x: np.linalg.norm(x, 2, axis=(0, 2), keepdims=True), np.stack([x, 2 * x], 1))
    check(lambda x: np.linalg.cond(x), x)
    check(lambda x: np.linalg.cond(x, -2), x)
    b = numbers(shape[0], 2, dtype=dtype)
    check(lambda x, b: np.linalg.lstsq(x, b)[0], x, b)
    check(lambda x, b: np.linalg.lstsq(x, b, rcond=0.5)[0], x, b)
    check(lambda x, b: np.linalg.lstsq(x, b)[0], x, b[:, 0].copy())


@KINDS
def test_chains_of_products(dtype: Any) -> None:
    a, b = numbers(2, 3, dtype=dtype), numbers(3, 3, dtype=dtype)
    check(lambda a, b: np.linalg.multi_dot([a, b, b, a.T]), a, b)
    check(lambda a, b: np.linalg.multi_dot([a[0], b, b[1]]), a, b)


# Determinants and norms ---------------------------------------------------------------------------


@KINDS
def test_determinants(dtype: Any) -> None:
    for x in (spread(3, 3, dtype), spread(2, 2, dtype, 4)):
        check(lambda x: np.linalg.det(x), x)
        check(lambda x: np.linalg.slogdet(x), x)
    x = spread(3, 3)
    g = gradient(lambda x: np.linalg.det(x), x)
    np.testing.assert_allclose(g, np.linalg.det(x) * np.linalg.inv(x).T, rtol=1e-12)


NORMS: list[F] = [
    lambda x: np.linalg.norm(x),
    lambda x: np.linalg.norm(x, axis=0).sum(),
    lambda x: np.linalg.norm(x, axis=(0, 1)),
    lambda x: np.linalg.norm(x, "fro"),
    lambda x: np.linalg.norm(x[0]),
    lambda x: np.linalg.norm(x[0], 2),
    lambda x: np.linalg.norm(x[0], 3),
    lambda x: np.linalg.norm(x[0], 1),
    lambda x: np.linalg.norm(x[0], np.inf),
    lambda x: np.linalg.norm(x, 1),
    lambda x: np.linalg.norm(x, 2),
    lambda x: np.linalg.norm(x, "nuc"),
    lambda x: np.std(x),
    lambda x: np.std(x, axis=1).sum(),
]


@pytest.mark.sampled(22, kind=lambda k, **_: str(k))
@KINDS
@pytest.mark.parametrize("k", range(len(NORMS)))
def test_norms(k: int, dtype: Any) -> None:
    x = numbers(3, 4, dtype=dtype)
    check(NORMS[k], x + x / np.abs(x))
    g = gradient(NORMS[k], np.zeros((3, 4), dtype))
    assert np.isfinite(g).all()
    if k not in (10, 11):  # any subgradient
        assert not g.any()
