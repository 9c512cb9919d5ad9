"""Functions of one real result that store into arrays, and where to differentiate them."""

from __future__ import annotations

import numpy as np

from tests.transforms.gradient_programs import I, at, signed, v

# Elements and slices ------------------------------------------------------------------------------


@at((v(5), 0.7))
def store_an_element(x, t):
    a = x * 2
    a[1] = t * t
    a[3] = a[1] * a[0]
    return (a * a * np.arange(5.0)).sum()


@at((v(6), I(2)), (v(6), I(-1)))
def store_at_a_run_time_index(x, k):
    a = x * x
    a[k] = np.sin(x[0])
    a[k - 1] *= x[1]
    return (a * a).sum()


@at((v(8),))
def slices_with_steps(x):
    a = x.copy()
    a[::2] = a[1::2] * x[0]
    a[::-3] += np.sin(x[:3])
    a[5:1:-2] *= a[:2]
    return (a * a * np.arange(8.0)).sum()


@at((v(4, 3),))
def rows_and_columns(x):
    a = x.copy()
    a[1] = a[0] * a[2]
    a[:, 2] = a[:, 0] * a[:, 1]
    a[1:3, ::2] += 1.5
    a[-1, 1:] *= a[0, 1]
    return (a * a).sum()


@at((v(6),))
def overwrite_then_use(x):
    a = x.copy()
    a[:] = 2.0
    a[0] = x[1] * x[1]
    return (a * a * a).sum()


@at((v(6),))
def use_then_overwrite(x):
    a = x.copy()
    y = np.exp(a)
    s = (a * a).sum()
    a[:] = 0.0
    return s * (y * y).sum() + a.sum()


@at((v(4), 0.5), (v(4), -0.5))
def store_in_a_branch(x, t):
    a = x * 1.5
    if t > 0:
        a[1] = a[1] * a[2] * t
    else:
        a[:2] = np.sin(a[2:])
        a[3] *= t
    return (a * a).sum()


@at((signed(6), I(6)), (signed(6), I(0)))
def store_in_branches_of_a_loop(x, n):
    a = x.copy()
    for i in range(n):
        if a[i] > 0:
            a[i] = a[i] * a[i - 1]
        else:
            a[i] = np.exp(a[i])
    return (a * np.arange(1.0, 7.0)).sum()


# Views --------------------------------------------------------------------------------------------


@at((v(3, 4),))
def views_are_stored_through(x):
    a = x.copy()
    row = a[1]
    row *= row
    column = a[:, 2]
    column[:] = column * a[:, 0]
    a.T[3, 0] = a[2, 2] ** 2
    return (a * a).sum()


@at((v(12),))
def views_of_views(x):
    a = x.copy()
    b = a[2:10]
    c = b[::2]
    d = c[1:3]
    d *= np.sin(d)
    b[-1] = c[0] * d[0]
    return (a * a).sum() * c[3]


@at((v(2, 6),))
def reshaped_views(x):
    a = x.copy()
    flat = a.reshape(-1)
    flat[3:7] = flat[:4] * flat[4:8]
    cube = a.reshape(2, 3, 2)
    cube[:, 1] += cube[:, 0] * 0.5
    return (a**3).sum()


@at((v(5),))
def augmented_assignment(x):
    y = x * 1.0
    y *= x
    y -= y[0]
    y /= 1 + x
    y **= 2
    return (y * x).sum()


@at((v(4, 4), I(3)))
def diagonal_and_swapped_axes(x, n):
    a = x.copy()
    for i in range(n):
        a[i, i] = a[i, i] ** 2 + a[i, i + 1]
        a[[0, 1]] = a[[1, 0]]
    return (a * a[::-1]).sum()


# By way of NumPy ----------------------------------------------------------------------------------


@at((v(5), v(5, seed=1)))
def out_arguments(x, y):
    a = np.empty(5)
    np.multiply(x, y, out=a)
    np.sin(a, a)
    np.add(a[:-1], a[1:], out=a[1:])
    return (a * x).sum()


@at((signed(6), v(6)))
def where_arguments(x, y):
    a = y * 2
    np.multiply(a, a, out=a, where=x > 0)
    np.log(y, out=a, where=y > 1.0)
    return (a * y).sum()


@at((v(5), np.array([0, 1, 1, 3, 1])))
def add_at(x, places):
    a = np.zeros(4)
    np.add.at(a, places, x * x)
    np.subtract.at(a, places[:2], np.sin(x[:2]))
    return (a * a).sum()


@at((v(5), v(4, seed=3), np.array([3, 1, 1, 0])))
def fancy_stores_with_duplicates(x, y, places):
    a = x * x
    a[places] = y * y
    a[places] += 0.5 * y
    return (a * a * np.arange(1.0, 6.0)).sum()


@at((v(3, 4), v(2, 4, seed=5), np.array([2, 0])))
def fancy_rows(x, y, places):
    a = x.copy()
    a[places] = np.sin(y)
    a[places, 1:3] *= 2.0
    return (a * x).sum()


