"""Functions of NumPy on arrays of several kinds.

The defaults of the parameters make the arguments of a call.
"""

import numpy as np


def A():
    return np.linspace(0.3, 4, 20).reshape(4, 5) ** 2


def N():
    return np.arange(1, 21).reshape(4, 5)


def S():
    return (np.arange(1.0, 17.0) ** 1.5 % 7).reshape(4, 4) + 3 * np.eye(4)


def CS():
    return (
        (np.arange(1.0, 17.0) ** 1.5 % 7).reshape(4, 4)
        + 3 * np.eye(4)
        + 1j * np.cos(np.arange(16)).reshape(4, 4)
    )


def T3():
    return np.arange(1.0, 25.0).reshape(2, 3, 4)


def T4():
    return np.arange(1.0, 121.0).reshape(2, 5, 3, 4)


def V():
    return np.arange(1.0, 9.0)


def W():
    return np.linspace(0.1, 0.9, 8) ** 2


def C():
    return np.arange(1.0, 9.0) + 1j * np.arange(8)


def cov1(v=V):
    return np.cov(v)


def cov2(a=A):
    return np.cov(a)


def cov3(a=A):
    return (np.cov(a, rowvar=False), np.cov(a, bias=True), np.cov(a, ddof=0), np.cov(a.T, ddof=2))


def cov4(v=V, w=W):
    return (np.cov(v, w), np.cov(v, y=w, bias=True))


def cov5(a=A):
    return (np.cov(a, fweights=[1, 2, 1, 1, 3]), np.cov(a, aweights=[1, 2, 1, 1, 3.5]))


def cov6(n=N):
    return (np.cov(n), np.cov(n, dtype=np.float32))


def covc(c=C):
    return np.cov(c)


def corr(a=A):
    return (np.corrcoef(a), np.corrcoef(a, rowvar=False))


def corr1(v=V, w=W):
    return (np.corrcoef(v, w), np.corrcoef(v))


def mg(v=V):
    return np.mgrid[0:3, 0:4] * v[0]


def mg2(v=V):
    n = len(v)
    return np.mgrid[0:n, 0:n]


def mg3(v=V):
    return (np.mgrid[0:1:5j, 0:2:3j], np.mgrid[-1:1:4j])


def mg4(v=V):
    n = len(v)
    y, x = np.mgrid[-2:2:0.5, 0:n:2]
    return (y, x)


def og(v=V):
    n = len(v)
    y, x = np.ogrid[0:n, :n]
    return x * x + y * y


def og2(v=V):
    y, x = np.ogrid[-1:1:5j, 0:1:3j]
    return (x, y)


def og3(v=V):
    return (np.ogrid[0:5], np.ogrid[0:1:4j])


def hst(v=V, w=W):
    return (np.hstack((v, w)), np.vstack((v, w)), np.dstack((v, w)), np.column_stack((v, w)))


def hst2(a=A):
    return (
        np.hstack((a, a)),
        np.vstack((a, a[0])),
        np.dstack((a, a)),
        np.column_stack((a, a[:, 0])),
    )


def hst3(a=T3):
    return (np.hstack((a, a)), np.vstack((a, a)), np.dstack((a, a)), np.hstack([a, a * 2]))


def rc(v=V, w=W):
    return (np.r_[v, w], np.c_[v, w])


def block(a=A):
    return np.block([[a, a], [a, a]])


def tri(a=A):
    return (np.triu(a), np.tril(a), np.triu(a, 1), np.tril(a, -1), np.triu(a, -2), np.tril(a, 2))


def tri3(a=T3):
    return (np.triu(a), np.tril(a, 1))


def out(v=V, w=W):
    return (
        np.add.outer(v, w),
        np.multiply.outer(v, w),
        np.subtract.outer(v, w),
        np.less.outer(v, w),
        np.maximum.outer(v, w),
        np.power.outer(v, w),
        np.arctan2.outer(v, w),
    )


