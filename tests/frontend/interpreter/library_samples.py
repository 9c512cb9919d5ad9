"""Calls of NumPy's Python functions, one for each that is traced from its source, and imports."""

from collections.abc import Callable
from typing import Any

import numpy as np

X = np.array([3.0, 1.0, 2.5, 5.0, 4.0, 2.0])
A = np.arange(12.0).reshape(3, 4) % 5
N = np.where(X == 2.5, np.nan, X)

#: Name of a function -> a call of it, and its argument.
CALLS: dict[str, tuple[Callable[[Any], Any], Any]] = {
    "apply_along_axis": (lambda x: np.apply_along_axis(lambda r: r[::-1] * r.sum(), 1, x), A),
    "apply_over_axes": (lambda x: np.apply_over_axes(np.sum, x, [0, 1]), A),
    "asarray_chkfinite": (lambda x: np.asarray_chkfinite(x), X),
    "astype": (lambda x: np.astype(x, np.float32), X),
    "bincount": (lambda x: (np.bincount([1, 0, 3, 1, 0, 0], x, minlength=9) ** 3).sum(), X),
    "convolve": (lambda x: np.convolve(x, x[1:4], "same"), X),
    "correlate": (lambda x: np.correlate(x[:3], x, "full"), X),
    "digitize": (lambda x: np.digitize(x, [4.0, 2.0, 1.5]), X),
    "fft.fftfreq": (lambda x: np.fft.fftfreq(6, x[0]), X),
    "fft.fftshift": (lambda x: np.fft.fftshift(x), A),
    "fft.ifftshift": (lambda x: np.fft.ifftshift(x, axes=1), A),
    "fft.rfftfreq": (lambda x: np.fft.rfftfreq(6, x[0]), X),
    "histogram": (lambda x: np.histogram(x, 4), X),
    "histogram_bin_edges": (lambda x: np.histogram_bin_edges(x, 4), X),
    "insert": (lambda x: np.insert(x, [1, 3], [8.0, 9.0]), X),
    "interp": (lambda x: np.interp(x / 2, x.cumsum(), x, period=20), X),
    "iscomplex": (lambda x: np.iscomplex(x), X * 1j),
    "isfortran": (lambda x: (np.isfortran(x), np.isfortran(x.T), np.isfortran(x[:, 1:])), A),
    "isin": (lambda x: np.isin(x, [2.0, 3.0]), X),
    "isneginf": (lambda x: np.isneginf(x), np.append(X, -np.inf)),
    "isposinf": (lambda x: np.isposinf(x), np.append(X, np.inf)),
    "isreal": (lambda x: np.isreal(x), X * 1j),
    "linalg.multi_dot": (lambda a: np.linalg.multi_dot([a, a.T, a]), A),
    "nanargmax": (lambda x: np.nanargmax(x), N),
    "nanargmin": (lambda x: np.nanargmin(x), N),
    "percentile": (lambda x: np.percentile(x, [10, 30.0], axis=1), A),
    "piecewise": (lambda x: np.piecewise(x, [x > 2.2], [1.0, lambda t: t * 2]), X),
    "polyadd": (lambda x: np.polyadd(x, x[:3]), X),
    "polyder": (lambda x: np.polyder(x, 2), X),
    "polydiv": (lambda x: np.polydiv(x, x[:2]), X),
    "polyint": (lambda x: np.polyint(x, 2, 1.0), X),
    "polysub": (lambda x: np.polysub(x[:3], x), X),
    "polyval": (lambda x: np.polyval(x, x / 4), X),
    "quantile": (lambda x: np.quantile(x, 0.3, method="hazen"), X),
    "require": (lambda x: np.require(x, np.float32), X),
    "resize": (lambda x: np.resize(x, (4, 5)), X),
    "searchsorted": (lambda x: np.searchsorted(np.sort(x), A, "right"), X),
    "sort_complex": (lambda x: np.sort_complex(x), X),
    "trim_zeros": (lambda x: np.trim_zeros(x * (x > 2) * (x < 5)), X),
    "bartlett": (lambda x: np.bartlett(x.astype(int).item(0)), X),
    "blackman": (lambda x: np.blackman(7)[1] * np.blackman(x.astype(int).item(3)), X),
    "fft.fft2": (lambda x: np.fft.fft2(x, s=(-1, 6)), A),
    "fft.fftn": (lambda x: np.fft.fftn(x, axes=(1,), norm="ortho"), A),
    "fft.hfft": (lambda x: np.fft.hfft(x), X),
    "fft.ifft2": (lambda x: np.fft.ifft2(x), A),
    "fft.ifftn": (lambda x: np.fft.ifftn(x), A),
    "fft.ihfft": (lambda x: np.fft.ihfft(x, 5), X),
    "fft.irfft2": (lambda x: np.fft.irfft2(x), A),
    "fft.irfftn": (lambda x: np.fft.irfftn(x, s=(3, 7), axes=(0, 1)), A),
    "fft.rfft2": (lambda x: np.fft.rfft2(x, axes=(1, 0)), A),
    "fft.rfftn": (lambda x: np.fft.rfftn(x, norm="forward"), A),
    "hamming": (lambda x: np.hamming(x.astype(int).item(3)), X),
    "hanning": (lambda x: np.hanning(x.astype(int).item(3)), X),
    "histogram2d": (lambda x: np.histogram2d(x, x[::-1], 3), X),
    "histogramdd": (lambda x: np.histogramdd(x, (3, [0.0, 1.0, 5.0], 2, 2), density=True), A),
    "intersect1d": (lambda x: np.intersect1d(x, [2.0, 4.0, 7.0], return_indices=True), X),
    "kaiser": (lambda x: np.kaiser(5, x[0]), X),
    "lexsort": (lambda x: np.lexsort((x, x > 2, x.astype(int) % 2)), X),
    "linalg.cond": (lambda x: (np.linalg.cond(x), np.linalg.cond(np.stack([x, x * 0]), -2)), A),
    "linalg.matrix_rank": (lambda x: np.linalg.matrix_rank(x - 2), A),
    "linalg.pinv": (lambda x: np.linalg.pinv(x), A),
    "linalg.svdvals": (lambda x: np.linalg.svdvals(x), A),
    "nanmedian": (lambda x: np.nanmedian(x), N),
    "nanpercentile": (lambda x: np.nanpercentile(x, [20.0, 60]), N),
    "nanquantile": (lambda x: np.nanquantile(x, 0.3), N),
    "setdiff1d": (lambda x: np.setdiff1d(x, [2.0, 4.0, 7.0]), X),
    "setxor1d": (lambda x: np.setxor1d(x, [2.0, 4.0, 7.0]), X),
    "union1d": (lambda x: np.union1d(x, [2.0, 4.0, 7.0]), X),
    "unique": (lambda x: np.unique(x % 3, True, True, True), A),
    "unique_all": (lambda x: tuple(np.unique_all(x)), A),
    "unique_counts": (lambda x: tuple(np.unique_counts(x)), N),
    "unique_inverse": (lambda x: tuple(np.unique_inverse(x)), A),
    "unique_values": (lambda x: np.unique_values(x), N),
    "unwrap": (lambda x: np.unwrap(x * 3), X),
    "vander": (lambda x: np.vander(x, 3), X),
}

