"""NumPy functions that tests compile ahead of time"""

from __future__ import annotations

import numpy as np

import tracejit

WEIGHTS = np.arange(6.0).reshape(2, 3)
COUNT = 3


def solve(A, b):
    """A system through LAPACK, a product through BLAS, and a number."""
    x = np.linalg.solve(A, b)
    return x, A @ x - b, np.abs(x).max()


def smooth(x, steps, scale=2.0):
    """Stores into its argument in a loop, and gives it back."""
    for _ in range(steps):
        x[1:-1] = (x[:-2] + x[2:]) / scale
    return x


def loss(w, X, y):
    """What gradients are taken of."""
    r = np.tanh(X @ w) - y
    return (r * r).mean()


def numbers(k, a, z, h, flag):
    """Numbers of Python and NumPy, as arguments and as results in containers."""
    return {"k": k * 3, "a": [a / 2, z * 1j], "h": (h + h,), "flag": flag, "same": k > 2}


def positive(x):
    """A result whose size only the run knows, and one that has none."""
    return x[x > 0], np.array(x.sum())


def columns(x):
    """Arrays in other orders."""
    return np.exp(x) + x, x.sum(axis=0)


def outside(x):
    """Reads what lies outside."""
    return WEIGHTS @ x + COUNT


def at(x, i):
    """Stores, then reads where it may not."""
    x[0] = 5.0
    return x[i]


def even(x):
    """What is compiled depends on the size."""
    if len(x) % 2 == 0:
        return x * 2
    return x * 3


def fibonacci(n):
    """Calls itself."""
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


def halves(n):
    """A long loop of its own, with ints that must fit 64 bits."""
    total = 1
    for k in range(n):
        total = total * 3 + k
    return total


def many(x, A, B):
    """Reductions in each direction, elementary functions, a contraction."""
    y = x.astype(np.float32)
    return (
        *(x.sum(), x.sum(axis=0), x.std(axis=1), y.sum(), y.mean(axis=0)),
        *(np.exp(np.cos(x)), np.tanh(y), np.log1p(x) ** 1.7, np.fmod(x, 0.3)),
        np.einsum("ijk,kl->ijl", A, B),
    )


def complex_product(A, b):
    """Complex numbers through BLAS."""
    return A @ b, b @ b, np.abs(b)


def inverses(A):
    """LAPACK's routines with pivots."""
    S = A @ A.T + np.eye(len(A))
    return np.linalg.inv(S), np.linalg.det(A), np.linalg.cholesky(S)


def swap(a, b):
    """Stores into two arguments."""
    t = a.copy()
    a[:] = b
    b[:] = t


def prints(x):
    """Prints."""
    y = x * 2
    print(y.sum())
    return y


def raises(x):
    """Raises an exception of its own."""
    if x.sum() < 0:
        raise ValueError("negative")
    return x * 2


def draws(x):
    """Draws from NumPy's stream."""
    return x + np.random.rand(3)


def fft(x):
    """Calls a function of NumPy's own."""
    y = np.fft.fft(x)
    return np.abs(y)


def view(x):
    """Gives a view."""
    return x[::2]


def stores_outside(x):
    """Stores into an array from outside."""
    WEIGHTS[0, 0] = x
    return WEIGHTS * 1


def every(x):
    """Needs a size as Python's own number."""
    total = 0.0
    for name in ["x"] * len(x):
        total = total + len(name) * x[0]
    return total


def ordered(x, k):
    """Sorts, and what is made of them."""
    return np.sort(x, axis=0), np.argsort(x, axis=1, kind="stable"), np.median(x), np.unique(k)


def greater(x, s):
    """Of every dtype: an array and a scalar, given and returned."""
    return np.maximum(x, s), x[0], s


def empty(n):
    """An array of a length that is a number."""
    return np.zeros(n)


def unlike(x, k):
    """Results of different kinds, by data, and a list of numbers."""
    if x[0] > 1.0:
        return "large"
    if k > 2:
        return x * k, [x[j] for j in range(3)]
    return k


def texts(x, text):
    """Gives a text that ends comments and strings."""
    return text, x + 1, '*/ \\ """'


def waves(x):
    """A long loop, and a long product."""
    return np.exp(np.sin(x) * np.cos(x)), x @ x


def tables(x):
    """Reads arrays that are made before the program runs: constants of two kinds."""
    return np.array([3.0, 1.0, 2.0])[x] + np.arange(3)[::-1][x], WEIGHTS.T + COUNT


def placed(x):
    """Says on which device a part of it runs."""
    with tracejit.device("worker:1"):
        y = np.exp(x)
    return y + 1
