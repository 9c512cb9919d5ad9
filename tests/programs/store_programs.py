"""Functions that store by way of NumPy: `out=`, `where=`, `ufunc.at`, `copyto` and its kin.

The defaults of the parameters make the arguments of a call.
"""

import numpy as np


def A():
    return np.arange(1.0, 21.0).reshape(4, 5)


def N():
    return np.arange(1, 21).reshape(4, 5)


def V():
    return np.arange(1.0, 9.0)


def W():
    return np.linspace(0.1, 0.9, 8)


def IV():
    return np.arange(8)


def B():
    return np.array([True, False, True, True, False, False, True, False])


def C():
    return np.arange(1.0, 9.0) + 1j


def F32():
    return np.arange(1, 9, dtype=np.float32)


def S():
    return np.eye(4) + 1


def IDX():
    return np.array([1, 1, 3, 1, 0, 3, 7, 7])


def out2(v=V, w=W):
    np.add(v, 1, w)


def out3(v=V, w=W):
    return np.add(v, 1, out=(w,))


def outslice(v=V, w=W):
    return np.multiply(v[1:], w[:-1], out=v[1:])


def outoverlap(v=V):
    np.add(v[:-1], v[1:], out=v[1:])


def outrev(v=V):
    np.add(v, v[::-1], out=v)


def outcast(iv=IV, v=V):
    np.add(iv, 1, out=v)


def outcastbad(iv=IV, v=V):
    np.add(v, 1, out=iv)


def outcastunsafe(iv=IV, v=V):
    np.add(v, 1.7, out=iv, casting="unsafe")


def outf32(f=F32, v=V):
    np.sin(v, out=f)


def outbc(a=A):
    np.add(a[0], 1, out=a)


def outbadshape(a=A, v=V):
    np.add(v, 1, out=a)


def outbadshape2(v=V, a=A):
    np.add(a[:, :1], a[0], out=v)


def outmade(v=V):
    o = np.empty_like(v)
    np.exp(v, out=o)
    return o


def outmade2(v=V):
    o = np.empty(v.shape)
    return np.exp(v, o)


def divm(v=V, w=W):
    q = np.empty_like(v)
    r = np.empty_like(v)
    np.divmod(v, w, out=(q, r))
    return (q, r)


def divm2(v=V, w=W):
    q = np.empty_like(v)
    return np.divmod(v, w, out=(q, None))


def modf(v=V, w=W):
    np.modf(w * 3, out=(v, w))


def modf2(v=V, w=W):
    np.modf(w * 3, v, w)


def where_out(v=V, w=W, b=B):
    return np.add(v, 1, out=w, where=b)


def where_out2(v=V, w=W):
    return np.divide(v, w, out=np.zeros_like(v), where=w > 0.4)


def where_out3(v=V, w=W):
    np.log(v, where=v > 2, out=v)
    return np.sqrt(v, out=w, where=[True] * 8)


def where_bc(a=A):
    np.add(a, 1, out=a, where=a[0] > 2)


def where_none(v=V, b=B):
    return np.add(v, 1, where=b)[b]


def where_inner(a=A, v=V):
    o = np.zeros(5)
    return np.add(a[0], 1, out=o, where=a[1] > 7)


def where_true(v=V):
    return np.add(v, 1, where=True)


def where_int(v=V, w=W, i=IV):
    return np.add(v, 1, out=w, where=i)


def dtype_kw(v=V):
    return np.add(v, 1, dtype=np.float32)


def dtype_kw2(iv=IV):
    return (
        np.add(iv, 1, dtype=float),
        np.sqrt(iv, dtype=np.float32),
        np.multiply(iv, 2, dtype="f8"),
    )


def dtype_bad(v=V):
    return np.add(v, 1, dtype=int)


def dtype_unsafe(v=V):
    return np.add(v, 1.5, dtype=int, casting="unsafe")


def casting_safe(iv=IV, f=F32):
    return np.add(iv, f, casting="safe")


def casting_no(iv=IV, v=V):
    return np.add(iv, v, casting="no")


def dtype_out(v=V, f=F32):
    return np.add(f, 1, out=v, dtype=np.float32)


def ordk(a=A):
    return np.add(a, 1, order="C")


def ordf(a=A):
    return np.add(a, 1, order="F")


def cmp_dt(v=V, w=W):
    return np.less(v, w, dtype=bool)


def cmpout(v=V, b=B):
    np.greater(v, 3, out=b)


def logical_out(v=V, b=B):
    np.logical_and(v > 2, v < 5, out=b)


def sumout(a=A, v=V):
    y = np.empty(5)
    r = np.sum(a, axis=0, out=y)
    return (r, y)


def sumout2(a=A):
    a.sum(axis=1, out=a[:, 0])


def sumout0(a=A):
    y = np.empty(())
    return np.sum(a, out=y)


