"""Sorting, searching, graphs and dynamic programming written with loops."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("algorithms")


def insertion_sort(x):
    for i in range(1, len(x)):
        v = x[i]
        j = i - 1
        while j >= 0 and x[j] > v:
            x[j + 1] = x[j]
            j -= 1
        x[j + 1] = v


programs.add(
    insertion_sort, (mixed(6),), (ramp(6)[::-1],), (mixed(29),), (np.zeros(0),), (whole(17),)
)


def selection_sort(x):
    x = x.copy()
    order = np.arange(len(x))
    for i in range(len(x)):
        k = i + int(np.argmin(x[i:]))
        if k != i:
            x[i], x[k] = x[k], x[i]
            order[i], order[k] = order[k], order[i]
    return x, order


programs.add(selection_sort, (mixed(6),), (ramp(5),), (mixed(23),))


def heap_sort(x):
    x = x.copy()
    n = len(x)

    def sift(start, stop):
        root = start
        while 2 * root + 1 < stop:
            child = 2 * root + 1
            if child + 1 < stop and x[child] < x[child + 1]:
                child += 1
            if x[root] >= x[child]:
                return
            x[root], x[child] = x[child], x[root]
            root = child

    for start in range(n // 2 - 1, -1, -1):
        sift(start, n)
    for stop in range(n - 1, 0, -1):
        x[0], x[stop] = x[stop], x[0]
        sift(0, stop)
    return x


programs.add(heap_sort, (mixed(7),), (mixed(28),), (ramp(9),))


def binary_search(x, value):
    low, high = 0, len(x)
    while low < high:
        middle = (low + high) // 2
        if x[middle] < value:
            low = middle + 1
        else:
            high = middle
    return low if low < len(x) and x[low] == value else -1


S, L = np.arange(7.0), np.arange(0.0, 80.0, 2.0)
programs.add(binary_search, (S, 3.0), (S, 3.5), (S, -1.0), (S, 9.0), (L, 78.0), (L, 7.0), (L, 0.0))


def prefix_sums_2d(m):
    s = np.zeros((m.shape[0] + 1, m.shape[1] + 1))
    for i in range(m.shape[0]):
        for j in range(m.shape[1]):
            s[i + 1, j + 1] = m[i, j] + s[i, j + 1] + s[i + 1, j] - s[i, j]
    return s


programs.add(prefix_sums_2d, (table(2, 3),), (table(8, 6),))


def prefix_doubling(x):
    """Hillis and Steele's scan: the shift doubles in every step."""
    shift = 1
    while shift < len(x):
        y = x.copy()
        y[shift:] = x[shift:] + x[:-shift]
        x = y
        shift *= 2
    return x


programs.add(prefix_doubling, (ramp(5),), (mixed(16),), (mixed(37),), (ramp(1),))


def max_drawdown(prices):
    peak = prices[0]
    worst = 0.0
    start = end = best_start = 0
    for t in range(len(prices)):
        if prices[t] > peak:
            peak = prices[t]
            start = t
        drop = (peak - prices[t]) / peak
        if drop > worst:
            worst, best_start, end = drop, start, t
    return worst, best_start, end


programs.add(max_drawdown, (10 + mixed(8),), (10 + mixed(45),), (ramp(4, 1, 2),))


def largest_sum_of_slice(x):
    """Kadane's algorithm."""
    best = here = x[0]
    start = first = last = 0
    for i in range(1, len(x)):
        if here < 0:
            here = x[i]
            start = i
        else:
            here += x[i]
        if here > best:
            best, first, last = here, start, i
    return best, first, last


programs.add(largest_sum_of_slice, (mixed(8),), (mixed(50),), (-ramp(4, 1, 2),))


def edit_distance(a, b):
    previous = np.arange(len(b) + 1)
    for i in range(len(a)):
        current = np.zeros(len(b) + 1, dtype=np.int64)
        current[0] = i + 1
        for j in range(len(b)):
            cost = 0 if a[i] == b[j] else 1
            current[j + 1] = min(previous[j] + cost, previous[j + 1] + 1, current[j] + 1)
        previous = current
    return previous[-1]


programs.add(
    edit_distance,
    (np.array([1, 2, 3]), np.array([1, 3, 3, 4])),
    (whole(9, 0, 3), whole(12, 0, 3)),
    (whole(9, 0, 3), np.zeros(0, dtype=np.int64)),
)


def knapsack(weights, values, capacity):
    best = np.zeros(capacity + 1)
    for i in range(len(weights)):
        for c in range(capacity, weights[i] - 1, -1):
            candidate = best[c - weights[i]] + values[i]
            if candidate > best[c]:
                best[c] = candidate
    return best[capacity]


programs.add(
    knapsack,
    (np.array([1, 3, 4]), np.array([1.0, 4.0, 5.0]), 5),
    (whole(8, 1, 6), np.abs(mixed(8)), 15),
)


def floyd_warshall(d):
    n = d.shape[0]
    d = d.copy()
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if d[i, k] + d[k, j] < d[i, j]:
                    d[i, j] = d[i, k] + d[k, j]
    return d


programs.add(floyd_warshall, (np.abs(table(3, 3)),), (np.abs(table(7, 7)),))


def flood_fill(grid, row, column):
    """An explicit stack in an array."""
    n, m = grid.shape
    stack = np.zeros((n * m * 4 + 1, 2), dtype=np.int64)
    stack[0, 0], stack[0, 1] = row, column
    size = 1
    filled = 0
    while size > 0:
        size -= 1
        i, j = stack[size]
        if i < 0 or j < 0 or i >= n or j >= m or grid[i, j] != 0:
            continue
        grid[i, j] = 2
        filled += 1
        for di, dj in ((1, 0), (-1, 0), (0, 1), (0, -1)):
            stack[size, 0] = i + di
            stack[size, 1] = j + dj
            size += 1
    return filled


programs.add(
    flood_fill,
    (whole(12, 0, 2).reshape(3, 4), 0, 0),
    (np.zeros((3, 4), dtype=np.int64), 1, 1),
    (whole(48, 0, 2, 5).reshape(6, 8), 3, 3),
)


def percolate(x, threshold):
    """Union of neighbouring runs above a threshold: labels, and the longest run."""
    labels = np.zeros(len(x), dtype=np.int64)
    label = longest = run = 0
    for i in range(len(x)):
        if x[i] <= threshold:
            run = 0
            continue
        if run == 0:
            label += 1
        run += 1
        labels[i] = label
        longest = max(longest, run)
    return labels, longest


programs.add(percolate, (mixed(8), 0.0), (mixed(40), -1.0), (mixed(8), 9.0))


def viterbi(scores, transition):
    n, k = scores.shape
    best = scores[0].copy()
    back = np.zeros((n, k), dtype=np.int64)
    for t in range(1, n):
        new = np.zeros(k)
        for j in range(k):
            arg, top = 0, best[0] + transition[0, j]
            for i in range(1, k):
                candidate = best[i] + transition[i, j]
                if candidate > top:
                    arg, top = i, candidate
            new[j] = top + scores[t, j]
            back[t, j] = arg
        best = new
    path = np.zeros(n, dtype=np.int64)
    path[-1] = np.argmax(best)
    for t in range(n - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    return path, best.max()


programs.add(viterbi, (table(4, 2), table(2, 2, 1)), (table(12, 3), table(3, 3, 1)))
