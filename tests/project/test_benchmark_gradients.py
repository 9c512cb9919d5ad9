"""The benchmark of gradients: every gradient that it measures is right and compiled."""

from __future__ import annotations

import dataclasses
import importlib.util
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from benchmarks import _gradient_losses as losses
from benchmarks import _gradient_memory as memory
from benchmarks import _gradient_peers as peers
from benchmarks import gradients
from benchmarks.__main__ import names
from benchmarks._gradient_programs import LOOPS, VECTORISED
from benchmarks._programs_timing import Runner, limited
from benchmarks.harness import Table
from benchmarks.programs import PROGRAMS, Program, named

WITHOUT = {"floyd_warshall": "its arrays are integers", "mandelbrot": "it takes no arrays"}
OTHERS = [p for p in (*VECTORISED, *LOOPS) if p not in PROGRAMS]
CHECKED = [p for p in PROGRAMS if p.name not in WITHOUT] + OTHERS
EACH_PEER = pytest.mark.parametrize("program", [*VECTORISED, *LOOPS], ids=lambda p: p.name)


def needs(name: str) -> Any:
    return pytest.mark.skipif(not importlib.util.find_spec(name), reason=f"needs {name}")


def test_it_is_a_benchmark() -> None:
    assert "gradients" in names()
    assert not any(name.startswith("_gradient") for name in names())


def test_which_programs_have_no_gradient() -> None:
    found = {p.name: losses.reason_against(p) for p in PROGRAMS}
    assert {name: reason for name, reason in found.items() if reason} == WITHOUT


@pytest.mark.sampled(30)
@pytest.mark.parametrize("program", CHECKED, ids=lambda p: p.name)
def test_gradients_are_right_and_compiled(program: Program) -> None:
    assert gradients.check_program(program) == []


@pytest.mark.parametrize("name", ["gemm", "stockham", "cholesky"])
def test_a_wrong_gradient_is_found(name: str) -> None:
    d = losses.differentiable(named(name), "S")
    right = gradients.compiled_gradient(d)[1]
    losses.check_gradient(d, right)
    for array, x in right.items():
        if not x.any():
            continue
        with pytest.raises(losses.WrongGradient, match=f"^{name}: by {array}: "):
            losses.check_gradient(d, {**right, array: x * (1 + 1e-5)})
        one = x.copy()
        one.flat[np.abs(x).argmax()] *= 1.01
        with pytest.raises(losses.WrongGradient, match=f"^{name}: by {array}: "):
            losses.check_gradient(d, {**right, array: one})
        with pytest.raises(losses.WrongGradient, match="float32"):
            narrow = x.astype(np.complex64 if x.dtype.kind == "c" else np.float32)
            losses.check_gradient(d, {**right, array: narrow.real.astype(np.float32)})


def test_slopes_are_taken_where_the_path_is_the_same() -> None:
    def function(t: float) -> tuple[float, int]:
        return (np.exp(2.0 * t), 0) if abs(t) < 1e-4 else (7.0, 1)

    found, error = losses.slope(function)
    assert abs(found - 2.0) <= error < 1e-6


def test_a_wrong_program_is_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = tracejit.value_and_grad

    def off(loss: Callable[..., Any]) -> Any:
        function = real(loss)

        def called(*args: Any) -> Any:
            value, gradient = function(*args)
            return value, {name: 1.001 * x for name, x in gradient.items()}

        called.report = function.report  # type: ignore[attr-defined]
        return called

    monkeypatch.setattr(tracejit, "value_and_grad", off)
    table = gradients.of_programs([named("bicg"), named("mandelbrot")], "S", 1)
    assert table.rows[0] == {"": "bicg", "outcome": "wrong"}
    assert table.notes[0].startswith("bicg: by A: ")
    assert table.notes[1] == "mandelbrot: not differentiated: it takes no arrays"
    assert [target["met"] for target in table.targets] == [False, False, False]


def test_a_program_in_the_table() -> None:
    table = gradients.of_programs([named("bicg")], "S", 1)
    assert table.rows[0]["outcome"] == "compiled" and table.rows[1][""] == "geometric mean"
    assert table.rows[1]["ratio"] == pytest.approx(table.rows[0]["ratio"])
    assert table.notes == []


def test_what_falls_back_is_noted() -> None:
    def kernel(A: np.ndarray, p: np.ndarray, r: np.ndarray) -> tuple[Any, Any]:
        eval("0")
        return r @ A, A @ p

    table = gradients.of_programs([dataclasses.replace(named("bicg"), kernel=kernel)], "S", 1)
    assert table.rows[0]["outcome"] == "eager"
    assert table.notes[0].startswith("bicg: ran eagerly: ")


