"""Derivatives of SciPy's transforms, filters and integrals of signals, and their batches."""

from typing import Any

import numpy as np
import pytest
import scipy.fft as sf
import scipy.integrate as si
import scipy.signal as ss

from tests.ops.host.test_host_derivatives import (  # noqa: F401 - a fixture
    F,
    check,
    numbers,
    same_numbers,
)
from tests.ops.host.test_scipy_derivatives import Case, run_case
from tracejit.errors import Underivable

TRANSFORMS: list[Case] = [
    (lambda x: sf.fft(x), ((5,),), "fc"),
    (lambda x: sf.fft(x, 8, axis=0, norm="ortho"), ((5, 2),), "fc"),
    (lambda x: sf.ifft2(x), ((3, 4),), "fc"),
    (lambda x: sf.fftn(x, s=(3, 5), axes=(0, 1)), ((4, 4),), "fc"),
    (lambda x: sf.rfft(x), ((6,),), "f"),
    (lambda x: sf.rfft2(x), ((3, 5),), "f"),
    (lambda x: sf.irfft(x), ((4,),), "c"),
    (lambda x: sf.irfftn(x, s=(3, 5)), ((3, 4),), "c"),
    (lambda x: sf.hfft(x, 5), ((4,),), "c"),
    (lambda x: sf.ihfft(x), ((5,),), "f"),
    (lambda x: sf.fftshift(x), ((5,),), "fc"),
    (lambda x: sf.ifftshift(x, axes=(1,)), ((2, 5),), "f"),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("k", range(len(TRANSFORMS)))
def test_fourier_transforms(k: int) -> None:
    run_case(TRANSFORMS[k])


@pytest.mark.sampled(16)
@pytest.mark.parametrize("name", ["dct", "dst", "idct", "idst"])
@pytest.mark.parametrize("kind", [1, 2, 3, 4])
def test_cosine_and_sine_transforms(name: str, kind: int) -> None:
    f, g = getattr(sf, name), getattr(sf, f"{name}n")
    for norm in ("backward", "forward", "ortho"):
        check(lambda x, norm=norm: f(x, kind, norm=norm), numbers(4), order=1)
    check(lambda x: f(x, kind, norm="ortho", orthogonalize=False), numbers(5), order=1)
    check(lambda x: f(x, kind, 6, axis=0), numbers(4, 2, dtype=np.complex128))
    check(lambda x: f(x, kind, 3), numbers(2, 4, dtype=np.float32), order=1)
    run_case((lambda x: g(x, kind), ((3, 4),), "f"))
    check(lambda x: g(x, kind, s=(3, 4), axes=(0, 2), norm="ortho"), numbers(2, 2, 5), order=1)


def test_transforms_that_have_no_rule() -> None:
    with pytest.raises(Underivable, match="orthogonalize"):
        check(lambda x: sf.dct(x, orthogonalize=True), numbers(4))


LENGTHS = [((6,), (3,)), ((3,), (6,)), ((5,), (4,)), ((4, 5), (2, 3)), ((2, 3), (4, 4))]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("k", range(len(LENGTHS)))
def test_convolutions(k: int, mode: str) -> None:
    functions: list[F] = [ss.convolve, ss.fftconvolve, ss.correlate]
    if k > 2:
        functions += [ss.convolve2d, ss.correlate2d]
    for f in functions:
        for dtype in (np.float64, np.complex128):
            a, b = (numbers(*shape, dtype=dtype) for shape in LENGTHS[k])
            check(lambda a, b, f=f: f(a, b, mode=mode), a, b)
    a, b = (numbers(*shape, dtype=np.float32) for shape in LENGTHS[k])
    check(lambda a, b: ss.convolve(a, b, mode), a, b, order=1)


FILTERS: list[Case] = [
    (lambda b, a, x: ss.lfilter(b / 4, [2.0, 0.4, -0.3] + a / 9, x), ((2,), (3,), (6,)), "fc"),
    (lambda x: ss.lfilter([0.5, 0.2], [1.5, -0.3], x, axis=0), ((5, 2),), "fc"),
    (lambda a, x: ss.lfilter([1 - a / 9], [1, -a / 9], x), ((), (5,)), "f"),
    (lambda b, x: ss.lfilter(b, 1.0 + np.zeros(1), x), ((4,), (3,)), "f"),
    (lambda x: ss.lfilter(x, [1.0, 0.3], x), ((3,),), "f"),
    (lambda x: ss.sosfilt([[0.5, 0.2, 0.1, 1, -0.3, 0.2]], x), ((2, 6),), "f"),
    (lambda x: ss.hilbert(x), ((6,),), "f"),
    (lambda x: ss.hilbert(x, 5, axis=0), ((6, 2),), "f"),
    (lambda x: ss.detrend(x), ((6,),), "f"),
    (lambda x: ss.detrend(x, axis=0, type="constant"), ((5, 2),), "f"),
    (lambda x: ss.convolve(x, [1.0, 2, -1], "same"), ((5,),), "f"),
    (lambda x, y: ss.correlate(x, y), ((5,), (3,)), "fc"),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("k", range(len(FILTERS)))
def test_filters(k: int) -> None:
    run_case(FILTERS[k])


def test_forms_without_rules_are_errors() -> None:
    x, z = numbers(6), numbers(1)
    with pytest.raises(Underivable, match="zi"):
        check(lambda x, z: ss.lfilter([0.5], [1, 0.3], x, zi=z)[0], x, z)
    with pytest.raises(Underivable, match="zi"):
        check(lambda x: ss.sosfilt([[1, 0, 0, 1, 0.2, 0]], x, zi=[[0.5, 0.1]])[0], x)
    with pytest.raises(Underivable, match="fillvalue"):
        check(lambda a: ss.convolve2d(a, a, fillvalue=2.0), numbers(3, 2))
    with pytest.raises(Underivable, match="axes"):
        check(lambda a: ss.fftconvolve(a, a, axes=(0,)), numbers(3, 2))


def increasing(x: Any) -> Any:
    return np.cumsum(1.5 + np.tanh(x), axis=-1)


INTEGRALS: list[Case] = [
    (lambda y: si.trapezoid(y), ((5,),), "fc"),
    (lambda y, x: si.trapezoid(y, increasing(x), axis=0), ((4, 2), (4,)), "f"),
    (lambda y, d: si.trapezoid(y, dx=d), ((2, 5), ()), "f"),
    (lambda y: si.cumulative_trapezoid(y, axis=0, initial=0), ((4, 2),), "fc"),
    (lambda y, x: si.cumulative_trapezoid(y, increasing(x)), ((2, 4), (2, 4)), "f"),
    (lambda y: si.simpson(y), ((5,),), "fc"),
    (lambda y: si.simpson(y, dx=0.5, axis=0), ((6, 2),), "f"),
    (lambda y: si.simpson(y), ((2,),), "f"),
    (lambda y, x: si.simpson(y, increasing(x)), ((5,), (5,)), "f"),
    (lambda y, x: si.simpson(y, increasing(x)), ((3, 6), (6,)), "f"),
    (lambda y, x: si.simpson(y, x=increasing(x)), ((2, 4), (2, 4)), "f"),
    (lambda y: si.cumulative_simpson(y), ((5,),), "f"),
    (lambda y: si.cumulative_simpson(y, dx=0.5, axis=0, initial=0), ((6, 2),), "f"),
    (lambda y, x: si.cumulative_simpson(y, x=increasing(x)), ((6,), (6,)), "f"),
    (lambda y, x: si.cumulative_simpson(y, x=increasing(x), initial=2.0), ((2, 5), (5,)), "f"),
]


@pytest.mark.sampled(16)
@pytest.mark.parametrize("k", range(len(INTEGRALS)))
def test_integrals(k: int) -> None:
    run_case(INTEGRALS[k])
