"""Functions that call themselves as often as data says: sorts, trees of calls, searches."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp

programs = Programs("recursion_on_data")


def merge(left, right):
    out = np.empty(len(left) + len(right))
    i = j = 0
    for k in range(len(out)):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
    return out


def merge_sort(a):
    """The base case gives the argument itself."""
    if len(a) <= 1:
        return a
    middle = len(a) // 2
    return merge(merge_sort(a[:middle]), merge_sort(a[middle:]))


programs.add(merge_sort, (mixed(9),), (mixed(1),), (mixed(40),), (mixed(0),), (mixed(33),))


def quicksort_parts(a):
    if len(a) <= 1:
        return a
    pivot = a[len(a) // 2]
    parts = [quicksort_parts(a[a < pivot]), a[a == pivot], quicksort_parts(a[a > pivot])]
    return np.concatenate(parts)


programs.add(quicksort_parts, (mixed(9),), (mixed(60),), (np.ones(30),), (mixed(60, 1),))


def swap_sort(a, low, high):
    """Sorts its argument in place."""
    if low < high:
        pivot = a[high]
        i = low
        for j in range(low, high):
            if a[j] < pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        swap_sort(a, low, i - 1)
        swap_sort(a, i + 1, high)


def sorted_in_place(a):
    swap_sort(a, 0, len(a) - 1)


programs.add(sorted_in_place, (mixed(9),), (mixed(2),), (mixed(50),), (mixed(1),), (ramp(20),))


def quicksort_in_place(a, low=0, high=None):
    """Gives the array that it sorts."""
    if high is None:
        high = len(a) - 1
    if low < high:
        pivot, i = a[high], low
        for j in range(low, high):
            if a[j] <= pivot:
                a[i], a[j] = a[j], a[i]
                i += 1
        a[i], a[high] = a[high], a[i]
        quicksort_in_place(a, low, i - 1)
        quicksort_in_place(a, i + 1, high)
    return a


programs.add(quicksort_in_place, (mixed(9),), (mixed(2),), (mixed(50),), (mixed(1),), (mixed(0),))


def counted_swaps(a, low, high, swaps=0):
    if low >= high:
        return a, swaps
    middle = low + (high - low) // 2
    a, left = counted_swaps(a, low, middle)
    a, right = counted_swaps(a, middle + 1, high)
    for k in range(low, high):
        if a[k] > a[k + 1]:
            a[k], a[k + 1] = a[k + 1], a[k]
            swaps += 1
    return a, swaps + left + right


def swapped(a):
    b, n = counted_swaps(a, 0, len(a) - 1)
    return b is a, n, b


programs.add(swapped, (mixed(9),), (mixed(2),), (mixed(50),), (mixed(1),))


def fourier(x):
    if len(x) == 1:
        return x
    even, odd = fourier(x[::2]), fourier(x[1::2])
    turned = np.exp(-2j * np.pi * np.arange(len(odd)) / len(x)) * odd
    return np.concatenate([even + turned, even - turned])


programs.add(fourier, (ramp(4) + 0j,), (ramp(64) + 0j,), (ramp(128) + 1j,), parity="ulp", ulp=64)


def simpson(f, a, b, at_a, at_middle, at_b, whole, tolerance, depth):
    middle = (a + b) / 2
    left_middle, right_middle = f((a + middle) / 2), f((middle + b) / 2)
    left = (middle - a) / 6 * (at_a + 4 * left_middle + at_middle)
    right = (b - middle) / 6 * (at_middle + 4 * right_middle + at_b)
    if depth <= 0 or abs(left + right - whole) <= 15 * tolerance:
        return left + right + (left + right - whole) / 15
    return simpson(
        f, a, middle, at_a, left_middle, at_middle, left, tolerance / 2, depth - 1
    ) + simpson(f, middle, b, at_middle, right_middle, at_b, right, tolerance / 2, depth - 1)


def adaptive(a, b):
    def f(x):
        return x * x * np.exp(-x) + abs(x - 0.3)

    middle = (a + b) / 2
    values = f(a), f(middle), f(b)
    whole = (b - a) / 6 * (values[0] + 4 * values[1] + values[2])
    return simpson(f, a, b, *values, whole, 1e-9, 40)


programs.add(adaptive, (0.0, 1.0), (-1.0, 3.0), (0.0, 0.25), parity="ulp", ulp=8)


def flood(grid, i, j, old, new):
    inside = 0 <= i < grid.shape[0] and 0 <= j < grid.shape[1]
    if not inside or grid[i, j] != old:
        return 0
    grid[i, j] = new
    found = 1
    for a, b in ((i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)):
        found += flood(grid, a, b, old, new)
    return found


def filled(grid, new):
    return flood(grid, 1, 2, grid[1, 2], new)


programs.add(
    filled,
    ((mixed(20) > 0).reshape(4, 5).astype(int), 7),
    ((mixed(80) > -2).reshape(8, 10).astype(int), 9),
    (np.zeros((6, 6), int), 3),
)


def placements(n, row, columns, rising, falling):
    """Marks what it tries in the arrays of its caller, and takes it back."""
    if row == n:
        return 1
    count = 0
    for k in range(n):
        if not columns[k] and not rising[row + k] and not falling[row - k + n - 1]:
            columns[k] = rising[row + k] = falling[row - k + n - 1] = True
            count += placements(n, row + 1, columns, rising, falling)
            columns[k] = rising[row + k] = falling[row - k + n - 1] = False
    return count


def queens(n):
    return placements(n, 0, np.zeros(n, bool), np.zeros(2 * n, bool), np.zeros(2 * n, bool))


programs.add(queens, (4,), (5,), (6,))


def determinant(a):
    if a.shape[0] == 1:
        return a[0, 0]
    total = 0.0
    for k in range(a.shape[0]):
        total += (-1) ** k * a[0, k] * determinant(np.delete(a[1:], k, axis=1))
    return total


programs.add(
    determinant, (mixed(4).reshape(2, 2),), (mixed(25).reshape(5, 5),), (mixed(1).reshape(1, 1),)
)


def extremes(a, low, high):
    if high - low == 1:
        return a[low], (low, 1)
    middle = (low + high) // 2
    (x, (i, m)), (y, (j, n)) = extremes(a, low, middle), extremes(a, middle, high)
    if x >= y:
        return x, (i, m + n)
    return y, (j, m + n)


def largest(a):
    """Results are tuples of tuples."""
    return extremes(a, 0, len(a))


programs.add(largest, (mixed(5),), (mixed(50),), (mixed(1),))


def first_above(a, k, limit):
    if k >= len(a):
        return None
    if a[k] > limit:
        return k
    return first_above(a, k + 1, limit)


def found(a, limit):
    """The result may be None."""
    k = first_above(a, 0, limit)
    return -1 if k is None else k


programs.add(found, (mixed(30), 3.0), (mixed(30), 5.0), (mixed(40), -9.0))


def mixed_power(x, n):
    """The result may be an int or a float."""
    if n == 0:
        return 1
    half = mixed_power(x, n // 2)
    return half * half * x if n % 2 else half * half


programs.add(mixed_power, (1.5, 9), (2.0, 30), (3, 5), (0.5, 0))


def binary_search(a, value, low, high):
    if low >= high:
        return -1
    middle = (low + high) // 2
    if a[middle] == value:
        return middle
    if a[middle] < value:
        return binary_search(a, value, middle + 1, high)
    return binary_search(a, value, low, middle)


def place(a, value):
    return binary_search(a, value, 0, len(a))


programs.add(place, (ramp(9), 2.0), (ramp(9), 0.1), (ramp(200), 2.0), (ramp(0), 2.0))


def paths(a, limit):
    """A function made inside, which reads names around it."""

    def below(k, total):
        if total > limit:
            return 0
        if k == len(a):
            return 1
        return below(k + 1, total) + below(k + 1, total + a[k])

    return below(0, 0.0)


programs.add(paths, (ramp(6, 0, 1), 1.0), (ramp(11, 0, 1), 2.0))


def checked_factorial(n):
    if n < 0:
        raise ValueError(f"{n} is negative")
    return 1 if n == 0 else n * checked_factorial(n - 1)


programs.add(checked_factorial, (5,), (12,), (-1,))


def halves(n):
    """The depth of Python's stack, and what it raises where that is not enough."""
    return 0 if n <= 0 else 1 + halves(n - 1)


