"""Programs whose length is a number: one statement again and again, helpers, blocks in blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

import tracejit

X = np.linspace(0.1, 1.0, 4)
M = np.eye(3) + 0.1
K = np.array([1, 0, 3, 2])

HEAD = """
import io
import numpy as np

OUT = io.StringIO()

def helper(x):
    y = np.sin(x)
    return y + 0.5

"""

#: Name -> (parameters, arguments, the statement that is repeated, the result).
STATEMENTS: dict[str, tuple[str, tuple[Any, ...], str, str]] = {
    "arithmetic": ("x", (X,), "x = x * 1.01 + 0.1", "x"),
    "calls": ("x", (X,), "x = helper(x)", "x"),
    "where": ("x", (X,), "x = np.where(x > 1.0, x * 0.5, x + 1.0)", "x"),
    "gather": ("x, k", (X, K), "x = x[k] + 1.0", "x"),
    "views": ("x", (X,), "x = x[::-1]", "x"),
    "reshapes": ("x", (X,), "x = x.reshape(2, 2).T.reshape(4)", "x"),
    "stores": ("x", (X,), "x[{i} % 4] = x[1] + 1.0", "x"),
    "slices stored": ("x", (X,), "x[1:] += x[:-1] * 0.01", "x"),
    "concatenation": ("x", (X,), "x = np.append(x, 1.0)", "x"),
    "sums": ("x", (X,), "x = x - x.mean() * 0.01", "x"),
    "running sums": ("x", (X,), "x = np.cumsum(x) * 0.5", "x"),
    "products": ("m", (M,), "m = m @ m * 0.3", "m"),
    "library": ("m, x", (M, X[:3]), "x = np.linalg.solve(m, x)", "x"),
    "Python floats": ("a", (2.0,), "a = a * 1.001 + 0.5", "a"),
    "Python ints": ("a", (2,), "a = (a * 3 + {i}) % 1001", "a"),
    "prints": ("x", (X,), "print(x[0], file=OUT)", "x"),
    "lists": ("x", (X,), "x = [*x, x[-1]][1:]", "x"),
    "expressions chosen": ("x", (X,), "x = x + 1 if x[0] > {i} else x * 0.5", "x"),
}


def repeated(name: str, times: int) -> tuple[str, tuple[Any, ...]]:
    """The text of a module with a function `f`, and its arguments."""
    parameters, args, statement, result = STATEMENTS[name]
    lines = [f"    {statement.format(i=i)}\n" for i in range(times)]
    return f"{HEAD}def f({parameters}):\n{''.join(lines)}    return {result}\n", args


def terms(count: int) -> str:
    """A sum in one expression."""
    return f"def f(x):\n    return {' + '.join(f'x * {i}.0' for i in range(count))}\n"


def elifs(count: int) -> str:
    """A chain of comparisons with constants."""
    chain = "".join(f"    elif k == {i}:\n        y = x + {i}\n" for i in range(1, count))
    first, last = "    if k == 0:\n        y = x\n", "    else:\n        y = -x\n"
    return f"def f(x, k):\n{first}{chain}{last}    return y\n"


def returns(count: int) -> str:
    """Tests that each may leave the function."""
    tests = "".join(
        f"    if x[0] > {2 * count - i}:\n        return x + {i}\n" for i in range(count)
    )
    return f"def f(x):\n{tests}    return x\n"


def ifs(count: int) -> str:
    """Tests one after the other."""
    tests = "".join(f"    if x[0] > {i}:\n        x = x + {i}\n" for i in range(count))
    return f"def f(x):\n{tests}    return x\n"


def doubling(count: int) -> str:
    """Helpers that each call the one before twice, with arguments that differ."""
    helpers = "".join(
        f"def h{i}(x):\n    return h{i - 1}(x) + h{i - 1}(x * 0.5)\n" for i in range(1, count + 1)
    )
    return f"def h0(x):\n    return x + 1.0\n{helpers}def f(x):\n    return h{count}(x)\n"


# Recursion ---------------------------------------------------------------------------------------


@tracejit.jit
def factorial(n):  # type: ignore[no-untyped-def]
    return 1 if n <= 1 else n * factorial(n - 1)


@tracejit.jit
def is_even(n):  # type: ignore[no-untyped-def]
    return True if n == 0 else is_odd(n - 1)


@tracejit.jit
def is_odd(n):  # type: ignore[no-untyped-def]
    return False if n == 0 else is_even(n - 1)


@tracejit.jit
def lowered(x):  # type: ignore[no-untyped-def]
    if x[0] < 1:
        return x
    return lowered(x - 1) + 1


@tracejit.jit
def depth_of(nest):  # type: ignore[no-untyped-def]
    return depth_of(nest[0]) + 1 if nest else 0


def nested(depth: int) -> list[Any]:
    """A list in a list, so deep."""
    out: list[Any] = []
    for _ in range(depth):
        out = [out]
    return out


def boxed(x):  # type: ignore[no-untyped-def]
    a = [x + 1]
    for _ in range(500):
        a = [a]
    return a


def unboxed(a):  # type: ignore[no-untyped-def]
    while isinstance(a, list):
        a = a[0]
    return a + 1


SELF: list[Any] = [1.0]
SELF.append(SELF)


def text_of_itself(x):  # type: ignore[no-untyped-def]
    return str(SELF), x + 1
