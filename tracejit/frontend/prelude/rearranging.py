"""Elements in another order, repeated or split: flips, shifts, tiles, parts, triangles."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from tracejit.frontend.prelude.intrinsics import NUMPY, refuse, specialised

__all__ = ["FUNCTIONS", "on_diagonal"]


def require_ints(*numbers: Any) -> None:
    """Give up a call with numbers that are no ints: NumPy truncates some and refuses others."""
    if not all(x is None or type(x) is int or isinstance(x, np.signedinteger) for x in numbers):
        refuse("numbers that are no ints")


def flip(m: Any, axis: Any = None) -> Any:
    """The view with axes reversed."""
    m = np.asanyarray(m)
    axes = range(m.ndim) if axis is None else normalize_axis_tuple(axis, m.ndim)
    return m[tuple([slice(None, None, -1 if k in axes else None) for k in range(m.ndim)])]


def fliplr(m: Any) -> Any:
    """The view with the second axis reversed."""
    m = np.asanyarray(m)
    if m.ndim < 2:
        raise ValueError("Input must be >= 2-d.")
    return m[:, ::-1]


def flipud(m: Any) -> Any:
    """The view with the first axis reversed."""
    m = np.asanyarray(m)
    if m.ndim < 1:
        raise ValueError("Input must be >= 1-d.")
    return m[::-1, ...]


def rot90(m: Any, k: Any = 1, axes: Any = (0, 1)) -> Any:
    """The view rotated by `k` right angles in a plane."""
    axes = tuple(axes)
    if len(axes) != 2:
        raise ValueError("len(axes) must be 2.")
    m = np.asanyarray(m)
    first, second = axes
    if first == second or abs(first - second) == m.ndim:
        raise ValueError("Axes must be different.")
    if not (-m.ndim <= first < m.ndim and -m.ndim <= second < m.ndim):
        raise ValueError(f"Axes={axes} out of range for array of ndim={m.ndim}.")
    if NUMPY >= (2, 5) and not isinstance(k, (int, np.integer)):
        refuse("np.rot90 by a number that is no integer")  # NumPy warns.
    k = specialised(k)
    k %= 4
    if k == 0:
        return m[:]
    if k == 2:
        return np.flip(np.flip(m, first), second)
    if k == 1:
        return np.swapaxes(np.flip(m, second), first, second)
    return np.flip(np.swapaxes(m, first, second), second)


def rollaxis(a: Any, axis: Any, start: Any = 0) -> Any:
    """One axis moved before another."""
    n = a.ndim
    axis = normalize_axis_index(axis, n)
    place = start + n if start < 0 else start
    if not 0 <= place <= n:
        raise np.exceptions.AxisError(
            f"'start' arg requires {-n} <= start < {n + 1}, but {int(place)} was passed in"
        )
    place = operator.index(place)
    return np.moveaxis(a, axis, place - 1 if axis < place else place)


def fftshift(x: Any, axes: Any = None) -> Any:
    """The element at index 0 of each axis moved to the middle."""
    return shifted(x, axes, lambda n: n // 2)


def ifftshift(x: Any, axes: Any = None) -> Any:
    """The element in the middle of each axis moved to index 0."""
    return shifted(x, axes, lambda n: -(n // 2))


def shifted(x: Any, axes: Any, distance: Any) -> Any:
    """An array moved along axes, by a distance that depends on their sizes."""
    x = np.asarray(x)
    axes = tuple(range(x.ndim)) if axes is None else axes
    if isinstance(axes, (int, np.integer)):
        return np.roll(x, distance(x.shape[axes]), axes)
    return np.roll(x, [distance(x.shape[k]) for k in axes], axes)


def tile(A: Any, reps: Any) -> Any:
    """The whole array several times along each axis."""
    times = tuple(reps) if isinstance(reps, (tuple, list)) else (reps,)
    require_ints(*times)
    x = np.array(A, copy=None, subok=True, ndmin=len(times))
    if isinstance(A, np.ndarray) and all(n == 1 for n in times):
        return x.copy(order="K")
    times = (1,) * (x.ndim - len(times)) + times
    shape = [d * n for d, n in zip(x.shape, times, strict=True)]
    if any(n < 0 for n in times):
        raise ValueError("negative dimensions are not allowed")
    apart = x.reshape([d for n in x.shape for d in (1, n)])
    wide = np.broadcast_to(apart, [d for pair in zip(times, x.shape, strict=True) for d in pair])
    return wide.reshape(shape).copy()


def are_places(x: Any) -> bool:
    """Returns True for places at which an array is cut, False for a number of parts."""
    return isinstance(x, (list, tuple)) or isinstance(x, np.ndarray) and x.ndim > 0


def array_split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Views of consecutive parts, as equal as they can be, or cut at the given places."""
    x = np.asanyarray(ary)
    n = ary.shape[axis] if isinstance(ary, (np.ndarray, np.generic)) else len(ary)
    key = (slice(None),) * normalize_axis_index(axis, x.ndim)
    if are_places(indices_or_sections):
        cuts = [0, *indices_or_sections, n]
    else:
        sections = int(specialised(indices_or_sections))
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        each, extras = n // sections, int(n % sections)
        cuts = [each * k + min(k, extras) for k in range(sections + 1)]
    return [x[(*key, slice(a, b))] for a, b in zip(cuts[:-1], cuts[1:], strict=True)]


