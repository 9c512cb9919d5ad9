"""Stores of elements, rows and slices into arrays made in the function."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table

programs = Programs("stores")


def fill(n, x):
    out = np.zeros(n)
    for i in range(n):
        out[i] = x * i
    return out


programs.add(fill, (4, 1.5), (0, 2.0), (17, 0.25), (1, 3.0))


def prefix_sums(x):
    out = np.empty_like(x)
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        out[i] = s
    return out


programs.add(prefix_sums, (ramp(5),), (mixed(27),), (np.zeros(0),), (ramp(10)[::2],))


def histogram(x, bins):
    counts = np.zeros(bins, dtype=np.int64)
    for v in x:
        k = int((v + 4) / 8 * bins)
        if 0 <= k < bins:
            counts[k] += 1
    return counts


programs.add(histogram, (mixed(9), 4), (mixed(60), 7), (mixed(9) * 3, 4))


def blocks(m):
    out = np.zeros_like(m)
    for i in range(m.shape[0] - 1):
        out[i : i + 2, i:] += m[i : i + 2, i:]
    return out


programs.add(blocks, (table(3, 3),), (table(7, 8),))


def triangle(n):
    m = np.zeros((n, n))
    for i in range(n):
        m[i, : i + 1] = i
        m[i, i] = -1.0
    return m


programs.add(triangle, (3,), (8,), (1,))


def jacobi_swap(a, steps):
    """Two arrays change names in every step."""
    a = a.copy()
    b = a.copy()
    for _ in range(steps):
        b[1:-1] = (a[:-2] + a[1:-1] + a[2:]) / 3
        a, b = b, a
    return a


programs.add(jacobi_swap, (ramp(6), 1), (ramp(6), 2), (ramp(6), 0), (mixed(30), 7), (mixed(30), 8))


def store_in_branch(x):
    y = np.zeros(3)
    if x > 0:
        y[0] = x
    else:
        y[1] = -x
        y[2] += 1
    return y


programs.add(store_in_branch, (2.0,), (-2.0,), (np.float64(0.5),), (np.float64(-0.5),))


def alias_of_local(x):
    y = x * 2
    z = y
    if x[0] > 0:
        z[0] = 100.0
    y[1] = -100.0
    return y, z


programs.add(alias_of_local, (ramp(4),), (ramp(4, 1, 2),), (mixed(9),), (-mixed(9),))


def through_a_view(x):
    y = x * 1.0
    head = y[:3]
    for i in range(3):
        head[i] = i
    return y, head


programs.add(through_a_view, (ramp(4),), (mixed(11),))


def row_as_name(m):
    m = m + 0.0
    for row in m:
        if row[0] < 0:
            row[:] = 0.0
        row[-1] = 1.0
    return m


programs.add(row_as_name, (table(3, 3),), (table(8, 4),))


def dtype_on_store(x):
    out = np.zeros(len(x), dtype=np.int32)
    for i in range(len(x)):
        out[i] = x[i] * 2
    return out


programs.add(dtype_on_store, (ramp(5),), (mixed(19),))


def store_then_read(x, n):
    y = np.ones(len(x) + n)
    for i in range(len(x)):
        y[i + n] = y[i] + x[i]
    return y


programs.add(store_then_read, (ramp(4), 1), (ramp(4), 2), (mixed(15), 4))


def augmented_result_of_branch(x, k):
    y = x + 1 if k > 0 else x * 2
    y += 10
    y[k] -= 5
    return x, y


programs.add(augmented_result_of_branch, (ramp(3), 1), (ramp(3), -1), (ramp(9), 4), (ramp(9), 0))


def complex_parts(n):
    z = np.zeros(n, dtype=complex)
    for i in range(n):
        z[i] = i + 1j * (n - i)
        if i % 2:
            z[i] = z[i].conjugate()
    return z


programs.add(complex_parts, (3,), (8,))


def two_dimensional_wavefront(n, m):
    d = np.zeros((n, m), dtype=np.int64)
    d[0, :] = 1
    d[:, 0] = 1
    for i in range(1, n):
        for j in range(1, m):
            d[i, j] = d[i - 1, j] + d[i, j - 1]
    return d


programs.add(two_dimensional_wavefront, (2, 3), (6, 9), (1, 1))


def store_or_rebind(x):
    y = x.copy()
    for _ in range(4):
        if y[0] > 2:
            y[0] -= 0.5
        else:
            y = y + 0.5
    return y


programs.add(store_or_rebind, (ramp(3) + 3.0,), (ramp(3),), (-ramp(4),))


def store_into_a_choice_on_one_side(x):
    y = x.copy()
    if x[1] < 0:
        y[0] = 5.0
    else:
        y = y + 0.5
    if x[0] > 2:
        y[0] = 7.0
    else:
        y = y + 1
    return y[0], y


programs.add(
    store_into_a_choice_on_one_side,
    *((np.array([a, b]),) for a in (3.0, 1.0) for b in (-1.0, 1.0)),
)


def along_a_slice(x, first):
    part = x[first:]
    for i in range(1, len(part)):
        part[i] = part[i - 1] * 0.5 + part[i]
    return part.sum()


def from_both_ends(x):
    part = x[1:-1]
    for i in range(len(part) // 2):
        part[i], part[-1 - i] = part[-1 - i], part[i] + 1
    return x


def with_steps(x):
    odd, back = x[1::2], x[::-1]
    for i in range(len(odd)):
        odd[i] += back[i]
        back[-1] = odd[-1 - i]
    return odd


def at_places_of_the_run(x, places):
    part = x[2:9][1:]
    for k in places:
        part[k] = part[k - 1] + k
    return part


def blocks_of_a_table(x):
    table = np.outer(x, x + 1)
    block = table[1:, :-1]
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            if block[i, j] > block[i - 1, j - 1]:
                block[i, j] -= block[i - 1, j - 1]
    return table


def an_index_behind_the_slice(x, n):
    part = x[1:4]
    for i in range(n):
        part[i] = part[i] + 1
    return x


def a_caught_index_behind_the_slice(x):
    part, seen = x[1:4], 0
    for i in range(len(x)):
        try:
            part[i] = part[i] + 1
        except IndexError:
            seen += 1
    return seen, x


programs.add(along_a_slice, (mixed(9), 1), (mixed(40), 3), (mixed(40), -5), parity="ulp", ulp=64)
programs.add(from_both_ends, (mixed(9),), (mixed(40),), (mixed(2),))
programs.add(with_steps, (mixed(9),), (mixed(40),), (mixed(3),))
programs.add(
    at_places_of_the_run,
    (mixed(12), np.array([0, 3, 1, -1])),
    (mixed(30), np.array([5, -6, 0, 2, 4])),
    (mixed(30), np.array([5, 2, 6])),
    (mixed(30), np.array([1, -7])),
)
programs.add(blocks_of_a_table, (mixed(5),), (mixed(20),), (mixed(2),))
programs.add(
    an_index_behind_the_slice, (mixed(12), 5), (mixed(5), 3), (mixed(30), 4), (mixed(9), 2)
)
programs.add(a_caught_index_behind_the_slice, (mixed(12),), (mixed(5),), (mixed(30),))
