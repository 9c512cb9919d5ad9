"""Functions that containers, classes and transforms hold: found again by the way to them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.runtime.cache.processes import python
from tracejit.link.loader import supported

pytestmark = pytest.mark.skipif(not supported(), reason="machine code is not loaded from files")

PROGRAM = """
import dataclasses, functools, json, sys
import numpy as np
import tracejit
from tracejit.runtime.compile import worth

worth._OPERATION = float("inf")
other = sys.argv[1] == "1"

def pick(a, b):
    return b if other else a

METHODS = {"a": pick(lambda x: x + 1, lambda x: x + 2), "b": {1: pick(lambda x: x * 2, np.cos)}}
TABLE = [pick(lambda x: x - 1, lambda x: x - 3)]
if other:
    TABLE.insert(0, lambda x: x * 7)
class Holder:
    op = staticmethod(pick(lambda x: x * 3, lambda x: x * 5))
holder = Holder()
holder.own = pick(lambda x: x * 4, lambda x: x * 6)
increased = functools.partial(np.add, pick(1, 2))
shifted = functools.partial(lambda x, k: x + k, k=pick(1.5, 2.5))
class Partial(functools.partial):
    def __call__(self, x): return x * 9
derived = pick(functools.partial, Partial)(np.add, 1)
def energy(q): return (q ** pick(4, 3)).sum() if other else (q**4).sum()
def weight(q): return (q**3).sum()
slope = tracejit.grad(pick(energy, weight))
MAKERS = {"b": (0, pick(lambda: lambda x: x + 8, lambda: np.sin))}

class Slots:
    __slots__ = ("v",)
    def __init__(self, v): self.v = v
@dataclasses.dataclass
class Data:
    v: float
    w: float = pick(2.0, 3.0)
    z: list = dataclasses.field(default_factory=pick(list, lambda: [1.0]))

def in_a_dict(x): return METHODS["a"](x)
def in_dicts(x): return METHODS["b"][1](x)
def in_a_list(x): return TABLE[0](x)
def in_a_class(x): return Holder.op(x)
def in_an_object(x): return holder.own(x)
def partial(x): return increased(x)
def partial_of_a_lambda(x): return shifted(x)
def partial_of_another_class(x): return derived(x)
def gradient(x): return slope(x)
def made_by_a_lambda(x): return MAKERS["b"][1]()(x)
def slots(x): return x * Slots(2.0).v
def data(x):
    o = Data(3.0)
    return x * o.v + o.w + len(o.z)
def transform(x): return np.fft.fft(x).real + np.fft.rfft(x).real.sum()
def quantile(x): return np.quantile(x, 0.3)
def absent(x): return x + hasattr(holder, "nothing")

PROGRAMS = [in_a_dict, in_dicts, in_a_list, in_a_class, in_an_object, partial,
            partial_of_a_lambda, partial_of_another_class, gradient, made_by_a_lambda, slots,
            data, transform, quantile, absent]
x, warm = np.array([0.5, 1.5, 2.5, 4.0]), {}
for f in PROGRAMS:
    j = tracejit.jit(f)
    np.testing.assert_allclose(j(x), f(x), rtol=1e-14, err_msg=f.__name__)
    warm[f.__name__] = any(v.recalled for v in j.report().variants)
print(json.dumps(warm))
"""


def test_what_is_held_is_found_again(tmp_path: Path) -> None:
    """Two processes that hold the same, one that holds other things, and the first again."""
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    first, second, _, last = (
        json.loads(python("program.py", which, cache=tmp_path / "cache", cwd=tmp_path))
        for which in "0010"
    )
    assert not any(first.values())
    assert [name for name, warm in second.items() if not warm] == []
    assert [name for name, warm in last.items() if not warm] == []
