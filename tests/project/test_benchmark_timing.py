"""The benchmark of the programs: what is timed is right, and has arguments of its own."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks import _programs_timing as timing
from benchmarks.__main__ import names
from benchmarks.programs import PROGRAMS, Program, check, named

needs_jax = pytest.mark.skipif(not importlib.util.find_spec("jax"), reason="needs JAX")


def test_the_programs_are_a_benchmark() -> None:
    assert "programs" in names() and "control_flow" in names()
    assert "program" not in names() and "_programs_timing" not in names()


def test_each_call_has_its_own_copies_of_what_it_changes() -> None:
    fresh = timing.fresh_arguments(named("gemm"), named("gemm").arguments("S"))
    one, other = fresh(), fresh()
    shared = [a is b for a, b in zip(one, other, strict=True)]
    assert shared == [True, True, False, True, True]  # alpha, beta, C, A, B
    named("gemm").kernel(*one)
    assert not np.array_equal(one[2], other[2])


def test_a_wrong_outcome_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    jit = tracejit.jit

    def off(kernel: Callable[..., Any], strict: bool) -> Callable[..., Any]:
        return jit(lambda *args: kernel(*args)[0] + 1e-3, strict=strict)

    monkeypatch.setattr(tracejit, "jit", off)
    monkeypatch.setattr(timing, "peer", lambda name: None)
    found = timing.prepare(named("bicg"), "S")
    assert list(found.runners) == ["numpy"] and found.cells == {"tracejit": "wrong"}
    found.seconds = {"numpy": [1.0]}
    table = timing.table_of("no loop", "S", [found])
    assert [target["met"] for target in table.targets] == [False, False, False]


def test_what_falls_back_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def kernel(A: np.ndarray, p: np.ndarray, r: np.ndarray) -> tuple[Any, Any]:
        eval("0")
        return r @ A, A @ p

    monkeypatch.setattr(timing, "peer", lambda name: None)
    found = timing.prepare(dataclasses.replace(named("bicg"), kernel=kernel), "S")
    assert "tracejit" in found.runners
    assert found.notes[0].startswith("bicg: tracejit ran eagerly: ")


def test_ratios_are_medians_of_rounds() -> None:
    found = timing.Outcome(named("bicg"))
    found.seconds = {"numpy": [1.0, 9.0, 2.0], "tracejit": [0.5, 9.0, 0.5]}
    assert found.ratio("tracejit") == 2.0


@needs_jax
@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_jax_versions(program: Program) -> None:
    import jax

    from benchmarks import _programs_jax as versions
    from benchmarks._programs_compilers import jax_outcome

    if program.name not in versions.VERSIONS:
        pytest.skip("no natural form for JAX")
    loose = dataclasses.replace(program, rtol=max(program.rtol, timing.PEER_RTOL))
    with jax.enable_x64(True):
        kernel = jax_outcome(versions.compiled(program.name), list(program.arguments("T")))
        check(loose, "T", lambda _: kernel)
