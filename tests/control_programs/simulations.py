"""Differential equations, filters, automata and fits written with loops."""

# ruff: noqa: B007

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("simulations")


def heat(u, steps, k):
    for _ in range(steps):
        new = u.copy()
        new[1:-1] = u[1:-1] + k * (u[2:] - 2 * u[1:-1] + u[:-2])
        u = new
    return u


programs.add(heat, (ramp(6) ** 2, 3, 0.25), (ramp(6) ** 2, 0, 0.25), (mixed(30), 20, 0.125))


def heat_until_steady(u, k, tolerance):
    steps = 0
    change = tolerance + 1
    while change > tolerance and steps < 500:
        inner = k * (u[2:] - 2 * u[1:-1] + u[:-2])
        u[1:-1] += inner
        change = np.abs(inner).max()
        steps += 1
    return steps, change


programs.add(
    heat_until_steady, (ramp(6) ** 2, 0.25, 1e-3), (mixed(20), 0.25, 1e-2), (mixed(20), 0.25, 99.0)
)


def heat_2d(u, steps):
    for _ in range(steps):
        v = u.copy()
        for i in range(1, u.shape[0] - 1):
            for j in range(1, u.shape[1] - 1):
                v[i, j] = (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]) / 4
        u = v
    return u


programs.add(heat_2d, (table(4, 5), 2), (table(4, 5), 3), (table(9, 7), 6), (table(2, 2), 4))


