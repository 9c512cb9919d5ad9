"""Programs that reach values by each kind of access path, and what may change there."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HEAD", "SAMPLES", "Sample"]

HEAD = """
import os
import dataclasses
import numpy as np
import tracejit
from tracejit import jit
X = np.arange(3.0)
"""


class Sample(NamedTuple):
    """A module with a function `f`, and statements that change what it finds."""

    source: str
    change: str
    arguments: str = "X"

    @property
    def module(self) -> str:
        """The text of the module: it changes at once where CHANGED is set."""
        changed = "".join(f"    {line}\n" for line in self.change.splitlines())
        return (
            f"{HEAD}{self.source}\ndef change():\n    global K, A, B, T, D, L, o, h, P, args\n"
            f"{changed}\nargs = lambda: ({self.arguments},)\n"
            "calls = [lambda f: f(*args())]\n"
            'if os.environ.get("CHANGED"):\n    change()\n'
        )


_CLASS = """
class P:
    def __init__(self): self.k = 2
    def m(self, x): return x * self.k
o = P()
"""
_MADE = "def made(k):\n    return lambda x: x * k\n"

SAMPLES = {
    "global": Sample("K = 2\n@jit\ndef f(x): return x * K", "K = 3"),
    "global array": Sample("A = np.ones(3)\n@jit\ndef f(x): return x * A", "A = np.zeros(3)"),
    "global dtype": Sample(
        "A = np.ones(3)\n@jit\ndef f(x): return x * A", "A = np.ones(3, np.int8)"
    ),
    "cell": Sample(
        "def made(k):\n    def f(x): return x * k\n"
        "    def g(y):\n        nonlocal k\n        k = y\n"
        "    return jit(f), g\nf, g = made(2)",
        "g(3)",
    ),
    "attribute": Sample(_CLASS + "@jit\ndef f(x): return o.m(x)", "o.k = 3"),
    "method": Sample(_CLASS + "@jit\ndef f(x): return o.m(x)", "P.m = lambda self, x: x - 1"),
    "own method": Sample(_CLASS + "@jit\ndef f(x): return o.m(x)", "o.m = lambda x: x - 1"),
    "property": Sample(
        "class P:\n    @property\n    def k(self): return 2\n"
        "class Q:\n    @property\n    def k(self): return 3\n"
        "o = P()\n@jit\ndef f(x): return x * o.k",
        "P.k = Q.k",
    ),
    "attribute of a class": Sample(
        "class P: k = 2\no = P()\n@jit\ndef f(x): return x * o.k", "P.k = 3"
    ),
    "attribute over a class's": Sample(
        "class P: k = 2\no = P()\n@jit\ndef f(x): return x * o.k", "o.k = 3"
    ),
    "attribute of a base": Sample(
        "class Q: k = 2\nclass P(Q): pass\no = P()\n@jit\ndef f(x): return x * o.k", "P.k = 3"
    ),
    "bases": Sample(
        "class Q: k = 2\nclass R: k = 3\nclass P(Q): pass\no = P()\n@jit\ndef f(x): return x * o.k",
        "P.__bases__ = (R,)",
    ),
    "array of a class": Sample(
        "class P: k = np.ones(3)\no = P()\n@jit\ndef f(x): return x * o.k", "P.k = np.zeros(3)"
    ),
    "class": Sample(
        _CLASS + "class Q(P):\n    def m(self, x): return x\n@jit\ndef f(x): return o.m(x)",
        "o.__class__ = Q",
    ),
    "missing attribute": Sample(
        _CLASS + '@jit\ndef f(x): return x * 2 if hasattr(o, "z") else x', "o.z = 1"
    ),
    "missing slot": Sample(
        'class P: __slots__ = ("k",)\no = P()\n@jit\ndef f(x): return x * getattr(o, "k", 2)',
        "o.k = 3",
    ),
    "missing method": Sample(
        _CLASS + "@jit\ndef f(x): return x * 2 if callable(o) else x",
        "P.__call__ = lambda self: 1",
    ),
    "missing name": Sample(
        "@jit\ndef f(x):\n    try: return x * K\n    except NameError: return x", "K = 3"
    ),
    "tuple": Sample("T = (2, 3)\n@jit\ndef f(x): return x * T[1]", "T = (2, 4)"),
    "list": Sample("L = [2, 3]\n@jit\ndef f(x): return x * L[1]", "L[1] = 4"),
    "size": Sample("L = [2, 3]\n@jit\ndef f(x): return x * len(L)", "L.append(1)"),
    "dict": Sample('D = {"k": 2}\n@jit\ndef f(x): return x * D["k"]', 'D["k"] = 4'),
    "keys": Sample('D = {"k": 2}\n@jit\ndef f(x): return x * len(D)', 'D["m"] = 4'),
    "numbers in a list": Sample(
        "L = [float(k) for k in range(99)]\n@jit\ndef f(x):\n    s = 0.0\n    for v in L: s += v\n"
        "    return x + s",
        "L[50] = 7.0",
    ),
    "default": Sample(
        "def h(x, k=2): return x * k\n@jit\ndef f(x): return h(x)", "h.__defaults__ = (3,)"
    ),
    "named default": Sample(
        "def h(x, *, k=2): return x * k\n@jit\ndef f(x): return h(x)",
        'h.__kwdefaults__ = {"k": 3}',
    ),
    "code": Sample(
        "def h(x): return x * 2\n@jit\ndef f(x): return h(x)",
        "h.__code__ = (lambda x: x - 1).__code__",
    ),
    "function": Sample("def h(x): return x * 2\n@jit\ndef f(x): return h(x)", "h = np.negative"),
    "contents": Sample(
        _MADE + "h = made(2)\n@jit\ndef f(g, x): return g(x)", "h = made(3)", "h, X"
    ),
    "code of an argument": Sample(
        _MADE + "h = made(2)\n@jit\ndef f(g, x): return g(x)", "h = lambda x: x - 1", "h, X"
    ),
    "random numbers": Sample(
        "o = np.random.default_rng()\n@jit\ndef f(x): return x + o.standard_normal(3)\n"
        "def seeded(k):\n    o.bit_generator.state = np.random.PCG64(k).state\n    return X",
        "o = np.random.default_rng()",
        "seeded(7)",
    ),
    "one object": Sample("A = [2, 3]\nB = A\n@jit\ndef f(x): return x * A[0] * B[0]", "B = [5, 3]"),
    "one array": Sample("A = np.ones(3)\nB = A\n@jit\ndef f(x): return x + A * B", "B = X"),
    "two objects": Sample(
        "class P: pass\nA, B = P(), P()\n@jit\ndef f(p, q, x): return x if p is q else -x",
        "B = A",
        "A, B, X",
    ),
    "bound method": Sample(
        "class P:\n    @classmethod\n    def m(cls, x): return x * 2\n"
        "    @classmethod\n    def n(cls, x): return x * 3\n"
        "h = P.m\n@jit\ndef f(x): return h(x)",
        "h = P.n",
    ),
    "dataclass": Sample(
        "@dataclasses.dataclass\nclass P:\n    k: int\no = P(2)\n@jit\ndef f(x): return x * o.k",
        "o.k = 3",
    ),
    "more than fields": Sample(
        "@dataclasses.dataclass\nclass P:\n    k: int\no = P(2)\n@jit\n"
        'def f(x): return x * getattr(o, "z", o.k)',
        "o.z = 3",
    ),
    "container of an argument": Sample(
        '@jit\ndef f(d):\n    d["k"] = d["k"] + 1.0\n    return d["k"]',
        'args = lambda: ({"k": 5.0},)',
        '{"k": 1.0}',
    ),
}
