"""Programs of which one thing is changed between two processes."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["EDITS", "HEAD", "Edit"]

HEAD = """\
import dataclasses, enum, functools, math
import numpy as np
import tracejit
from tracejit import jit

X = np.linspace(0.5, 2.0, 5)
calls = [lambda f: f(X)]
"""


class Edit(NamedTuple):
    """A program, what is replaced in it, or in a module `{name}_other` that it imports, and what
    the cache says then, where it says something.
    """

    source: str
    old: str
    new: str
    reason: str = ""
    other: str = ""


def _one(body: str, old: str, new: str, reason: str = "", before: str = "") -> Edit:
    return Edit(f"{before}\n@jit\ndef f(x):\n    return {body}\n", old, new, reason)


_POINT = """
class Base:
    def scale(self): return 2.0
class Point(Base):
    shift = 1.0
    def __init__(self): self.k = 3.0
    def times(self, x): return self.k * x + self.shift + self.scale()
p = Point()
"""

EDITS = {
    "body": _one("np.sin(x) * 2", "* 2", "* 3"),
    "constant": _one("np.sin(x) * 2.0", "* 2.0", "* -2.0"),
    "helper_body": _one("h(x)", "x + 1", "x + 2", "other code", "def h(x): return x + 1"),
    "helpers_helper": _one(
        "h(x)", "x * 5", "x * 6", "other code", "def g(x): return x * 5\ndef h(x): return g(x)"
    ),
    "global_float": _one("x * K", "K = 2.5", "K = 3.5", "K holds", "K = 2.5"),
    "global_int": _one("x * K", "K = 2", "K = 3", "", "K = 2"),
    "global_bool": _one("x * 2 if K else x", "K = True", "K = False", "K holds", "K = True"),
    "global_kind": _one("x * K", "K = 1", "K = True", "", "K = 1"),
    "global_zero": _one("x * K", "K = 0.0", "K = -0.0", "", "K = 0.0"),
    "global_none": _one("x if K is None else -x", "K = None", "K = 1", "", "K = None"),
    "global_array": _one("x * K", "1.0, 6.0", "2.0, 7.0", "", "K = np.arange(1.0, 6.0)"),
    "global_array_dtype": _one("x * K", "float64", "float32", "", "K = np.ones(5, np.float64)"),
    "global_scalar": _one("x * K", "(2.0)", "(3.0)", "", "K = np.float64(2.0)"),
    "global_text": _one('x * 2 if K == "a" else x', 'K = "a"', 'K = "b"', "", 'K = "a"'),
    "global_tuple": _one("x * K[0] + K[1]", "(2, 3)", "(2, 4)", "", "K = (2, 3)"),
    "global_list": _one("x * K[0] + K[1]", "[2, 3]", "[2, 4]", "", "K = [2, 3]"),
    "global_list_length": _one("x * len(K)", "[2, 3]", "[2, 3, 4]", "", "K = [2, 3]"),
    "global_dict": _one('x * K["a"]', '"a": 2', '"a": 4', "", 'K = {"a": 2}'),
    "global_dict_order": _one(
        "x * sum(k * v for k, v in enumerate(K.values()))", "a=1, b=2", "b=2, a=1", "",
        "K = dict(a=1, b=2)",
    ),
    "global_set": _one("x * (2 in K)", "{2, 3}", "{4, 3}", "", "K = {2, 3}"),
    "global_frozenset": _one("x * (2 in K)", "{2, 3}", "{4, 3}", "", "K = frozenset({2, 3})"),
    "global_range": _one("x * sum(K)", "range(3)", "range(4)", "", "K = range(3)"),
    "global_slice": _one("x[K]", "slice(0, 2)", "slice(0, 3)", "", "K = slice(0, 2)"),
    "global_dtype": _one("x.astype(K)", "np.float32", "np.int16", "", "K = np.float32"),
    "object_attribute": _one(
        "x * o.k", "o.k = 2.0", "o.k = 3.0", "", "class O: pass\no = O()\no.k = 2.0"
    ),
    "object_array": _one(
        "x * o.k", "np.ones(5)", "np.zeros(5)", "", "class O: pass\no = O()\no.k = np.ones(5)"
    ),
    "namespace": _one(
        "x * o.k", "k=2.0", "k=3.0", "", "import types\no = types.SimpleNamespace(k=2.0)"
    ),
    "defaults": Edit("@jit\ndef f(x, k=2.0):\n    return x * k\n", "k=2.0", "k=3.0"),
    "keyword_defaults": Edit("@jit\ndef f(x, *, k=2.0):\n    return x * k\n", "k=2.0", "k=3.0"),
    "defaults_set": Edit(
        "@jit\ndef f(x, k=2.0):\n    return x * k\nf.__tracejit__.__defaults__ = (4.0,)\n",
        "(4.0,)", "(5.0,)",
    ),
    "default_text": Edit(
        "@jit\ndef f(x, k='a'):\n    return x * (2 if k == 'a' else 3)\n", "k='a'", "k='b'"
    ),
    "helper_defaults": _one("h(x)", "k=2.0", "k=3.0", "", "def h(x, k=2.0): return x * k"),
    "helper_keyword_defaults": _one(
        "h(x)", "k=2.0", "k=3.0", "", "def h(x, *, k=2.0): return x * k"
    ),
    "helper_default_text": _one(
        "h(x)", "k='a'", "k='b'", "", "def h(x, k='a'): return x * (2 if k == 'a' else 3)"
    ),
    "helper_attribute": _one(
        "x * h.k", "h.k = 2.0", "h.k = 3.0", "", "def h(x): return x\nh.k = 2.0"
    ),
    "closure": Edit(
        "def make(k):\n    def f(x):\n        return x * k\n    return jit(f)\nf = make(2.0)\n",
        "make(2.0)", "make(3.0)",
    ),
    "closure_list": Edit(
        "def make(k):\n    def f(x):\n        return x * k[0]\n    return jit(f)\nf = make([2.0])\n",
        "[2.0]", "[3.0]",
    ),
    "closure_function": Edit(
        "def make(g):\n    def f(x):\n        return g(x)\n    return jit(f)\n"
        "f = make(lambda x: x * 2)\n", "x * 2", "x * 3",
    ),
    "helper_closure": _one(
        "h(x)", "make(2.0)", "make(3.0)", "",
        "def make(k):\n    def h(x): return x * k\n    return h\nh = make(2.0)",
    ),
    "factory": Edit(
        "def make(k):\n    def f(x):\n        return x * k\n    return jit(f)\n"
        "a, b = make(2.0), make(3.0)\na(X)\nf = b\n", "f = b", "f = a",
    ),
    "lambdas": Edit(
        "a, b = jit(lambda x: x * 2), jit(lambda x: x * 3)\na(X), b(X)\nf = a\n", "f = a", "f = b"
    ),
    "lambda_helpers": _one(
        "h(x)", "h = a", "h = b", "", "a, b = lambda x: x * 2, lambda x: x * 3\nh = a"
    ),
    "equal_names": Edit(
        "@jit\ndef f(x): return x * 2\na = f\na(X)\n@jit\ndef f(x): return x * 3\nb = f\nb(X)\nf = a\n",
        "f = a", "f = b",
    ),
    "helpers_of_equal_names": _one(
        "a(x) + b(x) * 10", "h(x): return x * 3", "h(x): return x * 4", "",
        "def h(x): return x * 2\na = h\ndef h(x): return x * 3\nb = h",
    ),
    "partial": Edit(
        "def g(k, x): return x * k\nf = jit(functools.partial(g, 2.0))\n", "g, 2.0", "g, 3.0"
    ),
    "partial_helper": _one(
        "h(x)", "g, 2.0", "g, 3.0", "", "def g(k, x): return x * k\nh = functools.partial(g, 2.0)"
    ),
    "decorator": _one(
        "h(x)", "* 2.0", "* 3.0", "",
        "def twice(g):\n    @functools.wraps(g)\n    def inner(*a): return g(*a) * 2.0\n"
        "    return inner\n@twice\ndef h(x): return x + 1",
    ),
    "decorator_removed": _one(
        "h(x)", "@twice", "", "",
        "def twice(g):\n    @functools.wraps(g)\n    def inner(*a): return g(*a) * 2.0\n"
        "    return inner\n@twice\ndef h(x): return x + 1",
    ),
    "lru_cache": _one(
        "x * h(2)", "n * 5", "n * 6", "", "@functools.lru_cache\ndef h(n): return n * 5"
    ),
    "np_rebound": _one("np.sin(x)", "P = np", "np = P", "", "from . import_np import P\nP = np"),
    "name_of_library": _one("s(x)", "s = np.abs", "s = np.negative", "", "s = np.abs"),
    "imported_name": _one("sqrt(2.0) * x", "sqrt\n", "cbrt as sqrt\n", "", "from math import sqrt\n"),
    "class_method": _one("p.times(x)", "self.k * x", "self.k / x", "", _POINT),
    "class_base_method": _one("p.times(x)", "return 2.0", "return 4.0", "", _POINT),
    "class_attribute": _one("p.times(x)", "shift = 1.0", "shift = 7.0", "", _POINT),
    "class_init": _one("p.times(x)", "k = 3.0", "k = 5.0", "", _POINT),
    "class_base": _one("p.times(x)", "Point(Base)", "Point(Other)", "", _POINT.replace(
        "class Point", "class Other:\n    def scale(self): return 9.0\nclass Point"
    )),
    "class_getattr": _one("p.times(x)", "p = Point()",
        "Point.__getattribute__ = lambda s, n: 4.0 if n == 'k' else object.__getattribute__(s, n)\n"
        "p = Point()", "", _POINT),
    "class_patched": _one("p.times(x)", "p = Point()", "Base.scale = lambda s: 8.0\np = Point()",
        "", _POINT),
    "class_array": _one("x * p.a", "np.float64(2)", "np.float64(3)", "",
        "class P:\n    a = np.float64(2)\np = P()"),
    "class_tuple": _one("x * p.a[1]", "(1, 2)", "(1, 3)", "", "class P:\n    a = (1, 2)\np = P()"),
    "class_frozenset": _one("x * (2 in p.a)", "(1, 2)", "(1, 3)", "",
        "class P:\n    a = frozenset((1, 2))\np = P()"),
    "class_range": _one("x * sum(p.a)", "range(3)", "range(4)", "",
        "class P:\n    a = range(3)\np = P()"),
    "class_object": _one("x * p.a.k", "k = 2", "k = 3", "",
        "class Q: pass\nclass P:\n    a = Q()\nP.a.k = 2\np = P()"),
    "property": _one("x * p.k", "return 2.0", "return 3.0", "",
        "class P:\n    @property\n    def k(self): return 2.0\np = P()"),
    "cached_property": _one("x * p.k", "return 2.0", "return 3.0", "",
        "class P:\n    @functools.cached_property\n    def k(self): return 2.0\np = P()"),
    "partialmethod": _one("p.b(x)", "(a, 2.0)", "(a, 3.0)", "",
        "class P:\n    def a(self, k, x): return k * x\n    b = functools.partialmethod(a, 2.0)\np = P()"),
    "static_method": _one("P.k(x)", "x * 2", "x * 3", "",
        "class P:\n    @staticmethod\n    def k(x): return x * 2"),
    "class_method_of": _one("P.k(x)", "a = 2", "a = 3", "",
        "class P:\n    a = 2\n    @classmethod\n    def k(cls, x): return x * cls.a"),
    "slots": _one("x * p.a", "a, self.b = 2.0, 3.0", "b, self.a = 2.0, 3.0", "",
        "class P:\n    __slots__ = 'a', 'b'\n    def __init__(self): self.a, self.b = 2.0, 3.0\np = P()"),
    "slots_order": _one("x * p.a", "'a', 'b'", "'b', 'a'", "",
        "class P:\n    __slots__ = 'a', 'b'\n    def __init__(self): self.a, self.b = 2.0, 3.0\np = P()"),
    "dataclass_field": _one("x * p.a", "a: float = 2.0", "a: float = 3.0", "",
        "@dataclasses.dataclass\nclass P:\n    a: float = 2.0\np = P()"),
    "dataclass_made": _one("x * P().a", "a: float = 2.0", "a: float = 3.0", "",
        "@dataclasses.dataclass\nclass P:\n    a: float = 2.0"),
    "dataclass_more": _one("x * sum(vars(P()).values())", "#", "c: float = 5.0", "",
        "@dataclasses.dataclass\nclass P:\n    a: float = 2.0\n    #"),
    "enum_value": _one("x * E.A.value", "A = 2", "A = 3", "",
        "class E(enum.Enum):\n    A = 2\n    B = 4"),
    "int_enum": _one("x * E.A", "A = 2", "A = 3", "",
        "class E(enum.IntEnum):\n    A = 2\n    B = 4"),
    "enum_alias": _one("x * 2 if E.A is E.B else x", "B = 4", "B = 2", "",
        "class E(enum.Enum):\n    A = 2\n    B = 4"),
    "metaclass": _one("x * P.k", "return 2.0", "return 3.0", "",
        "class M(type):\n    @property\n    def k(cls): return 2.0\nclass P(metaclass=M): pass"),
    "inherited": Edit("class A:\n    k = 2.0\n    @jit\n    def f(self, x): return x * self.k\n"
        "class B(A):\n    k = 5.0\nf = A.f\ncalls = [lambda f: f(B(), X), lambda f: f(A(), X)]\n",
        "k = 5.0", "k = 6.0"),
    "other_module": Edit("import {name}_other as other\n@jit\ndef f(x): return other.g(x)\n",
        "x * 2", "x * 3", "other code", "def g(x): return x * 2\n"),
    "other_modules_global": Edit("import {name}_other as other\n@jit\ndef f(x): return other.g(x)\n",
        "K = 2", "K = 3", "", "K = 2\ndef g(x): return x * K\n"),
    "from_other_module": Edit("from {name}_other import g\n@jit\ndef f(x): return g(x)\n",
        "x * 2", "x * 3", "other code", "def g(x): return x * 2\n"),
    "other_modules_class": Edit("from {name}_other import P\np = P()\n@jit\ndef f(x): return p.g(x)\n",
        "x * 2", "x * 3", "", "class P:\n    def g(self, x): return x * 2\n"),
    "option_strict": Edit("@jit(strict=False)\ndef f(x): return x * 2\n", "False", "True"),
    "option_bounds": Edit("@jit(bounds_check=True)\ndef f(x): return x[int(x[0] * 4)]\n", "True",
        "False"),
    "lines_moved": Edit("# \n@jit\ndef f(x):\n    if x[0] > 0:\n        raise ValueError('no')\n"
        "    return x\n", "# ", "\n\n\n"),
    "helpers_lines_moved": Edit("# \ndef h(x):\n    return np.sin(x)[7]\n@jit\ndef f(x):\n"
        "    return h(x)\n", "# ", "\n\n\n"),
    "nested": Edit("@jit\ndef f(x):\n    def g(y): return y * 2\n    return g(x)\n", "y * 2", "y * 3"),
    "comprehension": Edit("@jit\ndef f(x):\n    return sum([x * k for k in range(3)])\n", "range(3)",
        "range(4)"),
    "message": Edit("@jit\ndef f(x):\n    print('sum', x.sum())\n    return x\n", "'sum'", "'total'"),
    "gradient": Edit("def g(x): return (x ** 2).sum()\nf = jit(tracejit.grad(g))\n", "** 2", "** 3"),
    "gradient_of_helper": Edit("def h(x): return x ** 2\ndef g(x): return h(x).sum()\n"
        "f = jit(tracejit.grad(g))\n", "** 2", "** 3"),
    "vmap_axes": Edit("def g(x, y): return x * y.sum()\nY = np.arange(25.0).reshape(5, 5)\n"
        "f = jit(tracejit.vmap(g, in_axes=(0, 0)))\ncalls = [lambda f: f(X, Y)]\n", "(0, 0)", "(0, 1)"),
    "builtin_shadowed": _one("x * abs(-2)", "#", "def abs(x): return 5", "", "#"),
    "docstring_used": _one("x * len(h.__doc__)", "'abc'", "'abcd'", "", "def h(x):\n    'abc'"),
    "annotations_used": _one("x * len(h.__annotations__)", "(x: int)", "(x)", "",
        "def h(x: int): return x"),
    "name_used": _one("x * len(h.__name__)", "'abc'", "'abcd'", "",
        "def h(x): return x\nh.__name__ = 'abc'"),
    "module_attribute": Edit("import {name}_other as other\n@jit\ndef f(x): return x * other.K\n",
        "K = 2.0", "K = 3.0", "", "K = 2.0\n"),
    "matched": _one("h(x, 2)", "case 2: return x * 5", "case 2: return x * 6", "",
        "def h(x, k):\n    match k:\n        case 2: return x * 5\n        case _: return x"),
    "generator_state": Edit("rng = np.random.default_rng(1)\n@jit\ndef f(x):\n"
        "    return x * rng.normal(size=5)\n"
        "calls = [lambda f: globals().update(rng=np.random.default_rng(1)) or f(X)]\n",
        "default_rng(1)", "default_rng(2)"),
    "generator_kind": Edit("G = np.random.PCG64\n@jit\ndef f(x, rng):\n    return x * rng.normal(size=5)\n"
        "calls = [lambda f: f(X, np.random.Generator(G(3)))]\n", "PCG64", "MT19937"),
}
del EDITS["np_rebound"]
EDITS["np_rebound"] = Edit("@jit\ndef f(x): return np.sin(x)\n#\n", "\n#\n",
    "\nclass np:\n    sin = staticmethod(lambda x: x + 100)\n", "np is bound")