def out2(a=A, v=V):
    return (np.add.outer(a, v), np.add.outer(v, 3), np.add.outer(2, v))


def lin(v=V):
    n = len(v)
    return (
        np.linspace(0, 1, n),
        np.linspace(v[0], v[1], 5),
        np.linspace(0, 1, 5, endpoint=False),
        np.linspace(0, 10, 5, dtype=int),
        np.linspace(0, 1, 5, retstep=True),
        np.linspace(0, 1, n, dtype=np.float32),
    )


def rep(v=V):
    return (np.repeat(v, 3), np.repeat(v, [1, 2, 3, 0, 1, 1, 1, 2]), v.repeat(2))


def rep2(a=A):
    return (
        np.repeat(a, 2, axis=0),
        np.repeat(a, 2, axis=1),
        np.repeat(a, [1, 2, 0, 1], axis=0),
        a.repeat(2, axis=1),
    )


def mx(v=V, w=W):
    return (np.maximum(v, w), np.minimum(v, 3), np.fmax(v, w), np.maximum(v, np.nan))


def mm3(a=T3):
    return (a @ a.swapaxes(1, 2), np.matmul(a, a[0].T), a @ np.arange(4.0), a[0] @ a.swapaxes(1, 2))


def mm4(a=T4):
    return (a @ a.swapaxes(2, 3), a @ a[:1, :1].swapaxes(2, 3), np.arange(3.0) @ a)


def mmi(n=N):
    return (n @ n.T, n @ n[0], n[0] @ n[1])


def mmf32(a=T3):
    b = a.astype(np.float32)
    return b @ b.swapaxes(1, 2)


def mmc(a=T3):
    b = a + 1j
    return b @ b.swapaxes(1, 2)


def solc(a=CS, c=C):
    return np.linalg.solve(a, c[:4])


def solc2(a=CS):
    return np.linalg.solve(a, a.T)


def solm(a=S, v=V):
    return (np.linalg.solve(a, v[:4]), np.linalg.solve(a, a.T))


def solmix(a=S, c=C):
    return np.linalg.solve(a, c[:4])


def inv(a=S):
    return np.linalg.inv(a)


def invc(a=CS):
    return np.linalg.inv(a)


def invs(a=S):
    return np.linalg.inv(np.stack([a, a * 2]))


def singular(v=V):
    return np.linalg.solve(np.ones((3, 3)), v[:3])


def out3(v=V, w=W):
    return (np.outer(v, w), np.inner(v, w), np.vdot(v, w), np.inner(np.ones((2, 8)), v))


def kr(v=V, a=S):
    return (np.kron(v, v), np.kron(a, a), np.kron(np.eye(2), a))


def trc(a=A):
    return (np.trace(a), np.trace(a, offset=1), a.trace(-1), np.trace(a, dtype=np.float32))


def trc3(a=T3):
    return (np.trace(a), np.trace(a, axis1=1, axis2=2))


def rl(a=A, v=V):
    return (
        np.roll(v, 2),
        np.roll(v, -1),
        np.roll(a, 1, axis=0),
        np.roll(a, (1, 2), axis=(0, 1)),
        np.roll(a, 3),
    )


def flp(a=A):
    return (
        np.flip(a),
        np.flip(a, 0),
        np.flip(a, (0, 1)),
        np.rot90(a),
        np.rot90(a, 2),
        np.rot90(a, -1),
    )


def pd(v=V):
    return (
        np.pad(v, 2),
        np.pad(v, (1, 2), "edge"),
        np.pad(v, 3, mode="wrap"),
        np.pad(v, 3, mode="reflect"),
        np.pad(v, 3, mode="symmetric"),
        np.pad(v, 2, constant_values=5),
    )


def mesh(v=V, w=W):
    return (
        np.meshgrid(v, w),
        np.meshgrid(v, w, indexing="ij"),
        np.meshgrid(v, w[:3], sparse=True),
        np.meshgrid(v, w, v),
    )


