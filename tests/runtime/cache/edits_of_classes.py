"""Programs of which a class is changed between two processes."""

from __future__ import annotations

from tests.runtime.cache.edit import Edit, one

__all__ = ["CLASSES"]

_POINT = """
class Base:
    def scale(self): return 2.0
class Point(Base):
    shift = 1.0
    def __init__(self): self.k = 3.0
    def times(self, x): return self.k * x + self.shift + self.scale()
p = Point()
"""

CLASSES = {
    "class_method": one("p.times(x)", "self.k * x", "self.k / x", "", _POINT),
    "class_base_method": one("p.times(x)", "return 2.0", "return 4.0", "", _POINT),
    "class_attribute": one("p.times(x)", "shift = 1.0", "shift = 7.0", "", _POINT),
    "class_init": one("p.times(x)", "k = 3.0", "k = 5.0", "", _POINT),
    "class_base": one(
        "p.times(x)",
        "Point(Base)",
        "Point(Other)",
        "",
        _POINT.replace("class Point", "class Other:\n    def scale(self): return 9.0\nclass Point"),
    ),
    "class_getattr": one(
        "p.times(x)",
        "p = Point()",
        "Point.__getattribute__ = lambda s, n: 4.0 if n == 'k' else object.__getattribute__(s, n)\n"
        "p = Point()",
        "",
        _POINT,
    ),
    "class_patched": one(
        "p.times(x)", "p = Point()", "Base.scale = lambda s: 8.0\np = Point()", "", _POINT
    ),
    "class_array": one(
        "x * p.a", "np.float64(2)", "np.float64(3)", "", "class P:\n    a = np.float64(2)\np = P()"
    ),
    "class_tuple": one("x * p.a[1]", "(1, 2)", "(1, 3)", "", "class P:\n    a = (1, 2)\np = P()"),
    "class_frozenset": one(
        "x * (2 in p.a)", "(1, 2)", "(1, 3)", "", "class P:\n    a = frozenset((1, 2))\np = P()"
    ),
    "class_range": one(
        "x * sum(p.a)", "range(3)", "range(4)", "", "class P:\n    a = range(3)\np = P()"
    ),
    "class_object": one(
        "x * p.a.k",
        "k = 2",
        "k = 3",
        "",
        "class Q: pass\nclass P:\n    a = Q()\nP.a.k = 2\np = P()",
    ),
    "property": one(
        "x * p.k",
        "return 2.0",
        "return 3.0",
        "",
        "class P:\n    @property\n    def k(self): return 2.0\np = P()",
    ),
    "cached_property": one(
        "x * p.k",
        "return 2.0",
        "return 3.0",
        "",
        "class P:\n    @functools.cached_property\n    def k(self): return 2.0\np = P()",
    ),
    "partialmethod": one(
        "p.b(x)",
        "(a, 2.0)",
        "(a, 3.0)",
        "",
        "class P:\n    def a(self, k, x): return k * x\n"
        "    b = functools.partialmethod(a, 2.0)\np = P()",
    ),
    "static_method": one(
        "P.k(x)", "x * 2", "x * 3", "", "class P:\n    @staticmethod\n    def k(x): return x * 2"
    ),
    "class_method_of": one(
        "P.k(x)",
        "a = 2",
        "a = 3",
        "",
        "class P:\n    a = 2\n    @classmethod\n    def k(cls, x): return x * cls.a",
    ),
    "slots": one(
        "x * p.a",
        "a, self.b = 2.0, 3.0",
        "b, self.a = 2.0, 3.0",
        "",
        "class P:\n    __slots__ = 'a', 'b'\n    def __init__(self): self.a, self.b = 2.0, 3.0\n"
        "p = P()",
    ),
    "slots_order": one(
        "x * p.a",
        "'a', 'b'",
        "'b', 'a'",
        "",
        "class P:\n    __slots__ = 'a', 'b'\n    def __init__(self): self.a, self.b = 2.0, 3.0\n"
        "p = P()",
    ),
    "dataclass_field": one(
        "x * p.a",
        "a: float = 2.0",
        "a: float = 3.0",
        "",
        "@dataclasses.dataclass\nclass P:\n    a: float = 2.0\np = P()",
    ),
    "dataclass_made": one(
        "x * P().a",
        "a: float = 2.0",
        "a: float = 3.0",
        "",
        "@dataclasses.dataclass\nclass P:\n    a: float = 2.0",
    ),
    "dataclass_more": one(
        "x * sum(vars(P()).values())",
        "#",
        "c: float = 5.0",
        "",
        "@dataclasses.dataclass\nclass P:\n    a: float = 2.0\n    #",
    ),
    "enum_value": one(
        "x * E.A.value", "A = 2", "A = 3", "", "class E(enum.Enum):\n    A = 2\n    B = 4"
    ),
    "int_enum": one(
        "x * E.A", "A = 2", "A = 3", "", "class E(enum.IntEnum):\n    A = 2\n    B = 4"
    ),
    "enum_alias": one(
        "x * 2 if E.A is E.B else x",
        "B = 4",
        "B = 2",
        "",
        "class E(enum.Enum):\n    A = 2\n    B = 4",
    ),
    "metaclass": one(
        "x * P.k",
        "return 2.0",
        "return 3.0",
        "",
        "class M(type):\n    @property\n    def k(cls): return 2.0\nclass P(metaclass=M): pass",
    ),
    "inherited": Edit(
        "class A:\n    k = 2.0\n    @jit\n    def f(self, x): return x * self.k\n"
        "class B(A):\n    k = 5.0\nf = A.f\ncalls = [lambda f: f(B(), X), lambda f: f(A(), X)]\n",
        "k = 5.0",
        "k = 6.0",
    ),
}
