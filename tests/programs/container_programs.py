"""Heaps, queues, dicts and sets over data. Each program has calls, and is compiled for all."""

from __future__ import annotations

import bisect
import heapq
import math
from collections import Counter, defaultdict, deque
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np


class Case(NamedTuple):
    """A program; `calls` makes the arguments of its calls. `eager` is the code of the report."""

    f: Callable[..., Any]
    calls: Callable[[], list[tuple[Any, ...]]]
    eager: str | None = None


CASES: dict[str, Case] = {}


def case(calls: Callable[[], list[tuple[Any, ...]]], eager: str | None = None) -> Any:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        CASES[f.__qualname__] = Case(f, calls, eager)
        return f

    return add


def floats(n: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(n)


def ints(n: int, most: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(-most, most, n)


def arrays() -> list[tuple[Any, ...]]:
    with_nan = np.array([1.0, np.nan, 0.0, np.nan, -1.0, 0.0])
    return [(floats(19),), (floats(30),), (ints(40, 6),), (np.zeros(0),), (with_nan,)]


# Tuples ------------------------------------------------------------------------------------------


@case(lambda: [(*x, k) for x in arrays() for k in (2, 1)])
def orders_of_tuples(x, limit):
    out = np.zeros((len(x), 6), dtype=bool)
    for i in range(len(x) - 1):
        a, b = (x[i], i), (x[i + 1], limit)
        out[i] = a < b, a <= b, a > b, a >= b, a == b, (a, limit) != (b, limit)
    return out


@case(lambda: [(ints(30, 3), 2), (ints(12, 3, 1), 1), (ints(0, 3), 1)])
def tuples_among_known_ones(x, goal):
    count = 0
    for i in range(len(x) - 1):
        cell = (int(x[i]), int(x[i + 1]))
        if cell in ((1, 2), (0, goal)):
            count += 1
        if cell in {(2, 2), (1, -1)} or (cell, 1) == ((-1, 0), 1):
            count += 10
        if cell != (goal, goal) and [cell[0], 1.0] >= [1.0, 1.0]:
            count += 100
    return count


# Heaps -------------------------------------------------------------------------------------------


@case(arrays)
def heap_sort(x):
    heap, out = [], []
    for v in x:
        heapq.heappush(heap, v)
    while heap:
        out.append(heapq.heappop(heap))
    return out


@case(lambda: [(*x, n) for x in arrays() for n in (4, 9)])
def largest_with_places(x, n):
    heap = []
    for i in range(len(x)):
        heapq.heappush(heap, (x[i], i))
        if len(heap) > n:
            heapq.heappop(heap)
    return heap


@case(lambda: [x for x in arrays() if len(x[0])])
def heapified(x):
    heap = [(v, -v) for v in x]
    heapq.heapify(heap)
    total = 0
    for k in range(3):
        total += heapq.heapreplace(heap, (x[k] + k, x[0]))[0]
        total += heapq.heappushpop(heap, (-x[1] + k * x[0], x[2]))[1]
    return heap, total


@case(arrays)
def smallest_and_largest(x):
    return heapq.nsmallest(3, x), heapq.nlargest(2, [v * 2 for v in x])


@case(lambda: [(np.sort(floats(n)), float(x)) for n in (9, 1, 0) for x in floats(4)])
def places_in_order(a, x):
    places = bisect.bisect_left(a, x), bisect.bisect_right(a, x, 1), bisect.bisect(a, x, hi=len(a))
    return places, bisect.bisect_left([*a[::-1]], -x, key=lambda v: -v)


@case(arrays)
def kept_in_order(x):
    out, pairs = [], [(0.5, -1)]
    for i, v in enumerate(x):
        bisect.insort(out, v)
        bisect.insort_left(pairs, (v, i), key=lambda pair: pair[0])
    return out, pairs


@case(lambda: [([3.0, 1.0, 2.0], k) for k in (1, -1, 9, -9, 0)] + [([], 0), ([1.0], 2)])
def edits_at_places_of_the_run(x, k):
    known = [0, "a", None]
    known.insert(k, x[:1])
    x.insert(k, 7.0)
    x.append(x.pop(x.index(7.0)))
    del x[min(abs(k), len(x) - 1)]
    return known, x


@case(lambda: [([3.0, 1.0, 3.0], v) for v in (3.0, 1.0, 4.0, math.nan)] + [([], 1.0), ([1], True)])
def searches(x, v):
    found = x.count(v), tuple(x).count(v), [0, v, "a", 1.5].index(v)
    try:
        x.remove(v)
    except ValueError as e:
        return found, str(e)
    return found, x


@case(lambda: [(k, [2.0, 1.0, 2.0]) for k in range(8)], eager="TJ024")
def refused_by_python(k, x):
    grown = [v for v in x if v > 0]
    calls = [
        lambda: x.index(value=x[0]),
        lambda: x.index(x[0], None),
        lambda: x.count(value=1.0),
        lambda: x.remove(value=x[0]),
        lambda: x.insert(x[0], 2),
        lambda: x.pop(x[1]),
        lambda: grown.index(value=x[0]),
        lambda: grown.insert(x[1], 1.0),
    ]
    try:
        for n, call in enumerate(calls):
            if n == k:
                call()
    except TypeError:
        return "refused", x
    return x


@case(lambda: [(np.arange(6).reshape(2, 3),), (floats(24).reshape(2, 3, 4).T,), (floats(1),)])
def elements_of_flat(x):
    return [*x.flat], sum(x.flat), len(x.flat), [i * v for i, v in enumerate(x[::-1].flat)]


@case(lambda: [(np.array(v),) for v in ([3.0, 2.0, 1.0], [4.0, 2.0, 1.0], [2.0, 5.0, 1.0, 7.0])])
def pops_too_often(x):
    heap = []
    for v in x:
        heapq.heappush(heap, v)
    total = 0
    for _ in range(int(x[0])):
        total += heapq.heappop(heap)
    return total


@case(lambda: [(floats(21),), (floats(30),), (floats(1),)])
def running_median(x):
    low, high, out = [], [], []
    for v in x:
        heapq.heappush(low, -v)
        heapq.heappush(high, -heapq.heappop(low))
        if len(high) > len(low):
            heapq.heappush(low, -heapq.heappop(high))
        out.append(-low[0] if len(low) > len(high) else (high[0] - low[0]) / 2)
    return out


@case(lambda: [(np.abs(floats(n * n)).reshape(n, n), 0) for n in (12, 20, 5, 1)])
def shortest_paths(w, source):
    n = len(w)
    distance = [float("inf")] * n
    distance[source] = 0.0
    queue = [(0.0, source)]
    while queue:
        d, u = heapq.heappop(queue)
        if d > distance[u]:
            continue
        for v in range(n):
            new = d + float(w[u, v])
            if w[u, v] > 0.5 and new < distance[v]:
                distance[v] = new
                heapq.heappush(queue, (new, v))
    return distance


class Simulation:
    def __init__(self, *events):
        self.events, self.time, self.count = list(events), 0.0, 0

    def schedule(self, delay):
        heapq.heappush(self.events, (self.time + delay, self.count))
        self.count += 1

    @case(
        lambda: [
            (Simulation(), 5.0, np.abs(floats(7))),
            (Simulation(), 5.0, np.abs(floats(8))),
            (Simulation((0.1, 3), (0.2, 1)), 3.0, np.abs(floats(8))),
            (Simulation((0.1, 3), (0.2, 1)), 0.0, np.abs(floats(8))),
        ]
    )
    def run(self, until, delays):
        self.schedule(0.1)
        total = 0
        while self.events and self.time < until:
            self.time, i = heapq.heappop(self.events)
            self.schedule(float(delays[i % len(delays)]))
            if i % 3 == 0:
                self.schedule(0.77)
            total += i
        return total


@case(lambda: [((1.0, 2.0),), (floats(3),)], eager="TJ002")
def merged(x):
    return list(heapq.merge(x, [0.5, 1.5]))


# Deques ------------------------------------------------------------------------------------------


@case(lambda: [(floats(20),), (floats(30),), (floats(0),), (floats(2),)])
def windows(x):
    queue, out = deque(maxlen=3), []
    for v in x:
        queue.append(v)
        out.append(queue[-1] - queue[0])
    return out, queue, len(queue)


@case(lambda: [(floats(n * n).reshape(n, n) > 1, 0) for n in (12, 20, 5, 1)])
def breadth_first(linked, source):
    n = len(linked)
    distance = [-1] * n
    distance[source] = 0
    queue = deque([source])
    while queue:
        u = queue.popleft()
        for v in range(n):
            if linked[u, v] and distance[v] < 0:
                distance[v] = distance[u] + 1
                queue.append(v)
    return distance


@case(lambda: [(floats(50),), (floats(400),), (floats(0),)])
def both_ends(x):
    queue = deque()
    for i in range(len(x)):
        if x[i] > 0:
            queue.append(x[i])
        elif x[i] > -0.5:
            queue.appendleft(x[i])
        elif len(queue) > 2:
            queue.pop()
        elif queue:
            queue.popleft()
    return queue, len(queue), queue[0] if queue else None, list(queue), sum(queue)


@case(lambda: [(floats(50), 4), (floats(200), 7), (floats(0), 2)])
def greatest_in_windows(x, width):
    places, out = deque(), []
    for i, v in enumerate(x):
        while places and x[places[-1]] <= v:
            places.pop()
        places.append(i)
        if places[0] <= i - width:
            places.popleft()
        if i >= width - 1:
            out.append(x[places[0]])
    return out


def maze(n: int, seed: int = 0) -> Any:
    grid = (np.random.default_rng(seed).random((n, n)) < 0.25).astype(int)
    grid[0, 0] = grid[-1, -1] = 0
    return grid


@case(lambda: [(maze(n), (0, 0), (m, m)) for n, m in ((9, 8), (5, 4), (7, 7))])
def steps_through_maze(grid, start, goal):
    rows, columns = grid.shape
    queue = deque([(start, 0)])
    seen = np.zeros(grid.shape, bool)
    while queue:
        (r, c), steps = queue.popleft()
        if (r, c) == goal:
            return steps
        for dr, dc in [(0, 1), (1, 0), (0, -1), (-1, 0)]:
            i, j = r + dr, c + dc
            if 0 <= i < rows and 0 <= j < columns and grid[i, j] == 0 and not seen[i, j]:
                seen[i, j] = True
                queue.append(((i, j), steps + 1))
    return -1


@case(lambda: [(floats(3),), (floats(4),)])
def queue_of_known_length(x):
    queue = deque([1, 2, 3], 2)
    queue.append(x[0])
    queue.rotate(1)
    queue[1] = x[1]
    return queue, queue.maxlen, x.sum() in queue, queue.copy(), queue.count(x[0])


@case(lambda: [(floats(20),), (floats(30),), (np.abs(floats(30)),), (-np.abs(floats(9)),)])
def takes_too_many(x):
    queue = deque()
    for v in x:
        if v > 0:
            queue.append(v)
    total = 0.0
    for _ in range(len(x) // 2):
        total += queue.popleft()
    return total


@case(lambda: [(floats(30),), (floats(44),)])
def functions_of_queues(x):
    queue = deque(maxlen=4)
    for v in x:
        queue.append(v)
    return np.array(queue), max(queue), sorted(queue), [v * 2 for v in queue], x[0] in queue


@case(lambda: [(floats(20),), (floats(30),)])
def queue_twice(x):
    queue = deque()
    for v in x:
        queue.appendleft(v)
    return [queue, queue]


@case(lambda: [(floats(20),)], eager="TJ029")
def changes_while_it_runs(x):
    queue = deque([0.0])
    for v in x:
        queue.append(v)
    for v in queue:
        queue.append(v)


@case(lambda: [(floats(20),)], eager="TJ008")
def compares_queues(x):
    return deque(x) == deque(x)


@case(lambda: [(floats(20),)], eager="TJ008")
def queue_as_a_key(x):
    return {deque(x): 1}


@case(lambda: [(floats(20),)], eager="TJ002")
def unknown_method(x):
    queue = deque(x)
    queue.remove(x[3])
    return queue


class Average:
    def __init__(self, size):
        self.size, self.held = size, deque(maxlen=size)

    @case(lambda: [(Average(3), floats(20)), (Average(5), floats(30))])
    def restarted(self, x):
        self.held = deque(maxlen=3)
        for v in x:
            self.held.append(v)
        return len(self.held)


# Dicts -------------------------------------------------------------------------------------------


def key_arrays() -> list[tuple[Any, ...]]:
    odd = np.array([0.0, -0.0, 1.0, np.inf, -np.inf, 1e300, 5e-324, 1.0, np.inf])
    with_nan = np.array([1.0, np.nan, 0.0, np.nan])
    return [
        *[(ints(n, 6),) for n in (40, 99, 0)],
        *[(np.round(floats(n), 1),) for n in (30, 50)],
        *[(odd,), (with_nan,), (ints(30, 1) == 0,), (ints(30, 9).astype(np.uint8),)],
    ]


@case(lambda: [(floats(50) * 5,), (floats(300) * 50,), (floats(0),)])
def counts(x):
    found = {}
    for v in x:
        key = int(v)
        found[key] = found.get(key, 0) + 1
    return found


@case(key_arrays)
def counts_of_elements(x):
    found = {}
    for v in x:
        if v in found:
            found[v] += 1
        else:
            found[v] = 1
    return found, len(found), bool(found)


@case(lambda: [(floats(50), 0.5), (floats(200), 1.0), (floats(0), 1.0)])
def sums_by_bin(x, width):
    bins = {}
    for v in x:
        b = int(math.floor(v / width))
        count, total = bins.get(b, (0, 0.0))
        bins[b] = (count + 1, total + v)
    return dict(sorted(bins.items()))


@case(lambda: [(ints(40, 9), 100), (ints(99, 9, 1), 9), (ints(0, 9), 9)])
def two_with_sum(x, target):
    seen = {}
    for i, v in enumerate(x):
        if target - v in seen:
            return [seen[target - v], i]
        seen[v] = i
    return None


@case(lambda: [(30,), (50,), (1,)])
def longest_collatz_run(n):
    known = {1: 1}
    best = 0
    for start in range(1, n):
        k, path = start, []
        while k not in known:
            path.append(k)
            k = k // 2 if k % 2 == 0 else 3 * k + 1
        steps = known[k]
        for p in reversed(path):
            steps += 1
            known[p] = steps
        best = max(best, steps)
    return best, known


@case(lambda: [(ints(200, 99),), (np.arange(3000) % 61,), (ints(0, 9),)])
def deletes(x):
    d = {}
    for i in range(len(x)):
        k = int(x[i]) % 40
        if k in d:
            del d[k]
        else:
            d[k] = x[i] * 0.5
    total = 0.0
    for k, v in d.items():
        total += k * v
    for k in d:
        d[k] += 1.0
    found = list(d), list(d.values()), list(d.items()), 7 in d.keys(), 0.5 in d.values()
    return d.copy(), total, len(d), found, d.pop(3, None), d.pop(38, 0.0), d


@case(lambda: [(ints(40, 6),), (ints(99, 6),)])
def functions_of_dicts(x):
    d = {}
    for v in x:
        d[v] = d.setdefault(v, 0) + 1
    often = sorted(d.items(), key=lambda item: item[1], reverse=True)
    return max(d, key=d.get), often[:3], max(d.values()), sum(d.values()), sorted(d)


@case(lambda: [(floats(50) * 5, 3), (floats(200) * 5, 4)])
def cells(x, n):
    grid = {}
    for i in range(len(x)):
        cell = (int(x[i]) // n, int(x[i]) % n)
        grid[cell] = grid.get(cell, 0.0) + float(x[i])
    total = 0
    for i, j in grid:
        total += i * j
    return grid, total, (1, 2) in grid


@case(lambda: [(ints(50, 9), 3), (ints(70, 9), 70), (ints(70, 9), -8)])
def missing_keys(x, k):
    d = {}
    for v in x:
        d[int(v)] = v
    return d[k]


@case(lambda: [(ints(50, 9),), (ints(70, 9),)])
def changes_size_in_a_loop(x):
    d = {}
    for v in x:
        d[int(v)] = v
    for k in d:
        d[k + 1] = x[0]
    return d


@case(lambda: [(ints(50, 9),), (ints(70, 9),)])
def dicts_made_in_a_loop(x):
    out = []
    for k in range(len(x)):
        d = {0: 1}
        for j in range(k % 5):
            d[int(x[j])] = j
        out.append(len(d))
    return out


@case(lambda: [(ints(50, 9), 1.0), (ints(70, 9), -1.0)])
def in_a_branch(x, a):
    d = {}
    if a > 0:
        d[int(x[0])] = a
    d[int(x[1])] = 2 * a
    d.update([(int(x[2]), a), (int(x[3]), a)])
    if a < 0:
        d.clear()
    d[5] = a
    return d


@case(lambda: [(ints(30, 5),)])
def values_of_several_kinds(x):
    d = {}
    for v in x:
        d[v] = 1
        d[v] = 1.5
    return d


# Sets --------------------------------------------------------------------------------------------


@case(lambda: [(ints(40, 60),), (ints(300, 600),), (ints(0, 9),)])
def sets(x):
    held = set()
    for v in x:
        held.add(int(v))
    every = set(x)
    return held, every, len(every), sorted(every), 3 in held, max(held) if held else None


@case(lambda: [(ints(40, 60),), (np.arange(30),), (floats(30),)])
def first_repeated(x):
    seen = set()
    for v in x:
        if v in seen:
            return v
        seen.add(v)
    return None


@case(lambda: [(maze(n), (0, 0), (m, m)) for n, m in ((9, 8), (5, 4), (7, 7))])
def cells_reached(grid, start, goal):
    rows, columns = grid.shape
    queue = deque([start])
    seen = {start}
    while queue:
        r, c = queue.popleft()
        if (r, c) == goal:
            return len(seen)
        for dr, dc in ((0, 1), (1, 0), (0, -1), (-1, 0)):
            cell = (r + dr, c + dc)
            if 0 <= cell[0] < rows and 0 <= cell[1] < columns and grid[cell] == 0:
                if cell not in seen:
                    seen.add(cell)
                    queue.append(cell)
    return -len(seen)


@case(lambda: [(ints(200, 30),), (ints(90, 30),)])
def elements_that_leave(x):
    held, count = set(), 0
    for v in x:
        if v in held:
            held.remove(v)
        else:
            held.add(v)
        held.discard(v + 1)
        count += len(held)
    return count, sorted(held)


@case(lambda: [(ints(90, 30),)], eager="TJ022")
def order_of_a_set(x):
    held = set()
    for v in x:
        held.add(v)
    return [v + 1 for v in held]


@case(lambda: [(ints(90, 30),)], eager="TJ022")
def set_that_elements_have_left(x):
    held = set()
    for v in x:
        held.add(v)
        held.discard(v + 1)
    return held


# Counters and defaultdicts -----------------------------------------------------------------------


@case(lambda: [(floats(50) * 5,), (ints(99, 9),), (floats(0),)])
def sums_by_key(x):
    sums = defaultdict(float)
    for i, v in enumerate(x):
        sums[int(v)] += i * 0.5
    return sums, len(sums), sums[100], 100 in sums, list(sums)


@case(lambda: [(ints(40, 6),), (ints(99, 6),), (ints(0, 6),)])
def counter(x):
    found = Counter(x)
    for v in x:
        found[v] += 1
    return found, found.most_common(2), found[77], found.total(), sorted(found)


@case(lambda: [(floats(40) * 3,), (floats(99) * 3,)])
def most_common(x):
    found = Counter(int(v) for v in x)
    return found.most_common(1)[0], sorted(set(map(int, x))), deque(v * 2 for v in x)


@case(lambda: [(ints(40, 3),), (ints(99, 3),)])
def counts_of_pairs(x):
    found = defaultdict(int)
    for a, b in zip(x[:-1], x[1:], strict=True):
        found[a, b] += 1
    (a, b), count = max(found.items(), key=lambda item: item[1])
    return found, a, b, count


@case(lambda: [(ints(40, 3),), (ints(99, 3),)], eager="TJ034")
def the_pair_that_is_a_key(x):
    found = defaultdict(int)
    for a, b in zip(x[:-1], x[1:], strict=True):
        found[a, b] += 1
    return found, max(found.items(), key=lambda item: item[1])


@case(lambda: [(["a", "b", "a"], floats(3)), (["c", "b"], floats(2))])
def groups_of_known_keys(labels, values):
    groups = defaultdict(list)
    for label, value in zip(labels, values, strict=True):
        groups[label].append(value)
    return {label: sum(held) / len(held) for label, held in groups.items()}, groups


@case(lambda: [(ints(20, 3),)], eager="TJ001")
def groups(x):
    held = defaultdict(list)
    for v in x:
        held[int(v)].append(v)
    return held


@case(lambda: [(ints(20, 3),)], eager="TJ008")
def compares_counters(x):
    return Counter(x) == Counter(x)


@case(lambda: [(ints(40, 30),), (np.arange(9),), (ints(60, 30),)])
def given_back_early(x):
    seen = {}
    for i, v in enumerate(x):
        if int(v) in seen:
            return seen
        seen[int(v)] = i
    return None


@case(lambda: [(ints(40, 30),), (ints(60, 30),)])
def several_names(x):
    counts = {}
    same = counts

    def note(key):
        counts[key] = counts.get(key, 0) + 1

    for v in x:
        note(int(v))
    same[1000] = 2
    held = {"counts": counts, "again": same}
    return counts is same, isinstance(counts, dict), type(counts), held


@case(lambda: [(ints(40, 30),)], eager="TJ002")
def text_of_a_dict(x):
    counts = {}
    for v in x:
        counts[int(v)] = 1
    return str(counts)


@case(lambda: [(ints(40, 30) * 10**17,), (ints(40, 30),)])
def keys_too_large(x):
    found = {}
    for v in x:
        found[int(v) * 10] = 1
    return found
