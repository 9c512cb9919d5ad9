"""Linear algebra written with loops: solvers, decompositions, powers, minimisers."""

# ruff: noqa: B007

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table

programs = Programs("linear_algebra")


def positive_definite(n):
    m = table(n, n)
    return m @ m.T + n * np.eye(n)


def jacobi_iteration(a, b, tolerance):
    n = len(b)
    x = np.zeros(n)
    for step in range(30):
        new = np.empty(n)
        for i in range(n):
            s = b[i]
            for j in range(n):
                if j != i:
                    s -= a[i, j] * x[j]
            new[i] = s / a[i, i]
        if np.abs(new - x).max() < tolerance:
            return new, step
        x = new
    return x, -1


programs.add(
    jacobi_iteration,
    (np.eye(3) * 4 + 1.0, ramp(3), 1e-3),
    (np.eye(3) + 1.0, ramp(3), 1e-3),
    (np.eye(5) * 20 + 1.0, mixed(5), 1e-3),
)


def gauss_seidel(a, b, steps):
    x = np.zeros_like(b)
    for _ in range(steps):
        for i in range(len(b)):
            rest = 0.0
            for j in range(len(b)):
                if i != j:
                    rest += a[i, j] * x[j]
            x[i] = (b[i] - rest) / a[i, i]
    return x


programs.add(gauss_seidel, (np.eye(3) * 4 + 1.0, ramp(3), 5), (np.eye(7) * 9 + 1.0, mixed(7), 12))


def power_iteration(m, tolerance):
    v = np.ones(m.shape[0])
    old = 0.0
    for step in range(300):
        w = m @ v
        value = np.abs(w).max()
        v = w / value
        if abs(value - old) < tolerance:
            break
        old = value
    return value, v, step


programs.add(
    power_iteration,
    (np.diag([1.0, 2.0, 8.0]), 1e-6),
    (np.diag([4.0, 4.0, 1.0]), 1e-3),
    (positive_definite(6), 1e-3),
    parity="order",
    ulp=200,
)


def cholesky(a):
    n = a.shape[0]
    low = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j]
            for k in range(j):
                s -= low[i, k] * low[j, k]
            if i == j:
                if s <= 0:
                    raise ValueError(f"not positive definite at {i}")
                low[i, j] = np.sqrt(s)
            else:
                low[i, j] = s / low[j, j]
    return low


programs.add(
    cholesky,
    (positive_definite(3),),
    (positive_definite(8),),
    (-positive_definite(3),),
    (np.eye(2) - 0.5 * np.ones((2, 2)),),
)


def cholesky_by_slices(a):
    n = a.shape[0]
    low = np.zeros_like(a)
    for j in range(n):
        d = a[j, j] - low[j, :j] @ low[j, :j]
        low[j, j] = np.sqrt(d)
        for i in range(j + 1, n):
            low[i, j] = (a[i, j] - low[i, :j] @ low[j, :j]) / low[j, j]
    return low


programs.add(
    cholesky_by_slices, (positive_definite(3),), (positive_definite(9),), parity="order", ulp=64
)


def lu_with_pivots(a):
    a = a.copy()
    n = a.shape[0]
    order = np.arange(n)
    sign = 1
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[p, k]):
                p = i
        if a[p, k] == 0:
            return a, order, 0
        if p != k:
            for j in range(n):
                a[k, j], a[p, j] = a[p, j], a[k, j]
            order[k], order[p] = order[p], order[k]
            sign = -sign
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a, order, sign


programs.add(
    lu_with_pivots, (table(3, 3),), (np.zeros((3, 3)),), (table(7, 7),), (np.eye(7)[::-1].copy(),)
)


def determinant(a):
    a = a + 0.0
    d = 1.0
    n = len(a)
    for k in range(n):
        if a[k, k] == 0:
            for i in range(k + 1, n):
                if a[i, k] != 0:
                    row = a[k].copy()
                    a[k] = a[i]
                    a[i] = row
                    d = -d
                    break
            else:
                return 0.0
        d *= a[k, k]
        for i in range(k + 1, n):
            a[i, k:] -= a[i, k] / a[k, k] * a[k, k:]
    return d


programs.add(
    determinant, (table(3, 3),), (np.eye(4)[::-1],), (np.zeros((2, 2)),), (table(6, 6, 3),)
)


def thomas(a, b, c, d):
    """A tridiagonal system; the arguments are overwritten, as textbooks do."""
    n = len(d)
    for i in range(1, n):
        w = a[i] / b[i - 1]
        b[i] = b[i] - w * c[i - 1]
        d[i] = d[i] - w * d[i - 1]
    x = np.zeros(n)
    x[-1] = d[-1] / b[-1]
    for i in range(n - 2, -1, -1):
        x[i] = (d[i] - c[i] * x[i + 1]) / b[i]
    return x


programs.add(
    thomas,
    (np.ones(4), np.full(4, 4.0), np.ones(4), ramp(4)),
    (np.ones(20), np.full(20, 5.0), -np.ones(20), mixed(20)),
)


def matrix_power(m, n):
    result = np.eye(m.shape[0])
    while n > 0:
        if n % 2:
            result = result @ m
        m = m @ m
        n //= 2
    return result


F = np.array([[1.0, 1.0], [1.0, 0.0]])
T = np.array([[1.0, 0.0, 2.0], [0.0, -1.0, 0.0], [1.0, 1.0, 0.0]])
programs.add(matrix_power, (F, 1), (F, 10), (F, 0), (T, 7), (T, 12))


def gradient_descent(a, b, rate, most):
    x = np.zeros(len(b))
    value = np.inf
    for n in range(most):
        g = a @ x - b
        new = 0.5 * (x @ (a @ x)) - b @ x
        if new > value:
            rate = rate / 2
        value = new
        if np.abs(g).max() < 1e-3:
            return x, n
        x = x - rate * g
    return x, most


programs.add(
    gradient_descent,
    (np.diag([1.0, 2.0]), np.array([1.0, 1.0]), 0.25, 100),
    (np.diag([1.0, 2.0]), np.array([1.0, 1.0]), 1.25, 3),
    (np.diag([1.0, 2.0, 4.0]), ramp(3), 0.25, 100),
    parity="order",
    ulp=2000,
)


def conjugate_gradients(a, b):
    x = np.zeros_like(b)
    r = b - a @ x
    p = r.copy()
    rho = r @ r
    for step in range(len(b)):
        if rho < 1e-12:
            return x, step
        q = a @ p
        alpha = rho / (p @ q)
        x = x + alpha * p
        r = r - alpha * q
        old, rho = rho, r @ r
        p = r + rho / old * p
    return x, -1


programs.add(
    conjugate_gradients,
    (np.diag([1.0, 1.0, 4.0]), ramp(3)),
    (positive_definite(8), mixed(8)),
    (np.array([[1.0, 2.0], [2.0, -7.0]]), np.array([1.0, 2.0])),
    parity="order",
    ulp=1e5,
)
