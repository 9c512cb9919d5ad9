"""Recursive algorithms."""

import math

import numpy as np

from .program import Family

PROGRAMS = Family()


def numbers(n, seed=0):
    return np.random.default_rng(seed).permutation(n)


def quicksort(arr):
    if len(arr) <= 1:
        return arr
    pivot = arr[len(arr) // 2]
    left = [x for x in arr if x < pivot]
    middle = [x for x in arr if x == pivot]
    right = [x for x in arr if x > pivot]
    return quicksort(left) + middle + quicksort(right)


PROGRAMS.add(quicksort, lambda: ([3, 6, 8, 10, 1, 2, 1],), lambda: (list(map(int, numbers(15))),))


def quicksort_in_place(a, lo=0, hi=None):
    if hi is None:
        hi = len(a) - 1
    if lo < hi:
        pivot = a[hi]
        i = lo - 1
        for j in range(lo, hi):
            if a[j] <= pivot:
                i += 1
                a[i], a[j] = a[j], a[i]
        a[i + 1], a[hi] = a[hi], a[i + 1]
        quicksort_in_place(a, lo, i)
        quicksort_in_place(a, i + 2, hi)
    return a


PROGRAMS.add(quicksort_in_place, lambda: (numbers(12),), lambda: (numbers(20, 1).astype(float),))


def merge_sort(a):
    if len(a) <= 1:
        return a
    mid = len(a) // 2
    left, right = merge_sort(a[:mid]), merge_sort(a[mid:])
    out = np.empty_like(a)
    i = j = 0
    for k in range(len(a)):
        if j >= len(right) or (i < len(left) and left[i] <= right[j]):
            out[k] = left[i]
            i += 1
        else:
            out[k] = right[j]
            j += 1
    return out


PROGRAMS.add(merge_sort, lambda: (numbers(10),), lambda: (numbers(17, 1).astype(float),))


def hanoi(n, source="A", target="C", spare="B", moves=None):
    if moves is None:
        moves = []
    if n > 0:
        hanoi(n - 1, source, spare, target, moves)
        moves.append((source, target))
        hanoi(n - 1, spare, target, source, moves)
    return moves


PROGRAMS.add(hanoi, lambda: (4,), lambda: (6,))


def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


PROGRAMS.add(factorial, lambda: (10,), lambda: (25,))


def fib(n, memo={}):  # noqa: B006
    if n in memo:
        return memo[n]
    if n <= 1:
        return n
    memo[n] = fib(n - 1, memo) + fib(n - 2, memo)
    return memo[n]


PROGRAMS.add(fib, lambda: (20, {}), lambda: (35, {}))


def permutations(items):
    if len(items) <= 1:
        return [items]
    out = []
    for i in range(len(items)):
        for rest in permutations(items[:i] + items[i + 1 :]):
            out.append([items[i]] + rest)
    return out


PROGRAMS.add(permutations, lambda: ([1, 2, 3],), lambda: ([1.0, 2.0, 3.0, 4.0],))


def determinant(A):
    n = len(A)
    if n == 1:
        return A[0, 0]
    if n == 2:
        return A[0, 0] * A[1, 1] - A[0, 1] * A[1, 0]
    total = 0
    for j in range(n):
        minor = np.delete(np.delete(A, 0, axis=0), j, axis=1)
        total += (-1) ** j * A[0, j] * determinant(minor)
    return total


PROGRAMS.add(
    determinant,
    lambda: (np.random.default_rng(0).normal(size=(4, 4)),),
    lambda: (numbers(9).reshape(3, 3),),
)


class NQueens:
    def __init__(self, n):
        self.n = n
        self.board = [-1] * n
        self.count = 0

    def is_safe(self, row, col):
        for r in range(row):
            c = self.board[r]
            if c == col or abs(c - col) == row - r:
                return False
        return True

    def solve(self, row=0):
        if row == self.n:
            self.count += 1
            return self.count
        for col in range(self.n):
            if self.is_safe(row, col):
                self.board[row] = col
                self.solve(row + 1)
        return self.count


PROGRAMS.add(NQueens.solve, lambda: (NQueens(4),), lambda: (NQueens(5),))


def solve_sudoku(board):
    for i in range(4):
        for j in range(4):
            if board[i, j] == 0:
                for value in range(1, 5):
                    r, c = i // 2 * 2, j // 2 * 2
                    if (
                        value not in board[i]
                        and value not in board[:, j]
                        and value not in board[r : r + 2, c : c + 2]
                    ):
                        board[i, j] = value
                        if solve_sudoku(board):
                            return True
                        board[i, j] = 0
                return False
    return True


def sudoku(*givens):
    board = np.zeros((4, 4), dtype=int)
    for i, j, v in givens:
        board[i, j] = v
    return board


PROGRAMS.add(
    solve_sudoku,
    lambda: (sudoku((0, 0, 1), (1, 2, 2), (2, 1, 4)),),
    lambda: (sudoku((0, 0, 1), (0, 1, 2), (0, 2, 3), (1, 3, 4)),),
)


def binary_search(a, target, lo=0, hi=None):
    if hi is None:
        hi = len(a)
    if lo >= hi:
        return -1
    mid = (lo + hi) // 2
    if a[mid] == target:
        return mid
    if a[mid] < target:
        return binary_search(a, target, mid + 1, hi)
    return binary_search(a, target, lo, mid)


PROGRAMS.add(
    binary_search,
    lambda: (np.arange(0, 60, 3), 27),
    lambda: (np.arange(0.0, 30.0), 4.5),
)


def strassen(A, B):
    n = len(A)
    if n <= 2:
        return A @ B
    m = n // 2
    a, b, c, d = A[:m, :m], A[:m, m:], A[m:, :m], A[m:, m:]
    e, f, g, h = B[:m, :m], B[:m, m:], B[m:, :m], B[m:, m:]
    p1 = strassen(a, f - h)
    p2 = strassen(a + b, h)
    p3 = strassen(c + d, e)
    p4 = strassen(d, g - e)
    p5 = strassen(a + d, e + h)
    p6 = strassen(b - d, g + h)
    p7 = strassen(a - c, e + f)
    return np.vstack(
        (np.hstack((p5 + p4 - p2 + p6, p1 + p2)), np.hstack((p3 + p4, p1 + p5 - p3 - p7)))
    )


def square(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n))