def ind(v=V):
    return (
        np.indices((2, 3)),
        np.indices((len(v), 2)),
        np.tril_indices(3),
        np.triu_indices(3, 1),
        np.diag_indices(3),
        np.triu_indices_from(np.ones((3, 3))),
    )


def ind2(a=S):
    return (a[np.triu_indices(4)], a[np.tril_indices(4, -1)], a[np.diag_indices(4)])


def ind3(a=S):
    a[np.diag_indices(4)] = 0
    a[np.triu_indices(4, 1)] *= 2


def ind4(a=S):
    n = len(a)
    i, j = np.triu_indices(n, 1)
    a[j, i] = a[i, j]


def indd(a=S):
    a[np.diag_indices_from(a)] += 1
    a[np.tril_indices_from(a)] = 0


def cj(c=C):
    return (np.conjugate(c), np.conj(c), c.conj(), np.abs(c), abs(c), np.angle(c))


def cexp(c=C):
    return (np.exp(c), np.exp(1j * c.real), c * c, c / (c + 1), c + 1, c**2, np.sqrt(c))


def cexp2(v=V):
    return (np.exp(-2j * np.pi * v / 8), np.exp(1j * v))


def ccmp(c=C):
    return (
        np.where(c.real > 2, c, 0),
        c == c,
        c != 1,
        np.where(np.abs(c) > 3, c, -c),
        c.sum(),
        c.mean(),
        np.prod(c),
    )


def cfun(c=C):
    return (
        np.sin(c / 5),
        np.cos(c / 5),
        np.log(c),
        np.tanh(c / 5),
        np.square(c),
        np.reciprocal(c),
        c**0.5,
        c**3,
    )


def cprd(c=C):
    return (c @ c, np.vdot(c, c), np.outer(c, c), np.dot(c, c), np.cumsum(c), np.cumprod(c))


def gr(v=V):
    return (np.gradient(v), np.diff(v), np.ediff1d(v), np.trapezoid(v), np.cumsum(v))


def ones(a=A):
    return (
        np.empty_like(a).shape,
        np.zeros_like(a, dtype=int),
        np.full_like(a, 3),
        np.full(a.shape, a[0, 0]),
        np.zeros(a.shape[::-1]),
        np.zeros((2, 3), order="F"),
    )


def tile(v=V):
    return (np.tile(v, 2), np.tile(v, (2, 2)), np.expand_dims(v, (0, 2)))


def eins(a=S):
    return (
        np.einsum("ij,ji", a, a),
        np.einsum("ii", a),
        np.einsum("ij->j", a),
        np.einsum("ij,kj->ik", a, a),
        np.einsum("i,j->ij", a[0], a[1]),
    )


def cholc(a=CS):
    return np.linalg.cholesky(a @ a.conj().T)


def det(a=S):
    return (np.linalg.det(a), np.linalg.slogdet(a))


def detc(a=CS):
    return (np.linalg.det(a), np.linalg.slogdet(a))


def dets(a=S):
    return (
        np.linalg.det(np.stack([a, a * 2])),
        np.linalg.det(np.ones((3, 3)) * a[0, 0]),
        np.linalg.slogdet(np.ones((3, 3))),
    )


def det32(a=S):
    return (
        np.linalg.det(a.astype(np.float32)),
        np.linalg.det(a.astype(int)),
        np.linalg.det(a[::-1]),
        np.linalg.det(a.T),
    )


def detbad(a=S):
    return np.linalg.det(a[:2])


def powr(a=S):
    return [
        np.linalg.matrix_power(a, 3),
        np.linalg.matrix_power(a, 0),
        np.linalg.matrix_power(a, -1),
        np.linalg.matrix_power(a, 7),
        np.linalg.matrix_power(a, 2),
        np.linalg.matrix_power(a, 1),
    ]


def powi(a=S):
    return np.linalg.matrix_power(a.astype(int), 5)


def permdet(a=S):
    s = 0.0
    for i in range(3):
        s += np.linalg.det(a[[1, 0, 2, 3]] + i)
    return s
