"""Programs of any length compile; what is nested too deeply runs eagerly, and is reported so."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import long_programs
from tests.random.control_search import load
from tests.support.compare import assert_same
from tracejit.ir.text.syntax import parse_graph, print_graph
from tracejit.runtime import nesting

pytestmark = pytest.mark.sampled(12)

TIMES = 280


def loaded(text: str, folder: Path) -> Any:
    return load(text, str(folder)).f


def codes(f: Any) -> list[str]:
    return [x.code for x in f.report().fallbacks]


@pytest.mark.sampled(18)
@pytest.mark.parametrize("name", long_programs.STATEMENTS)
def test_no_recursion_over_statements(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compiler gets no more of Python's stack than the test has."""
    monkeypatch.setattr(nesting, "_FRAMES", 0)
    monkeypatch.setenv("TRACEJIT_VERIFY", "")
    depth = 0
    frame = sys._getframe()
    while frame.f_back is not None:
        depth, frame = depth + 1, frame.f_back
    limit = sys.getrecursionlimit()
    text, args = long_programs.repeated(name, TIMES)
    f = loaded(text, tmp_path)
    jitted = tracejit.jit(f)
    expected = f(*copy.deepcopy(args))
    sys.setrecursionlimit(depth + TIMES - 50)
    try:
        actual = jitted(*copy.deepcopy(args))
    finally:
        sys.setrecursionlimit(limit)
    assert_same(expected, actual, "order", ulp=4096.0)
    assert codes(jitted) == []


@pytest.mark.parametrize("times", [2000])
def test_dependent_statements(times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACEJIT_VERIFY", "")
    text, args = long_programs.repeated("arithmetic", times)
    f = loaded(text, tmp_path)
    jitted = tracejit.jit(f)
    assert_same(f(*args), jitted(*args))
    assert codes(jitted) == []


def test_derivatives_and_text_of_long_programs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(nesting, "_FRAMES", 0)
    monkeypatch.setenv("TRACEJIT_VERIFY", "")
    text, (x,) = long_programs.repeated("calls", TIMES)
    f = loaded(text, tmp_path)

    def total(x: Any) -> Any:
        return f(x).sum()

    # Each step multiplies the derivative by cos(x).
    expected, y = np.ones_like(x), x
    for _ in range(TIMES):
        expected, y = expected * np.cos(y), np.sin(y) + 0.5
    gradient = tracejit.grad(total)
    assert_same(expected, gradient(x), "order", ulp=4096.0)
    tangent = tracejit.jvp(f, (x,), (np.ones_like(x),))[1]
    assert_same(expected, tangent, "order", ulp=4096.0)
    rows = tracejit.vmap(f)(np.stack([x, x]))
    assert_same(np.stack([y, y]), rows, "order", ulp=4096.0)
    graph = tracejit.jit(f).trace(x)
    text = print_graph(graph)
    assert print_graph(parse_graph(text)) == text


def test_an_expression_of_many_terms(tmp_path: Path) -> None:
    for f, args in (
        (loaded(long_programs.terms(1000), tmp_path), (long_programs.X,)),
        (loaded(long_programs.elifs(200), tmp_path), (long_programs.X, 17)),
        (loaded(long_programs.ifs(30), tmp_path), (long_programs.X + 20,)),
    ):
        jitted = tracejit.jit(f)
        assert_same(f(*args), jitted(*args))
        assert codes(jitted) == []


@pytest.mark.parametrize(
    ("text", "code"),
    [(long_programs.returns(200), "TJ008"), (long_programs.doubling(12), "TJ032")],
    ids=["returns", "doubling"],
)
def test_what_is_too_much_runs_eagerly(text: str, code: str, tmp_path: Path) -> None:
    f = loaded(text, tmp_path)
    jitted = tracejit.jit(f)
    for _ in range(2):
        assert_same(f(long_programs.X), jitted(long_programs.X))
    assert codes(jitted) == [code]


def test_containers_nested_deeply() -> None:
    x = long_programs.X
    boxed, unboxed = map(tracejit.jit, (long_programs.boxed, long_programs.unboxed))
    for _ in range(2):
        assert_same(long_programs.boxed(x), boxed(x))
        assert_same(long_programs.unboxed(boxed(x)), unboxed(boxed(x)))
    assert {*codes(boxed), *codes(unboxed)} == {"TJ003"}


def test_text_of_a_list_in_itself() -> None:
    jitted = tracejit.jit(long_programs.text_of_itself)
    assert_same(long_programs.text_of_itself(long_programs.X), jitted(long_programs.X))
    assert codes(jitted) == ["TJ008"]


@pytest.mark.parametrize(
    ("name", "deep"),
    [
        ("factorial", 700),
        ("is_even", 700),
        ("lowered", np.full(2, 700.0)),
        ("depth_of", long_programs.nested(700)),
    ],
)
def test_recursion_goes_as_deep_as_in_python(name: str, deep: Any) -> None:
    jitted = getattr(long_programs, name)
    limit = sys.getrecursionlimit()
    with pytest.MonkeyPatch.context() as patch:
        for each in ("factorial", "is_even", "is_odd", "lowered", "depth_of"):
            patch.setattr(long_programs, each, getattr(long_programs, each).__tracejit__)
        expected = getattr(long_programs, name)(deep)
    for _ in range(2):
        assert_same(expected, jitted(deep))
    with tracejit.eager():
        assert_same(expected, jitted(deep))
    assert sys.getrecursionlimit() == limit


@pytest.mark.compiles
def test_the_dispatcher_returns_after_a_deep_recursion() -> None:
    """Calls of a function that has recursed deeply are answered by compiled code as before."""
    f = tracejit.jit(long_programs.lowered.__tracejit__)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(long_programs, "lowered", f)
        f(np.full(2, 3.0))
        f(np.full(2, 300.0))
        before = f.report().bailouts
        with pytest.raises(RecursionError):
            f(np.full(2, 5000.0))
        assert f.report().bailouts > before
        after = f.report().bailouts
        assert_same(np.full(2, 3.5), f(np.full(2, 3.5)))
        assert f.report().bailouts == after