def test_long_calls_are_stopped() -> None:
    @tracejit.jit
    def endless(x: float) -> float:
        while abs(x - 0.75) > 0.0:
            x = 3.7 * x * (1.0 - x)
        return x

    endless(0.75)
    start = time.monotonic()
    with pytest.raises(TimeoutError), limited(0.2):
        endless(0.5)
    assert time.monotonic() - start < 30.0


@needs("jax")
@pytest.mark.filterwarnings("default")
@EACH_PEER
def test_jax_gives_the_same(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    import jax

    monkeypatch.setattr(peers, "peer", lambda name: name == "jax")
    with jax.enable_x64(True):
        found = peers.contest(program, "S", False)
    assert list(found.runners) == ["tracejit", "value", "jax"] and found.notes == []


@needs("torch")
@pytest.mark.filterwarnings("default")
@EACH_PEER
def test_torch_gives_the_same(program: Program, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "peer", lambda name: name == "torch")
    found = peers.contest(program, "S", False)
    assert list(found.runners) == ["tracejit", "value", "torch"] and found.notes == []


@pytest.mark.filterwarnings("default")
def test_greeks(monkeypatch: pytest.MonkeyPatch) -> None:
    installed = [name for name in ("torch",) if importlib.util.find_spec(name)]
    monkeypatch.setattr(peers, "peer", lambda name: name in installed)
    found = peers.greeks("S")
    assert list(found.runners) == ["tracejit", *installed] and found.notes == []
    spot, volatility, h = 100.0, 0.3, 1e-5
    row = (spot, 110.0, 1.5, 0.02, volatility)
    value, slopes = tracejit.value_and_grad(peers.black_scholes, argnums=(0, 4))(*row)
    up, down = (peers.black_scholes(spot + e, *row[1:]) for e in (h, -h))
    np.testing.assert_allclose(slopes[0], (up - down) / (2 * h), rtol=1e-7)
    assert value == peers.black_scholes(*row)


def test_a_peer_that_differs_does_not_take_part() -> None:
    d = losses.differentiable(named("bicg"), "S")
    found = peers.Contest("bicg", tracejit.value_and_grad(d.loss), d.fresh)
    value, gradient = tracejit.value_and_grad(d.loss)(*d.fresh())
    found.add("jax", lambda: lambda: (value, {k: 1.001 * x for k, x in gradient.items()}))
    found.add("torch", lambda: 1 / 0)  # type: ignore[arg-type, return-value]
    assert list(found.runners) == ["tracejit"]
    assert found.notes == [
        "bicg: jax is off by 0.001",
        "bicg: not for torch: ZeroDivisionError: division by zero",
    ]
    row = found.row(1)
    assert row["jax ms"] == "-" and row["tracejit ms"] > 0  # type: ignore[operator]


def test_tables_of_peers_have_targets() -> None:
    contest = peers.Contest.__new__(peers.Contest)
    contest.name, contest.numbers, contest.notes = "one", 3, []
    contest.runners = {
        name: Runner(lambda: sum(range(100)), list) for name in ("tracejit", "value", "jax")
    }
    table = peers.table_of("title", [contest], 3, 10.0)
    assert [target["bound"] for target in table.targets] == [">= 10", ">= 10"]
    assert table.rows[0]["differences ms"] > 0  # type: ignore[operator]


@pytest.mark.compiles
def test_memory_kept() -> None:
    assert memory.room(memory.linear, 50) == (0, True)
    few, many = (memory.room(memory.nonlinear, steps)[0] for steps in (50, 800))
    assert few >= 50 * 8 * (memory.POINTS - 2) and many >= 12 * few
    few, many = (memory.room(memory.rematerialised, steps)[0] for steps in (49, 784))
    assert 0 < many <= 6 * few


def test_rematerialising_changes_no_gradient() -> None:
    u = np.linspace(0.0, 1.0, 30)
    kept, again = (
        tracejit.value_and_grad(f)(u.copy(), 16) for f in (memory.nonlinear, memory.rematerialised)
    )
    np.testing.assert_allclose(kept[0], again[0], rtol=1e-14)
    np.testing.assert_allclose(kept[1], again[1], rtol=1e-12)


def test_growth_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "PROGRAMS", [named("bicg"), named("mandelbrot")])
    table = memory.growth(10)
    assert isinstance(table, Table) and [row[""] for row in table.rows] == ["bicg"]