programs.add(halves, (10,), (300,), (100_000,), repeats="Python's stack ends")


def mark(a, k):
    a[k] = -1.0
    if a[k + 1] > 2.0:
        raise KeyError(k)
    mark(a, k + 1)


def marked(a):
    """What was stored before an exception stays."""
    try:
        mark(a, 0)
    except KeyError as e:
        return e.args[0]
    return -1  # never


programs.add(
    marked, (np.array([0.0, 1, 2, 3]),), (ramp(30, 0, 4),), eager="a function that never returns"
)


def counted(a, counts, k):
    counts[0] += 1
    if k < len(a) and a[k] > 0:
        counted(a, counts, k + 1)


def count(a):
    counts = np.zeros(2, int)
    counted(a, counts, 0)
    return counts


programs.add(count, (np.ones(30),), (ramp(30),), (-ramp(9),))


def summed(a, lo=0, hi=None, *, scale=2.0):
    """Defaults, keywords, and arguments that are None or not."""
    if hi is None:
        hi = len(a)
    if hi - lo < 2:
        return scale * a[lo] if hi > lo else 0.0
    middle = (lo + hi) // 2
    return summed(a, lo, middle, scale=scale) + summed(a, lo=middle, hi=hi, scale=scale)


programs.add(summed, (mixed(9),), (mixed(64),), (mixed(0),))


