"""Random programs: compiled they agree with NumPy, and the search itself can find and shrink."""

from __future__ import annotations

import functools
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.random.fuzz.check import Verdict, check, isolated
from tests.random.fuzz.generate import Case, generate
from tests.random.fuzz.inputs import weighted
from tests.random.fuzz.productions import PRODUCTIONS
from tests.random.fuzz.program import Statement
from tests.random.fuzz.script import script
from tests.random.fuzz.shrink import shrink

BLOCK = 10


@pytest.mark.sampled(16)
@pytest.mark.parametrize("block", range(16))
def test_random_programs(block: int) -> None:
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        case = generate(seed)
        verdict = check(case)
        if verdict.status == "differ":
            pytest.fail(
                f"seed {seed}, call {verdict.call} ({case.calls[verdict.call]}): "
                f"{verdict.message}\n{case.program.source()}"
                f"shrink it with: python -m tests.random.fuzz --seed {seed} --stop 1"
            )


# The search itself ------------------------------------------------------------------------------


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """A compiler that changes nothing."""
    return function


def wrong(change: Callable[[Any], Any]) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A compiler whose results are off by `change` in each returned array."""

    def jit(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def call(*args: Any) -> Any:
            return change_all(function(*args))

        return call

    def change_all(result: Any) -> Any:
        if isinstance(result, tuple | list):
            return type(result)(change_all(x) for x in result)
        if isinstance(result, dict):
            return {k: change_all(v) for k, v in result.items()}
        return change(result)

    return jit


def test_generation_is_deterministic() -> None:
    assert generate(7) == generate(7)
    assert len({generate(seed).program.source() for seed in range(50)}) > 45


def test_plain_numpy_agrees_with_itself() -> None:
    verdicts = [check(generate(seed), plain) for seed in range(70)]
    assert [v.message for v in verdicts if v.status == "differ"] == []
    assert sum(v.status == "unstable" for v in verdicts) < 4


def test_every_production_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: set[str] = set()

    def noting(rng: random.Random, table: Any) -> Any:
        production = weighted(rng, table)
        seen.add(getattr(production, "__name__", ""))
        return production

    monkeypatch.setattr("tests.random.fuzz.generate.weighted", noting)
    for seed in range(150):
        generate(seed)
    assert {production.__name__ for production in PRODUCTIONS} <= seen


CHANGES: dict[str, Callable[[Any], Any]] = {
    "relative error": lambda x: x * type(x)(1 + 1e-4) if isinstance(x, np.float64) else x,
    "last bit": lambda x: np.nextafter(x, np.inf) if exact_float(x) else x,
    "sign of zero": lambda x: x + 0.0 if exact_float(x) else x,
    "dtype": lambda x: x.astype(np.float32) if exact_float(x) else x,
    "array for scalar": lambda x: np.asarray(x) if isinstance(x, np.generic) else x,
    "copy for view": lambda x: x.copy() if isinstance(x, np.ndarray) else x,
    "exception": lambda x: x.reshape(-7) if isinstance(x, np.ndarray) and x.ndim == 2 else x,
}


def exact_float(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == np.float64


@pytest.mark.parametrize("name", CHANGES)
def test_a_wrong_compiler_is_found(name: str) -> None:
    jit = wrong(CHANGES[name])
    assert any(check(generate(seed), jit).status == "differ" for seed in range(120))


def miscompile_flip(case: Case) -> bool:
    """Whether a compiler that ignores the step of reversed slices would fail on a case."""

    def jit(function: Callable[..., Any]) -> Callable[..., Any]:
        text = case.program.source().replace("::-1]", "::1]")
        namespace: dict[str, Any] = dict(function.__globals__)
        exec(text, namespace)
        compiled: Callable[..., Any] = namespace["f"]
        return compiled

    return check(case, jit).status == "differ"


def test_shrinking() -> None:
    case = next(
        case
        for case in map(generate, range(400))
        if len(case.program.statements) > 5 and miscompile_flip(case)
    )
    small = shrink(case, miscompile_flip)
    assert miscompile_flip(small)
    assert len(small.calls) == 1
    assert len(small.program.statements) <= 2
    assert len(small.program.inputs) == 1
    assert "::-1" in small.program.source()


def test_scripts_run(tmp_path: Path) -> None:
    for seed in range(3):
        text = script(generate(seed), 'a "reason" \\ here')
        text = text.replace("import tracejit\n", "").replace("tracejit.jit(f)", "f")
        text = text.replace("print(jitted.report())\n", "")
        path = tmp_path / f"case_{seed}.py"
        path.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, "-W", "ignore", path], capture_output=True, text=True, check=True
        )
        lines = done.stdout.replace("compiled", "plain")
        assert lines.count("plain ") >= 2 * len(generate(seed).calls)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_crash_and_an_exception_are_verdicts() -> None:
    def dying(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args: os._exit(7)

    assert "exit code 7" in isolated(generate(0), dying).message
    assert isolated(generate(0), plain).status == "agree"


def test_kinds_of_difference() -> None:
    def kind(message: str) -> str:
        return Verdict("differ", message).kind

    assert kind("v1: 2 of 3 elements differ (exact, float64)\n  [0]") == kind(
        "v7: 1 of 9 elements differ"
    )
    assert kind("results share memory with other arrays: expected [], got [1]") != kind(
        "v1: 2 of 3"
    )
    assert kind("expected IndexError('x'), got None") != kind("expected ValueError('x'), got None")
    assert kind("v0: expected numpy.float64, got float") != kind(
        "v0: expected dtype float64, got x"
    )


def test_a_statement_reads_variables_only() -> None:
    statement = Statement("v1", "np.sum(x0[len(v0):]) + abs(x1)")
    assert sorted(statement.reads) == ["v0", "x0", "x1"]
