"""Convolutions by a 3 by 3 kernel, without padding, in the spellings of NumPy users.

x: float32 (n, c, h, w); w: float32 (o, c, 3, 3); the result is (n, o, h - 2, w - 2).
"""

import numpy as np
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from scipy import signal


def sizes(x, w):
    n, c, h, width = x.shape
    o, _, kh, kw = w.shape
    return n, c, o, kh, kw, h - kh + 1, width - kw + 1


def im2col_rows(x, w):
    """Patches by loops over the kernel, a row for each position, times the weights."""
    n, c, o, kh, kw, oh, ow = sizes(x, w)
    cols = np.empty((n, c, kh, kw, oh, ow), x.dtype)
    for i in range(kh):
        for j in range(kw):
            cols[:, :, i, j] = x[:, :, i : i + oh, j : j + ow]
    cols = cols.transpose(0, 4, 5, 1, 2, 3).reshape(n * oh * ow, -1)
    return (cols @ w.reshape(o, -1).T).reshape(n, oh, ow, o).transpose(0, 3, 1, 2)


def im2col_columns(x, w):
    """Patches by loops over the kernel, a column for each position: weights times them."""
    n, c, o, kh, kw, oh, ow = sizes(x, w)
    cols = np.empty((n, c, kh, kw, oh, ow), x.dtype)
    for i in range(kh):
        for j in range(kw):
            cols[:, :, i, j] = x[:, :, i : i + oh, j : j + ow]
    return (w.reshape(o, -1) @ cols.reshape(n, -1, oh * ow)).reshape(n, o, oh, ow)


def fancy_indices(x, w):
    """Patches by arrays of row and column indices."""
    n, c, o, kh, kw, oh, ow = sizes(x, w)
    i = np.arange(oh)[:, None, None, None] + np.arange(kh)[:, None]
    j = np.arange(ow)[:, None, None] + np.arange(kw)
    cols = x[:, :, i, j].transpose(0, 2, 3, 1, 4, 5).reshape(n * oh * ow, c * kh * kw)
    return (cols @ w.reshape(o, -1).T).reshape(n, oh, ow, o).transpose(0, 3, 1, 2)


def windows_einsum(x, w):
    windows = sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, w)


def windows_tensordot(x, w):
    windows = sliding_window_view(x, w.shape[2:], axis=(2, 3))
    return np.tensordot(windows, w, axes=((1, 4, 5), (1, 2, 3))).transpose(0, 3, 1, 2)


def strided_tensordot(x, w):
    n, c, o, kh, kw, oh, ow = sizes(x, w)
    s0, s1, s2, s3 = x.strides
    windows = as_strided(x, (n, c, kh, kw, oh, ow), (s0, s1, s2, s3, s2, s3))
    return np.tensordot(windows, w, axes=((1, 2, 3), (1, 2, 3))).transpose(0, 3, 1, 2)


def shifted_products(x, w):
    """A sum over the kernel of the shifted input's products with one weight matrix each."""
    n, c, o, kh, kw, oh, ow = sizes(x, w)
    out = np.zeros((n, o, oh, ow), x.dtype)
    for i in range(kh):
        for j in range(kw):
            out += np.einsum("nchw,oc->nohw", x[:, :, i : i + oh, j : j + ow], w[:, :, i, j])
    return out


def scipy_correlate(x, w):
    """scipy.signal.correlate of every image with every kernel."""
    n, c, o, kh, kw, oh, ow = sizes(x, w)
    out = np.empty((n, o, oh, ow), x.dtype)
    for k in range(n):
        for f in range(o):
            out[k, f] = signal.correlate(x[k], w[f], mode="valid")[0]
    return out


def positions_tensordot(x, w):
    """A loop over output positions, the images' windows there times the weights."""
    n, c, o, kh, kw, oh, ow = sizes(x, w)
    out = np.empty((n, o, oh, ow), x.dtype)
    for i in range(oh):
        for j in range(ow):
            window = x[:, :, i : i + kh, j : j + kw]
            out[:, :, i, j] = np.tensordot(window, w, axes=((1, 2, 3), (1, 2, 3)))
    return out


def positions_sum(x, w):
    """A loop over output positions, with a sum of broadcast products."""
    n, c, o, kh, kw, oh, ow = sizes(x, w)
    out = np.empty((n, oh, ow, o), x.dtype)
    kernel = w.transpose(1, 2, 3, 0)[None]
    for i in range(oh):
        for j in range(ow):
            out[:, i, j] = np.sum(x[:, :, i : i + kh, j : j + kw, None] * kernel, axis=(1, 2, 3))
    return out.transpose(0, 3, 1, 2)


CONVOLUTIONS = {
    f.__name__: f
    for f in (
        *(im2col_rows, im2col_columns, fancy_indices, windows_einsum, windows_tensordot),
        *(strided_tensordot, shifted_products, scipy_correlate, positions_tensordot),
        positions_sum,
    )
}
