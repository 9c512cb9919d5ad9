"""Derivatives of whole NumPy programs, those of calls through NumPy among them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.check_grads import check_grads, run
from tracejit.errors import Underivable
from tracejit.ir.graph import Graph
from tracejit.transforms.reverse import vjp_graph

RNG = np.random.default_rng(7)
F = Callable[..., Any]


def numbers(*shape: int, dtype: Any = np.float64) -> Any:
    x = RNG.normal(size=shape)
    return (x + 1j * RNG.normal(size=shape) if np.dtype(dtype).kind == "c" else x).astype(dtype)


def graph_of(f: F, *args: Any) -> Graph:
    return tracejit.jit(f).trace(*args)


def check(f: F, *args: Any, order: int = 2) -> None:
    check_grads(graph_of(f, *args), list(args), order)


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


@pytest.mark.parametrize("k", range(len(TRANSFORMS)))
def test_fourier_transforms(k: int) -> None:
    f, shape, kinds = TRANSFORMS[k]
    for kind in kinds:
        check(f, numbers(*shape, dtype={"f": np.float64, "c": np.complex128}[kind]))
        check(f, numbers(*shape, dtype={"f": np.float32, "c": np.complex64}[kind]), order=1)
