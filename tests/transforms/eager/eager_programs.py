"""Programs whose gradients are taken eagerly: what compiled code does not take is among them.

`PROGRAMS` pairs each function with arguments; it is differentiated by the first.
"""

import contextlib
import dataclasses
import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PROGRAMS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = []
W = np.linspace(-1.0, 1.0, 9).reshape(3, 3)
WEIGHTS = [W, 2.0 * W]
CALLS: list[float] = []


def program(*args: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def add(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append((f, args))
        return f

    return add


VECTOR = np.array([0.5, -1.5, 2.0])


@program(1.7)
def polynomial(x):
    return 3.0 * x**2 + math.sin(x) - x / 7 + 2**x


@program(VECTOR)
def branches(x):
    if x[0] > 0 and not x[1] > 0:
        y = x[0] * x[2]
    elif x[2] > 5:
        y = x[1]
    else:
        y = x[2] ** 2
    return y if y > 0 else -y


@program(0.3)
def while_and_break(x):
    total, k = 0.0, 0
    while True:
        total += x**k / math.factorial(k)
        k += 1
        if total > 1.34 or k > 20:
            break
    return total


@program(VECTOR)
def stores(x):
    y = np.zeros(3)
    for i in range(3):
        y[i] = x[i] * x[i - 1] + i
    y[1:] *= y[:-1]
    y += x
    return (y * W[0]).sum()


@program(VECTOR)
def views(x):
    a = np.empty((2, 3))
    a[0] = x
    a[1] = x[::-1] ** 2
    t = a.T
    t[1] = t[0] * 3.0
    row = a[1]
    row[0] = np.sin(row[2])
    flat = a.reshape(-1)
    flat[5] *= 2.0
    return float(a.sum())


@program(VECTOR)
def written_by_mask(x):
    y = x.copy()
    y[y < 0] = 0.1
    z = np.where(y > 1, y**2, np.exp(y))
    z[[0, 2]] += x[1]
    return np.dot(z, z)


def _power(x, n):
    return 1.0 if n == 0 else x * _power(x, n - 1)


@program(1.3)
def recursion(x):
    return _power(x, 5)


@program({"w": np.array([1.0, 2.0]), "b": [0.5, (np.array([3.0]),)]}, VECTOR[:2])
def containers(params, x):
    layers = []
    for k in range(3):
        layers.append(np.tanh(params["w"] * x + params["b"][0] * k))
    found = {k: v + 0.0 for k, v in enumerate(layers)}
    found["last"] = params["b"][1][0].sum()
    return sum(v.sum() for k, v in found.items() if k != 1)


@program(VECTOR)
def handled(x):
    total = 0.0
    for k in range(5):
        try:
            total = total + x[k] ** 2
        except IndexError:
            total = total * 1.5
        finally:
            total = total + 0.1
    try:
        total += 1.0 / 0.0
    except ZeroDivisionError as e:
        total *= len(str(e))
    return total


@program(VECTOR)
def generator(x):
    def squares() -> Iterator[Any]:
        for v in x:
            yield v * v

    return max(squares()) + sum(itertools.accumulate(squares(), operator.add))


@contextlib.contextmanager
def _noted():
    CALLS.append(0.0)
    yield np.ones(3)
    CALLS.pop()


@program(VECTOR)
def context(x):
    with _noted() as y, np.errstate(divide="ignore"):
        y[0] = x[0] / (x[1] + 1e-3)
        return (y * np.log(x**2)).sum()


@dataclasses.dataclass
class Point:
    a: Any
    b: Any = 2.0

    def length(self):
        return math.hypot(self.a, self.b)


class Model:
    def __init__(self, width):
        self.width = width
        self.rows = np.zeros((2, 3))

    def __call__(self, x):
        self.rows[0] = x
        self.rows[1] = x * self.width
        return self

    @property
    def total(self):
        return self.rows.sum() + np.prod(self.rows[0])


@program(VECTOR)
def objects(x):
    p = Point(float(x[0]))
    p.b = float(x[1]) * p.b
    model = Model(3.0)
    return model(x).total * p.length()


@program(0.7)
def on_dataclass(x):
    return Point(x, b=x * x).length()


@program(VECTOR)
def outer_arrays(x):
    h = W @ x
    g = 2.0 * W
    g[0, 0] = x[0]
    k = np.sin(W[0])
    k[1] = x[2]
    first, *others = WEIGHTS
    for w in others:
        h = np.maximum(w @ h, 0.01)
    return h.sum() + g.sum() + k.prod() + (first @ x).max()


@program(VECTOR)
def partials_and_lambdas(x):
    f = functools.partial(lambda a, b: np.cos(a) * b, b=3.0)
    return functools.reduce(lambda s, v: s + f(v), x, 0.0)


@program(2.5)
def python_numbers(x):
    n = int(x)
    y = abs(-x) + round(x, 1) + x // 1 + x % 0.75 + divmod(x, 2.0)[1] + max(x, 1.0, key=abs)
    if math.isclose(x, 2.5, rel_tol=1e-3) and isinstance(x, float) and type(x) is float:
        y += x
    return y * n + math.floor(x) + math.log(x, 3) + math.sqrt(x) + min(x, 5)


@program(np.float32(1.5))
def narrow(x):
    return np.float32(2) * x * x + np.float32(1)


@program(np.arange(6.0).reshape(2, 3) + 0.5)
def reductions(a):
    m = a.mean(axis=0, keepdims=True)
    return ((a - m) ** 2).sum() + a.max() * a.min() + np.linalg.norm(a) + np.std(a[0])


@program(np.array([[2.0, 0.5], [0.5, 1.0]]))
def matrices(a):
    return np.trace(np.linalg.inv(a) @ a @ a) + np.linalg.det(a) + np.linalg.solve(a, a[0])[1]


@program(VECTOR)
def loops_over_arrays(x):
    total = 0.0
    for k, (v, w) in enumerate(zip(x, reversed(x), strict=True)):
        if k == 1:
            continue
        total += v * w * k
    else:
        total += x[np.argmax(x)]
    return total + np.sum([v * 2 for v in x]) + np.array([x[0], 1.0, x[1] * x[2]]).sum()


@program(VECTOR)
def selects(x):
    order = np.argsort(x)
    order[0], order[1] = order[1], order[0]
    y = x[order]
    found = np.nonzero(x > 0)[0]
    return y[0] * 3.0 + y[1] + x[found].sum() + np.concatenate([y, x[1:]])[3] ** 2


@program(VECTOR)
def assigned_in_expressions(x):
    if (n := len(x)) > 2 and (y := x * n).sum() > 0:
        return (y**2).sum()
    return x.sum()


@program(VECTOR)
def matched(x):
    match [x[0], int(x[2] + 0.5)]:
        case [a, 2] if a > 0:
            return a * 2.0
        case [_, -1]:
            return x[1]
    return x[2]


@program(VECTOR)
def closures(x):
    count = 0

    def step(v):
        nonlocal count
        count += 1
        return v * count

    return sum(map(step, x)) + count


@program(VECTOR)
def lost_on_purpose(x):
    scale = np.round(x + 0.2).sum() + np.sign(x[0]) + (x > 0).sum()
    return x.sum() * scale


@program(1 + 2j)
def complex_numbers(z):
    return (z * z.conjugate()).real + abs(z) + z.imag**2


@program(np.array([1 + 1j, 2 - 0.5j]))
def complex_arrays(z):
    y = np.zeros(2, complex)
    y[0] = z[1] * 1j
    y.imag[1] = z[0].real ** 2
    return (np.abs(y) ** 2).sum() + np.exp(z).imag.sum()


@program(VECTOR)
def through_numpy_itself(x):
    spectrum = np.abs(np.fft.rfft(x)) ** 2
    peak = np.maximum.accumulate(x * x)
    return spectrum.sum() + peak.sum() + W.dot(x)[0] * np.linalg.eigvalsh(np.outer(x, x) + W.T)[2]


@program(0.1)
def sum_of_floats(x):
    return sum([x] * 10) + sum((k * x for k in range(3)), start=x)


@program(VECTOR)
def sorted_values(x):
    low, *_, high = sorted(x, key=lambda v: -v)
    table = {"a": low, "b": high}
    return table["a"] * table["b"] + sorted(x)[1]


@program(np.arange(12.0).reshape(3, 4))
def windows(x):
    seen = np.lib.stride_tricks.sliding_window_view(x, (2, 2))[::2]
    return np.einsum("abij,ij->ab", seen, W[:2, 1:]).prod() + (seen**2).sum()
