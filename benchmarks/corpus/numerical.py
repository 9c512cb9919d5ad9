"""Numerical analysis: equations, integrals, linear systems, interpolation."""

import math

import numpy as np

from .program import Family

PROGRAMS = Family()


def spd(n, seed=0):
    a = np.random.default_rng(seed).normal(size=(n, n))
    return a @ a.T + n * np.eye(n)


def vector(n, seed=1):
    return np.random.default_rng(seed).normal(size=n)


def rk4(f, y0, t):
    n = len(t)
    y = np.zeros((n, len(y0)))
    y[0] = y0
    for i in range(n - 1):
        h = t[i + 1] - t[i]
        k1 = f(y[i], t[i])
        k2 = f(y[i] + k1 * h / 2.0, t[i] + h / 2.0)
        k3 = f(y[i] + k2 * h / 2.0, t[i] + h / 2.0)
        k4 = f(y[i] + k3 * h, t[i] + h)
        y[i + 1] = y[i] + (h / 6.0) * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def pendulum(y, t, b=0.25, c=5.0):
    theta, omega = y
    return np.array([omega, -b * omega - c * np.sin(theta)])


def predator_prey(z, t):
    x, y = z
    return np.array([x * (1.5 - y), -y * (3.0 - x)])


PROGRAMS.add(
    rk4,
    lambda: (pendulum, [math.pi - 0.1, 0.0], np.linspace(0, 5, 60)),
    lambda: (predator_prey, np.array([10.0, 5.0]), np.linspace(0, 3, 80)),
)


def rkf45(f, t, y, t_end, h=0.1, tol=1e-6):
    ts, ys = [t], [y]
    while t < t_end:
        h = min(h, t_end - t)
        k1 = h * f(t, y)
        k2 = h * f(t + h / 4, y + k1 / 4)
        k3 = h * f(t + 3 * h / 8, y + 3 * k1 / 32 + 9 * k2 / 32)
        k4 = h * f(t + 12 * h / 13, y + (1932 * k1 - 7200 * k2 + 7296 * k3) / 2197)
        k5 = h * f(t + h, y + 439 * k1 / 216 - 8 * k2 + 3680 * k3 / 513 - 845 * k4 / 4104)
        k6 = h * f(
            t + h / 2,
            y - 8 * k1 / 27 + 2 * k2 - 3544 * k3 / 2565 + 1859 * k4 / 4104 - 11 * k5 / 40,
        )
        error = abs(k1 / 360 - 128 * k3 / 4275 - 2197 * k4 / 75240 + k5 / 50 + 2 * k6 / 55)
        if error <= tol or h < 1e-8:
            t += h
            y = y + 25 * k1 / 216 + 1408 * k3 / 2565 + 2197 * k4 / 4104 - k5 / 5
            ts.append(t)
            ys.append(y)
        scale = 0.9 * (tol / error) ** 0.2 if error > 0 else 2.0
        h *= min(2.0, max(0.3, scale))
    return ts, ys


PROGRAMS.add(
    rkf45,
    lambda: (lambda t, y: -2 * y + math.cos(t), 0.0, 1.0, 2.0),
    lambda: (lambda t, y: y * (1 - y), 0.0, 0.1, 5.0, 0.5, 1e-4),
)


class ODESolver:
    def __init__(self, f):
        self.f = f

    def advance(self):
        raise NotImplementedError

    def set_initial_conditions(self, u0):
        self.u0 = np.asarray(u0, dtype=float)

    def solve(self, t):
        self.t = t
        self.u = np.zeros((len(t), self.u0.size))
        self.u[0] = self.u0
        for n in range(len(t) - 1):
            self.n = n
            self.u[n + 1] = self.advance()
        return self.u, self.t


class Heun(ODESolver):
    def advance(self):
        u, f, n, t = self.u, self.f, self.n, self.t
        dt = t[n + 1] - t[n]
        k1 = f(u[n], t[n])
        return u[n] + dt / 2 * (k1 + f(u[n] + dt * k1, t[n] + dt))


def heun(f, u0):
    made = Heun(f)
    made.set_initial_conditions(u0)
    return made


PROGRAMS.add(
    ODESolver.solve,
    lambda: (heun(pendulum, [1.0, 0.0]), np.linspace(0, 2, 40)),
    lambda: (heun(lambda u, t: -u, [3.0]), np.linspace(0, 1, 25)),
)


def simpson(f, a, b, n):
    if n % 2:
        raise ValueError("n must be even, received n=%d" % n)
    h = (b - a) / n
    s = f(a) + f(b)
    for i in range(1, n, 2):
        s += 4 * f(a + i * h)
    for i in range(2, n - 1, 2):
        s += 2 * f(a + i * h)
    return s * h / 3


PROGRAMS.add(
    simpson,
    lambda: (math.sin, 0.0, math.pi, 20),
    lambda: (lambda x: x**3 - x, 0, 2, 8),
    lambda: (math.exp, 0.0, 1.0, 7),
)


def adaptive_simpson(f, a, b, eps):
    c = (a + b) / 2
    h = b - a

    def recurse(a, fa, b, fb, c, fc, whole, eps):
        d, e = (a + c) / 2, (c + b) / 2
        fd, fe = f(d), f(e)
        left = (c - a) / 6 * (fa + 4 * fd + fc)
        right = (b - c) / 6 * (fc + 4 * fe + fb)
        if abs(left + right - whole) <= 15 * eps:
            return left + right + (left + right - whole) / 15
        return recurse(a, fa, c, fc, d, fd, left, eps / 2) + recurse(
            c, fc, b, fb, e, fe, right, eps / 2
        )

    fa, fb, fc = f(a), f(b), f(c)
    return recurse(a, fa, b, fb, c, fc, h / 6 * (fa + 4 * fc + fb), eps)


