"""Fourier transforms along several axes, and those of Hermitian data, by transforms along one."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import refuse

__all__ = ["FUNCTIONS"]

_SWAPPED = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def lengths_and_axes(a: Any, s: Any, axes: Any, out: Any) -> Any:
    """For each axis that is transformed its length, None where that follows from the array's, and
    the axis.
    """
    if axes is None and s is None:
        axes = list(range(a.ndim))
    if out is not None or type(axes) not in (tuple, list):
        refuse("a Fourier transform with out=, or with axes that are no sequence")
    for k in axes:
        if not isinstance(k, (int, np.integer)) or not -a.ndim <= k < a.ndim:
            refuse("a Fourier transform along none of the axes")
    if s is None:
        return [(None, k) for k in axes]
    if not all(isinstance(n, (int, np.integer)) for n in s):
        refuse("a Fourier transform of a length that is no int")
    if len(s) != len(axes):
        raise ValueError("Shape and axes have different lengths.")
    return [(a.shape[k] if n == -1 else n, k) for n, k in zip(s, axes, strict=True)]


def along(f: Any, a: Any, pairs: Any, norm: Any) -> Any:
    """`a` transformed by `f` along each of some axes, to a length along each."""
    for n, axis in pairs:
        a = f(a, n, axis, norm)
    return a


def along_all(f: Any) -> Any:
    """A transform along several axes, or all, by one along an axis."""

    def run(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
        a = np.asarray(a)
        return along(f, a, lengths_and_axes(a, s, axes, out)[::-1], norm)

    return run


def rfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """As `fftn` of real numbers: half of the last axis."""
    a = np.asarray(a)
    pairs = lengths_and_axes(a, s, axes, out)
    return along(np.fft.fft, along(np.fft.rfft, a, [pairs[-1]], norm), pairs[-2::-1], norm)


def irfftn(a: Any, s: Any = None, axes: Any = None, norm: Any = None, out: Any = None) -> Any:
    """The inverse of `rfftn`."""
    a = np.asarray(a)
    pairs = lengths_and_axes(a, s, axes, out)
    return along(np.fft.irfft, along(np.fft.ifft, a, pairs[:-1], norm), [pairs[-1]], norm)


def along_two(f: Any) -> Any:
    """A transform along two axes, by one along several."""

    def run(a: Any, s: Any = None, axes: Any = (-2, -1), norm: Any = None, out: Any = None) -> Any:
        return f(a, s, axes, norm, out)

    return run


def swapped(norm: Any, out: Any) -> Any:
    """The normalization of the other direction."""
    if out is not None:
        refuse("a Fourier transform with out=")
    if norm not in _SWAPPED:
        raise ValueError(f'Invalid norm value {norm}; should be "backward", "ortho" or "forward".')
    return _SWAPPED[norm]


def hfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """The real transform of half of Hermitian data."""
    return np.fft.irfft(np.conjugate(a), n, axis, swapped(norm, out))


def ihfft(a: Any, n: Any = None, axis: Any = -1, norm: Any = None, out: Any = None) -> Any:
    """The inverse of `hfft`: half of it."""
    return np.conjugate(np.fft.rfft(np.asarray(a), n, axis, swapped(norm, out)))


fftn, ifftn = along_all(np.fft.fft), along_all(np.fft.ifft)
#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.fft.fft2: along_two(fftn),
    np.fft.fftn: fftn,
    np.fft.hfft: hfft,
    np.fft.ifft2: along_two(ifftn),
    np.fft.ifftn: ifftn,
    np.fft.ihfft: ihfft,
    np.fft.irfft2: along_two(irfftn),
    np.fft.irfftn: irfftn,
    np.fft.rfft2: along_two(rfftn),
    np.fft.rfftn: rfftn,
}
