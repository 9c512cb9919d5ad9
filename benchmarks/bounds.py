"""Bounds checks: element loops with and without them, and what they cost.

The indices are affine in loop counters, but the loops' bounds are numbers of the run, which nothing
proves to be in range; or they come from arrays, where nothing but a check can tell.
"""

import numpy as np

import tracejit

from .harness import Contender, Table, compare

RNG = np.random.default_rng(7)
X = RNG.random(100_003)
GRID = RNG.random((300, 301))
INDEX = RNG.integers(0, X.size, 100_000)
POSITIVE = 50 * np.eye(50) + RNG.random((50, 50)) @ np.ones((50, 50))
POSITIVE = POSITIVE + POSITIVE.T


def shifted_sum(x, limits):
    """Reads of one axis."""
    a, b, k = int(limits[0]), int(limits[1]), int(limits[2])
    s = 0.0
    for i in range(a, b):
        s += x[i] * x[i + k]
    return s


def every_other(x, limits):
    """A read and a store of one axis, with a factor."""
    b = int(limits[0])
    y = np.zeros(x.size)
    for i in range(b):
        y[2 * i + 1] = x[2 * i] + 1.0
    return y


def stencil(u, limits):
    """Two loops, five reads and a store."""
    h, w = int(limits[0]), int(limits[1])
    v = np.zeros_like(u)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) - u[i, j]
    return v


def stencil_into(u, v, limits):
    """The same into an argument, which a failing check restores."""
    h, w = int(limits[0]), int(limits[1])
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            v[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) - u[i, j]
    return v


def gathered(x, index):
    """Places from an array."""
    s = 0.0
    for i in range(index.size):
        s += x[index[i]]
    return s


def histogram(index, size):
    """Counts at places from an array."""
    h = np.zeros(size, np.int64)
    for i in range(index.size):
        h[index[i]] += 1
    return h


def cholesky(a, limits):
    """Three loops, the inner ones as far as the outer ones have come."""
    n = int(limits[0])
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= factor[i, k] * factor[j, k]
            if i == j:
                factor[i, j] = np.sqrt(s)
            else:
                factor[i, j] = s / factor[j, j]
    return factor


#: Function, arguments, title, and the most that checks may cost where that is promised.
PROGRAMS = {
    "shifted_sum": (
        shifted_sum,
        (X, np.array([0, 100_000, 3])),
        "x[i] * x[i + k], 100,000 terms",
        1.05,
    ),
    "every_other": (
        every_other,
        (X, np.array([50_000])),
        "y[2 * i + 1] = x[2 * i], 50,000 stores",
        1.05,
    ),
    "stencil": (stencil, (GRID, np.array(GRID.shape)), "stencil by elements, 300 x 301", 1.05),
    "stencil_into": (
        stencil_into,
        (GRID, np.zeros_like(GRID), np.array(GRID.shape)),
        "stencil into an argument, 300 x 301",
        1.05,
    ),
    "gathered": (gathered, (X, INDEX), "s += x[index[i]], 100,000 reads", None),
    "histogram": (histogram, (INDEX % 1000, 1000), "h[index[i]] += 1, 100,000 counts", None),
    "cholesky": (cholesky, (POSITIVE, np.array([50])), "Cholesky by elements, 50 x 50", 1.05),
}


def cost(name: str, rounds: int) -> Table:
    """One program with checks and without."""
    function, arguments, title, most = PROGRAMS[name]
    names = [f"a{k}" for k in range(len(arguments))]
    given = dict(zip(names, arguments, strict=True))
    found = [
        Contender(
            label,
            f"f({', '.join(names)})",
            {"f": tracejit.jit(function, strict=True, bounds_check=checked), **given},
        )
        for label, checked in (("unchecked", False), ("checked", True))
    ]
    table, times = compare(f"{title}, one thread", found, unit="us", rounds=rounds, atol=0.0)
    ratio = times["checked"].cpu / times["unchecked"].cpu
    table.require("checked over unchecked", ratio, at_most=most or np.inf)
    return table


def run(quick: bool) -> list[Table]:
    return [cost(name, 5 if quick else 31) for name in PROGRAMS]
