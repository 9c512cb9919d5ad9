"""Bounds checks: what fails as NumPy fails, what is tested in front of a loop, what is left out."""

from __future__ import annotations

import linecache
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.passes.bounds_samples import CASES, UNREAD
from tests.support.compare import assert_same
from tracejit.ir.graph import Graph, Node

NAMED = [pytest.param(f, calls, id=f.__name__) for f, calls in CASES]


def outcome(f: Callable[..., Any], args: tuple[Any, ...], capfd: Any) -> tuple[Any, ...]:
    """Result or exception with its line, the arguments afterwards, and what was printed."""
    given = tuple(a.copy() for a in args)
    result, error = None, None
    try:
        result = f(*given)
    except IndexError as e:
        last = traceback.extract_tb(e.__traceback__)[-1]
        error = str(e), linecache.getline(last.filename, last.lineno or 0).strip()
    return result, error, given, capfd.readouterr().out


@pytest.mark.parametrize("f, calls", NAMED)
def test_loops_do_what_numpy_does_in_range_and_out_of_it(
    f: Callable[..., Any], calls: list[tuple[Any, ...]], capfd: Any
) -> None:
    jitted = tracejit.jit(f)
    for args in calls:
        expected, found = outcome(f, args, capfd), outcome(jitted, args, capfd)
        assert found[1] == expected[1] and found[3] == expected[3], args
        if expected[1] is None:
            assert_same(found[0], expected[0])
        for a, b in zip(found[2], expected[2], strict=True):
            assert_same(a, b)
    assert jitted.report().compiles and not jitted.report().fallbacks


@pytest.mark.parametrize("f, calls", NAMED)
def test_without_checks_what_is_in_range_is_the_same(
    f: Callable[..., Any], calls: list[tuple[Any, ...]], capfd: Any
) -> None:
    jitted = tracejit.jit(f, bounds_check=False)
    for args in calls:
        expected = outcome(f, args, capfd)
        if expected[1] is None:
            found = outcome(jitted, args, capfd)
            assert_same(found[0], expected[0])
            assert found[3] == expected[3]
            for a, b in zip(found[2], expected[2], strict=True):
                assert_same(a, b)


# Where checks remain -----------------------------------------------------------------------------


def nodes(graph: Graph) -> list[Node]:
    """All nodes, those of regions too."""
    return [x for n in graph.nodes for x in (n, *(y for r in n.regions for y in nodes(r)))]


def versions(f: Callable[..., Any], args: tuple[Any, ...]) -> list[tuple[int, int]]:
    """For each loop with two versions how many index operands the fast one has, and the other."""
    graph = tracejit.jit(f).lower(*args).graphs["hoist_checks"]
    found = []
    for node in nodes(graph):
        if node.attrs.get("unlikely") == 1:
            counts = [
                sum(n.attrs["at"].count(None) for n in nodes(r) if "at" in n.attrs)
                for r in node.regions
            ]
            found.append((counts[0], counts[1]))
    return found


@pytest.mark.parametrize(
    "name, expected",
    [
        ("shifted", [(0, 2)]),
        ("scaled", [(0, 2)]),
        ("downwards", [(0, 3)]),
        ("with_step", [(0, 2)]),
        ("stencil", [(0, 12)]),
        ("triangle", [(0, 6)]),
        ("flattened", [(0, 1)]),
        ("rows", [(0, 1)]),
        ("until", [(0, 2)]),
        ("beside_data", [(2, 3)]),
        ("printing", [(0, 4)]),
        ("twice", [(0, 2), (0, 2)]),
    ],
)
def test_indices_that_count_are_tested_in_front_of_the_loop(
    name: str, expected: list[tuple[int, int]]
) -> None:
    f, calls = next((f, calls) for f, calls in CASES if f.__name__ == name)
    assert versions(f, calls[0]) == expected


# The option --------------------------------------------------------------------------------------


def gathered(x: Any, index: Any) -> Any:
    return x[index] * 2


def scattered(x: Any, index: Any) -> Any:
    y = x.copy()
    y[index] = 0.0
    return y


@pytest.mark.parametrize("f", [gathered, scattered])
def test_index_arrays_count_from_the_end_without_checks(f: Callable[..., Any]) -> None:
    x, index = np.arange(6.0), np.array([0, -1, 5, -6])
    unchecked = tracejit.jit(f, bounds_check=False)
    assert_same(unchecked(x, index), f(x, index))
    text, usual = (j.lower(x, index).text("llvm") for j in (unchecked, tracejit.jit(f)))
    assert ".failed" in text and "icmp uge" not in text and "icmp uge" in usual


@pytest.mark.compiles
def test_the_report_says_what_does_not_check() -> None:
    x, index = np.arange(6.0), np.array([1])
    unchecked, usual = tracejit.jit(bounds_check=False)(gathered), tracejit.jit(gathered)
    unchecked(x, index)
    usual(x, index)
    assert "bounds not checked" in str(unchecked.report())
    assert "bounds not checked" not in str(usual.report())
    assert [c.bounds_check for c in unchecked.report().variants] == [False]


def test_options_of_what_is_jitted_already_are_kept() -> None:
    unchecked = tracejit.jit(gathered, bounds_check=False)
    assert tracejit.jit(unchecked) is unchecked
    both = tracejit.jit(unchecked, strict=True)
    assert both is not unchecked
    both(np.arange(3.0), np.array([1]))
    assert [c.bounds_check for c in both.report().variants] == [False]


def test_a_failing_index_is_numpys_error_with_checks() -> None:
    x, index = np.arange(6.0), np.array([1, 6])
    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 6"):
        tracejit.jit(gathered)(x, index)


def test_arguments_are_saved_only_where_the_loop_checks() -> None:
    f, calls = next((f, calls) for f, calls in CASES if f.__name__ == "stencil")
    text = tracejit.jit(f).lower(*calls[0]).text("llvm")
    before, after = text[text.index("@tj_program") :].split(", !prof", 1)
    assert "@tj_take" not in before
    # The fast version comes first.
    fast, checked = after[: after.index("@tj_take")], after[after.index("@tj_take") :]
    assert "%bail" not in fast and "%bail" in checked and "store double" in fast


@pytest.mark.parametrize("f", UNREAD)
def test_elements_that_are_stored_over_are_checked(f: Callable[..., Any]) -> None:
    x, jitted = np.arange(3.0), tracejit.jit(f)
    for n in (0, 1, 2):
        index = np.array([0, -3, 2])
        assert_same(f(x, index, n), jitted(x, index, n))
        for at in range(3):
            wrong = index.copy()
            wrong[at] = 3
            with pytest.raises(IndexError, match="index 3 is out of bounds"):
                jitted(x, wrong, n)
    assert not jitted.report().fallbacks