def sumoutbad(a=A, v=V):
    np.sum(a, axis=0, out=v)


def sumoutint(a=A):
    y = np.zeros(5, int)
    np.sum(a, axis=0, out=y)


def addred(a=A):
    return (
        np.add.reduce(a),
        np.add.reduce(a, axis=1),
        np.add.reduce(a, axis=None),
        np.maximum.reduce(a, axis=1, keepdims=True),
        np.add.reduce(a, 0),
    )


def addredi(a=A):
    return (np.add.reduce(a, axis=1, initial=3.0), np.multiply.reduce(a, axis=0, where=a > 3))


def acc(a=A):
    return (np.add.accumulate(a), np.add.accumulate(a, axis=1), np.multiply.accumulate(a, 1))


def accout(a=A):
    np.add.accumulate(a, axis=1, out=a)


def meanout(a=A):
    y = np.empty(5)
    np.mean(a, axis=0, out=y)
    return y


def stdout(a=A):
    y = np.empty(5)
    np.std(a, axis=0, out=y)
    a.var(axis=0, out=y)
    return y


def maxout(a=A):
    y = np.empty(5)
    np.max(a, axis=0, out=y)
    a.min(0, y)
    return y


def argout(a=A):
    y = np.empty(5, int)
    np.argmax(a, axis=0, out=y)
    return y


def dotout(s=S):
    y = np.empty((4, 4))
    np.dot(s, s, out=y)
    np.dot(s, y, y[:]) if False else None
    return y


def dotout2(s=S):
    y = np.empty((4, 4))
    s.dot(s, out=y)
    return y


def mmout(s=S):
    y = np.empty((4, 4))
    np.matmul(s, s, out=y)
    np.matmul(s, y, y)
    return y


def mmoutself(s=S):
    np.matmul(s, s, out=s)


def mmoutview(a=A, s=S):
    y = np.zeros((5, 4))
    np.matmul(s, s, out=y[1:])
    return y


def einsumout(s=S):
    y = np.empty((4, 4))
    np.einsum("ij,jk->ik", s, s, out=y)
    return y


def clipm(a=A):
    a.clip(2, 7, out=a)


def clipout2(a=A):
    a.clip(3, out=a[:])


def roundout(a=A):
    np.round(a / 3, 1, out=a)
    a.round(0, a)


def cumout(a=A):
    np.cumsum(a, axis=0, out=a)
    a.cumprod(axis=1, out=a)


def takeout(v=V, w=W):
    np.take(v, [1, 2, 0, 3, 4, 5, 6, 7], out=w)
    v.take([1, 1, 1, 1, 1, 1, 1, 1], out=w)


def anyout(a=A):
    y = np.empty(5, bool)
    np.any(a > 3, axis=0, out=y)
    np.all(a > 3, 0, y)
    return y


def concatout(v=V, w=W):
    y = np.empty(16)
    np.concatenate((v, w), out=y)
    return y


def stackout(v=V, w=W):
    y = np.empty((2, 8))
    np.stack((v, w), out=y)
    return y


def fixout(v=V, w=W):
    np.fix(w * 3, out=v)
    np.floor(w * 5, v)


def outerout(v=V, w=W):
    y = np.empty((8, 8))
    np.outer(v, w, out=y)
    return (y, np.outer(v, w, y))


def traceout(s=S):
    return (np.trace(s), np.trace(s, 1), s.trace())


def medianout(a=A):
    y = np.empty(5)
    np.median(a, axis=0, out=y)
    return y


def ptpout(a=A):
    y = np.empty(5)
    np.ptp(a, axis=0, out=y)
    return y


def sumw(a=A):
    return (np.sum(a, where=a > 3), a.sum(axis=0, where=a[0] > 2), np.sum(a, axis=1, initial=2.5))


def prodw(a=A):
    return (np.prod(a, where=a < 5, axis=1), np.prod(a, initial=0.5))


def minw(a=A):
    return (
        np.min(a, where=a > 3, initial=100.0),
        np.max(a, axis=0, where=a < 9, initial=-1),
        a.max(initial=50),
        np.min(a, initial=0),
    )


def minw2(n=N):
    return (np.min(n, where=n > 3, initial=100), np.max(n, axis=0, initial=3), n.max(initial=50))


def minwbad(a=A):
    return np.min(a, where=a > 3)


def meanw(a=A):
    return (np.mean(a, where=a > 3), np.mean(a, axis=1, where=a > 3), a.mean(where=a[0] > 2))


def varw(a=A):
    return (np.var(a, where=a > 3), np.std(a, axis=0, where=a > 0))


def anyw(a=A):
    return (np.any(a > 7, where=a > 3), np.all(a > 2, axis=1, where=a > 3))


def emptymax(v=V):
    return np.max(v[:0], initial=3.0)


