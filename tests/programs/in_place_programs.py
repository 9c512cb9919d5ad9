"""Functions that change arrays in place: augmented assignments, swaps, attributes, methods.

The defaults of the parameters make the arguments of a call.
"""

import numpy as np


def K():
    return np.int64(1)


def M():
    return np.int64(3)


def X():
    return np.float64(3)


def A():
    return np.arange(1.0, 21.0).reshape(4, 5)


def N():
    return np.arange(1, 21).reshape(4, 5)


def N8():
    return np.arange(1, 21, dtype=np.int8).reshape(4, 5)


def V():
    return np.arange(1.0, 9.0)


def W():
    return np.linspace(0.1, 0.9, 8)


def B():
    return np.array([True, False, True, True, False, False, True, False])


def C():
    return np.arange(1.0, 9.0) + 1j


def S():
    return np.eye(4) + 1


def complex_into_real(a=A):
    a[0] = 1j


def complex_arr_into_real(v=V, c=C):
    v[:] = c


def cscalar_into_real(v=V, c=C):
    v[0] = c[0]


def seq(a=V):
    a[1:3] = [1, 2]


def seqn(a=A):
    a[1:3, :2] = [[1, 2], [3, 4.5]]


def seqt(a=A):
    a[1:3, :2] = (1, 2)


def seqbad(a=V):
    a[1:3] = [1, 2, 3]


def seqtr(a=V, w=W):
    a[1:3] = [w[0], w[1] * 2]


def iadd_int_float(n=N):
    n += 1.5


def iadd_int_farr(n=N, a=A):
    n += a


def idiv_int(n=N):
    n /= 2


def i8_iadd_300(n=N8):
    n += 300


def i8_iadd_np(n=N8, m=N):
    n += m


def u_isub(b=B):
    b -= True


def ifdiv(n=N):
    n //= 3


def imod(n=N):
    n %= 3


def ipow(n=N):
    n **= 2


def iand(n=N):
    n &= 3


def ior(n=N):
    n |= 8


def ixor(n=N):
    n ^= 5


def ils(n=N):
    n <<= 2


def irs(n=N):
    n >>= 1


def iandf(a=A):
    a &= 1


def ibool(b=B):
    b &= False


def ibool2(b=B):
    b |= True


def imatmul(s=S):
    s @= s


def imatmulv(s=S, t=S):
    s @= t * 2


def imatbad(a=A, s=S):
    a @= s


def ibad(a=A, v=V):
    a += v


def ibig(v=V, a=A):
    v += np.ones((3, 8))


def iel(a=A):
    a[1, 2] += 5
    a[1, 2] -= 2
    a[1, 2] *= 3
    a[1, 2] /= 7
    a[1, 2] //= 1
    a[1, 2] %= 2
    a[1, 2] **= 3


def ielint(n=N):
    n[1, 2] += 1.7


def ielint_row(n=N):
    n[1] += 1.7


def ielint_nan(n=N):
    n[1, 1] = float("nan")


def islview(a=A):
    b = a[1:3]
    b += 1
    b *= a[0]


def iscalar_name(v=V):
    s = v[0]
    s += 1
    return (s, v)


def ovl(v=V):
    v[1:] += v[:-1]


def ovl2(v=V):
    v[1:] = v[:-1]


def ovl3(v=V):
    v[:] = v[::-1]


def ovl4(a=S):
    a += a.T


def ovl5(a=S):
    a[:] = a.T


def swap_sc(v=V):
    v[0], v[3] = (v[3], v[0])


def swap_sc_k(v=V, i=3, j=5):
    v[i], v[j] = (v[j], v[i])


def swap_rows(a=A):
    a[0], a[2] = (a[2], a[0])


def swap_rows_copy(a=A):
    a[0], a[2] = (a[2].copy(), a[0].copy())


def swap_rows_i(a=A, i=K, j=M):
    a[i], a[j] = (a[j], a[i])


def swap_list(a=A):
    a[[0, 2]] = a[[2, 0]]


def swap_listk(a=A, i=K, j=M):
    a[[i, j]] = a[[j, i]]


