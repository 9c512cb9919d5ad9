"""Texts of programs that tests of the cache write into files."""

from __future__ import annotations

__all__ = ["CHANGED", "DAMAGED"]

#: The program of `changes.py`.
CHANGED = """
import enum, math
import numpy, scipy.special
import numpy as np
from tracejit import jit

class Base:
    def s(self): return 2.0

class Other:
    def s(self): return 5.0

class P(Base):
    a = 1.0
    def __init__(self): self.k = 3.0
    def m(self, x): return x * self.k + self.a + self.s()

class Q(Base):
    a = 6.0
    def m(self, x): return x * self.k - self.a

class E(enum.Enum):
    A = 2
    B = 3

p, K, L, A = P(), 2.0, [1.0, 2.0], np.arange(3.0)

def h(x, k=4): return x * k

@jit
def f(x):
    y = np.sin(x) * math.sqrt(3.0) + abs(-2) + len(L) + np.linalg.norm(x)
    return y + scipy.special.erf(x) + h(x) + p.m(x) + K + sum(L) + A + E.A.value

calls = [lambda f: numpy.round(numpy.asarray(f(numpy.arange(1.0, 4.0))), 9)]
"""

#: The program of `damage.py` and `kill.py`: code, shared libraries, constants.
DAMAGED = """
import numpy as np
from tracejit import jit

A = np.arange(6.0)

@jit
def f(x):
    return (x * 2 + 1).sum() + A[:5] @ x

@jit
def g(x):
    y = np.concatenate([x, x + 1])
    return np.sort(y)[::-1] * len(y)

calls = [lambda f: f(np.arange(5.0))]
"""
