"""NumPy programs whose arrays have sizes that only the run decides, with their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[Any, ...]]]] = {}

V = np.array([0.5, -1.25, 3.0, -0.0, 2.5, -7.0, 1.5, 0.25])
#: Multiples of 1/4, here and above: their sums are exact in every order.
W = np.arange(-11.0, 12.0) / 4
A = np.arange(24.0).reshape(4, 6) % 7 - 3
B = np.asfortranarray(np.arange(35.0).reshape(5, 7) % 4 - 1)
EMPTY = np.zeros(0)
STARTS, COLUMNS = [0, 2, 2, 5, 7], [0, 3, 1, 2, 3, 0, 2]


def program(*arguments: tuple[Any, ...]) -> Callable[[Any], Any]:
    """Register a function with the argument tuples it is called on."""

    def add(f: Any) -> Any:
        PROGRAMS[f.__name__] = f, list(arguments)
        return f

    return add


VECTORS = ((V,), (W,), (-np.abs(V),), (W[::-2],))
MATRICES = ((A,), (B,), (A.T,), (A[::-1, ::2],))


# Masks -------------------------------------------------------------------------------------------


@program(*VECTORS, (EMPTY,))
def selected(x):
    return x[x > 0]


@program(*MATRICES)
def selected_of_a_matrix(a):
    return a[a > 0], a[a.sum(axis=1) > 0], a[:, a[0] > -2]


@program(*MATRICES)
def mask_beside_numbers(a):
    rows = a[:, 0] > -3
    return a[rows, 1], a[rows, 1:3], a[rows][:, 0]


@program(*MATRICES)
def mask_beside_an_index_array(a):
    rows = np.array([True] * 2 + [False] * (len(a) - 2))
    return a[rows, [0, 1]]


@program(*VECTORS)
def number_stored_by_mask(x):
    x[x < 0] = 7
    return x.sum() > 0


@program(*MATRICES)
def number_stored_in_rows_by_mask(a):
    a[a[:, 0] > 0] = -1.0
    a[:, 0] = 2
    return a


@program(*VECTORS, *MATRICES)
def values_stored_by_mask(x):
    x[x > 0] = x[x > 0] * 2 + 1


@program(*VECTORS)
def one_value_stored_by_mask(x):
    x[x > 0] = np.array([9.0])


@program(*VECTORS, *MATRICES)
def augmented_by_mask(x):
    x[x > 0] += 1
    x[x < 0] *= x[x < 0]


@program(*MATRICES)
def rows_stored_by_mask(a):
    a[a[:, 0] > -3] = a[0] * 10


@program(*VECTORS, *MATRICES)
def positions(x):
    return np.nonzero(x), np.flatnonzero(x > 0), np.where(x < 1), np.argwhere(x), (x > 0).nonzero()


@program(*VECTORS)
def picked(x):
    return np.compress(x > 0, x), np.extract(x < 1, x), np.count_nonzero(x[x > 0])


@program(*VECTORS, (EMPTY,))
def how_many(x):
    y = x[x > 0]
    return len(y), y.size, y.shape, y.nbytes


@program(*VECTORS, (EMPTY,))
def reductions_of_selected(x):
    y = x[x > 0.25]
    return y.sum(), y.prod(), y.any(), np.cumsum(y), y @ y


@program(*VECTORS)
def two_masks_of_one_size(x):
    m = x > 0
    y, z = x[m], np.arange(len(x))[m]
    return y * z + y, np.stack([y, y * 2]), np.concatenate([y, x])


@program(*VECTORS)
def mask_of_selected(x):
    y = x[x > -1]
    z = y[y < 2]
    return z, y[np.argsort(y)][: len(z)]


@program(*VECTORS)
def an_element_of_selected(x):
    y = x[x > 0.0] if x.max() > 0 else x
    return y[0], y[-1], y[len(y) // 2]


@program(*VECTORS)
def extremes_of_selected(x):
    y = x[x > -100]
    return y.max(), y.min(), y.argmax(), y.mean()


@program(*VECTORS)
def empty_or_not(x):
    y = x[x > 2]
    if len(y) == 0:
        return 0.0
    return y.max()


# Slices with bounds that are computed ------------------------------------------------------------


@program(*((W, a, b) for a in (-30, -3, 0, 2, 23, 40) for b in (-40, -1, 0, 5, 22, 50)))
def between(x, a, b):
    i, j = np.array([a, b])
    return x[i:j], x[i:j].sum(), x[i:], x[:j], x[i:j:3], x[j:i:-1], x[j:i:-2], x[:i:-1]


@program(*((A, a, b) for a in (-5, 0, 1, 3) for b in (0, 2, 9)))
def blocks_between(x, a, b):
    i, j = np.array([a, b])
    y = x[i:j, j:]
    y += 1
    x[:i, :j] = 5
    return y, x[i:, ::2].T


@program((V,), (W,))
def split_at_the_largest(x):
    k = np.argmax(x)
    left, right = x[:k], x[k + 1 :]
    return left.sum() - right.sum(), left, right


@program((W,), (V,))
def window_sums(x):
    out = np.zeros_like(x)
    for k in range(len(x)):
        lo = max(0, k - 2)
        hi = min(len(x), k + 3)
        out[k] = x[lo:hi].sum()
    return out


@program((V,), (W,))
def slice_stored_by_computed_bounds(x):
    i = int(x[0] * 2)
    x[i : i + 3] = 0
    x[:i] -= 1
    return x


@program(
    (np.array([0, 2, 2, 5, 7]), np.array([0, 3, 1, 2, 3, 0, 2]), np.arange(7.0), V[:4]),
    (
        np.array([0, 2, 2, 5, 7], np.uint32),
        np.array([0, 3, 1, 2, 3, 0, 2], np.uint32),
        W[:7],
        V[:4],
    ),
)
def sparse_rows(start, column, value, x):
    y = np.empty(len(start) - 1)
    for i in range(len(start) - 1):
        y[i] = value[start[i] : start[i + 1]] @ x[column[start[i] : start[i + 1]]]
    return y


@program((W,), (V,))
def views_that_are_stored_through(x):
    k = int(np.abs(x[0]))
    v = x[k:]
    w = v[1:4]
    w[...] = 1
    v[0] = 9
    return w, v


@program((5,), (9,), (1,))
def computed_shapes(n):
    k = int(np.arange(n).sum()) // 2 + 1
    a = np.zeros(k)
    b = np.ones((k, 2)) * np.arange(k)[:, None]
    return a, b, np.full(k, 3), np.arange(2, k, 3), a.reshape(1, k).shape


# Branches and loops ------------------------------------------------------------------------------


@program((V, 1), (V, -1), (W, 1), (W, -1))
def sizes_of_two_sides(x, p):
    if p > 0:
        y = x[x > 0]
    else:
        y = x[x < 1] * 2
    return y, y.sum(), len(y)


@program((V, 1.0), (V, -1.0))
def selected_or_all(x, p):
    y = x
    if p > 0:
        y = x[x > 0]
    return y * 2, y


@program((V, 1.0), (V, -1.0))
def a_view_from_one_side(x, p):
    k = int(x[2])
    v = x[:2]
    if p > 0:
        v = x[k:]
    return v.sum()


@program((V, 1.0), (V, -1.0), (V, 0.0))
def early_return_of_selected(x, p):
    if p > 0:
        return x[x > 0]
    if p < 0:
        return x[x < 0]
    return x


@program((W, 4), (W, 0), (V, 6), (V, 1))
def shrinking(x, n):
    y = x.copy()
    total = 0.0
    for k in range(n):
        y = y[y > -2 + 0.5 * k]
        total += len(y)
    return y, total


@program((V,), (W,))
def shrinking_together(x):
    y, z = x.copy(), np.arange(len(x))
    rounds = 0
    while True:
        m = (np.abs(y) < 3) & (y != 0)
        if not np.any(m):
            break
        y, z = y[m], z[m]
        y *= 1.5
        rounds += len(z) * (z * y).sum()
    return rounds, y, z


@program((V, 3), (V, 0), (W, 5))
def growing(x, n):
    y = x[:1]
    for _ in range(n):
        y = np.concatenate([y, x[:2]])
    return y, len(y)


@program((V,), (W,))
def doubling(x):
    while len(x) < 100:
        x = np.concatenate((x, x + 1))
    return x


@program((W,), (V,))
def halving(x):
    out = 0.0
    while len(x) > 1:
        half = len(x) // 2
        out += x[:half].sum() - x[half:].sum()
        x = x[:half]
    return out


@program((W,), (V,))
def peeling_off_the_front(x):
    out = np.zeros(len(x))
    y = x.copy()
    for k in range(len(x)):
        out[k] = y.sum()
        y = y[1:]
    return out, y


@program((V,), (W,))
def sieve(x):
    left = np.arange(2, 40 + len(x))
    primes = 0
    while len(left) > 0:
        p = left[0]
        primes += p
        left = left[left % p != 0]
    return primes


@program((A,), (B,), (A.T,))
def rows_that_remain(a):
    rounds = 0
    while len(a) > 1:
        a = a[a[:, 0] > a[:, 0].min()]
        rounds += 1
    return rounds, a


@program((W, 3), (V, 2))
def nested_loops(x, n):
    total = 0.0
    for i in range(n):
        y = x.copy()
        for j in range(i + 1):
            y = y[y > -1 + j]
        total += y.sum()
    return total, y


@program((V, 2), (W, 0))
def found_in_a_loop(x, n):
    y = np.zeros(0)
    for k in range(5):
        if k == n:
            y = x[x > k]
            break
    return y


@program((V,), (W,))
def worklist(x):
    work = np.flatnonzero(x > 0)
    seen = np.zeros(len(x), bool)
    steps = 0
    while len(work):
        seen[work] = True
        work = (work + 1) % len(x)
        work = work[~seen[work]]
        steps += 1
    return seen, steps
