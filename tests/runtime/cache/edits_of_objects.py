"""Programs of which an object is changed between two processes, by whatever it is reached."""

from __future__ import annotations

from tests.runtime.cache.edit import Edit, one

__all__ = ["OBJECTS"]

_SCALED = """
def scaled(k):
    def outer(g):
        def inner(*a): return g(*a) * k
        return inner
    return outer
"""

OBJECTS = {
    "method_decorated": one(
        "p.m(x)",
        "@scaled(2.0)",
        "@scaled(3.0)",
        "",
        f"{_SCALED}class P:\n    @scaled(2.0)\n    def m(self, x): return x + 1\np = P()",
    ),
    "property_of_a_closure": one(
        "x * p.k",
        "made(2.0)",
        "made(3.0)",
        "",
        "def made(k): return property(lambda self: k)\nclass P: k = made(2.0)\np = P()",
    ),
    "descriptor": one(
        "x * p.a",
        "D(2.0)",
        "D(3.0)",
        "",
        "class D:\n    def __init__(self, k): self.k = k\n"
        "    def __get__(self, o, t): return self.k\nclass P: a = D(2.0)\np = P()",
    ),
    "class_partial": one(
        "x * P.a(1.0)",
        "k=2.0",
        "k=3.0",
        "",
        "def g(x, k): return x * k\nclass P: a = staticmethod(functools.partial(g, k=2.0))",
    ),
    "class_of_arrays": one("x * P.a[0]", "ones(3)", "zeros(3)", "", "class P: a = np.ones(3)"),
    "class_of_dicts": one("x * P.a['k'][0]", "[2.0]", "[3.0]", "", "class P: a = {'k': [2.0]}"),
    "class_call": one(
        "p(x)",
        "k = 2.0",
        "k = 3.0",
        "",
        "class P:\n    k = 2.0\n    def __call__(self, x): return x * self.k\np = P()",
    ),
    "class_operator": one(
        "x[0] * (p + 1.0)",
        "k + y",
        "k - y",
        "",
        "class P:\n    k = 2.0\n    def __add__(self, y): return self.k + y\np = P()",
    ),
    "class_len": one(
        "x * len(p)",
        "return 2",
        "return 3",
        "",
        "class P:\n    def __len__(self): return 2\np = P()",
    ),
    "class_bool": one(
        "x if p else -x",
        "return True",
        "return False",
        "",
        "class P:\n    def __bool__(self): return True\np = P()",
    ),
    "class_of_list": one("x * p[0]", "[2.0]", "[3.0]", "", "class P(list): pass\np = P([2.0])"),
    "class_getitem": one(
        "x * p['a']",
        "return 2.0",
        "return 3.0",
        "",
        "class P:\n    def __getitem__(self, k): return 2.0\np = P()",
    ),
    "class_getattr_own": one(
        "x * p.zzz",
        "return 2.0",
        "return 3.0",
        "",
        "class P:\n    def __getattr__(self, k): return 2.0\np = P()",
    ),
    "class_super": one(
        "p.m(x)",
        "x * 2",
        "x * 3",
        "",
        "class A:\n    def m(self, x): return x * 2\n"
        "class P(A):\n    def m(self, x): return super().m(x) + 1\np = P()",
    ),
    "class_mixin_order": one(
        "p.m(x)",
        "class P(A, B)",
        "class P(B, A)",
        "",
        "class A:\n    def m(self, x): return x * 2\nclass B:\n    def m(self, x): return x * 3\n"
        "class P(A, B): pass\np = P()",
    ),
    "class_instance_check": one(
        "x if isinstance(p, A) else -x",
        "class P(A)",
        "class P(B)",
        "",
        "class A: pass\nclass B: pass\nclass P(A): pass\np = P()",
    ),
    "class_default_factory": one(
        "x * P().a",
        "lambda: 2.0",
        "lambda: 3.0",
        "",
        "@dataclasses.dataclass\nclass P:\n"
        "    a: float = dataclasses.field(default_factory=lambda: 2.0)",
    ),
    "class_post_init": one(
        "x * P().a",
        "self.a = 2.0",
        "self.a = 3.0",
        "",
        "@dataclasses.dataclass\nclass P:\n    a: float = 1.0\n"
        "    def __post_init__(self): self.a = 2.0",
    ),
    "getter": one(
        "x * h(t)",
        "itemgetter(0)",
        "itemgetter(1)",
        "",
        "import operator\nt = (2.0, 3.0)\nh = operator.itemgetter(0)",
    ),
    "functions_in_a_dict": one(
        "h['a'](x)", "x * 2", "x * 3", "", "h = {'a': lambda x: x * 2, 'b': lambda x: x * 5}"
    ),
    "functions_in_a_dict_changed": one(
        "h['a'](x)",
        "'a': c",
        "'a': d",
        "",
        "def c(x): return x * 2\ndef d(x): return x * 3\nh = {'a': c}",
    ),
    "functions_in_a_list": one(
        "h[0](x)",
        "[c, d]",
        "[d, c]",
        "",
        "def c(x): return x * 2\ndef d(x): return x * 3\nh = [c, d]",
    ),
    "functions_in_a_tuple": one(
        "h[0](x)",
        "(c, d)",
        "(d, c)",
        "",
        "def c(x): return x * 2\ndef d(x): return x * 3\nh = (c, d)",
    ),
    "classes_in_a_dict": one(
        "h['a'].m(x)",
        "'a': C",
        "'a': D",
        "",
        "class C:\n    @staticmethod\n    def m(x): return x * 2\n"
        "class D:\n    @staticmethod\n    def m(x): return x * 3\nh = {'a': C}",
    ),
    "library_functions_in_a_dict": one(
        "h['a'](x)", "np.abs", "np.negative", "", "h = {'a': np.abs}"
    ),
    "bound_method": one(
        "h(x)",
        "P(2.0).m",
        "P(3.0).m",
        "",
        "class P:\n    def __init__(self, k): self.k = k\n"
        "    def m(self, x): return x * self.k\nh = P(2.0).m",
    ),
    "bound_method_of_another": one(
        "h(x)",
        "h = a.m",
        "h = b.m",
        "",
        "class P:\n    def __init__(self, k): self.k = k\n"
        "    def m(self, x): return x * self.k\na, b = P(2.0), P(3.0)\nh = a.m",
    ),
    "bytes_value": one("x * K[0]", "b'a'", "b'b'", "", "K = b'a'"),
    "complex_value": one("x * K", "2j", "3j", "", "K = 2j"),
    "big_number": one("x * (K % 7)", "10 ** 30", "10 ** 30 + 1", "", "K = 10 ** 30"),
    "ellipsis": one("x[K] * 2", "...", "slice(0, 2)", "", "K = ..."),
    "nan": one("x * K", "float('nan')", "2.0", "", "K = float('nan')"),
    "nested_tuple": one("x * K[1][0]", "(1, (2,))", "(1, (3,))", "", "K = (1, (2,))"),
    "equal_tuple": one("x * K[0]", "(1,)", "(True,)", "", "K = (1,)"),
    "format": one("x * len(K % 5)", "'%d'", "'%05d'", "", "K = '%d'"),
    "frozen": one(
        "x * K.a",
        "a=2.0",
        "a=3.0",
        "",
        "@dataclasses.dataclass(frozen=True)\nclass F:\n    a: float\nK = F(a=2.0)",
    ),
    "named_tuple": one(
        "x * K.a",
        "a=2.0",
        "a=3.0",
        "",
        "import collections\nT = collections.namedtuple('T', 'a b')\nK = T(a=2.0, b=9.0)",
    ),
    "named_tuple_fields": one(
        "x * K.a",
        "'a b'",
        "'b a'",
        "",
        "import collections\nT = collections.namedtuple('T', 'a b')\nK = T(2.0, 9.0)",
    ),
    "flag": one(
        "x * (2 if E.A in K else 3)",
        "E.A | E.B",
        "E.B",
        "",
        "class E(enum.Flag):\n    A = 1\n    B = 2\nK = E.A | E.B",
    ),
    "lists_in_a_closure": Edit(
        "def made(ks):\n    def f(x): return x * sum(ks)\n    return jit(f)\n"
        "f = made([1.0, 2.0])\n",
        "[1.0, 2.0]",
        "[1.0, 2.0, 3.0]",
    ),
    "weird_getattr": one(
        "h(x)",
        "x * 2",
        "x * 3",
        "",
        "class W:\n    def __getattr__(self, name): return self\nw = W()\nh = lambda x: x * 2",
    ),
    "module_getattr": Edit(
        "import {name}_other as other\n@jit\ndef f(x): return x * other.zzz\n",
        "return 2.0",
        "return 3.0",
        "",
        "def __getattr__(name):\n    return 2.0\n",
    ),
}
