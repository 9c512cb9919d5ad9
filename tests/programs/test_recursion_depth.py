"""Calls within each other, as many as Python allows where the call stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tracejit
from tracejit.runtime.compile import worth


def even(n: Any) -> Any:
    return True if n == 0 else odd(n - 1)


def odd(n: Any) -> Any:
    return False if n == 0 else even(n - 1)


def count(n: Any) -> Any:
    return 0 if n <= 0 else 1 + count(n - 1)


def by_helper(n: Any) -> Any:
    return 0 if n <= 0 else 1 + helped(n - 1)


def helped(n: Any) -> Any:
    return by_helper(n)


def by_list(n: Any) -> Any:
    return 0 if n <= 0 else 1 + [by_list(k) for k in (n - 1,)][0]


def by_sum(n: Any) -> Any:
    return 0 if n <= 0 else 1 + sum(by_sum(k) for k in (n - 1,))


class Pair:
    def first(self, n: Any) -> Any:
        return 0 if n <= 0 else 1 + self.second(n - 1)

    def second(self, n: Any) -> Any:
        return self.first(n)


def by_methods(n: Any) -> Any:
    return Pair().first(n)


def handled(n: Any) -> Any:
    try:
        return count(n)
    except RecursionError:
        return -1


def at_depth(k: int, f: Callable[[Any], Any], n: Any) -> Any:
    return f(n) if k == 0 else at_depth(k - 1, f, n)


def outcome(f: Callable[[Any], Any], n: Any, depth: int) -> Any:
    try:
        found = at_depth(depth, f, n)
    except RecursionError as e:
        return type(e)  # The text says where it happened.
    return type(found), found


@pytest.mark.parametrize(
    "f", [even, count, by_helper, by_list, by_sum, by_methods, handled], ids=lambda f: f.__name__
)
def test_too_many_calls(f: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worth, "_OPERATION", float("inf"))
    jitted = tracejit.jit(f)
    for n in (4, 7, 7.0, 300, 480, 600, 900.0, 1100, 1500):
        for depth in (0, 400):
            expected = outcome(f, n, depth)
            assert outcome(jitted, n, depth) == expected, (n, depth)
