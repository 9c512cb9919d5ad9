"""Which places hold one object: what is loaded holds for what was found while it was compiled."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runtime.cache.processes import python
from tests.support.sampling import sampled
from tracejit.link.loader import supported

pytestmark = pytest.mark.skipif(not supported(), reason="machine code is not loaded from files")

#: Two places hold one object each, or one for both; two helpers share a cell, or have one each,
#: or have the same code with other globals. Each process is told which, by a digit a program.
PROGRAM = """
import functools, json, sys, types
import numpy as np
import tracejit
from tracejit.runtime.compile import worth

worth._OPERATION = float("inf")
X = np.ones(2)

def over(k):
    def scaled(x): return x * k
    return scaled
def alone():
    def doubled(x): return x * 2
    return doubled
class Plain:
    def m(self, x): return x
def new_class():
    class Made: v = 2.0
    return Made

OBJECTS = {
    "closure": lambda: over(1.0), "function": alone, "lambda": lambda: (lambda x: x),
    "compiled": lambda: tracejit.jit(alone()), "object": Plain, "list": lambda: [1.0],
    "dict": lambda: {"a": 1.0}, "array": lambda: np.ones(3), "class": new_class,
    "partial": lambda: functools.partial(alone()), "tuple": lambda: tuple([1.0, 2.0]),
    "float": lambda: float("2.5"), "text": lambda: "".join(["ab", "cd"]), "set": lambda: {1, 2},
    "method": lambda: Plain().m, "scalar": lambda: np.float64(2.5),
}
A = B = None
class Holder: a = b = None
held, ITEMS, TABLE = Holder(), [None, None], {}

def names(x): return x + 10 if A is B else x + 100
def attributes(x): return x + 10 if held.a is held.b else x + 100
def items(x): return x + 10 if ITEMS[0] is ITEMS[1] else x + 100
def values(x): return x + 10 if TABLE["a"] is TABLE["b"] else x + 100
def of_class(x): return x + 10 if Holder.a is Holder.b else x + 100
def mixed(x): return x + 10 if A is held.b else x + 100
def unlike(x): return x + 10 if A is not B else x + 100
def among(x): return x + 10 if any(A is v for v in ITEMS[1:]) else x + 100
def equal(x): return x + 10 if A == B else x + 100
def cells(a, b):
    def of_cells(x): return x + 10 if a is b else x + 100
    return of_cells
def defaults(a, b):
    def of_defaults(x, p=a, q=b): return x + 10 if p is q else x + 100
    return of_defaults
WAYS = [names, attributes, items, values, of_class, mixed, unlike, among]

def counters(one):
    def made():
        n = 0.0
        def up(x):
            nonlocal n
            n += 1
            return x + n
        def read(x): return x + n
        return up, read
    first, second = made(), made()
    return first[0], first[1] if one else second[1]
UP = READ = None
def shared_cell(x): return UP(x) + READ(x) * 10

K = 2.0
def helper(x): return x * K
def other_globals(x): return helper(x)

found = []
def follow(label, f):
    j = tracejit.jit(f)
    outcomes = []
    for g in (f, j):
        try: outcomes.append(repr(g(X)))
        except Exception as e: outcomes.append(type(e).__name__)
    if outcomes[0] != outcomes[1]:
        found.append((label, f.__name__, *outcomes))

one = sys.argv[1] == "1"
for kind in sys.argv[2:]:
    make = OBJECTS[kind]
    a = make()
    b = a if one else make()
    A, B, held.a, held.b, Holder.a, Holder.b = a, b, a, b, a, b
    ITEMS[:] = a, b
    TABLE.update(a=a, b=b)
    ways = [*WAYS, cells(a, b), defaults(a, b)]
    for f in ways if kind == "array" else [*ways, equal]:
        follow(kind, f)
UP, READ = counters(one)
plain = shared_cell(X)
UP, READ = counters(one)
if repr(tracejit.jit(shared_cell)(X)) != repr(plain):
    found.append(("cell", "shared_cell"))
if one:
    helper = types.FunctionType(helper.__code__, {**globals(), "K": 3.0}, "helper")
follow("globals", other_globals)
print(json.dumps(found))
"""


KINDS = (
    "closure function lambda compiled object list dict array class partial tuple float text set "
    "method scalar"
).split()


@pytest.mark.parametrize("order", ["010", "101"])
def test_places_that_hold_one_object(tmp_path: Path, order: str) -> None:
    """Processes in which places hold two objects, 0, and one, 1, one after another."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    for one in order:
        text = python("program.py", one, *sampled(KINDS, 6), cache=tmp_path / "cache", cwd=tmp_path)
        assert json.loads(text) == []