def add_at(v=V, i=IDX):
    np.add.at(v, i, 1)


def add_at2(v=V, i=IDX, w=W):
    np.add.at(v, i, w)


def add_at_list(v=V, w=W):
    np.add.at(v, [1, 1, 2], [1, 2, 3])


def add_at_t(a=A):
    np.add.at(a, ([0, 0, 1], [1, 1, 2]), 1)


def add_at_t2(a=A, i=IDX):
    np.add.at(a, (i % 4, i % 5), i)


def add_at_row(a=A):
    np.add.at(a, [0, 0, 1], np.arange(5.0))


def add_at_sl(a=A):
    np.add.at(a, (slice(None), [0, 0, 1]), 1)


def sub_at(v=V, i=IDX, w=W):
    np.subtract.at(v, i, w)


def mul_at(v=V, i=IDX, w=W):
    np.multiply.at(v, i, w)
    np.divide.at(v, i, 2)
    np.maximum.at(v, i, 3)
    np.minimum.at(v, i, w)
    np.power.at(v, i, 2)


def neg_at(v=V, i=IDX):
    np.negative.at(v, i)
    np.exp.at(v, [1, 2, 1])


def add_at_int(n=IV, i=IDX):
    np.add.at(n, i, 2)


def add_at_cast(n=IV, i=IDX):
    np.add.at(n, i, 2.5)


def add_at_oob(v=V):
    np.add.at(v, [1, 99], 1)


def add_at_bin(iv=IV, v=V, i=IDX):
    h = np.zeros(8)
    np.add.at(h, i, v)
    c = np.zeros(8, int)
    np.add.at(c, i, 1)
    return (h, c)


def add_at_loop(v=V, i=IDX):
    for _ in range(3):
        np.add.at(v, i, 1)


def add_at_c(c=C, i=IDX):
    np.add.at(c, i, 1j)
    np.multiply.at(c, i, c)


def add_at_view(a=A):
    np.add.at(a[:, 1], [0, 0, 2], 5)


def add_at_int1(v=V):
    np.add.at(v, 1, 5)
    np.add.at(v, slice(1, 4), 5)


def copyto(v=V, w=W):
    np.copyto(v, w)


def copyto2(v=V, w=W):
    np.copyto(v, 3)
    np.copyto(v[2:], w[2:] * 2)


def copyto_w(v=V, b=B):
    np.copyto(v, 0, where=b)


def copyto_wc(a=A):
    np.copyto(a, a.sum(axis=0), where=a > 3)


def copyto_cast(iv=IV, v=V):
    np.copyto(iv, v)


def copyto_unsafe(iv=IV, v=V):
    np.copyto(iv, v * 1.5, casting="unsafe")


def copyto_bad(v=V, a=A):
    np.copyto(v, a)


def copyto_seq(v=V):
    np.copyto(v, [1, 2, 3, 4, 5, 6, 7, 8])


def put(v=V):
    np.put(v, [1, 3, 1], [7, 8, 9])


def put2(a=A, i=IDX):
    np.put(a, i, 5)
    np.put(a, [1, 2, 3, 4, 5], [1, 2])


def putwrap(v=V):
    np.put(v, [11, -12], [1, 2], mode="wrap")
    np.put(v, [11, -12], [3, 4], mode="clip")


def putoob(v=V):
    np.put(v, [11], 1)


def place(v=V, b=B):
    np.place(v, v > 3, [1, 2])


def putmask(v=V, w=W):
    np.putmask(v, v > 3, w)


def putmask2(v=V):
    np.putmask(v, v > 3, [10, 20, 30])
    np.putmask(v, v > 3, 0)


def putmask3(a=A):
    np.putmask(a, a > 3, a**2)


def filldiag(s=S):
    np.fill_diagonal(s, 7)


def filldiag2(a=A):
    np.fill_diagonal(a, [1, 2, 3])


def filldiag3(a=A):
    np.fill_diagonal(a.T, 2, wrap=True)


def filldiag4(s=S):
    np.fill_diagonal(s[1:], s[0, 0])


def filldiagnd(v=V):
    c = np.zeros((3, 3, 3))
    np.fill_diagonal(c, v[0])
    return c


def filldiagw(v=V):
    c = np.zeros((9, 3))
    np.fill_diagonal(c, v[0], wrap=True)
    d = np.zeros((9, 3))
    np.fill_diagonal(d, v[0])
    return (c, d)


def putalong(a=A):
    np.put_along_axis(a, np.argmax(a, axis=1)[:, None], 99, axis=1)


def putalong2(a=A):
    np.put_along_axis(a, np.array([[0, 1, 2, 3, 0]]), [[9, 8, 7, 6, 5]], 0)


def putalong3(v=V, i=IDX):
    np.put_along_axis(v, i, 5, None)
