"""Functions in which random programs once found eager and compiled runs to differ.

Apart from the tests that call them: pytest rewrites the assertions of those.
"""

from __future__ import annotations

from typing import Any

import numpy as np


def run_time_number_beside_an_ellipsis(x: Any) -> Any:
    return x[..., np.argmin(x)], x[np.argmax(x), ...]


def run_time_number_is_a_view(x: Any) -> Any:
    return x[np.argmin(x[:, 0])]


def run_time_array_without_axes_is_a_copy(x: Any, i: Any) -> Any:
    return x[i], x[i, 1:], x[i, i, ...], x[i, 0]


def first_row_twice(x: Any) -> Any:
    return x[[0, 0]]


def no_column_of_a_row(x: Any, i: Any) -> Any:
    return x[i, :0]


def cumsum_of_all(x: Any) -> Any:
    return np.cumsum(np.transpose(x))


def flat_views_and_copies(x: Any) -> Any:
    return np.ravel(x[::-1]), x.ravel(), x.reshape(-1), x.T.reshape(-1), x.T.ravel(), x.flatten()


def slices_of_a_flat_argument(x: Any) -> Any:
    flat = x.reshape(-1)
    return flat, flat[1:], flat[::2]


def store_into_a_flat_copy(x: Any) -> Any:
    flat = x.T.reshape(-1)
    flat[0] = 7
    return flat


def the_same_or_another_view(x: Any) -> Any:
    return (
        *(x.reshape(x.shape), np.squeeze(x), np.swapaxes(x, 0, 0), np.transpose(x, [0, 1]), x[:]),
        *(np.atleast_2d(x), np.asarray(x), x[...], x.T.T, x.real, np.moveaxis(x, 0, 0), +x),
    )


def views_of_a_new_array(x: Any) -> Any:
    y = x + 1
    return y, y.reshape(y.shape), y.T, y.ravel(), y[::2], y.T.reshape(-1)


def parts_of_complex(z: Any) -> Any:
    w = z * 2
    return z.real, z.imag, z.real.T, z[0].imag.reshape(-1), w, w.real, w.imag[1:]


def stores_into_parts(z: Any) -> Any:
    w = z.copy()
    w.real[0] = 5
    w.imag[...] = -w.imag
    w.imag *= 2
    return w, w.real.ravel()


def store_of_another_order(x: Any) -> Any:
    y = np.zeros((x.shape[1], x.shape[0]))
    y[...] = x.T
    return y, y.reshape(-1), y.T


def sizes_beside_floats(x: Any) -> Any:
    n = x.shape[0]
    some = (n > 2.5, n <= 4.0, n == 4.0, n != 4.5, 1e300 > n, n < float("nan"), n < 10**30)
    return some, n // 1.5, n % 2.5, 2.5**n, n**-1, np.where(n > 0.5, x, -x)


def sizes_bit_by_bit(x: Any) -> Any:
    n = x.shape[0]
    return n & 3, n & 6, n | 1, n ^ n, ~n, n << 2, n >> 1, 1 << n, 2**n, 20 // n, -n % 3


def sizes_beside_numpy_scalars(x: Any) -> Any:
    n = x.shape[0]
    y = np.int64(3) < n, n <= np.float32(2.5), np.float64(0.5) < x, np.int8(2) == x.sum()
    return *y, np.int64(3) + n, n // np.int16(2), np.uint8(7) % n


def complex_sum_of_products(z: Any) -> Any:
    return np.einsum("...i,...i->...", z, z), np.einsum("ij,kj->ik", z, z)