PROGRAMS.add(
    adaptive_simpson,
    lambda: (math.exp, 0.0, 1.0, 1e-6),
    lambda: (lambda x: math.sqrt(x), 0.0, 1.0, 1e-5),
)


def romberg(f, a, b, p):
    R = np.zeros((p, p))
    for k in range(p):
        n = 2**k
        h = (b - a) / n
        R[k, 0] = h * (0.5 * f(a) + sum(f(a + i * h) for i in range(1, n)) + 0.5 * f(b))
        for j in range(k):
            R[k, j + 1] = (4 ** (j + 1) * R[k, j] - R[k - 1, j]) / (4 ** (j + 1) - 1)
    return R


PROGRAMS.add(romberg, lambda: (np.sin, 0.0, 2.0, 5), lambda: (lambda x: 1 / (1 + x), 0.0, 1.0, 4))


def bisection(f, a, b, tol=1e-8):
    if f(a) * f(b) >= 0:
        raise ValueError("f(a) and f(b) must have opposite signs")
    while (b - a) / 2.0 > tol:
        midpoint = (a + b) / 2.0
        if f(midpoint) == 0:
            return midpoint
        elif f(a) * f(midpoint) < 0:
            b = midpoint
        else:
            a = midpoint
    return (a + b) / 2.0


def cubic(x):
    return x**3 - x - 2


PROGRAMS.add(bisection, lambda: (cubic, 1, 2), lambda: (math.cos, 0.0, 3.0), lambda: (cubic, 2, 3))


def newton_raphson(f, df, x0, tol=1e-10, max_iter=50):
    x = x0
    for n in range(max_iter):
        fx = f(x)
        if abs(fx) < tol:
            return x, n
        dfx = df(x)
        if dfx == 0:
            print("Zero derivative. No solution found.")
            return None
        x = x - fx / dfx
    raise RuntimeError(f"no convergence after {max_iter} iterations")


PROGRAMS.add(
    newton_raphson,
    lambda: (cubic, lambda x: 3 * x**2 - 1, 1.5),
    lambda: (lambda x: x * x + 1, lambda x: 2 * x, 0.5, 1e-10, 20),
)


def secant(f, x0, x1, n=20):
    for _ in range(n):
        f0, f1 = f(x0), f(x1)
        if f1 - f0 == 0:
            break
        x0, x1 = x1, x1 - f1 * (x1 - x0) / (f1 - f0)
    return x1


PROGRAMS.add(secant, lambda: (cubic, 1.0, 2.0), lambda: (math.cos, 1, 2, 3))


class CubicSpline:
    def __init__(self, x, y):
        self.x, self.a = x, np.array(y, dtype=float)
        n = len(x)
        h = np.diff(x)
        A = np.zeros((n, n))
        B = np.zeros(n)
        A[0, 0] = A[-1, -1] = 1.0
        for i in range(1, n - 1):
            A[i, i - 1 : i + 2] = [h[i - 1], 2 * (h[i - 1] + h[i]), h[i]]
            B[i] = 3 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
        self.c = np.linalg.solve(A, B)
        self.d = np.diff(self.c) / (3 * h)
        self.b = np.diff(self.a) / h - h * (2 * self.c[:-1] + self.c[1:]) / 3

    def __call__(self, t):
        if t < self.x[0] or t > self.x[-1]:
            return None
        i = min(np.searchsorted(self.x, t, side="right") - 1, len(self.x) - 2)
        dx = t - self.x[i]
        return self.a[i] + self.b[i] * dx + self.c[i] * dx**2 + self.d[i] * dx**3


def spline():
    return CubicSpline(np.linspace(0.0, 5.0, 7), vector(7))


PROGRAMS.add(
    CubicSpline.__init__,
    lambda: (CubicSpline.__new__(CubicSpline), np.linspace(0.0, 5.0, 7), vector(7)),
    lambda: (CubicSpline.__new__(CubicSpline), np.arange(5.0), list(vector(5))),
)
PROGRAMS.add(
    CubicSpline.__call__, lambda: (spline(), 2.3), lambda: (spline(), 9.0), lambda: (spline(), 5.0)
)


def lagrange_interpolation(x_values, y_values, x):
    def basis(j):
        p = [(x - x_values[m]) / (x_values[j] - x_values[m]) for m in range(k) if m != j]
        return np.prod(p)

    assert len(x_values) != 0 and len(x_values) == len(y_values)
    k = len(x_values)
    return sum(basis(j) * y_values[j] for j in range(k))


PROGRAMS.add(
    lagrange_interpolation,
    lambda: ([0.0, 1.0, 2.0, 3.0], [1.0, 2.0, 0.0, 5.0], 1.5),
    lambda: (np.arange(6.0), vector(6), 2.25),
)


class Polynomial:
    def __init__(self, *coefficients):
        self.coefficients = list(coefficients)

    def __call__(self, x):
        res = 0
        for coeff in self.coefficients:
            res = res * x + coeff
        return res

    def derivative(self):
        n = len(self.coefficients) - 1
        return Polynomial(*[c * (n - i) for i, c in enumerate(self.coefficients[:-1])])

    def newton(self, x, steps=10):
        slope = self.derivative()
        for _ in range(steps):
            x = x - self(x) / slope(x)
        return x


PROGRAMS.add(
    Polynomial.newton,
    lambda: (Polynomial(1, 0, -2), 1.0),
    lambda: (Polynomial(1.0, -3.0, 2.0, -5.0), 3.0, 6),
)
PROGRAMS.add(
    Polynomial.__call__,
    lambda: (Polynomial(1, 2, 3), 2),
    lambda: (Polynomial(0.5, -1.0), vector(5)),
)
