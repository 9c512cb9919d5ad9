"""Calls that NumPy or Python refuses, each (function, arguments), and some that it does not."""

import numpy as np

A = np.arange(6.0).reshape(2, 3)
BIG = np.uint64(2**64 - 1)
PLACES = np.array([1, 0], np.uint64)
LONG = [0.5] * 20


def loop_from_zero(x, n):
    total = 0.0
    for i in np.arange(n):
        total += x[i - np.uint64(1)]
    return total


def stored(x, i):
    x[i] = 7.0
    return x


def stored_flat(x, i):
    x.flat[i] = 7.0
    return x


def sorted_in_place(x, **options):
    x.sort(**options)
    return x


def grown_and_sorted(n, order):
    found = []
    for k in range(n):
        found.append(float(k))
    found.sort(reverse=order)
    return found


#: Indices that an int64 does not hold.
INDICES = [
    (lambda x, i: x[i], A[0], BIG),
    (lambda x, i: x[-i], A[0], np.uint64(1)),
    (lambda x, i: x[0, i], A, BIG),
    (lambda x, i: x[i], A, np.array(BIG)),
    (lambda x, i: x[i], A, np.array([BIG])),
    (lambda x: x[BIG], A),
    (lambda x, i: x.flat[i], A, BIG),
    (lambda x, i: np.delete(x, i), A, BIG),
    (lambda x, i: x[i], A, np.uint64(1)),
    (lambda x, i: x[i, ...], A, np.array(1, np.uint64)),
    (lambda x, i: np.add.at(x, i, 1.0), A, BIG),
    (loop_from_zero, A[0], np.uint64(2)),
    (stored, A[0], BIG),
    (stored_flat, A, BIG),
    (stored_flat, A[0], [True, False, True]),
    (stored_flat, A[0], [1.5]),
    (stored_flat, A[0], []),
]
#: Unsigned numbers that NumPy does not cast to signed ones, or does.
UNSIGNED = [
    (lambda x, q: np.repeat(x, q), A, np.array([1, 2, 0, 1, 1, 1], np.uint64)),
    (lambda x, q: np.take(x, q), A, PLACES),
    (lambda x, q: np.quantile(x, q), A, PLACES),
    (lambda x, q: np.percentile(x, q), A, PLACES),
    (lambda x, q: np.partition(x, q), A, PLACES),
    (lambda x, q: np.split(x, q), A, PLACES),
    (lambda x, q: np.put(x, q, 1.0), A, PLACES),
    (lambda x, q: x[q], A, PLACES),
    (lambda n: np.arange(n), BIG),
    (lambda n: np.arange(2, n), np.uint64(0)),
]
#: Lists of many numbers are arrays inside, and nothing can be stored into them.
LISTS = [
    (lambda x: np.add(x, x, out=x), LONG),
    (lambda x: np.add(x, x, x), LONG),
    (lambda x, y: np.sum(y, 0, None, x), LONG, A),
    (lambda x, y: y.sum(out=x), LONG, A),
    (lambda x: np.put(x, [0], 1.0), LONG),
    (lambda x: np.copyto(x, 1.0), LONG),
    (lambda x: np.place(x, [True] * 20, 1.0), LONG),
    (lambda x: np.add.at(x, [0], 1.0), LONG),
    (lambda x: np.fill_diagonal(x, 1.0), [LONG] * 20),
    (lambda x: np.cumsum(x, out=x), LONG),
    (lambda x: stored(np.asarray(x), 0), LONG),
]
#: Arguments that exclude each other, and keywords by which NumPy takes nothing.
KEYWORDS = [
    (lambda x, o: np.concatenate((x, x), out=o, dtype="f8"), A, np.zeros((4, 3))),
    (lambda x, o: np.stack((x, x), out=o, dtype="f8"), A, np.zeros((2, 2, 3))),
    (lambda x: np.sort(x, kind="stable", stable=True), A),
    (lambda x: np.argsort(x, kind="stable", stable=False), A),
    (lambda x: sorted_in_place(x, kind="quick", stable=True), A),
    (lambda x: sorted_in_place(x, kind="no"), A),
    (lambda x: np.clip(x, 0, 1, min=2), A),
    (lambda x: np.clip(x, 0, 1, max=None), A),
    (lambda x: np.argmax(x, axis=np._NoValue), A),
    (lambda x: np.sum(x, axis=np._NoValue), A),
    (lambda x: np.take(x, [0], axis=np._NoValue), A),
    (lambda x: x.fill(value=1.0), A),
    (lambda x: x.swapaxes(axis1=0, axis2=1), A),
    (lambda x: x.astype("f4", subok=False), A),
    (lambda x: x.astype("f4", casting="safe"), A),
    (lambda x: x.astype("f8", order="x", copy=False), A),
    (lambda x: x.ptp(), A),
    (lambda x: np.add(x, x, casting=None), A),
    (lambda x: np.add(x, x, signature=None), A),
    (lambda x: np.add(x, x, subok=None), A),
    (lambda x: np.add(x, x, order=None, dtype=None, out=None), A),
    (lambda x: np.add.reduce(x, out=(None,)), A),
    (lambda x: np.add.reduce(x, keepdims=None), A),
    (lambda x: np.add.accumulate(x, axis=None), A),
    (lambda x: np.matmul(x, x.T, axes=None), A),
    (lambda x: np.vecdot(x, x, keepdims=None), A),
    (lambda x: x.T.reshape(6, copy=False), A),
    (lambda x: x.reshape(6, copy=False), A),
    (lambda x: x.reshape(6, copy="a"), A),
    (lambda x: np.cov(x, dtype=int), A),
    (lambda x: np.corrcoef(x, dtype=bool), A),
    (lambda x: np.interp(x, x[0], x[0], left=(0,)), A),
    (lambda x: np.interp(x, x[0], x[0], right="1"), A),
    (lambda x: np.einsum("ij,ij,ij->i", x, x, x, optimize="x"), A),
    (lambda z: np.array([1, z], dtype=float), 1j),
]
#: Widths, sizes, counts of axes and orders.
SIZES = [
    (lambda x: np.pad(x, ((3, 4, 5), (0, 1, 2))), A),
    (lambda x: np.pad(x, ((1, 2), (1,))), A),
    (lambda x: np.pad(x, ((1,), (2,))), A),
    (lambda x: np.pad(x, []), A),
    (lambda x: np.pad(x, 0, mode="x"), A),
    (lambda: list(np.ndindex(-1)),),
    (lambda n: [k for (k,) in np.ndindex(n)], -2),
    (lambda n: list(np.ndindex(2, n)), np.uint8(2)),
    (lambda s: list(np.ndindex(*s)), np.array([2, 2])),
    (lambda x: x[(None,) * 64].sum(), A),
    (lambda: np.zeros((1,) * 65).sum(),),
    (lambda x: np.expand_dims(x, tuple(range(63))).sum(), A),
    (lambda x: np.multiply.outer(x, x).sum(), np.ones((1,) * 40)),
    (lambda x: sorted(x, reverse="a"), [2, 1]),
    (lambda x, r: sorted(x, reverse=r), [2, 1], np.bool_(True)),
    (lambda x: sorted(x, reverse=None), LONG),
    (grown_and_sorted, 3, 0.5),
]
#: What made the compiler itself fail.
FAILED = [
    (lambda x: np.block([[[x], [x]]]), A),
    (lambda x: np.block([[x, [x]]]), A),
    (lambda x: x[[[]]], A),
    (lambda x: x[np.array([], bool)], A),
    (lambda x: np.indices(()), A),
    (lambda x: np.linalg.pinv(x), np.zeros((0, 4))),
    (lambda x: x.flat[()], A),
    (lambda x: x.flat[[]], A),
    (lambda x: x.flat[1.5], A),
    (lambda x: np.polyval(np.poly1d([1, 2]), x), A),
]
