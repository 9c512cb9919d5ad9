"""Functions of many kinds, whose code is the same in all processes and answers as Python does."""

from __future__ import annotations

__all__ = ["HEAD", "VARIED"]

HEAD = """\
import collections, dataclasses, functools, math, random
import numpy as np
import scipy.linalg, scipy.special
import tracejit
from tracejit import jit

X = np.linspace(0.5, 2.0, 6)
M = np.arange(9.0).reshape(3, 3) + 4 * np.eye(3)
calls = [lambda f: f(X), lambda f: f(X.astype(np.float32)), lambda f: f(X[::2])]
"""

#: By name: a text that defines `f`, and perhaps `calls`.
VARIED = {
    "elementwise": "@jit\ndef f(x): return np.sqrt(x * 2 + 1) - x\n",
    "sums": "@jit\ndef f(x): return x.sum(), x.mean(), x.max(), np.argmin(x)\n"
    "calls = [lambda f: f(np.arange(8.0)), lambda f: f(np.arange(8)[::2])]\n",
    "broadcast": "@jit\ndef f(x): return x[:, None] * x[None, :] + 1\n",
    "views": "@jit\ndef f(x): return x[::-1], x[1:3], x\n",
    "views_of_matrix": "@jit\ndef f(x): return x.T, x.reshape(-1), x[1]\n"
    "calls = [lambda f: f(M), lambda f: f(M)]\n",
    "product": "@jit\ndef f(x): return x @ x, x @ x[0]\ncalls = [lambda f: f(M)]\n",
    "solve": "@jit\ndef f(x): return np.linalg.solve(x, x[0])\n"
    "calls = [lambda f: f(M), lambda f: f(np.zeros((2, 2)))]\n",
    "svd": "@jit\ndef f(x): return np.linalg.svd(x)[1]\ncalls = [lambda f: f(M)]\n",
    "erf": "@jit\ndef f(x): return scipy.special.gammainc(x, 2.0)\n",
    "expm": "@jit\ndef f(x): return scipy.linalg.expm(x)\ncalls = [lambda f: f(M / 9)]\n",
    "sort": "@jit\ndef f(x): return np.sort(-x), np.argsort(-x)\n",
    "loop": "@jit\ndef f(x):\n    s = 0.0\n    for k in range(len(x)):\n"
    "        if x[k] > 1:\n            s += x[k] * k\n    return s\n",
    "while": "@jit\ndef f(x):\n    k = 0\n    while x[k] < 1.5:\n        k += 1\n    return k\n"
    "calls = [lambda f: f(X), lambda f: f(X[:2])]\n",
    "bail_out": "@jit\ndef f(x, k): return x[k]\n"
    "calls = [lambda f: f(X, 2), lambda f: f(X, -1), lambda f: f(X, 7), lambda f: f(X, 3)]\n",
    "raises": "@jit\ndef f(x):\n    if x.sum() > 5:\n"
    "        raise ValueError(f'too large: {len(x)}')\n"
    "    return x * 2\ncalls = [lambda f: f(X), lambda f: f(X / 9), lambda f: f(X * 2)]\n",
    "raises_in_helper": "def h(x):\n    if x[0] > 0.5:\n        raise KeyError('first')\n"
    "    return x\n"
    "@jit\ndef f(x):\n    y = x + 1\n    return h(y - 1)\n"
    "calls = [lambda f: f(X), lambda f: f(X * 2), lambda f: f(X / 2)]\n",
    "asserts": "@jit\ndef f(x):\n    assert x[0] > 0, 'negative'\n    return x\n"
    "calls = [lambda f: f(X), lambda f: f(-X)]\n",
    "divides": "@jit\ndef f(x, n): return x / (1 // n)\n"
    "calls = [lambda f: f(X, 1), lambda f: f(X, 0)]\n",
    "warns": "@jit\ndef f(x): return np.log(x)\n"
    "calls = [lambda f: f(X), lambda f: f(X - 0.5), lambda f: f(-X)]\n",
    "errstate": "@jit\ndef f(x): return 1 / x\n"
    "def strict(f):\n    with np.errstate(all='raise'):\n        return f(X * 0)\n"
    "calls = [lambda f: f(X), strict, lambda f: f(X * 0)]\n",
    "eager": "@jit\ndef f(x): return x * 3\n"
    "def eagerly(f):\n    with tracejit.eager():\n        return f(X)\n"
    "calls = [lambda f: f(X), eagerly, lambda f: f(X)]\n",
    "prints": "@jit\ndef f(x):\n    print('sum', x.sum(), len(x))\n    for v in x[:2]:\n"
    "        print(v, end=' ')\n    return x\n"
    "calls = [lambda f: f(X), lambda f: f(np.arange(3))]\n",
    "stores": "@jit\ndef f(x):\n    x[1:3] = 7\n    x += 1\n"
    "def stored(f):\n    y = X.copy()\n    return f(y), y\ncalls = [stored]\n",
    "state": "class P:\n    def __init__(self): self.n, self.a = 0, np.zeros(6)\n"
    "@jit\ndef f(p, x):\n    p.n += 1\n    p.a[:] = p.a + x\n    p.last = x\n    return p.n\n"
    "def kept(f):\n    p = P()\n    return [f(p, X) for _ in range(3)], p.n, p.a, p.last is X\n"
    "calls = [kept]\n",
    "method": "class P:\n    def __init__(self): self.k = 2.0\n"
    "    def twice(self, x): return x * self.k\n"
    "    @jit\n    def f(self, x): return self.twice(x) + 1\nf = P.f\n"
    "calls = [lambda f: f(P(), X)]\n",
    "dict_argument": "@jit\ndef f(d): return {'s': d['a'] + d['b'], 't': (d['a'], 3)}\n"
    "calls = [lambda f: f({'a': X, 'b': 2.0}), lambda f: f({'b': 2.0, 'a': X})]\n",
    "list_argument": "@jit\ndef f(xs): return [x * 2 for x in xs]\n"
    "calls = [lambda f: f([X, X[:2]]), lambda f: f([X])]\n",
    "appends": "@jit\ndef f(xs, x): xs.append(x.sum())\n"
    "def appended(f):\n    xs = [1.0]\n    f(xs, X)\n    return xs\ncalls = [appended]\n",
    "keywords": "@jit\ndef f(x, *rest, k=2, **more): return x * k + sum(rest) + more.get('z', 0)\n"
    "calls = [lambda f: f(X), lambda f: f(X, 1, 2, k=3), lambda f: f(X, z=4), lambda f: f()]\n",
    "dataclass": "@dataclasses.dataclass\nclass D:\n    a: object\n    b: float = 2.0\n"
    "@jit\ndef f(d): return d.a * d.b\ncalls = [lambda f: f(D(X)), lambda f: f(D(X, 3.0))]\n",
    "named_tuple": "T = collections.namedtuple('T', 'a b')\n@jit\n"
    "def f(t): return T(t.b, t.a * 2)\n"
    "calls = [lambda f: f(T(X, 3))]\n",
    "generator": "@jit\ndef f(rng): return rng.normal(size=3), rng.integers(0, 9, 4)\n"
    "def drawn(f):\n    rng = np.random.default_rng(5)\n"
    "    return f(rng), f(rng), str(rng.bit_generator.state)\ncalls = [drawn]\n",
    "random_module": "@jit\ndef f(n): return random.random() * n\n"
    "def drawn(f):\n    random.seed(3)\n    return f(2.0), f(3.0), random.random()\n"
    "calls = [drawn]\n",
    "np_random": "@jit\ndef f(n): return np.random.rand(4) * n\n"
    "def drawn(f):\n    np.random.seed(3)\n    return f(2.0), f(3.0), np.random.rand()\n"
    "calls = [drawn]\n",
    "recursion": "@jit\ndef f(n): return 1 if n < 2 else n * f(n - 1)\n"
    "calls = [lambda f: f(5), lambda f: f(20), lambda f: f(0)]\n",
    "fibonacci": "def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)\n"
    "@jit\ndef f(n): return fib(n)\ncalls = [lambda f: f(12), lambda f: f(1)]\n",
    "fft": "@jit\ndef f(x): return np.abs(np.fft.rfft(x)) > 1\n",
    "einsum": "@jit\ndef f(x): return np.einsum('ij,jk->i', x, x)\ncalls = [lambda f: f(M)]\n",
    "complex": "@jit\ndef f(x): return (x + 1j * x) * 2j\n",
    "integers": "@jit\ndef f(n, x): return n ** 2 // 3 + (n << 4), x.astype(int) % 3\n"
    "calls = [lambda f: f(7, X), lambda f: f(10 ** 30, X), lambda f: f(-7, X)]\n"
    "calls += [lambda f: f(True, X)]\n",
    "big_constant": "A = np.arange(6.0)\n@jit\n"
    "def f(x): return x * A[:len(x)] + np.arange(len(x))\n",
    "closure": "def made(k):\n    def f(x): return x * k\n    return jit(f)\nf = made(2.5)\n",
    "global_store": "N = 0\n@jit\ndef f(x):\n    global N\n    N = N + 1\n    return x * N\n"
    "def counted(f):\n    global N\n    N = 0\n    return [f(X) for _ in range(3)], N\n"
    "calls = [counted]\n",
    "own_gradient": "def loss(x): return (x ** 2).sum()\n@jit\n"
    "def f(x): return tracejit.grad(loss)(x)\n"
    "calls = [lambda f: f(X)]\n",
    "texts": "@jit\ndef f(x, how):\n    return x * 2 if how == 'twice' else x\n"
    "calls = [lambda f: f(X, 'twice'), lambda f: f(X, 'once')]\n"
    "calls += [lambda f: f(X, ''.join(['twi', 'ce']))]\n",
    "nans": "@jit\ndef f(x, y): return np.where(x > y, x, np.nan), np.nanmax(x)\n"
    "calls = [lambda f: f(X, 1.0), lambda f: f(X, float('nan'))]\n",
    "none": "@jit\ndef f(x, axis=None): return x.sum(axis)\n"
    "calls = [lambda f: f(M), lambda f: f(M, 0), lambda f: f(M, axis=1), lambda f: f(M, 5)]\n",
}  # fmt: skip