@at((signed(6),), (v(6),))
def masked_stores(x):
    a = x * x
    a[x < 0] = 0.5
    a[x > 0.5] *= 3.0
    return (a * x).sum()


@at((signed(6),))
def masked_arrays(x):
    a = np.zeros(6)
    positive = x > 0
    a[positive] = np.sqrt(x[positive])
    a[~positive] = x[~positive] ** 3
    return (a * a * np.arange(6.0)).sum()


@at((signed(6),))
def copyto_and_putmask(x):
    a = x * 2
    np.copyto(a, np.sin(x), where=x > 0.3)
    np.putmask(a, x < -0.5, x * x)
    return (a * x).sum()


@at((signed(6),))
def where_of_unsafe_lanes(x):
    return (
        np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), x * x).sum()
        + np.where(x > 0, x, x * x).prod()
    )


# Swaps and buffers --------------------------------------------------------------------------------


@at((v(5), 2, 4))
def swap_of_elements(x, i, j):
    a = x * x
    a[i], a[j] = a[j], a[i]
    a[0], a[1] = a[1] * 2, a[0]
    return (a * np.arange(5.0) * x).sum()


@at((v(3, 3),))
def swap_of_rows(x):
    a = x * x
    t = a[0].copy()
    a[0] = a[2]
    a[2] = t
    return (a * x).sum()


@at((v(6), I(3)), (v(6), I(4)), (v(6), I(0)))
def double_buffer(x, n):
    a, b = x.copy(), x.copy()
    for _ in range(n):
        b[1:-1] = a[:-2] * a[2:] + 0.3 * a[1:-1]
        a, b = b, a
    return (a * a).sum()


@at((v(4),))
def changed_after_use(x):
    a = x * 1.5
    b = a * a
    a[0] = 10.0
    c = a * b
    b[1:] = 1.0
    return c.sum() + (b * c).sum()


@at((v(5), 0.3))
def an_argument_is_changed(x, t):
    x[1:] *= t
    x[0] = x[1] * x[2]
    return (x * x).sum()


@at((v(5), v(5, seed=1)))
def arguments_feed_each_other(x, y):
    x += y * y
    y[:] = x * y
    return (x * y).sum()


@at((v(6), I(3)))
def in_place_time_steps(x, n):
    u = x.copy()
    for _ in range(n):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
    return (u * u).sum()


@at((v(6), I(3)), (v(6), I(0)))
def nonlinear_time_steps(x, n):
    u = x.copy()
    for _ in range(n):
        u[1:-1] = u[1:-1] + 0.1 * u[1:-1] * (u[2:] - u[:-2])
    return (u * u).sum()


@at((v(4, 3),))
def accumulation_into_a_slice(x):
    total = np.zeros(5)
    for i in range(len(x)):
        total[1:4] += x[i] * x[i]
        total[:3] *= 0.9
    return (total * total).sum()


@at((v(5),))
def loops_store_growing_slices(x):
    a = x.copy()
    for i in range(1, len(x)):
        a[:i] *= a[i]
        a[i] += a[:i].sum()
    return a.sum()


@at((v(6), np.array([1, 3, 0, 2])))
def ragged_sums(x, lengths):
    out = np.zeros(4)
    p = 0
    for i, n in enumerate(lengths):
        for _ in range(n):
            out[i] += x[p] * x[p]
            p += 1
    return (out * out * np.arange(1.0, 5.0)).sum()


@at((v(5), np.array([2, 0, 3])))
def slices_of_run_time_sizes(x, starts):
    s = 0.0
    for k in starts:
        part = x[k : k + 2]
        s += (part * part).sum() * part[0]
    return s


@at((v(4), I(3)), (v(4), I(0)))
def stores_in_nested_loops(x, n):
    a = x.copy()
    for _ in range(n):
        for j in range(1, len(a)):
            a[j] = a[j] * a[j - 1] + 0.1
        a[0] = np.sin(a[-1])
    return (a * a).sum()


@at((v(4), 3.0), (v(4), 40.0))
def stores_until_a_break(x, limit):
    a = x.copy()
    for i in range(30):
        a[i % 4] = a[i % 4] * 1.5 + a[(i + 1) % 4]
        if (a * a).sum() > limit:
            break
    return (a * np.arange(4.0)).sum()


@at((signed(6),))
def stores_and_continue(x):
    a = np.ones(6)
    for i in range(6):
        if x[i] < -0.4:
            continue
        a[i] = a[i - 1] * x[i]
        if x[i] > 0.5:
            a[i] *= x[i]
    return (a * a).sum()


@at((v(6),))
def an_array_and_its_later_state(x):
    a = x.copy()
    early = a * 1.0
    for i in range(1, 6):
        a[i] = a[i - 1] * early[i] + a[i] * a[i]
    return (a * early).sum()


@at((v(4), I(2)))
def a_row_for_each_step(x, n):
    path = np.zeros((n + 1, 4))
    path[0] = x
    for k in range(n):
        path[k + 1] = path[k] * np.sin(path[k]) + x
    return (path * path).sum()
