# ruff: noqa: B905, C416, C417, E702, E731
"""Functions that use Python around arrays, and that capture must follow."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import operator

import numpy as np

from tests.frontend.capture.capture_samples import WEIGHTS, Config, Model, Point, Vector

SCALE = 2.0


def unrolled(x):
    total = 0.0
    for i in range(4):
        if i % 2:
            continue
        total = total + x * i
    else:
        total = total + 1
    k = 0
    while k < 3:
        k += 1
        if k == 2:
            break
    return total, k


def comprehensions(x):
    squares = [x**k for k in range(1, 4) if k != 2]
    table = {k: v for k, v in enumerate(squares)}
    pairs = [a + b for (a, b) in zip(squares, squares)]
    nested = [(i, j, c) for i, (j, c) in enumerate(zip("ab", [x, x + 1]))]
    return squares, table, pairs, nested[1][2], {k for k in (1, 2)} == {2, 1}


def unpacking(x):
    (a, [b, *c]), d = (1, (2, 3, 4)), x
    first, *rest = [x, x + 1, x + 2]
    out = {}
    out["k"], (out["m"], e) = a, (b, x)
    return a, b, c, d, first, rest, out, e


def swaps_with_key(x):
    items, i = [10, 20, 30], 0
    items[i], i = 5, 1
    i, items[i] = 2, 7
    return items, i, x


def containers(x):
    xs = [x]
    xs.append(x + 1)
    xs.extend([x + 2])
    xs[0] = x * 2
    xs += [x]
    del xs[1]
    d = {"a": 1}
    d["b"] = x
    d.update(c=x + 1)
    d["a"] += 5
    d.setdefault("z", 0)
    popped = d.pop("c")
    xs.insert(0, x)
    xs.reverse()
    return xs, d, popped, len(xs), sorted(d), list(d.items())[0]


def local_store(x):
    y = np.zeros(3)
    y[0] = 1.0
    y[1:] = x[1:]
    y += x
    y[2] *= 2
    z = y[::-1]
    z[0] = 9.0
    return y


def chained(x):
    calls = []

    def seen(v):
        calls.append(v)
        return v

    first = seen(1) < seen(2) < seen(3)
    second = seen(3) < seen(2) < seen(9)
    third = seen(0) or seen("") or seen(5)
    fourth = seen(1) and seen(0) and seen(7)
    return x, calls, first, second, third, fourth, not seen(0)


def order_of_evaluation(x):
    log = []

    def note(tag, value):
        log.append(tag)
        return value

    items = [0, 0, 0]
    items[note("key", 1)] = note("value", 5)
    items[note("key2", 1)] += note("value2", 2)
    result = note("f", max)(note("a", 1), *note("b", [2, 3]), **note("c", {}))
    d = {note("k1", 1): note("v1", 2), note("k2", 3): note("v2", 4)}
    a = b = note("once", [])
    a.append(1)
    return x, log, items, result, d, b


def functions_inside(x, /, *more, k=1, **named):
    def add(a, b=x, *, c=k):
        return a + b + c

    double = lambda v: v * 2
    named.setdefault("extra", 1.0)
    return add(x), add(1, c=2), double(x), sum(more), named["extra"], sorted(named)


def recursive(x, n=3):
    return x if n == 0 else recursive(x + n, n - 1)


def mapped(x):
    a = list(map(lambda v: v * SCALE, [x, x + 1]))
    b = [v for v in filter(lambda k: k > 1, [1, 2, 3])]
    c = functools.reduce(lambda p, q: p + q * SCALE, [x, x, x])
    d = sorted([3, 1, 2], key=lambda v: -v * SCALE)
    e = list(itertools.accumulate([x, x], operator.add))
    f = [p + q for p, q in itertools.product([1, 2], [3, 4])]
    g = max([1, 5, 2], key=lambda v: abs(v - SCALE))
    return a, b, c, d, e, f, g, any(v > 1 for v in [1, 2]), all([])


def sizes(x):
    n = x.shape[0]
    half = n // 2
    return (
        x / n,
        len(x),
        x[:half].sum() / max(half, 1),
        np.zeros(n) + math.sqrt(n),
        math.prod(x.shape),
        n if n > 2 else -n,
        isinstance(n, int),
        np.arange(n) * 1.0,
        np.float64(n) * 2,
        np.float64(2.0) * n,
        [0] * n,
    )


def conversions(x, i, f32):
    s = x.sum()
    return (
        float(s),
        float(i[0]),
        int(i[1]),
        bool(i[0]),
        np.float32(s),
        np.int16(i[0]),
        np.float64(f32),
        complex(s),
        float(f32[0]),
        math.isnan(s),
        math.atan(float(s)),
        np.float64(x).dtype.name,
        type(s) is np.float64,
        isinstance(x, np.ndarray),
        isinstance(s, float),
        isinstance(s, (int, np.integer)),
        hasattr(x, "value"),
        callable(x),
    )


def builds_objects(x):
    c = Config(2.0, x)
    c.rate = 3.0
    p = Point(x, y=x + 1)
    m = Model(x, 1.0)
    m.weights = m.weights * 2
    v = Vector(x) + Vector(x) * 2
    changed = dataclasses.replace(c, rate=1.0) if False else c
    a, b = v
    return c, p, p.length(), m(x), m.total, v[0], len(v), a, b, changed.doubled, p._replace(x=1.0)


def calls_numpy_on_constants(x):
    steps = np.cumsum([1.0, 2.0, 3.0])
    steps[0] = 5.0
    return x + steps, np.sqrt(2.0), np.pi, np.array([1.0, 2.0, 3.0]) @ x, np.finfo(np.float32).eps


def asserts_and_raises(x):
    assert x.ndim == 1, "one axis"
    if len(x) == 0:
        raise ValueError("empty")
    return x


def slices(x):
    return x[1:], x[..., None], x[::-1], x[np.array([0, 2])], x[(slice(None), None)], x[-1]


def walrus(x):
    if (n := len(x)) > 2:
        return x * n, [m := k for k in range(3)], m
    return x


def tuple_result(x):
    return x, None, "text", 3, 2.5, True, (x,), [x, [x]], {"k": x, 2: None}


def takes_tree(tree, flag):
    a, (b, c) = tree["pair"]
    return {"sum": a + b * c, "flag": flag, "k": tree["config"].scaled(a), "p": tree["point"].x + 1}


two = (lambda x: x + 1, lambda x: x * SCALE)
same_line = [lambda x: x - 1, lambda x: x - 1]
# fmt: off
several = {"a": lambda x: x + WEIGHTS, "b": lambda x, k=2: x * k}; other = lambda x: x + WEIGHTS
# fmt: on


class Outer:
    class Inner:
        def method(self, x):
            return x + self.__private()

        def __private(self):
            return SCALE


INNER = Outer.Inner()


def reads_inner(x):
    return INNER.method(x)