def split(ary: Any, indices_or_sections: Any, axis: Any = 0) -> Any:
    """Views of consecutive parts of one size, or cut at the given places."""
    if not are_places(indices_or_sections):
        if ary.shape[axis] % specialised(indices_or_sections):
            raise ValueError("array split does not result in an equal division")
    return np.array_split(ary, indices_or_sections, axis)


def hsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Views of consecutive parts along the second axis, or the only one."""
    if np.ndim(ary) == 0:
        raise ValueError("hsplit only works on arrays of 1 or more dimensions")
    return np.split(ary, indices_or_sections, 1 if ary.ndim > 1 else 0)


def vsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Views of consecutive parts along the first axis."""
    if np.ndim(ary) < 2:
        raise ValueError("vsplit only works on arrays of 2 or more dimensions")
    return np.split(ary, indices_or_sections, 0)


def dsplit(ary: Any, indices_or_sections: Any) -> Any:
    """Views of consecutive parts along the third axis."""
    if np.ndim(ary) < 3:
        raise ValueError("dsplit only works on arrays of 3 or more dimensions")
    return np.split(ary, indices_or_sections, 2)


def unstack(x: Any, /, *, axis: Any = 0) -> Any:
    """The parts along an axis, as views without it."""
    if x.ndim == 0:
        raise ValueError("Input array must be at least 1-d.")
    moved = np.moveaxis(x, axis, 0)
    return tuple([moved[k] for k in range(int(len(moved)))])


def on_diagonal(n: Any, m: Any, k: Any) -> Any:
    """Returns where the column is the row plus `k`, for `n` rows and `m` columns."""
    rows = np.arange(n) if type(k) is int and k == 0 else np.arange(n) + k
    return rows[:, None] == np.arange(m)


def diag(v: Any, k: Any = 0) -> Any:
    """The diagonal of a matrix, or the matrix with that diagonal."""
    require_ints(k)
    v = np.asanyarray(v)
    if v.ndim == 2:
        return np.diagonal(v, k)
    if v.ndim != 1:
        raise ValueError("Input must be 1- or 2-d.")
    n = len(v) + abs(k)
    if k != 0:
        rest = np.zeros(abs(k), v.dtype)
        v = np.concatenate((v, rest) if k < 0 else (rest, v))
    return np.where(on_diagonal(n, n, k), v, v.dtype.type(0))


def diagflat(v: Any, k: Any = 0) -> Any:
    """The matrix with all elements on one diagonal."""
    require_ints(k)
    return np.diag(np.ravel(v), k)


def lower_mask(shape: Any, k: Any) -> Any:
    """Returns where the column is at most the row plus `k`, in the last axes of a shape."""
    if not shape:
        raise TypeError("tri() missing 1 required positional argument: 'N'")
    rows, columns = shape[0] if len(shape) == 1 else shape[-2], shape[-1]
    return np.tri(rows, columns, k, bool)


def tril(m: Any, k: Any = 0) -> Any:
    """The elements on and below a diagonal; zeros elsewhere."""
    m = np.asanyarray(m)
    return np.where(lower_mask(m.shape, k), m, m.dtype.type(0))


def triu(m: Any, k: Any = 0) -> Any:
    """The elements on and above a diagonal; zeros elsewhere."""
    m = np.asanyarray(m)
    return np.where(lower_mask(m.shape, k - 1), m.dtype.type(0), m)


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.array_split: array_split,
    np.diag: diag,
    np.diagflat: diagflat,
    np.dsplit: dsplit,
    np.flip: flip,
    np.fliplr: fliplr,
    np.flipud: flipud,
    np.fft.fftshift: fftshift,
    np.fft.ifftshift: ifftshift,
    np.hsplit: hsplit,
    np.rollaxis: rollaxis,
    np.rot90: rot90,
    np.split: split,
    np.tile: tile,
    np.tril: tril,
    np.triu: triu,
    np.vsplit: vsplit,
}
if hasattr(np, "unstack"):
    FUNCTIONS[np.unstack] = unstack
