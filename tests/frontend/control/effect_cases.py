"""Functions that print and raise, with arguments that take their paths."""

# ruff: noqa: UP030, UP031, UP032

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

X = np.array([1.5, -2.25, 3.0])
Y = np.arange(6.0).reshape(2, 3)
LIMIT = 10


class Diverged(Exception):
    """An exception with a constructor of its own."""

    def __init__(self, step: int, value: float, *, hint: str = "") -> None:
        super().__init__(f"step {step}: {value}")
        self.step, self.value, self.hint = step, value, hint


class Broken(ValueError):
    """A plain class of the program's own."""


class Point(NamedTuple):
    x: Any
    y: Any


@dataclass
class Box:
    size: Any
    name: str = "box"


class Shown:
    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"<{self.value:.1f}>"


# Prints ------------------------------------------------------------------------------------------


def prints_values(x, n):
    print("x is", x, "n is", n)
    print(x.sum(), x[0], x > 1, x.shape, x.dtype, sep="; ", end="|\n")
    print()
    return x + n


def prints_kinds(a, b, c, d):
    print(a, b, c, d, a + 1, b * 2, c * 1j, not d)
    return a


def prints_scalars(x):
    for kind in (np.float32, np.int8, np.uint64, np.complex64, np.bool_, np.float16):
        y = x.astype(kind)
        print(y[0], [y[1]], f"{y[0]}", repr(y[0]), str(y[0]))
    return x


def prints_containers(x, n):
    print([n, x[0], "text"], (n,), {"a": x, 2: n}, Point(n, x[1]), Box(n), [Box(x[0])], [])
    print(Shown(x[0]), [Shown(n + 0.5)], f"{Shown(n)!s:>8}")
    return x


def formats(x, n):
    width = 8
    print(f"{x[0]:.3f} {n:>4d} {n!r:>6} {x!s} {x[1]!r} {n=} {width=}", f"{x[0]:{width}.{n}e}")
    print(
        "{} {:5.1f}".format(n, x[0]), "{1!r} {0}".format(n, x[0]), "{b[1]:.2f}{a}".format(a=n, b=x)
    )
    print("%d %5.2f %s %r %-8s| %%" % (n, x[0], x[1], n, "text"), "%s" % x, "%(k)05d" % {"k": n})
    print("%*d|%.*f" % (6, n, 2, x[0]))
    return n


def builds_texts(x, n):
    parts = [f"{i}={x[i]}" for i in range(3)]
    s = ", ".join(parts) + "; " + str(n)
    s += " " + repr(x[0]) + "!" * 2
    print(s, len("constant"), sep="\t")
    print("-" * LIMIT, format(n, "04d"), format(x[1], ""))
    return x.sum()


def prints_sizes(x):
    n = len(x)
    print(n, f"{n:3d}", f"{x.shape}", [n, n + 1], x.size * 2)
    return x * n


def prints_before_store(x):
    y = x.copy()
    text = f"{y}"
    y[0] = 7.0
    print(text, y)
    y[1] = 8.0
    print(y)
    return y


def prints_to_stderr(x):
    print("to stderr", x[0], file=sys.stderr)
    print("to stdout", x[1], flush=True)
    return x


def prints_in_loop(x, n):
    total = 0.0
    for i in range(n):
        total += x[i % 3] * i
        print(i, total, sep=":", end=" " if i % 2 else "\n")
    print("total", total)
    return total


def prints_on_branches(x, n):
    if x.sum() > n:
        print("large", x.sum())
        y = x * 2
    elif n > 100:
        print("n is", n)
        y = x
    else:
        y = -x
    print("y", y)
    return y


def prints_in_nested_loops(x, n):
    i = 0
    while i < n:
        for j in range(i):
            if j == 2:
                print("break at", i, j)
                break
            print(i, j, x[j])
        else:
            print("done", i)
        i += 1
    return i


def prints_nothing_or_number(x):
    found = None
    if x.sum() > 0:
        found = x.sum()
    print("found", found, f"{found}", [found])
    return x


def helper(v, label):
    print(label, v)
    return v * 2


def prints_in_helpers(x, n):
    if n > 1:
        return helper(x, "many") + helper(x[0], "first")
    return helper(x, "one")


# Exceptions --------------------------------------------------------------------------------------


def raises_text(x, n):
    if n < 0:
        raise ValueError(f"n must not be negative: {n}, x is {x}")
    return x + n


def raises_values(x, n):
    if n > 3:
        raise IndexError(n, x[0], "text", (n, [x.sum()], {"k": n}), None)
    return x


def raises_class(x, n):
    if n:
        raise StopIteration
    return x


def raises_own(x, n):
    total = 0.0
    for i in range(n):
        total = total * 3 + x[0]
        if total > 50:
            raise Diverged(i, total, hint="smaller steps")
        if total < -50:
            raise Broken
    return total


def raises_from(x, n):
    if n == 1:
        raise Broken("outer", n) from KeyError(f"inner {n}")
    if n == 2:
        raise Broken("outer") from None
    if n == 3:
        raise Broken from Diverged(n, x[0])
    return x


