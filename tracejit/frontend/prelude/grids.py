"""Grids and unit matrices: coordinates, indices of triangles and diagonals, frequencies."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import NUMPY, creates, refuse
from tracejit.frontend.prelude.rearranging import on_diagonal, require_ints

__all__ = ["FUNCTIONS"]


def shape_of(sizes: Any) -> Any:
    """Returns sizes as a shape. Raises as NumPy does where one is no size."""
    return np.empty(sizes, bool).shape


@creates
def eye(
    N: Any,
    M: Any = None,
    k: Any = 0,
    dtype: Any = float,
    order: Any = "C",
    *,
    device: Any = None,
    like: Any = None,
) -> Any:
    """Ones on one diagonal, zeros elsewhere."""
    require_ints(k)
    if device is not None or like is not None or k is None:
        refuse("np.eye in this form")
    rows, columns = shape_of((N, N if M is None else M))
    return on_diagonal(rows, columns, k).astype(dtype, order)


@creates
def identity(n: Any, dtype: Any = None, *, like: Any = None) -> Any:
    """The unit matrix."""
    return np.eye(n, dtype=dtype, like=like)


@creates
def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, *, like: Any = None) -> Any:
    """Ones on and below one diagonal, zeros elsewhere."""
    M = N if M is None else M
    require_ints(N, M, k)
    if like is not None or N is None:
        refuse("np.tri in this form")
    low = -k
    return (np.arange(N)[:, None] >= np.arange(M) + low).astype(dtype)


@creates
def indices(dimensions: Any, dtype: Any = int, sparse: Any = False) -> Any:
    """The coordinates of each element of an array of that shape."""
    shape = shape_of(tuple(dimensions))
    ones = (1,) * len(shape)
    grids = [
        np.arange(n, dtype=dtype).reshape(ones[:k] + (n,) + ones[k + 1 :])
        for k, n in enumerate(shape)
    ]
    if sparse:
        return tuple(grids)
    if not grids:
        return np.empty((0,), dtype)
    return np.stack([np.broadcast_to(x, shape) for x in grids])


def meshgrid(*xi: Any, copy: Any = True, sparse: Any = False, indexing: Any = "xy") -> Any:
    """Coordinate arrays from coordinate vectors."""
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    ndim = len(xi)
    grids: Any = []
    for k, x in enumerate(xi):
        place = 1 - k if indexing == "xy" and ndim > 1 and k < 2 else k
        grids.append(np.asanyarray(x).reshape((1,) * place + (-1,) + (1,) * (ndim - place - 1)))
    if not sparse:
        grids = np.broadcast_arrays(*grids, subok=True)
    if copy:
        return tuple([x.copy() for x in grids])
    return tuple(grids) if NUMPY >= (2, 5) else grids


@creates
def ix_(*args: Any) -> Any:
    """Index vectors along axes of their own."""
    found = []
    for k, x in enumerate(args):
        if not isinstance(x, np.ndarray):
            x = np.asarray(x)
            x = x.astype(np.intp) if x.size == 0 else x
        if x.ndim != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if x.dtype.kind == "b":
            x = np.flatnonzero(x)
        found.append(x.reshape((1,) * k + (len(x),) + (1,) * (len(args) - k - 1)))
    return tuple(found)


@creates
def diag_indices(n: Any, ndim: Any = 2) -> Any:
    """The indices of the main diagonal."""
    require_ints(n, ndim)
    return (np.arange(n),) * ndim


def diag_indices_from(arr: Any) -> Any:
    """The indices of the main diagonal of an array with equal sides."""
    if arr.ndim < 2:
        raise ValueError("input array must be at least 2-d")
    if any(n != len(arr) for n in arr.shape):
        raise ValueError("All dimensions of input must be of equal length")
    return (np.arange(len(arr)),) * arr.ndim


def tril_indices_from(arr: Any, k: Any = 0) -> Any:
    """The indices of the elements of a matrix on and below a diagonal."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return np.tril_indices(arr.shape[0], k, arr.shape[1])


def triu_indices_from(arr: Any, k: Any = 0) -> Any:
    """The indices of the elements of a matrix on and above a diagonal."""
    if arr.ndim != 2:
        raise ValueError("input array must be 2-d")
    return np.triu_indices(arr.shape[0], k, arr.shape[1])


def vander(x: Any, N: Any = None, increasing: Any = False) -> Any:
    """The powers of numbers as columns, the highest first unless they are `increasing`."""
    x = np.asarray(x)
    if x.ndim != 1:
        raise ValueError("x must be a one-dimensional array or sequence.")
    count = len(x) if N is None else N
    out = np.empty((len(x), count), np.promote_types(x.dtype, int))
    powers = out if increasing else out[:, ::-1]
    if count > 0:
        powers[:, 0] = 1
    if count > 1:
        powers[:, 1:] = x[:, None]
        powers[:, 1:] = np.multiply.accumulate(powers[:, 1:], axis=1)
    return out


@creates
def fftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """The frequencies of a discrete Fourier transform, those below zero behind the others."""
    if not isinstance(n, (int, np.integer)):
        raise ValueError("n should be an integer")
    scale = 1.0 / (n * d)
    found = np.empty(n, int, device=device)
    half = (n - 1) // 2 + 1
    found[:half] = np.arange(0, half, dtype=int)
    found[half:] = np.arange(-(n // 2), 0, dtype=int)
    return found * scale


@creates
def rfftfreq(n: Any, d: Any = 1.0, device: Any = None) -> Any:
    """The frequencies of a discrete Fourier transform of real numbers."""
    if not isinstance(n, (int, np.integer)):
        raise ValueError("n should be an integer")
    scale = 1.0 / (n * d)
    return np.arange(0, n // 2 + 1, dtype=int, device=device) * scale


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    np.diag_indices: diag_indices,
    np.diag_indices_from: diag_indices_from,
    np.eye: eye,
    np.fft.fftfreq: fftfreq,
    np.fft.rfftfreq: rfftfreq,
    np.identity: identity,
    np.indices: indices,
    np.ix_: ix_,
    np.meshgrid: meshgrid,
    np.tri: tri,
    np.tril_indices_from: tril_indices_from,
    np.triu_indices_from: triu_indices_from,
    np.vander: vander,
}
