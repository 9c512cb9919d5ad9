"""How the functions of the surface are called, one call a line; and what is not called, and why.

A recipe's free names are operands: `cases` says what they are. Statements are
separated by semicolons. What a recipe mentions is covered by it; elementwise functions and types
of numbers need none: `generated` makes theirs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import numpy as np

from tests.frontend.numpy.surface.names import scalar_types, ufuncs

REDUCTIONS = """
np.{f}(a)
np.{f}(a, axis=0)
np.{f}(a, axis=-1, keepdims=True)
np.{f}(t, axis=1)
np.{f}(a, axis=k)
np.{f}(a, axis=k, keepdims=True)
np.{f}(t, axis=(0, 2))
np.{f}(s)
a.{f}()
a.{f}(axis=0)
"""

WITHOUT_AXES = """
np.{f}(a, axis=())
np.{f}(a, axis=(), keepdims=True)
r = np.{f}(a, axis=()); r += 1; return r
a.{f}(axis=())
"""

REDUCED = "sum prod max min any all mean std var ptp argmax argmin cumsum cumprod amax amin".split()
FREE_OF_AXES = "sum prod max min any all mean".split()
NAN_REDUCED = (
    "nansum nanprod nanmax nanmin nanmean nanstd nanvar nancumsum nancumprod nanmedian "
    "nanargmax nanargmin median count_nonzero"
).split()

TEXT = """
np.sum(a, axis=0, dtype=np.float32)
np.sum(a, initial=s)
np.sum(a, axis=1, where=p)
np.max(a, axis=0, initial=s)
np.mean(a, dtype=np.float32)
np.std(a, axis=0, ddof=k)
np.var(a, axis=1, ddof=k, keepdims=True)
np.cumulative_sum(v)
np.cumulative_sum(a, axis=0)
np.cumulative_sum(a, axis=k)
np.cumulative_sum(a, axis=1, include_initial=True)
np.cumulative_prod(v)
np.cumulative_prod(a, axis=1)
np.cumsum(t, axis=0)
np.cumprod(t, axis=1)
np.average(a)
np.average(a, axis=0)
np.average(a, axis=k, weights=None)
np.average(a, axis=0, keepdims=True)
np.average(a, weights=b)
np.average(v, weights=w, returned=True)
np.quantile(a, 0.25)
np.quantile(a, 0.5, axis=0)
np.percentile(a, 30.0, axis=1)
np.percentile(v, s)
np.nanquantile(a, 0.5, axis=0)
np.quantile(a, [0.0, 0.5, 1.0], axis=0)
np.quantile(a, [[0.1, 0.9]], axis=(0, 1), keepdims=True)
np.quantile(v, 0.4, method="lower")
np.quantile(v, 0.4, method="nearest")
np.quantile(v, [0.2, 0.6], method="midpoint")
np.quantile(v, 0.3, method="hazen")
np.quantile(v, 0.3, method="inverted_cdf")
np.quantile(v, 0.3, method="median_unbiased")
np.quantile(v, w / 5)
np.percentile(a, [25, 75], axis=-1, keepdims=True)
np.nanquantile(v, [0.1, 0.5])
np.nanpercentile(a, 50)
np.nanpercentile(a, 40.0)
np.median(t, axis=(0, 1))
np.median(a, axis=1, keepdims=True)
np.trace(a)
np.trace(m, k)
np.trace(t)
np.trace(t, axis1=k, axis2=-1)
np.linalg.trace(m)
np.histogram(v, bins=4)
np.histogram(v, bins=x)
np.histogram2d(v, w, bins=3)
np.histogramdd(a[:, :2], bins=2)
np.histogram_bin_edges(v, bins=5)
np.histogram_bin_edges(v, bins=3, range=(0, 2))
np.histogram(v, bins=3, range=(0.0, 2.0))
np.histogram(v, 3, weights=w)
np.histogram(a, 4, density=True)
np.histogram(v, bins=[0, 1, 3])
np.histogram(i, 3)
np.bincount(i)
np.bincount(i, minlength=k)
np.bincount(i, weights=np.ones(4))
np.digitize(v, x)
np.digitize(v, x, right=True)
np.searchsorted(x, v)
np.searchsorted(x, s)
np.searchsorted(x, v, side="right")
x.searchsorted(v)
np.cov(a)
np.cov(v, w)
np.corrcoef(a)
np.corrcoef(v, w)
np.correlate(v, w)
np.correlate(v, w, "full")
np.convolve(v, w)
np.convolve(v, w, "same")
np.diff(a)
np.diff(a, axis=0)
np.diff(v, n=k)
np.diff(a, prepend=0.0)
np.ediff1d(v)
np.ediff1d(a, to_begin=0)
np.gradient(v)
np.gradient(a)
np.gradient(a, axis=0)
np.trapezoid(v)
np.trapezoid(a, axis=0)
np.trapezoid(v, w)
np.interp(v, x, w)
np.interp(s, x, w)
np.unwrap(v)
np.unwrap(a, axis=0)
np.unwrap(v * 3, discont=4.0)
np.unwrap(i, period=2)
np.angle(a)
np.angle(a, deg=True)
np.angle(s)
np.real(a)
np.imag(a)
np.real(s)
np.imag(s)
np.real_if_close(a)
np.i0(v)
np.sinc(a)
np.nan_to_num(a)
np.nan_to_num(a, nan=s)
np.nan_to_num(a, copy=False)
np.round(a)
np.round(a, k)
np.round(s, k)
np.around(a, 1)
np.fix(a)
np.clip(a, -1, 2)
np.clip(a, s, None)
np.clip(a, None, b)
np.clip(s, 0, 1)
np.clip(a, b, b)
np.isposinf(a)
np.isneginf(a)
np.isreal(a)
np.iscomplex(a)
np.isrealobj(a)
np.iscomplexobj(a)
np.isclose(a, b)
np.isclose(s, 1.5)
np.allclose(a, b)
np.array_equal(a, b)
np.array_equiv(a, b)
np.isin(a, v)
np.isin(i, j)
np.isin(i, [1, 2], invert=True)
np.isin(a, v, assume_unique=True)
np.isin(i, j, kind="sort")
np.isin(s, v)
np.ndim(a)
np.shape(a)
np.size(a)
np.size(a, k)
np.isscalar(s)
np.isfortran(a)
np.iterable(a)
np.sort(a)
np.sort(a, axis=0)
np.sort(a, axis=k)
np.sort(a, axis=None)
np.sort(t, axis=1)
np.sort_complex(v)
np.argsort(a)
np.argsort(a, axis=0)
np.argsort(a, axis=None)
np.argsort(v, kind="stable")
np.lexsort((v, w))
np.partition(v, k)
np.partition(a, 1, axis=0)
np.argpartition(v, 2)
np.unique(v)
np.unique(a)
np.unique(v, return_counts=True)
np.unique_all(v)
np.unique_counts(v)
np.unique_inverse(v)
np.unique_values(v)
np.union1d(v, w)
np.intersect1d(v, w)
np.setdiff1d(v, w)
np.setxor1d(v, w)
np.trim_zeros(v)
np.trim_zeros(v, "b")
np.trim_zeros(v, "f")
np.flatnonzero(a)
np.nonzero(a)
np.argwhere(a)
np.argwhere(t)
np.argwhere(s)
np.extract(p, a)
np.where(p)
np.where(p, a, b)
np.where(a > 0, a, b)
np.where(p, a, 0)
np.where(p, s, 0)
np.where(True, a, b)
np.select([p, a > 1], [a, b])
np.select([p], [a], default=s)
np.select([a > 0], [a])
np.choose(j, (a, b, a))
np.piecewise(a, [a > 0], [1.0, 2.0])
np.compress([True, False, True], a, axis=0)
np.compress(v > 0, v)
a.compress([True, False], axis=1)
np.delete(v, 1)
np.delete(v, k)
np.delete(a, 1, axis=0)
np.delete(a, [0, 1], axis=1)
np.insert(v, 1, 5.0)
np.insert(v, k, 5.0)
np.insert(a, 1, 5.0, axis=1)
np.insert(a, 0, v[:4], axis=0)
np.insert(a, [1, 2], 7, axis=1)
np.insert(v, [1, 3], [8.5, 9.5])
np.insert(v, i[:2], 2)
np.insert(v, slice(1, 3), 2)
np.insert(a, -1, b[:, 0], axis=1)
np.append(a, b)
np.append(a, b, axis=0)
np.append(v, s)
np.resize(a, (2, 3))
np.resize(v, 7)
np.resize(a, (7, 3))
np.resize(s, (2, 2))
np.resize(v, n)
np.repeat(a, 2)
np.repeat(a, k, axis=0)
np.repeat(a, 2, axis=1)
np.repeat(v, np.arange(5))
np.tile(a, 2)
np.tile(v, (2, n))
np.tile(a, (1, 1))
np.tile(a, 1)
np.roll(a, 1)
np.roll(a, k, axis=0)
np.roll(a, (1, 2), axis=(0, 1))
np.rollaxis(t, k)
np.rot90(a)
np.rot90(a, k)
np.rot90(a, 2)
np.flip(a)
np.flip(a, k)
np.flip(a, (0, 1))
np.fliplr(a)
np.flipud(a)
np.concatenate((a, b))
np.concatenate((a, b), axis=1)
np.concatenate((a, b), axis=k)
np.concatenate((a, b), axis=None)
np.concatenate((a,))
np.concatenate((t, t), axis=1)
np.concatenate((t, t[:, ::-1], t), axis=0)
np.concatenate((t, 2 * t.copy()), axis=2)
np.stack((t, t), axis=2)
np.stack((v, w, x), axis=1)
np.concat((a, b))
np.stack((a, b))
np.stack((a, b), axis=k)
np.stack((a, b), axis=1)
np.stack((a, b), axis=-1)
np.stack((s, s))
np.vstack((a, b))
np.hstack((a, b))
np.dstack((a, b))
np.row_stack((a, b))
np.column_stack((a, b))
np.column_stack((v, w))
np.vstack((v, w))
np.hstack((v, w))
np.dstack((v, w))
np.block([[a, b], [b, a]])
np.block([a, b])
np.block(a)
np.split(a, 2, axis=1)
np.split(a, [1, 2])
np.split(a, n, axis=1)
np.array_split(a, 3)
np.array_split(v, n)
np.hsplit(a, 2)
np.vsplit(a, 3)
np.dsplit(t, 2)
np.unstack(a)
np.unstack(a, axis=1)
np.reshape(a, -1)
np.reshape(a, (4, 3))
np.reshape(a, (2, -1), order="F")
np.reshape(a, (4, 3), order="A")
np.reshape(a, a.shape)
np.reshape(a, (3, 4), copy=True)
np.ravel(a)
np.ravel(a, order="F")
np.ravel(a, order="A")
np.ravel(a, order="K")
np.ravel(s)
np.transpose(a)
np.transpose(t, (2, 0, 1))
np.transpose(t, (0, 2, 1)) * 2
np.permute_dims(a, (1, 0))
np.matrix_transpose(a)
np.linalg.matrix_transpose(a)
np.swapaxes(t, 0, 2)
np.swapaxes(a, k, 0)
np.moveaxis(t, 0, -1)
np.moveaxis(a, k, 0)
np.expand_dims(a, k)
np.expand_dims(a, (0, 2))
np.squeeze(a)
np.squeeze(a, axis=0)
np.squeeze(a, axis=k)
np.squeeze(s)
np.atleast_1d(a)
np.atleast_1d(s)
np.atleast_2d(a)
np.atleast_2d(v)
np.atleast_2d(s)
np.atleast_3d(a)
np.atleast_3d(t)
np.atleast_3d(v)
np.atleast_1d(a, s)
np.broadcast_to(a, a.shape)
np.broadcast_to(a, (2, 3, 4))
np.broadcast_to(v, (2, 5))
np.broadcast_to(s, ())
np.broadcast_to(s, (2,))
np.broadcast_to(s, (n, 2))
np.broadcast_to(a, (2, 3, 4)) + 1
np.broadcast_arrays(a, b)
np.broadcast_arrays(a, a[0])
np.broadcast_arrays(a[:1], b)
np.broadcast_arrays(a, s)
np.broadcast_arrays(a)
np.broadcast_arrays(s)
np.broadcast_shapes((1, 2), (n, 1))
np.meshgrid(v, w)
np.meshgrid(v, w, indexing="ij")
np.meshgrid(v, w, sparse=True)
np.meshgrid(v, w, copy=False)
np.meshgrid(v, w, sparse=True, copy=False)
np.meshgrid(v)
np.meshgrid(v, copy=False)
np.meshgrid(v, s)
np.ix_(v, w)
np.ix_(i, i)
np.ix_(v > 0, w > 0)
np.copy(a)
np.copy(a, order="C")
np.copy(a, order="F")
np.array(a)
np.array(a, copy=False)
np.array(a, copy=None)
np.array(a, order="F")
np.array(a, order="C")
np.array(a, dtype=np.float64, copy=None)
np.array(a, ndmin=3)
np.array(s)
np.array([s, s])
np.array([a, b])
np.array([v, w], order="F")
np.asarray(a)
np.asarray(a, dtype=np.float32)
np.asarray(a, order="F")
np.asarray(a, order="C")
np.asarray(a, copy=True)
np.asarray(s)
np.asfortranarray(s)
np.asanyarray(a)
np.asanyarray(a, order="F")
np.asarray_chkfinite(a)
np.ascontiguousarray(a)
np.ascontiguousarray(s)
np.asfortranarray(a)
np.require(a, requirements=["C"])
np.require(a)
np.astype(a, np.float64)
np.astype(a, np.float64, copy=False)
np.astype(a, np.float32)
np.diag(v)
np.diag(a)
np.diag(a, k)
np.diag(v, k)
np.diagflat(v)
np.diagflat(a, k)
np.diagonal(a)
np.diagonal(a, k)
np.diagonal(t, 0, 1, 2)
np.diagonal(t, 0, k, 2)
np.linalg.diagonal(t)
np.linalg.diagonal(a, offset=k)
np.tril(a)
np.tril(a, -1)
np.triu(a)
np.triu(t, 1)
np.tri(3, 4, -1)
np.tri(n)
np.eye(n)
np.eye(3, n)
np.identity(n)
np.vander(v)
np.vander(v, n)
np.vander(v, increasing=True)
np.vander(v, 0)
np.vander(v, 3, True)
np.pad(a, 1)
np.pad(a, k)
np.pad(a, ((0, 1), (2, 0)), constant_values=s)
np.pad(a, 1, mode="edge")
np.pad(a, 1, mode="wrap")
np.pad(a, 1, mode="reflect")
np.pad(a, 1, mode="symmetric")
np.pad(a, 1, mode="linear_ramp")
np.pad(a, 1, mode="maximum")
np.pad(a, 1, mode="mean")
np.pad(a, 1, mode="empty")[1:-1, 1:-1]
np.pad(a, 0)
np.pad(v, n, mode="edge")
np.take(a, 1)
np.take(a, k)
np.take(a, k, axis=0)
np.take(a, i, axis=1)
np.take(a, i, axis=0)
np.take(a, i)
np.take(t, i[:2], axis=1)
np.take(a, [5, -7], mode="wrap")
np.take(a, [5, -7], mode="clip")
a.take(i, axis=1)
a.take(k)
np.take_along_axis(a, j, axis=0)
np.take_along_axis(a, j, axis=k)
np.take_along_axis(a, j, axis=1)
np.put(a, [0, 1], 5.0)
np.put(a, k, s)
a.put([0, 1], 5.0)
np.put_along_axis(a, j, 1.0, axis=0)
np.place(a, p, [1.0, 2.0])
np.putmask(a, p, b)
np.putmask(a, p, s)
np.copyto(a, b)
np.copyto(a, s)
np.copyto(a, b, where=p)
np.fill_diagonal(a, s)
np.fill_diagonal(a, s, wrap=True)
np.apply_along_axis(np.sum, 0, a)
np.apply_over_axes(np.sum, a, [0])
np.fromfunction(lambda q, r: q + r, (3, n))
np.arange(n)
np.arange(0, s, 0.5)
np.arange(k, 5)
np.arange(5, 0, k)
np.linspace(0, s, 5)
np.linspace(0, 1, n)
np.linspace(0.0, 1.0, 5, endpoint=False)
np.linspace(v, w, 4)
np.linspace(v, w, 4, axis=1)
np.linspace(0, 1, 5, retstep=True)
np.logspace(0, 1, 5)
np.logspace(0, s, n)
np.geomspace(1, 100, 5)
np.geomspace(1.0, s, n)
np.geomspace(s, 9.0, 4, endpoint=False)
np.geomspace(v[:2] + 3, 9.0, 4)
np.zeros(n)
np.zeros((2, n))
np.zeros((2, 3), order="F")
np.ones(n)
np.ones((2, 3), order="F")
np.ones((n, 2), dtype=np.int64)
np.empty(n).shape
np.empty((2, 3), order="F").shape
np.full(n, s)
np.full((2, 3), s)
np.full((2, 3), a[0, :3])
np.full((2, 3), 1.0, order="F")
np.zeros_like(a)
np.zeros_like(a, order="C")
np.zeros_like(a, order="F")
np.zeros_like(a, shape=(2, 5))
np.zeros_like(t)
np.zeros_like(s)
np.ones_like(a)
np.ones_like(a, dtype=np.int64)
np.ones_like(s)
r = np.empty_like(a); r[...] = 1; return r
np.full_like(a, s)
np.full_like(s, 2)
np.full_like(t, 1.0)
np.indices((2, n))
np.indices((2, 3), sparse=True)
np.mgrid[0:3, 0:2]
np.mgrid[0:1:5j]
np.ogrid[0:3, 0:n]
np.r_[v, 1.0, s]
np.r_[v, w]
np.r_[0:3, n]
np.c_[v, w]
np.c_[a, b]
np.s_[1:2]
np.index_exp[1:2]
np.diag_indices(n)
np.diag_indices_from(m)
np.tril_indices(n)
np.tril_indices(3, k)
np.tril_indices_from(m)
np.triu_indices(n)
np.triu_indices_from(m)
np.mask_indices(3, np.triu)
np.unravel_index(i, (3, 4))
np.unravel_index(k, (3, 4))
np.ravel_multi_index((i, i), (3, 4))
np.packbits(p, axis=0)
np.unpackbits(u)
np.bartlett(n)
np.blackman(n)
np.hamming(n)
np.hanning(n)
np.kaiser(n, s)
np.kaiser(5, 2.0)
np.cross(a[:, :3], b[:, :3])
np.cross(v[:3], w[:3])
np.linalg.cross(a[:, :3], b[:, :3])
np.dot(a, b.T)
np.dot(v, w)
np.dot(m, v[:3])
np.dot(s, a)
np.dot(s, s)
a.dot(b.T)
np.vdot(a, b)
np.inner(a, b)
np.inner(v, s)
np.outer(v, w)
np.outer(a, b)
np.linalg.outer(v, w)
np.kron(a, b)
np.kron(v, w)
np.tensordot(a, b, axes=2)
np.tensordot(a, b, axes=([1], [1]))
np.tensordot(v, w, axes=0)
np.linalg.tensordot(a, b, axes=([0], [0]))
np.einsum("ij->ji", a)
np.einsum("ii->i", m)
np.einsum("ii", m)
np.einsum("ij->i", a)
np.einsum("ij,ij->ij", a, b)
np.einsum("ij,kj->ik", a, b)
np.einsum("ijk->kij", t)
np.einsum("i,i", v, w)
np.einsum("ij", a)
np.einsum("i,j->ij", v, w)
np.einsum("...ij->...ji", t)
np.einsum("iij->ij", h)
r = np.einsum("ii->i", m); r[...] = 0; return r
np.einsum_path("ij,jk", m, m)
np.matmul(a, b.T)
np.matmul(h, h)
np.matmul(m, v[:3])
np.linalg.matmul(m, m)
np.matmul(g, g)
np.matmul(g, g[0])
np.matmul(g, h[0])
np.linalg.inv(g)
np.linalg.det(g)
np.linalg.slogdet(g)
np.linalg.solve(g, g)
np.linalg.solve(g, g[0, 0])
np.linalg.cholesky(g)
np.linalg.qr(g)
np.linalg.svd(g)
np.linalg.eigvalsh(g)
np.linalg.eigh(g)
np.linalg.pinv(g)
np.linalg.matrix_power(g, 2)
np.linalg.matrix_norm(g)
np.linalg.norm(g, axis=(0, 1))
np.linalg.trace(g)
np.linalg.diagonal(g)
np.vecdot(g, g)
np.matvec(g, g[..., 0])
np.vecmat(g[..., 0], g)
np.cross(t[..., :3], t[..., 1:])
np.fft.fft(g, axis=1)
np.fft.fft2(t)
np.sum(g, axis=(1, 2))
np.cumsum(g, axis=2)
np.sort(g, axis=0)
a @ b.T
m @ m
np.vecdot(a, b)
np.linalg.vecdot(a, b)
np.linalg.vecdot(a, b, axis=0)
np.matvec(m, v[:3])
np.vecmat(v[:3], m)
np.linalg.det(m)
np.linalg.det(h)
np.linalg.inv(m)
np.linalg.inv(h)
np.linalg.solve(m, v[:3])
np.linalg.solve(m, m)
np.linalg.solve(h, h)
np.linalg.cholesky(m)
np.linalg.cholesky(m, upper=True)
np.linalg.cholesky(h)
np.linalg.qr(m)
np.linalg.qr(a)
np.linalg.qr(a, mode="r")
np.linalg.eig(m)
np.linalg.eigh(m)
np.linalg.eigvals(m)
np.linalg.eigvalsh(m)
np.linalg.svd(m)
np.linalg.svd(a, full_matrices=False)
np.linalg.svdvals(a)
np.linalg.lstsq(a, v[:3])
np.linalg.pinv(a)
np.linalg.matrix_rank(a)
np.linalg.matrix_power(m, k)
np.linalg.matrix_power(m, 3)
np.linalg.slogdet(m)
np.linalg.norm(a)
np.linalg.norm(a, axis=k)
np.linalg.norm(a, ord=n)
np.linalg.norm(v, ord=s)
np.linalg.norm(a, axis=0, keepdims=True)
np.linalg.norm(s)
np.linalg.matrix_norm(a)
np.linalg.matrix_norm(a, ord=1)
np.linalg.vector_norm(a)
np.linalg.vector_norm(a, axis=k)
np.linalg.vector_norm(v, ord=s)
np.linalg.cond(m)
np.linalg.multi_dot((m, m, m))
np.linalg.tensorinv(m, ind=1)
np.linalg.tensorsolve(m, v[:3])
np.poly(v)
np.poly(m)
np.polyadd(v, w)
np.polysub(v, x)
np.polymul(v, w)
np.polydiv(v, w)
np.polyder(v)
np.polyder(v, n)
np.polyint(v)
np.polyint(v, k)
np.polyval(v, a)
np.polyval(v, s)
np.polyval([1, 2, 3], a)
np.polyval(v, i)
np.polyadd(v, a[0])
np.polyadd(s, v)
np.polysub(v, 2)
np.polyder(v, 3)
np.polyint(v, 2, [1.0, 2.0])
np.polyint(v, k=3)
np.polydiv(v, w[:2])
np.polymul(v, 3.0)
np.poly(i)
np.poly(m)
np.polyfit(x, v, 2)
np.roots(v)
np.fft.fft(a)
np.fft.fft(v, n)
np.fft.fft(a, axis=0)
np.fft.ifft(a)
np.fft.rfft(a)
np.fft.irfft(a)
np.fft.hfft(a)
np.fft.ihfft(v)
np.fft.fft2(a)
np.fft.ifft2(a)
np.fft.rfft2(a)
np.fft.irfft2(a)
np.fft.fftn(t)
np.fft.ifftn(t, axes=(0, 1))
np.fft.rfftn(t)
np.fft.irfftn(t)
np.fft.fftfreq(n)
np.fft.fftfreq(5, s)
np.fft.rfftfreq(n)
np.fft.fftshift(a)
np.fft.fftshift(a, axes=k)
np.fft.ifftshift(a)
np.fft.fftshift(t, axes=(0, 2))
np.fft.ifftshift(v)
np.can_cast(np.int64, np.float32)
np.result_type(a, b)
np.promote_types(np.int8, np.float32)
np.min_scalar_type(3)
np.common_type(a, b)
np.mintypecode("fd")
np.issubdtype(np.int64, np.integer)
np.isdtype(np.dtype("f8"), "real floating")
np.shares_memory(a, a)
np.may_share_memory(a, b)
a.T
a.T + 1
a.mT
a.real
a.imag
r = a.real; r[...] = 2; return r
r = a.imag; r[...] = 2; return r
a.flat[1]
a.flat[1:4]
list(a.flat)
a.shape
a.ndim
a.size
a.itemsize
a.nbytes
a.dtype
a.strides
a.device
a.all(axis=k)
a.argsort(axis=0)
a.astype(np.float64)
a.astype(np.float64, copy=False)
a.astype(np.float32)
a.astype(np.float64, order="C")
a.astype(np.float64, order="F")
a.astype(np.float64, order="C", copy=False)
i.choose((v[:4], w[:4], v[:4]))
a.clip(-1, 2)
a.clip(s)
a.conj()
a.conjugate()
np.conj(a)
np.conjugate(a)
a.copy()
a.copy(order="F")
a.copy(order="K")
a.cumprod(axis=1)
a.diagonal()
a.fill(s)
a.fill(k)
a.flatten()
a.flatten("F")
a.flatten("K")
v.item(k)
v[:1].item()
a.max(axis=k)
a.nonzero()
v.partition(k)
v.argpartition(2)
a.ravel()
a.ravel("F")
a.ravel("K")
a.repeat(2)
a.repeat(2, axis=0)
a.reshape(4, 3)
a.reshape(-1)
a.reshape((3, 4))
a.reshape(a.shape)
a.reshape(2, 6, order="F")
a.reshape(4, 3, copy=True)
a.round()
a.round(k)
a.sort()
a.sort(axis=0)
v.sort()
a.squeeze()
a.squeeze(axis=k)
a.swapaxes(0, 1)
a.tolist()
a.trace()
m.trace(k)
a.transpose()
t.transpose(1, 2, 0)
t.transpose((1, 2, 0)) + 1
a.view()
a.view(np.int64)
a.to_device("cpu")
a[0]
a[k]
a[0, 1]
a[...]
a[:]
a[::-1]
a[:, 1]
a[1:, None]
a[i[:2]]
a[:, i]
a[j]
v[j]
t[i % 2]
t[:, i]
t[:, :, i]
t[:, j]
t[j % 2, :, j]
t[i % 2, :, i]
a[p]
t[t[:, 0, 0] > 0]
a[i[:3], i[:3]]
a[i[:2]][:, 1:]
a[k:]
a[()]
a[...] = 1; return a
a[0] = b[1]; return a
a[p] = 0; return a
a[:, i] = 1; return a
a += b; return a
a *= s; return a
q = a * 2; return q[0:2]
q = a * 2; return q[:, 1:3]
q = a + b; return q.T
q = t * 2; return q[1]
q = t * 2; return q[:, 1]
q = t * 2; return q[::-1, 1:, ::2]
q = a * 2; return q[0:2], q
q = a * 2; return q[::2] + 1
q = a * 2; return q.reshape(-1)[1:]
q = a + 1; q[0] = 2; return q[1:]
q = a.copy(); return q[1]
q = np.sort(a); return q[:2]
q = np.zeros_like(a); q[1] = 1; return q[:, 1:]
a + b
a + b.T.copy().T
a + a[0]
a + s
a[0] + b
a[:, :1] + b
a[::-1] + 1
t + t[0]
t[:, ::-1] * 2
-a
abs(a)
a ** k
a ** 2
a ** n
a > b
a == b
a, a
a, a[:]
[a, b, a]
np.add.reduce(a)
np.add.reduce(a, axis=k)
np.add.reduce(t, axis=(0, 1))
np.add.reduce(a, axis=())
np.multiply.reduce(a, axis=None)
np.maximum.reduce(a)
np.logical_and.reduce(a)
np.add.accumulate(a)
np.add.accumulate(a, axis=1)
np.multiply.accumulate(v)
np.maximum.accumulate(v)
np.add.outer(v, w)
np.multiply.outer(a, v)
np.add.at(v, i, 1.0)
np.add.reduceat(v, [0, 2])
np.add(a, b, out=a)
np.add(a, 1, out=a)
np.exp(a, out=a)
np.add(a, b, where=p, out=a)
np.add(a, b, order="F")
np.add(a, b, dtype=np.float32)
np.sum(a, axis=0, out=b[0])
np.cumsum(a, axis=0, out=b)
np.clip(a, 0, 1, out=b)
np.round(a, 1, out=b)
np.take(a, i, axis=1, out=b)
np.argmax(a, axis=1, keepdims=True)
"""

#: The reason for names that some of the supported versions of NumPy still have.
REMOVED = "removed, or only raise an exception"
#: What there is to say of names without a recipe: reason -> names.
WITHOUT: dict[str, str] = {
    "reads or writes files, or buffers of other objects": """
        np.fromfile np.load np.loadtxt np.save np.savetxt np.savez np.savez_compressed
        np.genfromtxt np.fromregex np.memmap np.frombuffer np.fromstring np.from_dlpack
        ndarray.tofile ndarray.dump""",
    "makes or reads text": """
        np.array2string np.array_repr np.array_str np.base_repr np.binary_repr
        np.format_float_positional np.format_float_scientific np.typename ndarray.dumps
        ndarray.tobytes""",
    "settings and information about the installation": """
        np.errstate np.geterr np.seterr np.geterrcall np.seterrcall np.getbufsize np.setbufsize
        np.get_printoptions np.set_printoptions np.printoptions np.get_include np.info
        np.show_config np.show_runtime np.test np.fft.test np.linalg.test""",
    "dates": """
        np.busday_count np.busday_offset np.is_busday np.datetime_as_string np.datetime_data
        np.datetime64 np.timedelta64 np.busdaycalendar np.isnat""",
    "longer than 64 bits": "np.longdouble np.clongdouble np.float128 np.complex256",
    "classes of things that are no arrays of numbers": """
        np.bytes_ np.character np.flexible np.generic np.object_ np.record np.recarray np.str_
        np.void np.matrix np.bmat np.asmatrix np.dtype np.finfo np.iinfo np.flatiter np.ufunc
        np.number np.integer np.signedinteger np.unsignedinteger np.inexact np.floating
        np.complexfloating np.linalg.LinAlgError np.poly1d np.ndarray""",
    "iterates in Python, or makes functions of Python's": """
        np.nditer np.nested_iters np.ndenumerate np.ndindex np.broadcast np.frompyfunc
        np.vectorize np.fromiter""",
    "memory as such, not elements": """
        ndarray.base ndarray.ctypes ndarray.data ndarray.flags ndarray.getfield ndarray.setfield
        ndarray.setflags ndarray.byteswap ndarray.resize""",
    REMOVED: """
        ndarray.itemset ndarray.newbyteorder ndarray.ptp ndarray.tostring np.in1d np.trapz""",
}


def recipes() -> list[str]:
    """All recipes, each once."""
    lines = [*TEXT.strip().splitlines(), *generated()]
    for names, text in ((REDUCED, REDUCTIONS), (FREE_OF_AXES, WITHOUT_AXES)):
        for f in names:
            for line in text.strip().splitlines():
                if not (line.startswith("a.") and not hasattr(np.ndarray, f)):
                    lines.append(line.format(f=f))
    for f in NAN_REDUCED:
        lines += [x.format(f=f) for x in REDUCTIONS.strip().splitlines() if not x.startswith("a.")]
    return list(dict.fromkeys(lines))


def generated() -> Iterator[str]:
    """Recipes of elementwise functions and of types of numbers."""
    for name, f in ufuncs().items():
        if f.signature is not None or f is np.isnat:
            continue
        if f.nin == 1:
            yield from (f"{name}(a)", f"{name}(t)", f"{name}(s)")
        else:
            yield from (f"{name}(a, b)", f"{name}(a, n)", f"{name}(t, t[0])", f"{name}(s, k)")
    for name, x in scalar_types().items():
        if x not in (np.longdouble, np.clongdouble):
            # What becomes of numbers outside an integer type differs from machine to machine.
            whole = issubclass(x, np.integer)
            given = "abs(np.nan_to_num(a, posinf=5.0, neginf=5.0))" if whole else "a"
            yield from (f"{name}(s)", f"{name}({given})")


def mentioned(text: str) -> Iterator[str]:
    """The names of the surface that a recipe uses."""
    for node in ast.walk(ast.parse(text.replace("return ", ""))):
        if isinstance(node, ast.Attribute):
            holder = ast.unparse(node.value)
            if holder in ("np", "np.linalg", "np.fft"):
                yield f"{holder}.{node.attr}"
            else:
                yield f"ndarray.{node.attr}"
