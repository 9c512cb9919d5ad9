"""Dicts that are replaced in branches and loops, of which nobody else knows."""

from __future__ import annotations

import ast
import textwrap
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same
from tracejit.frontend.rewrite.kept_dicts import with_kept_dicts

X = np.array([3.0, 1.0, 4.0, 1.0, 5.0, -9.0, 2.0, 6.0])


def smallest(x: Any) -> Any:
    best = {"value": float("inf"), "place": -1, "seen": np.zeros(2)}
    for k in range(len(x)):
        if x[k] < best["value"]:
            best = {"value": x[k], "place": k, "seen": x[:2] * best["place"]}
        elif "place" in best and x[k] > 5:
            best["place"] += 10
    return best, x.sum()


def swapped(x: Any) -> Any:
    state = {"a": x[0], "b": x[1]}
    for k in range(len(x)):
        state = {"a": state["b"], "b": state["a"] + k}
    return state["a"], state["b"]


def early(x: Any) -> Any:
    best = {"value": 0.0}
    for k in range(len(x)):
        if x[k] < 0:
            return best
        best = {"value": x[k]}
    return best


def raised(x: Any) -> Any:
    best = {"value": 1.0, "root": 1.0}
    for k in range(len(x)):
        try:
            best = {"value": x[k], "root": float(k) / (0.0 if k == 3 else 1.0)}
        except ZeroDivisionError:
            best["value"] += 1.0
    return best


def beside_a_shared_name(x: Any) -> Any:
    total = x[0]

    def add(v: Any) -> None:
        nonlocal total
        total += v

    state = {"a": x[1], "b": 1.0}
    add(x[2])
    state = {"a": state["b"], "b": x[1]}
    return state["a"] + state["b"] + total


def with_another_key(x: Any) -> Any:
    best = {"value": 0.0, "place": -1}
    best["more"] = 1.0
    if x[0] > 2:
        best = {"value": x[0], "place": 2}
    return len(best)


@pytest.mark.parametrize("f", [beside_a_shared_name, with_another_key], ids=lambda f: f.__name__)
@pytest.mark.filterwarnings("ignore::tracejit.FallbackWarning")
def test_dicts_are_replaced(f: Any) -> None:
    jitted = tracejit.jit(f)
    for x in (X, X[::-1].copy(), np.abs(X), np.zeros(3)):
        assert jitted(x) == f(x)
    assert "TJ013" not in [fallback.code for fallback in jitted.report().fallbacks]


@pytest.mark.parametrize("f", [smallest, swapped, early, raised], ids=lambda f: f.__name__)
def test_entries_in_place_of_dicts(f: Any) -> None:
    jitted = tracejit.jit(f)
    for x in (X, X[::-1].copy(), np.abs(X), np.r_[X, X]):
        assert_same(jitted(x), f(x))
    assert not jitted.report().fallbacks


REPLACED = """
def f(x):
    d = {"a": x}
    if x > 0:
        d = {"a": d["a"] + 1}
    return d
"""
#: What makes a second name for the dict, or shows that it is another one.
KEPT = [
    ("return d", "e = d\n    return d"),
    ("return d", "return [d]"),
    ("return d", "return g(d)"),
    ("return d", "return lambda: d"),
    ("return d", "return d if d else None"),
    ("return d", "for k in d: x += 1\n    return d"),
    ("return d", "yield d"),
    ("return d", "del d"),
    ("return d", 'd["b"] = x\n    return d'),
    ("return d", "d[x] = 1\n    return d"),
    ("return d", 'd["a"], d["b"] = x, x\n    return d'),
    ("return d", 'd["b"] += x\n    return d'),
    ("return d", "d |= x\n    return d"),
    ("return d", "print(locals())\n    return d"),
    ("return d", "try:\n        return d\n    finally:\n        x = 1"),
    ("return d", "with g() as d: pass\n    return d"),
    ("return d", "global d\n    return d"),
    ("return d", "try: pass\n    except E as d: pass\n    return d"),
    ("return d", "import d\n    return d"),
    ("return d", "return d is x"),
    ('{"a": d["a"] + 1}', '{"b": d["a"] + 1}'),
    ('{"a": d["a"] + 1}', '{"a": d}'),
    ('{"a": d["a"] + 1}', "{**d}"),
    ('{"a": d["a"] + 1}', "g()"),
    ('d = {"a": x}\n    ', "x = d\n    "),
    ('d = {"a": x}\n    ', 'if x: d = {"a": x}\n    '),
]


def rewritten(source: str) -> tuple[str, str]:
    node = ast.parse(textwrap.dedent(source)).body[0]
    return ast.unparse(node), ast.unparse(with_kept_dicts(node))


@pytest.mark.parametrize(("old", "new"), KEPT)
def test_dicts_of_which_others_may_know(old: str, new: str) -> None:
    before, after = rewritten(REPLACED)
    assert before != after
    source = REPLACED.replace(old, new)
    assert source != REPLACED
    before, after = rewritten(source)
    assert before == after
