"""Functions that are made of one code around other numbers: they share what is compiled."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.runtime.cache.processes import python
from tracejit.link.loader import supported

needs_files = pytest.mark.skipif(not supported(), reason="machine code is not loaded from files")
X = np.linspace(0.5, 2.0, 7)


def scaled(k: Any) -> Any:
    return lambda x: np.sin(x) * k + x


def raised(k: Any) -> Any:
    return lambda x: x**k


def chosen(k: Any) -> Any:
    return lambda x: (x * 2, 1) if k > 1 else x


def sized(k: Any) -> Any:
    return lambda x: np.zeros(int(k)) + x[0]


def looked_up(k: Any) -> Any:
    return lambda x: x * {0.5: 1.0, 1.5: 2.0}.get(k, 3.0)


def told(k: Any) -> Any:
    return lambda x: (x * 2, f"{k:.2f}", k)


def quantiles(k: Any) -> Any:
    return lambda x: np.quantile(x, k / 8)


def differentiated(k: Any) -> Any:
    return tracejit.grad(lambda x: (np.sin(x) * k).sum())


NUMBERS = (0.5, 1.5, 0.5, 2.5, -0.0, 0.0, 4.0, float("inf"), float("nan"), 1 + 2j, 3, True, 2.0)
MAKERS = [scaled, raised, chosen, sized, looked_up, told, quantiles]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("shift", [0, 3, 7])
def test_results_are_those_of_each_number(make: Any, shift: int) -> None:
    for k in NUMBERS[shift:] + NUMBERS[:shift]:
        function = make(k)
        try:
            expected = repr(function(X))
        except (TypeError, ValueError, OverflowError) as e:
            with pytest.raises(type(e)):
                tracejit.jit(function)(X)
        else:
            found = tracejit.jit(function)(X)
            if make in (raised, scaled):
                np.testing.assert_allclose(found, function(X), rtol=1e-15)
                assert found.dtype == function(X).dtype
            else:
                assert repr(found) == expected, k


@needs_files
@pytest.mark.parametrize("make", [scaled, differentiated])
def test_many_leave_few_files(make: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_CACHE", str(tmp_path / "cache"))
    for k in range(20):
        function = make(k + 0.25)
        compiled = function if make is differentiated else tracejit.jit(function)
        expected = np.cos(X) * (k + 0.25) if make is differentiated else function(X)
        np.testing.assert_allclose(compiled(X), expected, rtol=1e-14)
    assert 0 < len(list(tmp_path.rglob("*.entry"))) <= 2


PROGRAM = """
import sys
import numpy as np
import tracejit

RATE = float(sys.argv[1])

@tracejit.jit
def step(x):
    return x * RATE

assert step(np.ones(3)).tolist() == [RATE] * 3
print(any(v.recalled for v in step.report().variants))
"""


@needs_files
def test_a_number_that_each_process_sets_is_an_input(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM, encoding="utf-8")
    run = [
        python("program.py", rate, cache=tmp_path / "cache", cwd=tmp_path).strip()
        for rate in ("0.5", "0.25", "0.125", "0.75")
    ]
    assert run == ["False", "False", "True", "True"]
