"""Histograms: how many numbers lie in each bin, and where bins begin and end."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import elements_at, refuse, require
from tracejit.frontend.prelude.searching import counted

__all__ = ["FUNCTIONS"]


def flattened(a: Any, weights: Any) -> Any:
    """The numbers and their weights along one axis. Raises ValueError."""
    a = np.asarray(a)
    if a.dtype.kind not in "biufc":
        refuse("np.histogram of such elements")
    if a.dtype.kind == "b":
        a = a.astype(np.uint8)
    if weights is None:
        return a.ravel(), None
    weights = np.asarray(weights)
    if weights.shape != a.shape:
        raise ValueError("weights should have the same shape as a.")
    if weights.dtype.kind not in "biufc":
        refuse("np.histogram with such weights")
    return a.ravel(), weights.ravel()


def outer_edges(a: Any, range: Any) -> Any:
    """Where the first bin begins and the last one ends. Raises ValueError."""
    if range is not None:
        first, last = range
        if np.ndim(first) or np.ndim(last):
            refuse("np.histogram with such a range")
        if first > last:
            raise ValueError("max must be larger than min in range parameter.")
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"supplied range of [{first}, {last}] is not finite")
    elif a.size == 0:
        first, last = 0, 1
    elif a.dtype.kind in "iu":
        # The ends of equal integers would be floats.
        first, last = a.min(), a.max()
        require(first != last)
        return first, last
    else:
        first, last = a.min(), a.max()
        if not (np.isfinite(first) and np.isfinite(last)):
            raise ValueError(f"autodetected range of [{first}, {last}] is not finite")
    return (first - 0.5, last + 0.5) if first == last else (first, last)


def difference(a: Any, b: Any) -> Any:
    """`a - b` of numbers of which no integers overflow: `b` is the least."""
    dtype = np.result_type(a, b)
    if dtype.kind != "i":
        return np.subtract(a, b)
    unsigned = np.dtype(f"u{dtype.itemsize}")
    return np.subtract(a, b, casting="unsafe", dtype=unsigned)


def bins_of(a: Any, bins: Any, range: Any, weights: Any) -> Any:
    """The edges of bins; where all are equally wide, also the ends and how many there are."""
    if np.ndim(bins) == 0 and (
        a.dtype.kind == "c" or weights is not None and weights.dtype.kind == "c"
    ):
        refuse("np.histogram of complex numbers")
    if type(bins) is str:
        if weights is not None:
            raise TypeError(
                "Automated estimation of the number of bins is not supported for weighted data"
            )
        first, last = outer_edges(a, range)
        count = estimated_count(a, bins, first, last, range)
    elif np.ndim(bins) == 1:
        edges = np.asarray(bins)
        if (edges[:-1] > edges[1:]).any():
            raise ValueError("`bins` must increase monotonically, when an array")
        return edges, None
    elif np.ndim(bins) > 1:
        raise ValueError("`bins` must be 1d, when an array")
    elif np.asarray(bins).dtype.kind == "f":
        raise TypeError("`bins` must be an integer, a string, or an array")
    elif type(bins) is not int:
        refuse("np.histogram with such bins")
    else:
        count = bins
        if count < 1:
            raise ValueError("`bins` must be positive, when an integer")
        first, last = outer_edges(a, range)
    dtype = np.result_type(first, last, a)
    if dtype.kind in "iu":
        dtype = np.result_type(dtype, float)
    edges = evenly(first, last, count).astype(dtype, copy=False)
    if (edges[:-1] >= edges[1:]).any():
        raise ValueError(f"Too many bins for data range. Cannot create {count} finite-sized bins.")
    return edges, (first, last, count)


def evenly(first: Any, last: Any, count: Any) -> Any:
    """As `np.linspace` with one number more, of a count that data may say."""
    dtype = np.result_type(first, last, 1.0)
    edges = np.arange(count + 1).astype(dtype) * (np.subtract(last, first, dtype=dtype) / count)
    edges = edges + first
    edges[-1] = last
    return edges


def estimated_count(a: Any, rule: str, first: Any, last: Any, range: Any) -> Any:
    """How many bins a rule wants for numbers between two."""
    if rule not in _RULES:
        raise ValueError(f"{rule!r} is not a valid estimator for `bins`")
    if rule == "stone":
        refuse("np.histogram with bins='stone'")
    if range is not None:
        a = a[(a >= first) & (a <= last)]
    if a.size == 0:
        return 1
    width = _RULES[rule](a)
    if a.dtype.kind in "iu":
        width = np.where((width > 0) & (width < 1), 1, width)
    if width == 0:
        return 1
    return int(np.ceil(difference(last, first) / width))


def spread(x: Any) -> Any:
    """From the least number to the largest."""
    return difference(x.max(), x.min())


def width_auto(x: Any) -> Any:
    """The lesser of the widths by Freedman and Diaconis, not too small, and by Sturges."""
    return np.minimum(np.maximum(width_fd(x), width_sqrt(x) / 2), width_sturges(x))


def width_doane(x: Any) -> Any:
    """Sturges' width, with more bins for skewed numbers."""
    n = x.size
    if n <= 2:
        return 0.0
    sigma = np.std(x)
    if not sigma > 0:
        return 0.0
    skew = np.mean(((x - np.mean(x)) / sigma) ** 3)
    error = np.sqrt(6.0 * (n - 2) / ((n + 1.0) * (n + 3)))
    return spread(x) / (1.0 + np.log2(n) + np.log2(1.0 + np.absolute(skew) / error))


