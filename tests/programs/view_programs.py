"""Functions that write through views, and give views back.

The defaults of the parameters make the arguments of a call.
"""

import numpy as np


def K():
    return np.int64(1)


def A():
    return np.arange(1.0, 21.0).reshape(4, 5)


def S():
    return np.arange(1.0, 17.0).reshape(4, 4)


def T3():
    return np.arange(1.0, 25.0).reshape(2, 3, 4)


def V():
    return np.arange(1.0, 13.0)


def C():
    return np.arange(1.0, 9.0) + 1j


def tr(a=A):
    a.T[0] = 9
    return a.T


def sw(a=T3):
    b = a.swapaxes(0, 2)
    b[1] = 5
    return b


def mv(a=T3):
    b = np.moveaxis(a, 0, -1)
    b[1] = 5
    return b


def tr3(a=T3):
    b = a.transpose(1, 2, 0)
    b[1, 2] = 5
    return (b, a.transpose(1, 2, 0).reshape(-1))


def rs(v=V):
    b = v.reshape(3, 4)
    b[1] = 0
    return b


def rs2(a=A):
    b = a.reshape(-1)
    b[3] = 0
    return b


def rs3(a=A):
    b = a.T.reshape(-1)
    b[3] = 0
    return b


def rs4(a=A):
    b = a[:, ::2].reshape(-1)
    b[3] = 0
    return b


def rs5(a=T3):
    b = a.reshape(6, 4)
    b[3] = 0
    return b


def rs6(a=T3):
    b = a[:, 1:].reshape(2, -1)
    b[1] = 0
    return b


def rsF(a=A):
    b = a.reshape(10, 2, order="F")
    b[1] = 0
    return b


def rsA(a=A):
    b = a.reshape(10, 2, order="A")
    b[1] = 0
    return b


def rv(a=A):
    b = a.ravel()
    b[1] = 0
    return b


def rv2(a=A):
    b = a.ravel(order="F")
    b[1] = 0
    return b


def rvK(a=A):
    b = a.ravel(order="K")
    b[1] = 0
    return b


def rvT(a=A):
    b = a.T.ravel()
    b[1] = 0
    return b


def npravel(a=A):
    b = np.ravel(a)
    b[1] = 0
    return b


def fl(a=A):
    b = a.flatten()
    b[1] = 0
    return b


def flF(a=A):
    b = a.flatten("F")
    b[1] = 0
    return b


def dg(a=S):
    return np.diagonal(a)


def dgw(a=S):
    d = np.diagonal(a)
    d[0] = 1


def dg1(a=S):
    d = np.diag(a)
    return (d, np.diag(a, 1), np.diag(a, -2))


def dgr(a=S):
    d = np.diagonal(a)
    a[0, 0] = 99
    return (d.copy(), d)


def dgm(v=V):
    return (np.diag(v), np.diag(v[:3], 2))


def dgwr(a=S):
    d = np.diag(a)
    d[0] = 1


def einsdiag(a=S):
    np.einsum("ii->i", a)[:] = 3


def einsdiag2(a=S):
    b = a * 1
    np.einsum("ii->i", b)[...] = 3
    return b


def re(c=C):
    r = c.real
    r[0] = 9
    c.imag[1:3] = 4
    return r


def rev(c=C):
    c.real[::2] += 3
    c[1:3].imag = 5
    return (c.real, c.imag)


def sq(v=V):
    b = v[None, :, None]
    d = np.squeeze(b)
    d[1] = 5
    return d


def ed(v=V):
    b = np.expand_dims(v, 0)
    b[0, 1] = 4
    return b


def bt(v=V):
    b = np.broadcast_to(v, (2, 12))
    v[0] = 99
    return (b, b.sum())


def btw(v=V):
    b = np.broadcast_to(v, (2, 12))
    b[0] = 1


def al(v=V):
    b = np.atleast_2d(v)
    b[0, 2] = 5
    return b


def al3(v=V):
    b = np.atleast_3d(v)
    b[0, 2] = 5
    return b


def sp(v=V):
    a, b, c = np.split(v, 3)
    a[0] = 5
    b += c
    return (a, b)


def sp2(a=A):
    x, y = np.array_split(a, 2, axis=1)
    x[...] = 1
    y[0] = 2
    return y


def hs(a=A):
    x, y = np.hsplit(a, [2])
    y *= 2
    return np.vsplit(a, 2)


def vv(a=A):
    b = a[1:]
    c = b[:, 1:3]
    d = c.T
    d[0] = 7
    return d


def vloop(a=A):
    r = a[1]
    for i in range(5):
        r[i] = i
    return r


def vloop2(a=A):
    for i in range(4):
        r = a[i]
        r[1:] += i
        r *= 2


def vloop3(a=A):
    for r in a:
        r[0] = 0
        r += 1


def vloop4(a=A):
    b = a.T
    for i in range(5):
        b[i] = i
    return b


def vloop5(a=A):
    b = a[::2, 1:]
    for i in range(2):
        for j in range(4):
            b[i, j] = i * j
    return a.sum()


def vwhile(a=A):
    b = a[:, 0]
    i = 0
    while i < 4 and b[i] < 12:
        b[i] = 100
        i += 1
    return i


def _helper(x):
    x[1] = 42
    return x[::-1]


def helper(v=V):
    w = _helper(v[2:8])
    w[0] = 1
    return w


def enumr(a=A):
    for i, r in enumerate(a):
        r[i] = -1


def zipr(a=A, b=A):
    for x, y in zip(a, b, strict=False):
        x += y
        y[:] = 0


def cond_view(a=A, k=K):
    if k > 0:
        b = a[0]
    else:
        b = a[1]
    return b.sum()


def cond_store(a=A, k=K):
    b = a[0]
    if k > 0:
        b[1] = 7
    else:
        b[2] = 9
    return b


def ff(a=A):
    b = np.flip(a)
    b[0] = 1
    c = np.fliplr(a)
    c[:, 0] = 2
    d = np.rot90(a)
    d[0] = 3
    return (b, c, d)


def bcarr(v=V):
    x, y = np.broadcast_arrays(v, np.ones((2, 1)))
    return (x, y)


def arrc(a=A):
    b = np.array(a)
    b[0] = 0
    c = np.copy(a)
    d = a.copy()
    e = a.astype(float)
    e[0] = 1
    return (b, c, d, e)


def astc(a=A):
    return (a.astype(float, copy=False), a.astype(np.float32))


def sldot(a=A):
    b = a[1:3, 1:4]
    b[:] = b @ np.ones((3, 3))
    return b


def mt(a=T3):
    return (a.mT, np.matrix_transpose(a))


def selfview(a=A):
    a[:] = a[::-1]
    a[1:, 1:] = a[:-1, :-1]


def rowview(a=A):
    r = a[2]
    a[0] = r
    r += 1
    a[1] = r
    return r


def outer_view(v=V):
    m = v.reshape(3, 4)
    col = m[:, 1]
    col += 100
    m[1] = col.sum()
    return (col, v[5])