PROGRAMS.add(strassen, lambda: (square(4), square(4, 1)), lambda: (square(8), square(8, 1)))


class QuadTree:
    def __init__(self, x, y, size, capacity=2):
        self.x, self.y, self.size, self.capacity = x, y, size, capacity
        self.points = []
        self.children = None

    def insert(self, px, py):
        if self.children is None:
            if len(self.points) < self.capacity or self.size < 1e-3:
                self.points.append((px, py))
                return
            h = self.size / 2
            self.children = [
                QuadTree(self.x + dx * h, self.y + dy * h, h, self.capacity)
                for dy in (0, 1)
                for dx in (0, 1)
            ]
            for q in self.points:
                self._child(*q).insert(*q)
            self.points = []
        self._child(px, py).insert(px, py)

    def _child(self, px, py):
        h = self.size / 2
        return self.children[int(px >= self.x + h) + 2 * int(py >= self.y + h)]


def quadtree(n):
    tree = QuadTree(0.0, 0.0, 8.0)
    for x, y in np.random.default_rng(n).uniform(0, 8, size=(n, 2)):
        tree.insert(x, y)
    return tree


PROGRAMS.add(
    QuadTree.insert,
    lambda: (quadtree(0), 1.0, 2.0),
    lambda: (quadtree(2), 3.0, 3.0),
    lambda: (quadtree(9), 3.0, 7.0),
)


def flatten(nested):
    out = []
    for item in nested:
        if isinstance(item, (list, tuple)):
            out.extend(flatten(item))
        else:
            out.append(item)
    return out


PROGRAMS.add(flatten, lambda: ([1, [2, [3, 4]], (5,)],), lambda: ([[1.5], 2.5, []],))


def koch_curve(p, q, depth):
    if depth == 0:
        return [p, q]
    d = (q - p) / 3
    rotation = np.array([[0.5, -math.sqrt(3) / 2], [math.sqrt(3) / 2, 0.5]])
    a, b = p + d, p + 2 * d
    c = a + rotation @ d
    corners = [p, a, c, b, q]
    out = []
    for k in range(4):
        out += koch_curve(corners[k], corners[k + 1], depth - 1)[:-1]
    return out + [q]


PROGRAMS.add(
    koch_curve,
    lambda: (np.zeros(2), np.array([1.0, 0.0]), 2),
    lambda: (np.zeros(2), np.array([2.0, 1.0]), 3),
)


def subsets_with_sum(values, target):
    found = []

    def search(start, remaining, chosen):
        if remaining == 0:
            found.append(list(chosen))
            return
        for i in range(start, len(values)):
            if values[i] <= remaining:
                chosen.append(values[i])
                search(i + 1, remaining - values[i], chosen)
                chosen.pop()

    search(0, target, [])
    return found


PROGRAMS.add(subsets_with_sum, lambda: ([1, 2, 3, 4, 5], 7), lambda: ([2, 4, 6], 5))


def tree_depth_and_sum(node):
    if node is None:
        return 0, 0.0
    value, left, right = node
    dl, sl = tree_depth_and_sum(left)
    dr, sr = tree_depth_and_sum(right)
    return 1 + max(dl, dr), value + sl + sr


PROGRAMS.add(
    tree_depth_and_sum,
    lambda: ((1.0, (2.0, None, None), (3.0, (4.0, None, None), None)),),
    lambda: ((5, None, (1, None, None)),),
)
