"""The passes and the emission of a program take as many steps for each statement, few or many."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.written import written

X, W = np.full((12, 10), 0.5), np.full((10, 10), 0.1)

STATEMENTS = {
    "products": "y = np.tanh(y @ w) + 0.1 * y",
    "sums": "y = y * 1.01 + np.sin(y[::-1]); total = total + y.sum()",
    "rows": "z = y - y.mean(axis=1, keepdims=True); "
    "y = z / np.sqrt((z * z).mean(axis=1, keepdims=True) + 1e-3) + y",
    "updates": "y = y.copy(); y[1:] += 0.1 * y[:-1]",
    "branches": "y = np.where(y > 0, y, 0.1 * y) * 1.1 + np.roll(y, 1, 0)",
}


def repeated(statement: str, n: int) -> Callable[[Any, Any], Any]:
    lines = ["def f(x, w):", "    y, total = x, 0.0", *[f"    {statement}"] * n]
    source = "\n".join([*lines, "    return total + (y * y).sum()", ""])
    name = f"<{n} times {statement}>"
    return written(source, name, np=np)


def calls(f: Any) -> int:
    """The calls of functions of Python that the passes and the emission of a program take."""
    count = 0

    def profile(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"

    sys.setprofile(profile)
    try:
        _ = f.lower(X, W).program
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.sampled(10)
@pytest.mark.parametrize("transform", [tracejit.jit, tracejit.value_and_grad])
@pytest.mark.parametrize("statement", STATEMENTS.values(), ids=STATEMENTS)
def test_each_statement_takes_as_many_steps(statement: str, transform: Any) -> None:
    _, few, some, many = (calls(transform(repeated(statement, n))) for n in (1, 4, 10, 16))
    assert many - some < 1.3 * (some - few)