def rk4(y, t, stop, h):
    def f(t, y):
        return -y + t

    steps = 0
    while t < stop:
        if t + h > stop:
            h = stop - t
        k1 = f(t, y)
        k2 = f(t + h / 2, y + h / 2 * k1)
        k3 = f(t + h / 2, y + h / 2 * k2)
        k4 = f(t + h, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        t += h
        steps += 1
    return y, t, steps


programs.add(rk4, (1.0, 0.0, 1.0, 0.3), (ramp(3), 0.0, 1.0, 0.25), (mixed(9), 0.5, 0.5, 0.1))


def adaptive_heun(y, stop, tolerance):
    """Step halved where two orders disagree, doubled where they agree well."""
    t, h = 0.0, 0.25
    accepted = rejected = 0
    while t < stop:
        h = min(h, stop - t)
        k1 = -5.0 * y
        k2 = -5.0 * (y + h * k1)
        error = abs(h / 2 * (k2 - k1))
        if error <= tolerance:
            y = y + h / 2 * (k1 + k2)
            t = t + h
            accepted += 1
            if error < tolerance / 8:
                h = 2 * h
        else:
            h = h / 2
            rejected += 1
        if accepted + rejected > 60:
            break
    return y, t, accepted, rejected


programs.add(adaptive_heun, (1.0, 1.0, 0.01), (1.0, 2.0, 1e-4), (0.0, 1.0, 0.01), (4.0, 3.0, 1e-4))


def exponential_filter(x, alpha):
    y = np.empty_like(x)
    y[0] = x[0]
    for t in range(1, len(x)):
        y[t] = alpha * x[t] + (1 - alpha) * y[t - 1]
    return y


programs.add(exponential_filter, (ramp(5), 0.5), (mixed(31), 0.125), (ramp(1), 0.5))


def biquad(x, b, a):
    y = np.zeros(len(x))
    for t in range(len(x)):
        acc = b[0] * x[t]
        if t >= 1:
            acc += b[1] * x[t - 1] - a[1] * y[t - 1]
        if t >= 2:
            acc += b[2] * x[t - 2] - a[2] * y[t - 2]
        y[t] = acc
    return y


B, A = np.array([0.5, 0.25, 0.125]), np.array([1.0, -0.5, 0.25])
programs.add(biquad, (ramp(5), B, A), (mixed(26), B, A))


def kalman(z, q, r):
    """A scalar state; missing measurements are NaN."""
    x, p = 0.0, 1.0
    estimates = np.zeros_like(z)
    skipped = 0
    for t, measured in enumerate(z):
        p = p + q
        if np.isnan(measured):
            skipped += 1
        else:
            k = p / (p + r)
            x = x + k * (measured - x)
            p = (1 - k) * p
        estimates[t] = x
    return estimates, p, skipped


GAPS = mixed(24)
GAPS[::5] = np.nan
programs.add(kalman, (ramp(5), 0.1, 1.0), (GAPS, 0.25, 0.5), (GAPS[:1], 0.25, 0.5))


def kalman_matrices(z, steps):
    """Two states, matrices of fixed size."""
    f = np.array([[1.0, 1.0], [0.0, 1.0]])
    x = np.zeros(2)
    p = np.eye(2)
    for t in range(steps):
        x = f @ x
        p = f @ p @ f.T + 0.1 * np.eye(2)
        k = p[:, 0] / (p[0, 0] + 1.0)
        x = x + k * (z[t] - x[0])
        p = p - np.outer(k, p[0])
    return x, p


programs.add(kalman_matrices, (ramp(5), 3), (ramp(5), 0), (mixed(20), 15), parity="order", ulp=2000)


def game_of_life(board, generations):
    n, m = board.shape
    for _ in range(generations):
        new = np.zeros_like(board)
        for i in range(n):
            for j in range(m):
                alive = 0
                for di in (-1, 0, 1):
                    for dj in (-1, 0, 1):
                        if di == 0 and dj == 0:
                            continue
                        alive += board[(i + di) % n, (j + dj) % m]
                if alive == 3 or (alive == 2 and board[i, j] == 1):
                    new[i, j] = 1
        board = new
    return board


programs.add(
    game_of_life,
    (whole(12, 0, 2).reshape(3, 4), 1),
    (whole(12, 0, 2).reshape(3, 4), 0),
    (whole(30, 0, 2).reshape(5, 6), 2),
)


def median_filter(x):
    y = x.copy()
    for i in range(1, len(x) - 1):
        a, b, c = x[i - 1], x[i], x[i + 1]
        if a > b:
            a, b = b, a
        if b > c:
            b, c = c, b
        if a > b:
            a, b = b, a
        y[i] = b
    return y


programs.add(median_filter, (mixed(6),), (mixed(33),), (ramp(2),))


def k_means(x, centres, most):
    centres = centres.copy()
    for step in range(most):
        sums = np.zeros(len(centres))
        counts = np.zeros(len(centres), dtype=np.int64)
        for v in x:
            nearest = 0
            for k in range(1, len(centres)):
                if abs(v - centres[k]) < abs(v - centres[nearest]):
                    nearest = k
            sums[nearest] += v
            counts[nearest] += 1
        moved = 0.0
        for k in range(len(centres)):
            if counts[k] > 0:
                new = sums[k] / counts[k]
                moved = max(moved, abs(new - centres[k]))
                centres[k] = new
        if moved < 1e-9:
            break
    return centres, step


programs.add(
    k_means, (mixed(12), np.array([-1.0, 1.0]), 20), (mixed(40), np.array([-2.0, 0.0, 50.0]), 3)
)


def three_bodies(p, v, steps, h):
    n = p.shape[0]
    for _ in range(steps):
        a = np.zeros_like(p)
        for i in range(n):
            for j in range(n):
                if i != j:
                    d = p[j] - p[i]
                    r2 = d[0] * d[0] + d[1] * d[1] + 1.0
                    a[i] += d / (r2 * np.sqrt(r2))
        v += h * a
        p += h * v
    return p, v


programs.add(
    three_bodies, (table(3, 2), table(3, 2, 1), 4, 0.125), (table(5, 2), table(5, 2, 1), 9, 0.0625)
)


def romberg(a, b, most):
    def f(x):
        return 1 / (1 + x * x)

    r = np.zeros((most, most))
    h = b - a
    r[0, 0] = h / 2 * (f(a) + f(b))
    for i in range(1, most):
        h = h / 2
        s = 0.0
        for k in range(1, 2**i, 2):
            s += f(a + k * h)
        r[i, 0] = r[i - 1, 0] / 2 + h * s
        factor = 1.0
        for j in range(1, i + 1):
            factor *= 4
            r[i, j] = r[i, j - 1] + (r[i, j - 1] - r[i - 1, j - 1]) / (factor - 1)
        if i > 1 and abs(r[i, i] - r[i - 1, i - 1]) < 1e-10:
            return r[i, i], i
    return r[most - 1, most - 1], most


programs.add(romberg, (0.0, 1.0, 3), (0.0, 1.0, 12), (-2.0, 2.0, 5))


def perceptron(x, y, epochs):
    w = np.zeros(x.shape[1])
    mistakes = 0
    for _ in range(epochs):
        clean = True
        for i in range(len(x)):
            activation = 0.0
            for j in range(x.shape[1]):
                activation += w[j] * x[i, j]
            if y[i] * activation <= 0:
                w += 0.5 * y[i] * x[i]
                mistakes += 1
                clean = False
        if clean:
            break
    return w, mistakes


programs.add(
    perceptron,
    (table(6, 2), np.where(table(6, 2)[:, 0] > 0, 1.0, -1.0), 20),
    (table(15, 3), np.sign(mixed(15) + 0.01), 5),
)


def interpolate(x, xs, ys):
    out = np.empty(len(x))
    for k in range(len(x)):
        v = x[k]
        if v <= xs[0]:
            out[k] = ys[0]
        elif v >= xs[-1]:
            out[k] = ys[-1]
        else:
            i = 0
            while xs[i + 1] < v:
                i += 1
            w = (v - xs[i]) / (xs[i + 1] - xs[i])
            out[k] = (1 - w) * ys[i] + w * ys[i + 1]
    return out


programs.add(
    interpolate,
    (mixed(6), ramp(4), ramp(4) ** 2),
    (mixed(30), ramp(9, -3, 3), mixed(9)),
)