#: Those of which the derivative is taken.
SMOOTH = (
    "apply_along_axis apply_over_axes bincount convolve correlate interp fft.fftfreq fft.fftshift "
    "fft.ifftshift histogram_bin_edges insert linalg.multi_dot percentile piecewise "
    "polyadd polyder polyint polysub polyval quantile resize unwrap vander".split()
)


def imports_a_module(x: Any) -> Any:
    import math
    import os.path as path

    import numpy.linalg

    return x * math.pi + len(path.sep) + numpy.linalg.norm(x)


def imports_names(x: Any) -> Any:
    from math import pi as p
    from math import sin

    from numpy import linalg, sqrt

    return sqrt(x) * p + sin(1.0) * linalg.norm(x)


def imports_relatively(x: Any) -> Any:
    from . import library_samples
    from .library_samples import X as given

    return x + given + library_samples.A[0, 1]


def imports_in_a_branch(x: Any) -> Any:
    if x.sum() > 0:
        from math import e as factor
    else:
        from math import pi as factor
    return x * factor


def falls_back_on_what_is_there(x: Any) -> Any:
    try:
        import no_such_module as m
    except ImportError:
        m = np
    return m.sin(x)


IMPORTS = [imports_a_module, imports_names, imports_relatively, imports_in_a_branch]