def into(a, b, k):
    """What is read and what is written may be one array."""
    if k >= len(a):
        return 0.0
    b[k] += a[k]
    return a[k] + into(a, b, k + 1)


def onto(a):
    return into(a, a, 0), into(a[1:], a, 0)


programs.add(onto, (mixed(9),), (mixed(64),))


def lowered(a, b):
    """Results that are arguments, in another order."""
    if len(a) <= 1:
        return a, b
    x, y = lowered(b[::2], a[::2])
    return x + 1, y


programs.add(lowered, (mixed(9), mixed(9, 1)), (mixed(70), mixed(70, 1)), (mixed(1), mixed(1, 1)))


def one_array_twice(a):
    if len(a) <= 1:
        z = a + 1
        return z, z
    x, y = one_array_twice(a[1:])
    x[0] += 1
    return x, y


programs.add(one_array_twice, (mixed(5),), (mixed(30),), eager="results that may be one array")


def merge_halves(a, scratch):
    """Sorts the stretch of memory that each call is given, beside a stretch to work in."""
    n = len(a)
    if n <= 1:
        return 0
    m = n // 2
    left, right = a[:m], a[m:]
    moves = merge_halves(left, scratch[:m]) + merge_halves(right, scratch[m:])
    i = j = 0
    for k in range(n):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            scratch[k] = left[i]
            i += 1
        else:
            scratch[k] = right[j]
            j += 1
            moves += 1
    a[:] = scratch
    return moves


def merged_in_place(a):
    return merge_halves(a, np.empty_like(a)), a


def quicksort_views(a):
    if len(a) <= 1:
        return
    pivot, i = a[-1], 0
    for j in range(len(a) - 1):
        if a[j] < pivot:
            a[i], a[j] = a[j], a[i]
            i += 1
    a[i], a[-1] = a[-1], a[i]
    quicksort_views(a[:i])
    quicksort_views(a[i + 1 :])


def inner_part_sorted(a):
    quicksort_views(a[1:-1])
    return a[1:-1]


def quadrants(b, v):
    if b.shape[0] <= 1 or b.shape[1] <= 1:
        b[...] = b * v
        return 1
    r, c = b.shape[0] // 2, b.shape[1] // 2
    count = quadrants(b[:r, :c], v) + quadrants(b[r:, c:], v * 2)
    return count + quadrants(b[:r, c:], v + 1)


def scaled_quadrants(a):
    table = np.outer(a, a + 1)
    return quadrants(table, 2.0), table


def overlapping(a, depth):
    """Each call adds to what the one before has left."""
    if len(a) < 3 or depth == 0:
        a += 1
        return a.sum()
    total = overlapping(a[:-1], depth - 1)
    a[0] += total
    return total + overlapping(a[1:], depth - 1)


def overlapping_windows(a):
    return overlapping(a, 6 if a[0] > -99 else 1), a


def checked_windows(a):
    if len(a) == 0:
        return
    if a[0] > 2:
        raise ValueError("too large")
    a[0] = -a[0]
    checked_windows(a[1 : 1 + int(len(a) - 1 if a[0] < 9 else 0)])


def first_too_large(a):
    try:
        checked_windows(a)
    except ValueError as e:
        return str(e), a
    return "", a


def every_other(a):
    """Windows have no gaps between their elements."""
    if len(a) <= 1:
        return
    every_other(a[::2])
    a += 1


def a_window_as_result(a):
    if len(a) <= 2:
        return a
    a[0] += 1
    return a_window_as_result(a[1:])


SIZES = ((mixed(9),), (mixed(50),), (mixed(1),), (mixed(2),), (mixed(65),))
programs.add(merged_in_place, *SIZES)
programs.add(quicksort_views, *SIZES)
programs.add(inner_part_sorted, *SIZES)
programs.add(scaled_quadrants, *SIZES, parity="ulp", ulp=8)
programs.add(overlapping_windows, *SIZES, parity="ulp", ulp=64)
programs.add(checked_windows, (ramp(9, -1, 1),), (ramp(30, -5, 1),), (ramp(30, -5, 9),))
programs.add(
    first_too_large,
    (ramp(9, -1, 1),),
    (ramp(30, -5, 1),),
    (ramp(30, -5, 9),),
    repeats="a call that raises",
)
programs.add(every_other, *SIZES, eager="views with steps")
programs.add(a_window_as_result, *SIZES, eager="results that may be one array")
