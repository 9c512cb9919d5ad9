"""Minimisation: by gradients, by simplices, by populations."""

import math

import numpy as np

from .program import Family

PROGRAMS = Family()


def rosenbrock(x):
    return sum(100.0 * (x[1:] - x[:-1] ** 2.0) ** 2.0 + (1 - x[:-1]) ** 2.0)


def rosenbrock_grad(x):
    g = np.zeros_like(x)
    g[:-1] = -400 * x[:-1] * (x[1:] - x[:-1] ** 2) - 2 * (1 - x[:-1])
    g[1:] += 200 * (x[1:] - x[:-1] ** 2)
    return g


def sphere(x):
    return np.sum(x**2)


def rastrigin(x):
    return 10 * len(x) + sum(xi**2 - 10 * math.cos(2 * math.pi * xi) for xi in x)


def start(n=3, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def gradient_descent(gradient, start, learn_rate, n_iter=50, tolerance=1e-06):
    vector = start
    for _ in range(n_iter):
        diff = -learn_rate * gradient(vector)
        if np.all(np.abs(diff) <= tolerance):
            break
        vector = vector + diff
    return vector


PROGRAMS.add(
    gradient_descent,
    lambda: (rosenbrock_grad, start(), 1e-3),
    lambda: (lambda v: 2 * v, np.array([10.0, -4.0]), 0.4),
)


def line_search_descent(f, grad, x0, alpha0=1.0, c=1e-4, rho=0.5, max_iter=100, tol=1e-6):
    x = x0.copy()
    history = [f(x)]
    for k in range(max_iter):
        g = grad(x)
        if np.linalg.norm(g) < tol:
            return x, history, k
        alpha = alpha0
        while f(x - alpha * g) > f(x) - c * alpha * g.dot(g):
            alpha *= rho
        x = x - alpha * g
        history.append(f(x))
    return x, history, max_iter


PROGRAMS.add(
    line_search_descent,
    lambda: (rosenbrock, rosenbrock_grad, start(), 1.0, 1e-4, 0.5, 20),
    lambda: (sphere, lambda x: 2 * x, start(5)),
)


def nelder_mead(f, x_start, step=0.1, no_improve_thr=1e-6, no_improv_break=10, max_iter=60):
    dim = len(x_start)
    prev_best = f(x_start)
    no_improv = 0
    res = [[x_start, prev_best]]
    for i in range(dim):
        x = x_start.copy()
        x[i] = x[i] + step
        res.append([x, f(x)])
    iters = 0
    while True:
        res.sort(key=lambda x: x[1])
        best = res[0][1]
        if max_iter and iters >= max_iter:
            return res[0]
        iters += 1
        if best < prev_best - no_improve_thr:
            no_improv = 0
            prev_best = best
        else:
            no_improv += 1
        if no_improv >= no_improv_break:
            return res[0]
        x0 = np.zeros(dim)
        for tup in res[:-1]:
            x0 += tup[0] / (len(res) - 1)
        xr = x0 + (x0 - res[-1][0])
        rscore = f(xr)
        if res[0][1] <= rscore < res[-2][1]:
            del res[-1]
            res.append([xr, rscore])
            continue
        if rscore < res[0][1]:
            xe = x0 + 2.0 * (x0 - res[-1][0])
            escore = f(xe)
            del res[-1]
            res.append([xe, escore] if escore < rscore else [xr, rscore])
            continue
        xc = x0 - 0.5 * (x0 - res[-1][0])
        cscore = f(xc)
        if cscore < res[-1][1]:
            del res[-1]
            res.append([xc, cscore])
            continue
        x1 = res[0][0]
        res = [[x1 + 0.5 * (tup[0] - x1), f(x1 + 0.5 * (tup[0] - x1))] for tup in res]


PROGRAMS.add(nelder_mead, lambda: (sphere, start(3)), lambda: (rosenbrock, start(2, 1)))


def golden_section_search(f, a, b, tol=1e-5):
    gr = (math.sqrt(5) + 1) / 2
    c = b - (b - a) / gr
    d = a + (b - a) / gr
    while abs(b - a) > tol:
        if f(c) < f(d):
            b = d
        else:
            a = c
        c = b - (b - a) / gr
        d = a + (b - a) / gr
    return (b + a) / 2


def quartic(x):
    return (x - 2) ** 4 + 0.5 * x


PROGRAMS.add(
    golden_section_search,
    lambda: (quartic, 0.0, 5.0),
    lambda: (quartic, 1, 4, 1e-3),
    lambda: (lambda x: abs(x + 0.3), -1.0, 1.0),
)


def bfgs(f, grad, x0, max_iter=20, tol=1e-6):
    n = len(x0)
    H = np.eye(n)
    x, g = x0, grad(x0)
    for it in range(max_iter):
        if np.linalg.norm(g, np.inf) < tol:
            break
        p = -H @ g
        a = 1.0
        while f(x + a * p) > f(x) + 1e-4 * a * (g @ p) and a > 1e-8:
            a *= 0.5
        s = a * p
        x_new = x + s
        g_new = grad(x_new)
        y = g_new - g
        sy = s @ y
        if sy > 1e-10:
            r = 1.0 / sy
            V = np.eye(n) - r * np.outer(s, y)
            H = V @ H @ V.T + r * np.outer(s, s)
        x, g = x_new, g_new
    return {"x": x, "fun": f(x), "nit": it, "success": bool(np.linalg.norm(g, np.inf) < tol)}


PROGRAMS.add(
    bfgs,
    lambda: (rosenbrock, rosenbrock_grad, start(3)),
    lambda: (sphere, lambda x: 2 * x, start(4, 1)),
)


def lasso_coordinate_descent(X, y, lam, n_iter=30):
    n, p = X.shape
    beta = np.zeros(p)
    norms = (X**2).sum(axis=0)

    def soft_threshold(rho, lam):
        if rho < -lam:
            return rho + lam
        elif rho > lam:
            return rho - lam
        else:
            return 0.0

    for _ in range(n_iter):
        for j in range(p):
            residual = y - X @ beta + X[:, j] * beta[j]
            beta[j] = soft_threshold(X[:, j] @ residual, lam) / norms[j]
    return beta, np.flatnonzero(beta)


def regression(n, p):
    rng = np.random.default_rng(n)
    X = rng.normal(size=(n, p))
    return X, X[:, 0] * 2 - X[:, 1] + 0.1 * rng.normal(size=n)


PROGRAMS.add(
    lasso_coordinate_descent,
    lambda: (*regression(30, 5), 5.0),
    lambda: (*regression(25, 4), 0.1, 10),
)


def levenberg_marquardt(x, y, p0, n_iter=15):
    """Fits a * exp(b * x) + c."""
    p = np.asarray(p0, dtype=float)
    lam = 1e-2
    residual = y - (p[0] * np.exp(p[1] * x) + p[2])
    cost = residual @ residual
    for _ in range(n_iter):
        e = np.exp(p[1] * x)
        J = np.column_stack([e, p[0] * x * e, np.ones_like(x)])
        A = J.T @ J
        g = J.T @ residual
        try:
            delta = np.linalg.solve(A + lam * np.diag(np.diag(A)), g)
        except np.linalg.LinAlgError:
            lam *= 10
            continue
        trial = p + delta
        new_residual = y - (trial[0] * np.exp(trial[1] * x) + trial[2])
        new_cost = new_residual @ new_residual
        if new_cost < cost:
            p, residual, cost, lam = trial, new_residual, new_cost, lam / 10
        else:
            lam *= 10
    return p, cost


def decay(n):
    x = np.linspace(0, 2, n)
    return x, 2 * np.exp(-1.3 * x) + 0.5 + 0.01 * np.sin(20 * x)


PROGRAMS.add(
    levenberg_marquardt,
    lambda: (*decay(30), [1.0, -1.0, 0.0]),
    lambda: (*decay(21), (0.5, 0.1, 0.2), 8),
)


class EarlyStopping:
    def __init__(self, patience=3, min_delta=0.0, mode="min"):
        self.patience = patience
        self.min_delta = min_delta
        self.mode = mode
        self.best = None
        self.num_bad_epochs = 0
        self.stopped = False

    def step(self, metric):
        if np.isnan(metric):
            self.stopped = True
            return True
        if self.best is None:
            self.best = metric
            return False
        improved = (
            metric < self.best - self.min_delta
            if self.mode == "min"
            else metric > self.best + self.min_delta
        )
        if improved:
            self.num_bad_epochs = 0
            self.best = metric
        else:
            self.num_bad_epochs += 1
        if self.num_bad_epochs >= self.patience:
            self.stopped = True
        return self.stopped


def watched(*metrics, **options):
    made = EarlyStopping(**options)
    for m in metrics:
        made.step(m)
    return made


PROGRAMS.add(
    EarlyStopping.step,
    lambda: (watched(), 0.5),
    lambda: (watched(0.5, 0.7, patience=2), 0.6),
    lambda: (watched(0.5, mode="max"), float("nan")),
)