def width_fd(x: Any) -> Any:
    """The width by Freedman and Diaconis, of the inner half of the numbers."""
    upper, lower = np.percentile(x, [75, 25])
    return 2.0 * (upper - lower) * x.size ** (-1.0 / 3.0)


def width_rice(x: Any) -> Any:
    """The width of two bins for each unit of the cube root."""
    return spread(x) / (2.0 * x.size ** (1.0 / 3))


def width_scott(x: Any) -> Any:
    """The width that is best for normal numbers."""
    return (24.0 * np.pi**0.5 / x.size) ** (1.0 / 3.0) * np.std(x)


def width_sqrt(x: Any) -> Any:
    """The width of as many bins as the square root says."""
    return spread(x) / np.sqrt(x.size)


def width_sturges(x: Any) -> Any:
    """The width of as many bins as the logarithm says."""
    return spread(x) / (np.log2(x.size) + 1.0)


#: Rule -> the width of bins that it wants.
_RULES: dict[str, Any] = {
    "auto": width_auto,
    "doane": width_doane,
    "fd": width_fd,
    "rice": width_rice,
    "scott": width_scott,
    "sqrt": width_sqrt,
    "stone": None,
    "sturges": width_sturges,
}


def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Any:
    """The edges of the bins of a histogram."""
    a, weights = flattened(a, weights)
    return bins_of(a, bins, range, weights)[0]


def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """How many numbers, or what weight, lies in each bin; of a density the integral is 1."""
    a, weights = flattened(a, weights)
    edges, even = bins_of(a, bins, range, weights)
    if even is None:
        counts = counts_between(a, edges, weights)
    else:
        counts = counts_of_even_bins(a, edges, even, weights)
        if weights is not None:
            counts = counts.astype(weights.dtype, copy=False)
    if density:
        return counts / np.diff(edges).astype(float) / counts.sum(), edges
    return counts, edges


def counts_of_even_bins(a: Any, edges: Any, even: Any, weights: Any) -> Any:
    """The counts of equally wide bins: the place is computed, and corrected by the edges."""
    first, last, count = even
    inside, width = (a >= first) & (a <= last), difference(last, first)
    require(width < np.inf)
    x = np.where(inside, a.astype(edges.dtype, copy=False), edges[0])
    places = (difference(x, first) / width * count).astype(np.intp)
    places = np.minimum(places, count - 1)
    places = places - (x < elements_at(edges, places))
    places = places + ((x >= elements_at(edges, places + 1)) & (places != count - 1))
    # What lies outside is counted behind the last bin.
    return counted(np.where(inside, places, count), weights, count + 1)[:count].copy()


def counts_between(a: Any, edges: Any, weights: Any) -> Any:
    """The counts of bins of any widths: how many of the sorted numbers lie before each edge."""
    if weights is None:
        return np.diff(before_edges(np.sort(a), edges))
    if weights.dtype.kind == "b":
        refuse("np.histogram with truth values as weights")
    order = np.argsort(a)
    sums = np.concatenate((np.zeros(1, weights.dtype), elements_at(weights, order).cumsum()))
    sums = sums.astype(weights.dtype, copy=False)
    return np.diff(elements_at(sums, before_edges(elements_at(a, order), edges)))