def raises_after_prints(x, n):
    print("begin")
    for i in range(5):
        print("step", i)
        if i == n:
            print("bad", end="")
            raise RuntimeError("at step %d" % i)
    print("end")
    return x


def asserts(x, n):
    assert n > 0
    assert x[0] < x[2], "not in order"
    assert x.sum() > n, f"the sum {x.sum():.2f} is not above {n}"
    print("passed")
    return x / n


def asserts_in_loop(x, n):
    for i in range(n):
        assert x[i % 3] < LIMIT, ("too large", i)
        x = x * 2
    return x


def asserts_sizes(x):
    assert len(x) == 3, f"{len(x)} elements"
    assert x.ndim == 1
    return x


def stores_then_raises(x, n):
    x[0] = 10.0
    if n == 1:
        raise ValueError("first")
    x[1] += n
    if n == 2:
        raise ValueError("second")
    for i in range(3):
        x[i] *= 2
        if i == n - 3:
            raise ValueError(f"in the loop: {x}")
    x[:] = 0
    return x.sum()


def swaps_then_raises(a, b, n):
    for i in range(n):
        a[0] += 1
        a, b = b, a
        b[1] -= i
        if a[0] > 3:
            raise Broken("sum", a.sum())
    return a + b


SHARED = ValueError("made once")


def require_below(v, name, limit):
    if v > limit:
        raise Diverged(-1, v, hint=f"{name} is {v:.2f}")
    return v


def raises_in_helpers(x, limit):
    s = 0.0
    for i in range(2):
        for j in range(3):
            s += require_below(x[i, j], f"x[{i}, {j}]", limit)
            x[i, j] = -1
    return s if limit > 0 else require_below(s, "s", limit)


def raises_after_stores_through_views(x, n):
    x.T[1] = 7.0
    x[::1, ::2] *= 2
    if x[1, 0] > n:
        x[:] = 0
        raise KeyError("key", (n, [1, {"a": n}]))
    x[1] = np.nan
    assert not np.isnan(x).any() or n > 1000, ("nan", x.shape)
    return x


def leaves_loops_by_raise(x, n):
    while True:
        n = n * 2 + 1
        if n > 100:
            if x[0, 0] == 0:
                raise OverflowError("%d > %s" % (n, 100)) from SHARED
            break
        x[1, 1] = n
    if n > 200:
        raise SHARED
    return n


def bails_after_prints(x, n):
    print("before", x[0])
    y = x.copy()
    y[0] = 1.0
    print("index", n)
    y[n] = 2.0
    print("after")
    return y


def divides_in_loop(n, start):
    for i in range(start, -3, -1):
        print(i, n // i)
    return n


CASES: dict[Any, list[tuple[Any, ...]]] = {
    prints_values: [(X, 3), (X, 2.5)],
    prints_kinds: [(1, 2.5, 1 + 2j, True), (-7, float("nan"), -0.0j, False)],
    prints_scalars: [(np.abs(X),)],
    prints_containers: [(X, 3)],
    formats: [(X, 2), (X, 5)],
    builds_texts: [(X, 7)],
    prints_sizes: [(X,), (np.ones(5),), (np.ones(6),)],
    prints_before_store: [(X,)],
    prints_to_stderr: [(X,)],
    prints_in_loop: [(X, 0), (X, 1), (X, 9)],
    prints_on_branches: [(X, 0), (X, 50), (X, 500)],
    prints_in_nested_loops: [(X, 0), (X, 5)],
    prints_nothing_or_number: [(X,), (-X,)],
    prints_in_helpers: [(X, 1), (X, 2)],
    raises_text: [(X, 1), (X, -1)],
    raises_values: [(X, 1), (X, 5)],
    raises_class: [(X, 0), (X, 1)],
    raises_own: [(X, 2), (X, 8), (-X, 9)],
    raises_from: [(X, 0), (X, 1), (X, 2), (X, 3)],
    raises_after_prints: [(X, 9), (X, 0), (X, 3)],
    asserts: [(X, 1), (X, 0), (X[::-1].copy(), 1), (X, 5)],
    asserts_in_loop: [(X, 1), (X, 4)],
    asserts_sizes: [(X,), (np.ones(4),)],
    stores_then_raises: [(X, n) for n in range(1, 8)],
    swaps_then_raises: [(X, -X, n) for n in (1, 2, 9)],
    raises_in_helpers: [(Y, n) for n in (9.0, 2.5, -1.0, -9.0)],
    raises_after_stores_through_views: [
        (y, n) for y in (Y, np.asfortranarray(Y), np.kron(Y, Y)[::2, ::3]) for n in (5.0, 99.0, 1e4)
    ],
    leaves_loops_by_raise: [(Y, 1), (Y + 1, 1), (Y + 1, 99), (Y + 1, 150)],
    bails_after_prints: [(X, 1), (X, 7)],
    divides_in_loop: [(9, 2), (9, -3), (9, 0)],
}

#: What bails out for some calls: an error of Python's or NumPy's own.
BAILING = (bails_after_prints, divides_in_loop)
