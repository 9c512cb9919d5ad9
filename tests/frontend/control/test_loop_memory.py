"""Arrays that loops and branches leave under several names: a store into one shows in all."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.control import loop_memory_samples as samples
from tests.support.compare import assert_same

OF_TWO = [samples.view_of_one_of_two, samples.returned_view_of_one_of_two]
OF_ONE = [
    samples.both_names_of_a_sum,
    samples.array_and_its_view,
    samples.pair_from_a_helper,
    samples.tuple_of_one_array_twice,
    samples.dict_entries_of_one_array,
    samples.view_of_the_array_before,
    samples.store_through_the_first_name,
    samples.previous_and_current,
]
OF_CHOICES = [
    samples.view_of_a_choice,
    samples.returned_view_of_a_choice,
    samples.transpose_of_a_choice,
    samples.reshape_of_a_choice,
    samples.list_with_a_choice,
    samples.choice_in_a_helper,
    samples.rows_of_a_choice,
]
#: Whose result is one of the arrays that a loop carries, and whether that is compiled.
OF_SEVERAL = {
    samples.next_of_two: True,
    samples.last_of_two: True,
    samples.last_and_next: False,
    samples.best_of_candidates: True,
    samples.best_and_current: False,
    samples.best_beside_a_store: False,
    samples.best_of_nested_loops: False,
    samples.exchanged_or_shared: True,
}
ARRAY = np.arange(4.0)


def _same(f: Callable[..., Any], jitted: Any, args: tuple[Any, ...]) -> None:
    plain, compiled = copy.deepcopy(args), copy.deepcopy(args)
    expected, actual = f(*plain), jitted(*compiled)
    assert_same(expected, actual)
    assert_same(plain, compiled)
    arrays = [x for x in plain if isinstance(x, np.ndarray)]
    others = [x for x in compiled if isinstance(x, np.ndarray)]
    results = expected if isinstance(expected, tuple) else (expected,)
    given = actual if isinstance(actual, tuple) else (actual,)
    for a, b in zip((*results, *arrays), (*given, *others), strict=True):
        for c, d in zip((*results, *arrays), (*given, *others), strict=True):
            assert np.shares_memory(a, c) == np.shares_memory(b, d)


@pytest.mark.parametrize("f", OF_TWO, ids=lambda f: f.__name__)
def test_a_view_of_one_of_two_arguments(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    for n in (1, 0, 5):
        for k in (0, 1, 2, 3):
            _same(f, jitted, (ARRAY, ARRAY + 9, n, k))


@pytest.mark.parametrize("f", OF_ONE, ids=lambda f: f.__name__)
def test_names_of_one_array(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    for k in (0, 1, 2, 3):
        _same(f, jitted, (ARRAY, np.ones(4), k))


@pytest.mark.parametrize("f", OF_SEVERAL, ids=lambda f: f.__name__)
def test_one_of_several_arrays_of_a_loop(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    for n in (12, 12, 0, 1, 2, 5, 30):
        _same(f, jitted, (ARRAY + 1, n))
    assert (jitted.report().fallbacks == []) is OF_SEVERAL[f], str(jitted.report())


def test_two_names_bound_at_once() -> None:
    jitted = tracejit.jit(samples.two_names_of_one_array)
    for k in (0, 1, 3):
        _same(samples.two_names_of_one_array, jitted, (np.arange(6.0), k))


def test_a_view_is_read_after_its_base_changes() -> None:
    jitted = tracejit.jit(samples.view_read_after_a_store)
    for n in (1, -1):
        for k in (0, 1, 3):
            _same(samples.view_read_after_a_store, jitted, (np.arange(5.0), n, k))


@pytest.mark.parametrize("f", OF_CHOICES, ids=lambda f: f.__name__)
def test_what_is_taken_of_one_of_two_arrays_sees_stores(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    for p in (1.0, -1.0, 2.0):
        _same(f, jitted, (ARRAY + 1, p))
