"""Heaps, queues, dicts and sets over data: what they hold, in which order, of which classes."""

from __future__ import annotations

import copy
import heapq
import warnings
from collections import deque
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import container_programs


def _outcome(f: Any, args: tuple[Any, ...]) -> Any:
    """What a call gives or raises, and what its arguments are then; all by class and content."""
    try:
        result = described(f(*args))
    except Exception as e:
        result = type(e), str(e)
    return result, described(args)


def described(x: Any) -> Any:
    """Classes and contents, in the order of iteration."""
    if isinstance(x, np.ndarray):
        return x.dtype, x.shape, x.tobytes()
    if isinstance(x, dict):
        items = [(described(k), described(v)) for k, v in x.items()]
        return type(x), items, getattr(x, "default_factory", None)
    if isinstance(x, (list, tuple, set, frozenset, deque)):
        return type(x), [described(v) for v in x], getattr(x, "maxlen", None)
    if type(x).__module__.startswith("tests"):
        return type(x), described(vars(x))
    return type(x), repr(x)


@pytest.mark.sampled(45)
@pytest.mark.parametrize("name", container_programs.CASES)
def test_program(name: str) -> None:
    f, calls, eager = container_programs.CASES[name]
    jitted = tracejit.jit(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tracejit.FallbackWarning)
        for args in calls():
            own = copy.deepcopy(args)
            assert _outcome(f, args) == _outcome(jitted, own)
    report = jitted.report()
    if eager is None:
        assert report.fallbacks == [], str(report)
    else:
        assert {fallback.code for fallback in report.fallbacks} == {eager}, str(report)


@pytest.mark.parametrize("take", [heapq.heappop, lambda heap: heapq.heapreplace(heap, 1.0)])
def test_an_empty_heap_says_what_heapq_says(take: Any) -> None:
    def f(x: Any) -> Any:
        heap: list[Any] = []
        try:
            return take(heap)
        except IndexError as e:
            return str(e)

    assert tracejit.jit(f)(np.ones(3)) == f(np.ones(3))