def before_edges(ordered: Any, edges: Any) -> Any:
    """How many numbers lie before each edge; before the last one, also those on it."""
    return np.concatenate(
        (np.searchsorted(ordered, edges[:-1]), np.searchsorted(ordered, edges[-1:], "right"))
    )


def histogram2d(
    x: Any,
    y: Any,
    bins: Any = 10,
    range: Any = None,
    density: Any = None,
    weights: Any = None,
) -> Any:
    """How many points, or what weight, lies in each rectangle of a grid."""
    if len(x) != len(y):
        raise ValueError("x and y must have the same length.")
    if (isinstance(bins, (list, tuple)) or np.ndim(bins)) and len(bins) not in (1, 2):
        bins = [np.asarray(bins)] * 2
    hist, edges = np.histogramdd([x, y], bins, range, density, weights)
    return hist, edges[0], edges[1]


def histogramdd(
    sample: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """How many points, or what weight, lies in each box of a grid."""
    columns = columns_of(sample)
    if weights is not None:
        weights = np.asarray(weights)
        if weights.ndim != 1 or weights.dtype.kind not in "biuf":
            refuse("np.histogramdd with such weights")
        if len(weights) != len(columns[0]):
            raise ValueError("The weights and list don't have the same length.")
    if type(bins) is int:
        bins = [bins for _ in columns]
    if not isinstance(bins, (list, tuple)):
        refuse("np.histogramdd with such bins")
    if len(bins) != len(columns):
        raise ValueError("The dimension of bins must be equal to the dimension of the sample x.")
    if range is None:
        range = [None for _ in columns]
    if len(range) != len(columns):
        raise ValueError("range argument must have one entry per dimension")
    edges: list[Any] = []
    places: Any = 0
    sizes: list[Any] = []
    for k, x in enumerate(columns):
        edge = edges_along(k, x, bins[k], range[k])
        found = np.searchsorted(edge, x, side="right") - (x == edge[-1])
        sizes.append(len(edge) + 1)
        places = places * sizes[-1] + found
        edges.append(edge)
    total: Any = 1
    for size in sizes:
        total = total * size
    hist = counted(places, weights, total)
    hist = hist.reshape(sizes).astype(np.float64)
    hist = hist[tuple([slice(1, -1) for _ in sizes])]
    if density:
        whole = hist.sum()
        for k, edge in enumerate(edges):
            shape = [1 for _ in sizes]
            shape[k] = sizes[k] - 2
            hist = hist / np.diff(edge).reshape(shape)
        hist = hist / whole
    return hist, edges


def columns_of(sample: Any) -> Any:
    """The coordinates of points, an array for each axis, of one dtype."""
    if isinstance(sample, (list, tuple)):
        columns = [np.asarray(x) for x in sample]
    else:
        sample = np.asarray(sample)
        if sample.ndim != 2 or type(sample.shape[1]) is not int:
            refuse("np.histogramdd of such an array")
        columns = [sample[:, k] for k in np.arange(sample.shape[1]).tolist()]
    for x in columns:
        if x.ndim != 1 or x.dtype.kind not in "iuf" or x.dtype != columns[0].dtype:
            refuse("np.histogramdd of such numbers")
        if len(x) != len(columns[0]):
            refuse("np.histogramdd of unlike lengths")
    if not columns:
        refuse("np.histogramdd of no axes")
    return columns


def edges_along(k: int, x: Any, bins: Any, range: Any) -> Any:
    """The edges along an axis. Raises ValueError."""
    if np.ndim(bins) > 1:
        raise ValueError(f"`bins[{k}]` must be a scalar or 1d array")
    if np.ndim(bins) == 1:
        edges = np.asarray(bins)
        if (edges[:-1] > edges[1:]).any():
            raise ValueError(f"`bins[{k}]` must be monotonically increasing, when an array")
        return edges
    if type(bins) is not int:
        refuse("np.histogramdd with such bins")
    if bins < 1:
        raise ValueError(f"`bins[{k}]` must be positive, when an integer")
    first, last = outer_edges(x, range)
    return evenly(first, last, bins)


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.histogram: histogram,
    np.histogram2d: histogram2d,
    np.histogram_bin_edges: histogram_bin_edges,
    np.histogramdd: histogramdd,
}