def swap_slices(v=V):
    v[:3], v[3:6] = (v[3:6], v[:3])


def swap_cols(a=A):
    a[:, [0, 1]] = a[:, [1, 0]]


def swap_tmp(a=A):
    t = a[0].copy()
    a[0] = a[1]
    a[1] = t


def swap_tmp_alias(a=A):
    t = a[0]
    a[0] = a[1]
    a[1] = t


def swap_loop(v=V, n=5):
    x = v.copy()
    y = v * 2
    for _ in range(n):
        x, y = (y, x)
        x += 1
    return (x, y)


def rev_loop(v=V):
    n = len(v)
    for i in range(n // 2):
        v[i], v[n - 1 - i] = (v[n - 1 - i], v[i])


def bubble(v=V):
    n = len(v)
    for i in range(n):
        for j in range(n - 1 - i):
            if v[j] < v[j + 1]:
                v[j], v[j + 1] = (v[j + 1], v[j])


def rowswap_loop(a=A):
    n = len(a)
    for i in range(n // 2):
        a[[i, n - 1 - i]] = a[[n - 1 - i, i]]


def rowswap_loop2(a=A):
    n = len(a)
    for i in range(n // 2):
        a[i], a[n - 1 - i] = (a[n - 1 - i], a[i])


def pivot(a=S):
    n = len(a)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            a[[k, p]] = a[[p, k]]
        a[k + 1 :, k:] -= np.outer(a[k + 1 :, k] / a[k, k], a[k, k:])


def pivot2(a=S):
    n = len(a)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        t = a[k].copy()
        a[k] = a[p]
        a[p] = t


def shape_set_made(v=V):
    b = v * 2
    b.shape = (2, 4)
    return b


def shape_set_alias(v=V):
    b = v * 2
    c = b
    c.shape = (2, -1)
    return (b, b.shape)


def shape_set_arg(v=V):
    v.shape = (2, 4)
    return v.sum(axis=0)


def shape_set_bad(v=V):
    b = v * 2
    b.shape = (3, 4)


def shape_set_view(v=V):
    b = v[:]
    b.shape = (2, 4)
    b[0] = 0
    return b


def real_set(c=C, v=V):
    c.real = v


def imag_set(c=C):
    c.imag = 3


def real_slice_set(c=C):
    c.real[1:3] = 9
    c.imag[0] += 1


def real_iadd(c=C):
    c.real += 1


def real_real_set(v=V):
    v.real = 3


def imag_real_set(v=V):
    v.imag = 3


def flat_all(a=A):
    a.flat[...] = 3


def flat_sl(a=A):
    a.flat[2:7] = 3


def flat_sl2(a=A):
    a.flat = 2


def flat_sl3(a=A):
    a.flat = [1, 2, 3]


def flat_i(a=A):
    a.flat[7] = 3
    return a.flat[6]


def flat_diag(a=S):
    a.flat[::5] += 10


def flat_list(a=A):
    a.flat[[1, 7]] = (4, 5)
    return a.flat[[3, 4]]


def T_set(a=A):
    a.T[...] = 3


def T_set2(a=A):
    a.T[1] = [1, 2, 3, 4]


def T_iadd(a=A):
    a.T[1:3] += np.arange(4.0)


def fill(a=A):
    a.fill(3)


def fill_int(n=N):
    n.fill(2.7)


def fill_view(a=A):
    a[1:3, ::2].fill(3)


def fill_T(a=A, k=X):
    a[0].fill(k)


def sort_ip(v=V):
    w = v[::-1].copy()
    w.sort()
    return w


def sort_arg(v=V):
    v *= -1
    v.sort()


def sort_ax(a=A):
    a *= -1
    a.sort(axis=0)


def sort_ax1(a=A):
    a *= -1
    a.sort(axis=1, kind="stable")


def sort_view(a=A):
    a *= -1
    a[1].sort()
    return a.sort()


def put_m(a=A):
    a.put([1, 3], [7, 8])


def identity(a=A):
    b = a
    b += 1
    return (a is b, np.add(a, 1, out=a) is a)
