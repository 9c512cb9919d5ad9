"""Numerical algorithms of one real result, and where to differentiate them."""

from __future__ import annotations

import numpy as np

from tests.transforms.gradient_programs import I, at, signed, v


def _definite(n):
    a = v(n, n)
    return a @ a.T + n * np.eye(n)


@at((_definite(3),), (_definite(1),))
def cholesky(a):
    n = len(a)
    factor = np.zeros_like(a)
    for i in range(n):
        for j in range(i + 1):
            s = a[i, j] - factor[i, :j] @ factor[j, :j]
            factor[i, j] = np.sqrt(s) if i == j else s / factor[j, j]
    return (factor * (np.arange(n) + 1.0)).sum()


@at((_definite(4),))
def lu_in_place(a):
    for k in range(len(a) - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= np.outer(a[k + 1 :, k], a[k, k + 1 :])
    s = 0.0
    for k in range(len(a)):
        s += np.log(a[k, k])
    return s + (a * a).sum()


@at((np.array([[0.1, 2.0, 0.3], [1.4, 0.2, 0.7], [0.6, 0.9, 1.7]]), v(3)))
def elimination_with_pivots(a, b):
    n = len(b)
    for k in range(n):
        p = k + np.argmax(np.abs(a[k:, k]))
        if p != k:
            for j in range(n):
                a[k, j], a[p, j] = a[p, j], a[k, j]
            b[k], b[p] = b[p], b[k]
        for i in range(k + 1, n):
            f = a[i, k] / a[k, k]
            a[i, k:] -= f * a[k, k:]
            b[i] -= f * b[k]
    x = np.zeros(n)
    for i in range(n - 1, -1, -1):
        x[i] = (b[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return (x * x).sum()


@at((v(4), v(5, low=3.0, high=4.0), v(4, seed=2), v(5, seed=3)))
def thomas(low, diagonal, up, right):
    n = len(diagonal)
    c, d = np.zeros(n), np.zeros(n)
    c[0], d[0] = up[0] / diagonal[0], right[0] / diagonal[0]
    for i in range(1, n):
        m = diagonal[i] - low[i - 1] * c[i - 1]
        if i < n - 1:
            c[i] = up[i] / m
        d[i] = (right[i] - low[i - 1] * d[i - 1]) / m
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return (d * d).sum()


@at((_definite(3), v(3), 1e-3), (_definite(3), v(3), 1e-1))
def gauss_seidel(a, b, tolerance):
    x = np.zeros(3)
    while True:
        change = 0.0
        for i in range(3):
            old = x[i]
            s = b[i]
            for j in range(3):
                if j != i:
                    s -= a[i, j] * x[j]
            x[i] = s / a[i, i]
            change += abs(x[i] - old)
        if change < tolerance:
            break
    return (x * x).sum()


@at((v(4, 4), I(2)), (v(4, 4), I(0)))
def jacobi(u, n):
    new = u.copy()
    for _ in range(n):
        new[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
        u, new = new, u
    return (u**3).sum()


@at((v(6), v(5, seed=4), I(4)))
def waves_on_a_line(e, h, n):
    for k in range(n):
        h += 0.5 * (e[1:] - e[:-1])
        e[1:-1] += 0.5 * (h[1:] - h[:-1])
        e[0] = np.sin(0.3 * k)
    return (e * e).sum() + (h * h * h).sum()


@at((v(2), 1.2), (v(2, seed=1), 0.4))
def newton_of_two(x, p):
    for _ in range(20):
        f = np.array([x[0] ** 2 + x[1] - p - 2, x[0] - x[1] ** 2 + p])
        if np.abs(f).max() < 1e-11:
            break
        m = np.array([[2 * x[0], 1.0], [1.0, -2 * x[1]]])
        x = x - np.linalg.solve(m, f)
    return x[0] * x[1] + p


@at((v(3, 2), v(3, seed=2), I(2)))
def bodies(place, mass, n):
    speed = np.zeros_like(place)
    for _ in range(n):
        for i in range(3):
            force = np.zeros(2)
            for j in range(3):
                if i == j:
                    continue
                d = place[j] - place[i]
                force += mass[j] * d / ((d * d).sum() + 0.1) ** 1.5
            speed[i] += 0.1 * force
        place += 0.1 * speed
    return (place * place).sum() + (speed * speed).sum()


@at((v(5),), (v(2),))
def bubble_sort(x):
    n = len(x)
    for i in range(n):
        for j in range(n - 1 - i):
            if x[j] > x[j + 1]:
                x[j], x[j + 1] = x[j + 1], x[j]
    return (x * x * np.arange(n)).sum()


@at((v(3, 4),))
def cheapest_path(cost):
    n, m = cost.shape
    best = np.zeros((n, m))
    for i in range(n):
        for j in range(m):
            if i == 0 and j == 0:
                before = 0.0
            elif i == 0:
                before = best[i, j - 1]
            elif j == 0:
                before = best[i - 1, j]
            else:
                before = min(best[i - 1, j], best[i, j - 1])
            best[i, j] = before + cost[i, j] ** 2
    return best[-1, -1] * best[0, -1]


@at((v(3), v(4, seed=1), 0.5))
def soft_time_warping(x, y, gamma):
    n, m = len(x), len(y)
    r = np.full((n + 1, m + 1), 10.0)
    r[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a, b, c = r[i - 1, j], r[i, j - 1], r[i - 1, j - 1]
            low = min(a, b, c)
            s = np.exp((low - a) / gamma) + np.exp((low - b) / gamma) + np.exp((low - c) / gamma)
            r[i, j] = (x[i - 1] - y[j - 1]) ** 2 + low - gamma * np.log(s)
    return r[n, m]


@at((signed(6),))
def running_maximum(x):
    top = x[0]
    out = np.zeros(6)
    for i in range(6):
        if x[i] > top:
            top = x[i]
        out[i] = top * x[i]
    return (out * out).sum()


@at((v(6),))
def largest_element(x):
    k = np.argmax(x)
    y = x.copy()
    y[k] = x[k] ** 3
    i = 0
    for j in range(1, len(x)):
        if y[j] < y[i]:
            i = j
    return y[i] * y.sum()


@at((v(6), np.array([0, 2, 1, 2, 2, 0])))
def histogram_of_weights(w, bins):
    h = np.zeros(3)
    for k in range(len(w)):
        h[bins[k]] += w[k] * w[k]
    return (np.log(h) * np.arange(1.0, 4.0)).sum()


@at((v(3, 3), v(3), I(4)))
def power_iteration(a, x, n):
    for _ in range(n):
        x = a @ x
        x /= np.sqrt((x * x).sum())
    return x @ a @ x


@at((v(2, 4), v(4, 4, seed=7), v(4, 4, seed=8)))
def recurrent_network(xs, w, u):
    h = np.zeros(4)
    for x in xs:
        z = 1 / (1 + np.exp(-(u @ h)))
        h = z * h + (1 - z) * np.tanh(w @ x + h)
    return (h * np.arange(1.0, 5.0)).sum()


@at((v(3), v(3, 3, seed=2)))
def forward_algorithm(start, step):
    p = start / start.sum()
    score = 0.0
    for k in range(4):
        p = (p @ step) * (1 + 0.1 * k)
        total = p.sum()
        score += np.log(total)
        p = p / total
    return score


@at((v(4), 0.3), (v(4), 1.1))
def runge_kutta(y, h):
    def slope(y):
        return np.array([y[1], -y[0] * y[2], y[3] - y[2], y[0] * y[1]])

    for _ in range(2):
        a = slope(y)
        b = slope(y + 0.5 * h * a)
        c = slope(y + 0.5 * h * b)
        d = slope(y + h * c)
        y = y + h / 6 * (a + 2 * b + 2 * c + d)
    return (y * y).sum()


@at((v(5), v(5, seed=1)))
def horner_and_clipping(c, x):
    s = 0.0
    for t in x:
        p = 0.0
        for a in c[::-1]:
            p = p * t + a
        s += max(min(p, 3.0), 0.5)
    return s


@at((v(4), v(4, seed=1), I(3)))
def conjugate_gradients(b, d, n):
    x = np.zeros(4)
    r = b.copy()
    p = r.copy()
    rr = r @ r
    for _ in range(n):
        q = (d + 1) * p
        alpha = rr / (p @ q)
        x += alpha * p
        r -= alpha * q
        new = r @ r
        p *= new / rr
        p += r
        rr = new
    return (x * x).sum()


@at((signed(4, 3), signed(4, 4, seed=1)), (signed(2, 4, 3), signed(4, 4, seed=1)))
def products_with_transposes(x, weights):
    """One matrix on both sides: as rows, as columns, in a loop, and beside the product of two."""
    x = x[0] if x.ndim == 3 else x * 1.5
    rows, columns = x @ x.T, x.T @ x
    total = np.sum(weights * rows) + np.sum(weights[:3, 1:] * np.tanh(columns))
    turned = x.T
    for k in range(3):
        total = total + 0.1 * np.sum((turned @ turned.T) * weights[1:, :3]) * k
        turned = np.sin(turned)
    return total + np.sum(x @ turned)


@at((signed(2, 3, 4), signed(2, 3, 3, seed=1)))
def stacked_products_with_transposes(x, weights):
    """Stacks, and transposes that swap other axes than the last two."""
    gram = x @ np.swapaxes(x, 1, 2)
    square = x[:, :2, :2]
    other = square @ square.transpose(2, 1, 0)
    return np.sum(gram * weights) + np.sum(np.exp(gram[:, 0] / 8)) + np.sum(other)
