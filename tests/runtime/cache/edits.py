"""Programs of which one thing is changed between two processes."""

from __future__ import annotations

from tests.runtime.cache.edit import Edit, one
from tests.runtime.cache.edits_of_classes import CLASSES
from tests.runtime.cache.edits_of_meta_data import META_DATA
from tests.runtime.cache.edits_of_objects import OBJECTS

__all__ = ["EDITS"]

EDITS = (
    CLASSES
    | META_DATA
    | OBJECTS
    | {
        "body": one("np.sin(x) * 2", "* 2", "* 3"),
        "constant": one("np.sin(x) * 2.0", "* 2.0", "* -2.0"),
        "helper_body": one("h(x)", "x + 1", "x + 2", "other code", "def h(x): return x + 1"),
        "helpers_helper": one(
            "h(x)", "x * 5", "x * 6", "other code", "def g(x): return x * 5\ndef h(x): return g(x)"
        ),
        "global_float": one("x * K", "K = 2.5", "K = 3.5", "K holds", "K = 2.5"),
        "global_int": one("x * K", "K = 2", "K = 3", "", "K = 2"),
        "global_bool": one("x * 2 if K else x", "K = True", "K = False", "K holds", "K = True"),
        "global_kind": one("x * K", "K = 1", "K = True", "", "K = 1"),
        "global_zero": one("x * K", "K = 0.0", "K = -0.0", "", "K = 0.0"),
        "global_none": one("x if K is None else -x", "K = None", "K = 1", "", "K = None"),
        "global_array": one("x * K", "1.0, 6.0", "2.0, 7.0", "", "K = np.arange(1.0, 6.0)"),
        "global_array_dtype": one("x * K", "float64", "float32", "", "K = np.ones(5, np.float64)"),
        "global_scalar": one("x * K", "(2.0)", "(3.0)", "", "K = np.float64(2.0)"),
        "global_text": one('x * 2 if K == "a" else x', 'K = "a"', 'K = "b"', "", 'K = "a"'),
        "global_tuple": one("x * K[0] + K[1]", "(2, 3)", "(2, 4)", "", "K = (2, 3)"),
        "global_list": one("x * K[0] + K[1]", "[2, 3]", "[2, 4]", "", "K = [2, 3]"),
        "global_list_length": one("x * len(K)", "[2, 3]", "[2, 3, 4]", "", "K = [2, 3]"),
        "global_dict": one('x * K["a"]', '"a": 2', '"a": 4', "", 'K = {"a": 2}'),
        "global_dict_order": one(
            "x * sum(k * v for k, v in enumerate(K.values()))",
            "a=1, b=2",
            "b=2, a=1",
            "",
            "K = dict(a=1, b=2)",
        ),
        "global_set": one("x * (2 in K)", "{2, 3}", "{4, 3}", "", "K = {2, 3}"),
        "global_frozenset": one("x * (2 in K)", "{2, 3}", "{4, 3}", "", "K = frozenset({2, 3})"),
        "global_range": one("x * sum(K)", "range(3)", "range(4)", "", "K = range(3)"),
        "global_slice": one("x[K]", "slice(0, 2)", "slice(0, 3)", "", "K = slice(0, 2)"),
        "global_dtype": one("x.astype(K)", "np.float32", "np.int16", "", "K = np.float32"),
        "object_attribute": one(
            "x * o.k", "o.k = 2.0", "o.k = 3.0", "", "class O: pass\no = O()\no.k = 2.0"
        ),
        "object_array": one(
            "x * o.k", "np.ones(5)", "np.zeros(5)", "", "class O: pass\no = O()\no.k = np.ones(5)"
        ),
        "namespace": one(
            "x * o.k", "k=2.0", "k=3.0", "", "import types\no = types.SimpleNamespace(k=2.0)"
        ),
        "defaults": Edit("@jit\ndef f(x, k=2.0):\n    return x * k\n", "k=2.0", "k=3.0"),
        "keyword_defaults": Edit("@jit\ndef f(x, *, k=2.0):\n    return x * k\n", "k=2.0", "k=3.0"),
        "defaults_set": Edit(
            "@jit\ndef f(x, k=2.0):\n    return x * k\nf.__tracejit__.__defaults__ = (4.0,)\n",
            "(4.0,)",
            "(5.0,)",
        ),
        "default_text": Edit(
            "@jit\ndef f(x, k='a'):\n    return x * (2 if k == 'a' else 3)\n", "k='a'", "k='b'"
        ),
        "helper_defaults": one("h(x)", "k=2.0", "k=3.0", "", "def h(x, k=2.0): return x * k"),
        "helper_keyword_defaults": one(
            "h(x)", "k=2.0", "k=3.0", "", "def h(x, *, k=2.0): return x * k"
        ),
        "helper_default_text": one(
            "h(x)", "k='a'", "k='b'", "", "def h(x, k='a'): return x * (2 if k == 'a' else 3)"
        ),
        "helper_attribute": one(
            "x * h.k", "h.k = 2.0", "h.k = 3.0", "", "def h(x): return x\nh.k = 2.0"
        ),
        "closure": Edit(
            "def make(k):\n    def f(x):\n        return x * k\n    return jit(f)\nf = make(2.0)\n",
            "make(2.0)",
            "make(3.0)",
        ),
        "closure_list": Edit(
            "def make(k):\n    def f(x):\n        return x * k[0]\n    return jit(f)\n"
            "f = make([2.0])\n",
            "[2.0]",
            "[3.0]",
        ),
        "closure_function": Edit(
            "def make(g):\n    def f(x):\n        return g(x)\n    return jit(f)\n"
            "f = make(lambda x: x * 2)\n",
            "x * 2",
            "x * 3",
        ),
        "helper_closure": one(
            "h(x)",
            "make(2.0)",
            "make(3.0)",
            "",
            "def make(k):\n    def h(x): return x * k\n    return h\nh = make(2.0)",
        ),
        "factory": Edit(
            "def make(k):\n    def f(x):\n        return x * k\n    return jit(f)\n"
            "a, b = make(2.0), make(3.0)\na(X)\nf = b\n",
            "f = b",
            "f = a",
        ),
        "lambdas": Edit(
            "a, b = jit(lambda x: x * 2), jit(lambda x: x * 3)\na(X), b(X)\nf = a\n",
            "f = a",
            "f = b",
        ),
        "lambda_helpers": one(
            "h(x)", "h = a", "h = b", "", "a, b = lambda x: x * 2, lambda x: x * 3\nh = a"
        ),
        "equal_names": Edit(
            "@jit\ndef f(x): return x * 2\na = f\na(X)\n@jit\ndef f(x): return x * 3\nb = f\nb(X)\n"
            "f = a\n",
            "f = a",
            "f = b",
        ),
        "helpers_of_equal_names": one(
            "a(x) + b(x) * 10",
            "h(x): return x * 3",
            "h(x): return x * 4",
            "",
            "def h(x): return x * 2\na = h\ndef h(x): return x * 3\nb = h",
        ),
        "partial": Edit(
            "def g(k, x): return x * k\nf = jit(functools.partial(g, 2.0))\n", "g, 2.0", "g, 3.0"
        ),
        "partial_helper": one(
            "h(x)",
            "g, 2.0",
            "g, 3.0",
            "",
            "def g(k, x): return x * k\nh = functools.partial(g, 2.0)",
        ),
        "decorator": one(
            "h(x)",
            "* 2.0",
            "* 3.0",
            "",
            "def twice(g):\n    @functools.wraps(g)\n    def inner(*a): return g(*a) * 2.0\n"
            "    return inner\n@twice\ndef h(x): return x + 1",
        ),
        "decorator_removed": one(
            "h(x)",
            "@twice",
            "",
            "",
            "def twice(g):\n    @functools.wraps(g)\n    def inner(*a): return g(*a) * 2.0\n"
            "    return inner\n@twice\ndef h(x): return x + 1",
        ),
        "decorator_argument": one(
            "h(x)",
            "times(2.0)",
            "times(3.0)",
            "",
            "def times(k):\n    def outer(g):\n        def inner(*a): return g(*a) * k\n"
            "        return inner\n    return outer\n@times(2.0)\ndef h(x): return x + 1",
        ),
        "factory_defaults": one(
            "h(x)",
            "made(2.0)",
            "made(3.0)",
            "",
            "def made(k):\n    def h(x, q=k): return x * q\n    return h\nh = made(2.0)",
        ),
        "two_of_a_factory": one(
            "a(x) + 10 * b(x)",
            "a, b = c, d",
            "a, b = d, c",
            "",
            "def made(k):\n    def h(x): return x * k\n    return h\nc, d = made(2.0), made(3.0)\n"
            "a, b = c, d",
        ),
        "two_of_a_factory_held": one(
            "a[0](x) + 10 * b(x)",
            "a, b = [c], d",
            "a, b = [d], c",
            "",
            "def made(k):\n    def h(x): return x * k\n    return h\nc, d = made(2.0), made(3.0)\n"
            "a, b = [c], d",
        ),
        "jitted_helper": one("h(x)", "x * 2", "x * 3", "code", "@jit\ndef h(x): return x * 2"),
        "jitted_helper_closure": one(
            "h(x)",
            "made(2.0)",
            "made(3.0)",
            "",
            "def made(k):\n    @jit\n    def h(x): return x * k\n    return h\nh = made(2.0)",
        ),
        "jitted_helper_plain": one(
            "h(x)", "@jit\ndef h", "def h", "", "@jit\ndef h(x): return x * 2"
        ),
        "jitted_helper_option": one(
            "h(x)", "True", "False", "", "@jit(bounds_check=True)\ndef h(x): return x * 2"
        ),
        "recursion": Edit(
            "@jit\ndef f(n): return 1 if n < 2 else n * f(n - 1)\ncalls = [lambda f: f(6)]\n",
            "n * f",
            "n + f",
        ),
        "recursion_through": Edit(
            "@jit\ndef f(n): return 1 if n < 2 else n * g(n - 1)\n"
            "def g(n): return f(n)\ncalls = [lambda f: f(6)]\n",
            "return f(n)",
            "return f(n) + 1",
        ),
        "gradient_option": Edit(
            "def g(x, y): return (x ** 2 * y ** 3).sum()\n"
            "f = jit(tracejit.grad(g, 0))\ncalls = [lambda f: f(X, X + 1)]\n",
            "(g, 0)",
            "(g, 1)",
        ),
        "inner_gradient": Edit(
            "def g(x): return (x ** 2).sum()\nd = tracejit.grad(g)\n@jit\ndef f(x): return d(x)\n",
            "** 2",
            "** 3",
        ),
        "lru_cache": one(
            "x * h(2)", "n * 5", "n * 6", "", "@functools.lru_cache\ndef h(n): return n * 5"
        ),
        "other_module": Edit(
            "import {name}_other as other\n@jit\ndef f(x): return other.g(x)\n",
            "x * 2",
            "x * 3",
            "other code",
            "def g(x): return x * 2\n",
        ),
        "other_modules_global": Edit(
            "import {name}_other as other\n@jit\ndef f(x): return other.g(x)\n",
            "K = 2",
            "K = 3",
            "",
            "K = 2\ndef g(x): return x * K\n",
        ),
        "from_other_module": Edit(
            "from {name}_other import g\n@jit\ndef f(x): return g(x)\n",
            "x * 2",
            "x * 3",
            "other code",
            "def g(x): return x * 2\n",
        ),
        "other_modules_class": Edit(
            "from {name}_other import P\np = P()\n@jit\ndef f(x): return p.g(x)\n",
            "x * 2",
            "x * 3",
            "",
            "class P:\n    def g(self, x): return x * 2\n",
        ),
        "option_strict": Edit("@jit(strict=False)\ndef f(x): return x * 2\n", "False", "True"),
        "option_bounds": Edit(
            "@jit(bounds_check=True)\ndef f(x): return x[int(x[0] * 4)]\n", "True", "False"
        ),
        "lines_moved": Edit(
            "# \n@jit\ndef f(x):\n    if x[0] > 0:\n        raise ValueError('no')\n    return x\n",
            "# ",
            "\n\n\n",
        ),
        "helpers_lines_moved": Edit(
            "# \ndef h(x):\n    return np.sin(x)[7]\n@jit\ndef f(x):\n    return h(x)\n",
            "# ",
            "\n\n\n",
        ),
        "nested": Edit(
            "@jit\ndef f(x):\n    def g(y): return y * 2\n    return g(x)\n", "y * 2", "y * 3"
        ),
        "comprehension": Edit(
            "@jit\ndef f(x):\n    return sum([x * k for k in range(3)])\n", "range(3)", "range(4)"
        ),
        "message": Edit(
            "@jit\ndef f(x):\n    print('sum', x.sum())\n    return x\n", "'sum'", "'total'"
        ),
        "gradient": Edit(
            "def g(x): return (x ** 2).sum()\nf = jit(tracejit.grad(g))\n", "** 2", "** 3"
        ),
        "gradient_of_helper": Edit(
            "def h(x): return x ** 2\ndef g(x): return h(x).sum()\nf = jit(tracejit.grad(g))\n",
            "** 2",
            "** 3",
        ),
        "vmap_axes": Edit(
            "def g(x, y): return x * y.sum()\nY = np.arange(25.0).reshape(5, 5)\n"
            "f = jit(tracejit.vmap(g, in_axes=(0, 0)))\ncalls = [lambda f: f(X, Y)]\n",
            "(0, 0)",
            "(0, 1)",
        ),
        "builtin_shadowed": one("x * abs(-2)", "#", "def abs(x): return 5", "", "#"),
        "docstring_used": one("x * len(h.__doc__)", "'abc'", "'abcd'", "", "def h(x):\n    'abc'"),
        "annotations_used": one(
            "x * len(h.__annotations__)", "(x: int)", "(x)", "", "def h(x: int): return x"
        ),
        "name_used": one(
            "x * len(h.__name__)", "'abc'", "'abcd'", "", "def h(x): return x\nh.__name__ = 'abc'"
        ),
        "module_attribute": Edit(
            "import {name}_other as other\n@jit\ndef f(x): return x * other.K\n",
            "K = 2.0",
            "K = 3.0",
            "",
            "K = 2.0\n",
        ),
        "matched": one(
            "h(x, 2)",
            "case 2: return x * 5",
            "case 2: return x * 6",
            "",
            "def h(x, k):\n    match k:\n        case 2: return x * 5\n        case _: return x",
        ),
        "generator_state": Edit(
            "rng = np.random.default_rng(1)\n@jit\ndef f(x):\n"
            "    return x * rng.normal(size=5)\n"
            "calls = [lambda f: globals().update(rng=np.random.default_rng(1)) or f(X)]\n",
            "default_rng(1)",
            "default_rng(2)",
        ),
        "generator_kind": Edit(
            "G = np.random.PCG64\n@jit\ndef f(x, rng):\n    return x * rng.normal(size=5)\n"
            "calls = [lambda f: f(X, np.random.Generator(G(3)))]\n",
            "PCG64",
            "MT19937",
        ),
    }
)
EDITS["np_rebound"] = Edit(
    "@jit\ndef f(x): return np.sin(x)\n#\n",
    "\n#\n",
    "\nclass np:\n    sin = staticmethod(lambda x: x + 100)\n",
    "np is bound",
)
