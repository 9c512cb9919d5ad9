"""Calls with arguments that are odd but plausible, of NumPy's functions and Python's builtins.

Each text is an expression over `ARGUMENTS`; a number among them is traced where the text names it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

__all__ = ["ARGUMENTS", "TEXTS", "module_text", "names_in"]

ARGUMENTS: dict[str, Any] = {
    "a": np.array([3.0, 1.0, 2.0, 0.5]),
    "m": np.arange(6.0).reshape(2, 3),
    "i": np.array([3, 0, 1, 2]),
    "b": np.array([True, False, True, True]),
    "c": np.array([1 + 2j, 0.5]),
    "e": np.zeros(0),
    "u": np.array([250, 3], np.uint8),
    "s": np.float64(1.5),
    "t": np.int64(128),
    "n": 3,
    "f": 2.5,
    "g": -7,
}

HEAD = """
import math
import numpy as np

class Arr:
    def __array__(self, dtype=None, copy=None):
        return np.arange(3.0)

OBJ = Arr()
REC = [1.0]
REC.append(REC)

"""

_NUMPY = """
a.sum(dtype=bool); a.cumsum(dtype=bool); m.sum(axis=0, dtype=bool); a.prod(dtype=bool)
a.mean(dtype=bool); np.add.reduce(a, dtype=bool); np.add.accumulate(a, dtype=bool)
a.sum(dtype=a); m.sum(axis=0, keepdims=1); m.sum(axis=0, keepdims=np.True_); m.max(keepdims=f)
np.any(m, keepdims=n); np.sum(m, 0, None, None, 1); m.mean(axis=1, keepdims=2)
np.clip(a, 0, 1, out=np.zeros((3, 4))); np.clip(0.5, 0, 1, out=np.zeros(3))
np.round(a, 1, out=np.zeros((2, 4))); np.clip(a, a_min=0); np.clip(a, 0, 1, out=np.zeros((4, 3)))
np.take(a, 0.5); np.take(a, [0.5]); a.take(f); a.take([1.0]); a.take(b); a.take(None); a.take('x')
a.take(True); a.take(10); a.take(-n); a.take(10, mode='foo'); a.take(c); a.take(e)
np.tri(g); np.zeros(g); np.zeros((n, -1)); np.full(g, 1.0); np.eye(g); np.eye(n, k=f); np.ones(f)
np.linspace(n, f, g); np.arange(None, 4); np.arange(f, dtype=bool); np.tile(a, -1)
np.repeat(a, g); np.resize(a, -1); a.reshape(-2); np.pad(a, (1, 2, 3)); np.pad(a, -1)
np.round(t, -1); np.round(i, -1); np.round(u, -1); np.round(t, 400); np.round(a, 400)
np.sqrt(a, out=np.zeros(4), where=1); np.sqrt(a, out=np.zeros(4), where=i)
np.sin(a, order=m); np.sin(a, subok=n); np.sin(a, dtype=a); np.argsort(m, 0, kind=n)
np.clip(a, a_max=1); a.clip(1); a.clip(max=n); np.std(m, ddof=[-9]); np.size(m, (0,))
np.cumprod(m, axis=(0,)); np.prod(a, initial=None); np.fix(s, np.zeros(4)); m.item((0, 0))
np.split(a, np.True_); np.array_split(a, 2.0); np.vsplit(m, 2.0); np.diag_indices(g)
np.r_[np.array(f)]; np.c_[np.array(n)]
np.real(f); np.imag(n); np.reshape(m, (3, 2), copy=n); np.put(a, 0, 1.0, mode=np.int64(1))
a[a > 1] + a; a[a > 1] + a[a > 2]; np.arange(i[0]) * a[:2]; np.ones(int(f)) + np.ones(i[0])
"""

_PYTHON = """
round(t, -1); round(i[0], -1); round(u[0], -1); round(t, -n); round(t, 10**30); round(f, 400)
round(t, 2); round(s, -1); round(n, -1); round(a); round(f, 2.0); divmod(n, 0); divmod(f, 0)
pow(n, 2, 5); pow(base=n, exp=2); pow(n, -1, 9); pow(f, 2, 3); int(f, 10); int(f * np.inf)
int('12', n); int(a); float(c[0]); hex(f); chr(-1 - n); bin(g); format(f, 'd'); format(f, 'q')
hash(a); hash(n); isinstance(n, 'int'); sorted([n, 'x']); sorted(a, key=n); list(zip(a, n))
list(zip(a, c, strict=True)); list(enumerate(a, start=f)); list(enumerate(a, n)); list(range(f))
list(range(0, n, 0)); a[::f]; a[n:f]; a[slice(f)]; a[10**30]; [n] * f; [n] * n; [n] + (f,); n + [f]
math.sqrt(g); math.log(f, 1); math.factorial(f); math.comb(n, f); math.ldexp(f, f); math.isqrt(g)
math.floor(f * np.inf); math.gcd(n, f); t.bit_count(); n.foo; 'x' in REC; str(REC); [n, REC] == []
np.array(REC); f'{REC}'; repr({'a': REC}); u + 300; i + 10**30; n << g; ~f; operator_index(f)
"""

TEXTS = [
    text.strip() for line in (_NUMPY + _PYTHON).splitlines() for text in line.split(";") if text
]


def names_in(text: str) -> list[str]:
    """The arguments that a text names."""
    found = [k for k in ARGUMENTS if re.search(rf"(?<![\w.']){k}(?![\w(=']|\s*=[^=])", text)]
    return found or ["n"]


def module_text() -> str:
    """A module with a function `f<k>` for each text."""
    functions = [
        f"def f{k}({', '.join(names_in(text))}):\n    return {text}\n"
        for k, text in enumerate(TEXTS)
    ]
    return HEAD + "from operator import index as operator_index\n\n" + "\n".join(functions)
