"""Matrices of lists, trees in arrays, caches."""

from collections import OrderedDict

import numpy as np

from .program import Family

PROGRAMS = Family()


class Matrix:
    """A matrix of lists."""

    def __init__(self, rows):
        self.rows = [list(r) for r in rows]

    @property
    def shape(self):
        return len(self.rows), len(self.rows[0])

    @classmethod
    def zeros(cls, n, m):
        return cls([[0.0] * m for _ in range(n)])

    def __getitem__(self, index):
        i, j = index
        return self.rows[i][j]

    def __setitem__(self, index, value):
        i, j = index
        self.rows[i][j] = value

    def __matmul__(self, other):
        if self.shape[1] != other.shape[0]:
            raise ValueError(f"shapes {self.shape} and {other.shape} not aligned")
        result = Matrix.zeros(self.shape[0], other.shape[1])
        for i in range(self.shape[0]):
            for j in range(other.shape[1]):
                for k in range(self.shape[1]):
                    result[i, j] += self[i, k] * other[k, j]
        return result

    def transpose(self):
        return Matrix(zip(*self.rows))


PROGRAMS.add(
    Matrix.__matmul__,
    lambda: (Matrix([[1.0, 2.0], [3.0, 4.0]]), Matrix([[0.5, 0.0], [1.0, 2.0]])),
    lambda: (Matrix([[1, 2, 3]]), Matrix([[1], [2], [3]])),
    lambda: (Matrix([[1, 2, 3]]), Matrix([[1, 2, 3]])),
)


PROGRAMS.add(
    Matrix.transpose,
    lambda: (Matrix([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),),
    lambda: (Matrix([[1]]),),
)


class FenwickTree:
    def __init__(self, n):
        self.n = n
        self.tree = np.zeros(n + 1)

    def add(self, i, delta):
        i += 1
        while i <= self.n:
            self.tree[i] += delta
            i += i & -i

    def prefix_sum(self, i):
        total = 0.0
        while i > 0:
            total += self.tree[i]
            i -= i & -i
        return total

    def count_inversions(self, values):
        order = np.argsort(np.argsort(values))
        inversions = 0
        for k in range(len(order) - 1, -1, -1):
            inversions += self.prefix_sum(order[k])
            self.add(order[k], 1)
        return int(inversions)


PROGRAMS.add(
    FenwickTree.count_inversions,
    lambda: (FenwickTree(20), np.random.default_rng(0).random(20)),
    lambda: (FenwickTree(12), np.arange(12)[::-1]),
)


PROGRAMS.add(FenwickTree.add, lambda: (FenwickTree(10), 3, 2.0), lambda: (FenwickTree(16), 0, 1))


class SegmentTree:
    def __init__(self, values):
        self.n = len(values)
        self.tree = [0.0] * self.n + list(values)
        for i in range(self.n - 1, 0, -1):
            self.tree[i] = min(self.tree[2 * i], self.tree[2 * i + 1])

    def query(self, left, right):
        left += self.n
        right += self.n
        result = float("inf")
        while left < right:
            if left & 1:
                result = min(result, self.tree[left])
                left += 1
            if right & 1:
                right -= 1
                result = min(result, self.tree[right])
            left >>= 1
            right >>= 1
        return result


PROGRAMS.add(
    SegmentTree.query,
    lambda: (SegmentTree([5.0, 2.0, 7.0, 1.0, 9.0, 3.0]), 1, 4),
    lambda: (SegmentTree(list(range(8))), 2, 2),
)


class LRUCache:
    def __init__(self, capacity):
        self.capacity = capacity
        self.cache = OrderedDict()
        self.hits = self.misses = 0

    def get(self, key):
        if key not in self.cache:
            self.misses += 1
            return -1
        self.hits += 1
        self.cache.move_to_end(key)
        return self.cache[key]

    def put(self, key, value):
        self.cache[key] = value
        self.cache.move_to_end(key)
        if len(self.cache) > self.capacity:
            self.cache.popitem(last=False)


def cache(n):
    made = LRUCache(3)
    for k in range(n):
        made.put(k, k * 10.0)
    return made


PROGRAMS.add(LRUCache.get, lambda: (cache(3), 1), lambda: (cache(3), 7))


PROGRAMS.add(LRUCache.put, lambda: (cache(3), 5, 1.0), lambda: (cache(1), 0, 2.0))


class SparseMatrix:
    def __init__(self, shape):
        self.shape = shape
        self.data = {}

    def __setitem__(self, key, value):
        if value != 0:
            self.data[key] = value
        else:
            self.data.pop(key, None)

    def __getitem__(self, key):
        return self.data.get(key, 0.0)

    def dot(self, x):
        y = np.zeros(self.shape[0])
        for (i, j), v in self.data.items():
            y[i] += v * x[j]
        return y


def sparse(*entries):
    made = SparseMatrix((4, 4))
    for i, j, v in entries:
        made[i, j] = v
    return made


PROGRAMS.add(
    SparseMatrix.dot,
    lambda: (sparse((0, 1, 2.0), (3, 3, 1.0)), np.arange(4.0)),
    lambda: (sparse(), np.ones(4)),
)


PROGRAMS.add(
    SparseMatrix.__setitem__,
    lambda: (sparse((0, 1, 2.0)), (0, 1), 0),
    lambda: (sparse(), (2, 2), 5.0),
)
