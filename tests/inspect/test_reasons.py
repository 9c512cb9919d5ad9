"""All reasons to run eagerly are named in one pass, and nothing of the caller's is changed."""

from __future__ import annotations

import functools
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.inspect.checked import one, scaled, several, stores, whole
from tracejit.cli import main
from tracejit.errors import CODES
from tracejit.inspect.reasons import all_reasons

X = np.linspace(1.0, 2.0, 10)


def test_each_line_is_named() -> None:
    reasons = all_reasons(several, (X, 2))
    found = {(r.where.source(), r.code) for r in reasons}
    assert {
        ("start = time.perf_counter()", "TJ002"),
        ("class Local:", "TJ008"),
        ('parts = len(text.split("0"))', "TJ021"),
        ('return eval("x + 1")', "TJ002"),
        ("path = os.getcwd()", "TJ002"),
        ("np.frompyfunc(lambda a: a + 1, 1, 1)(y)", "TJ002"),
        ("ratio = fractions.Fraction(1, 3)", "TJ002"),
    } <= found
    assert any("return total" in text for text, _ in found) and len(reasons) == 8
    # The class is needed by what comes of `z`, and comes first.
    assert reasons[0].where.source() == "class Local:" and reasons[0].blocks >= 4
    assert all(r.advice == CODES[r.code][1] for r in reasons)


def test_what_follows_from_a_reason_is_none() -> None:
    """A stand-in that a trace cannot hold makes no reason of what reads it."""
    (reason,) = all_reasons(one, (X,))
    assert reason.where.source() == "ratio = fractions.Fraction(1, 3)" and reason.blocks == 2


def test_arguments_stay_and_functions_need_not_be_decorated() -> None:
    x = X.copy()
    (reason,) = tracejit.jit(stores).all_reasons(x)
    assert "time.sleep" in reason.detail and np.array_equal(x, X)
    assert all_reasons(whole, (X,)) == [] == tracejit.jit(whole).all_reasons(X)
    (reason,) = all_reasons(scaled(3.0), (X,), {"shift": 2.0})
    assert reason.where.source() == "time.sleep(0)"


class Slow:
    """Objects that are functions."""

    def __call__(self, x: Any) -> Any:
        time.sleep(0)
        return x

    def method(self, x: Any) -> Any:
        y = x; time.sleep(0); return y  # fmt: skip # noqa: E702


def logged(f: Any) -> Any:
    """A decorator of the user's own."""

    @functools.wraps(f)
    def inner(*args: Any) -> Any:
        time.sleep(1e-9)
        return f(*args)

    return inner


def test_what_a_call_comes_to() -> None:
    """Methods, objects, partial functions and what decorators wrap have their own statements."""
    slow = Slow()
    for f in (slow, slow.method, functools.partial(Slow.method, slow), logged(slow.method)):
        found = {r.where.source() for r in all_reasons(f, (X,))}
        assert any("time.sleep(0)" in text for text in found), f
    assert any("1e-9" in text for text in found)


def test_a_function_without_a_source() -> None:
    space: dict[str, Any] = {}
    exec("def f(x):\n    return eval('x')", space)
    (reason,) = all_reasons(space["f"], (X,))
    assert reason.code == "TJ007"


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    target = f"{Path(__file__).parent}/checked.py"
    assert main(["check", f"{target}:several", "--args", "f64[10], 2"]) == 1
    out = capsys.readouterr().out
    assert out.splitlines()[0].endswith("class (6 statements need it)")
    assert out.count("What to do: ") == 8 and "runs eagerly: 8 reasons" in out
    assert main(["check", f"{target}:whole", "--args", "f64[10]"]) == 0
    assert "is compiled whole" in capsys.readouterr().out
    assert main(["check", f"{target}:one", "--args", "f64[10]", "--json"]) == 1
    assert [r["code"] for r in json.loads(capsys.readouterr().out)] == ["TJ002"]
