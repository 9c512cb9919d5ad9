"""The comparison helper accepts what agrees and rejects what does not."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.support.compare import (
    Mismatch,
    Outcome,
    assert_same,
    assert_same_outcome,
    clone,
    run,
    sharing,
)


@dataclasses.dataclass
class Pair:
    left: np.ndarray
    right: float


NEXT = np.nextafter(1.0, 2.0)

DIFFERENT = {
    "array for scalar": (np.float64(1), np.array(1.0)),
    "Python float for scalar": (1.0, np.float64(1)),
    "int for bool": (True, 1),
    "dtype": (np.zeros(3), np.zeros(3, np.float32)),
    "shape": (np.zeros((3, 1)), np.zeros(3)),
    "zero-size shape": (np.zeros((0, 2)), np.zeros((2, 0))),
    "last bit": (np.array([1.0]), np.array([NEXT])),
    "sign of zero": (np.array([0.0]), np.array([-0.0])),
    "sign of a complex zero": (np.array([0j]), np.array([-0j])),
    "NaN for number": (np.array([1.0]), np.array([np.nan])),
    "half a NaN": (np.array([complex(np.nan, 1)]), np.array([complex(np.nan, 2)])),
    "integer": (np.array([1, 2]), np.array([1, 3])),
    "list for tuple": ((1, 2), [1, 2]),
    "length": ((1, 2), (1, 2, 3)),
    "key order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "nested": ({"a": [np.ones(2)]}, {"a": [np.zeros(2)]}),
    "field": (Pair(np.ones(2), 1.0), Pair(np.ones(2), 2.0)),
    "None": (None, 0),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_exact_rejects(name: str) -> None:
    expected, actual = DIFFERENT[name]
    assert_same(expected, expected)
    assert_same(actual, actual)
    with pytest.raises(Mismatch):
        assert_same(expected, actual)


def test_nan_matches_whatever_its_sign() -> None:
    assert_same(np.array([np.nan]), -np.array([np.nan]))
    assert_same(complex(np.nan, 1), complex(-np.nan, 1))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble])
def test_ulp(dtype: type) -> None:
    one: np.ndarray = np.ones(1, dtype)
    near, far = one + 2 * np.spacing(one), one + 3 * np.spacing(one)
    assert_same(one, near, "ulp", ulp=2)
    with pytest.raises(Mismatch):
        assert_same(one, far, "ulp", ulp=2)
    for wrong in (np.inf, np.nan):
        with pytest.raises(Mismatch):
            assert_same(one, one * dtype(wrong), "ulp", ulp=2)
        with pytest.raises(Mismatch):
            assert_same(one * dtype(wrong), one, "ulp", ulp=2)
    with pytest.raises(Mismatch):
        assert_same(one * 0, one * dtype(-0.0), "ulp", ulp=2)


def test_complex_ulp_is_relative_to_the_modulus() -> None:
    z = np.array([1 + 1e-20j])
    assert_same(z, z + 1e-17j, "ulp", ulp=1)
    with pytest.raises(Mismatch):
        assert_same(z, z + 1e-15j, "ulp", ulp=1)


def test_order() -> None:
    expected, actual = np.array([1e-16, 1.0]), np.array([0.0, 1.0])
    assert_same(expected, actual, "order")
    with pytest.raises(Mismatch):
        assert_same(expected[:1], actual[:1], "order")
    assert_same(expected[:1], actual[:1], "order", scale=1.0)
    with pytest.raises(Mismatch):
        assert_same(expected, actual, "order", scale=np.array([1e-10, 1.0]))
    with pytest.raises(Mismatch):
        assert_same(np.array([np.inf]), np.array([1.0]), "order", scale=1e300)


def test_order_with_a_reference_allows_twice_the_error_of_numpy() -> None:
    truth = np.array([1.0], np.longdouble)
    expected = np.array([1.0 + 1e-9])
    assert_same(expected, np.array([1.0]), "order", reference=truth)
    with pytest.raises(Mismatch):
        assert_same(expected, np.array([1.0 - 3e-9]), "order", reference=truth)


def test_bound_and_ignore() -> None:
    expected, actual = (np.array([1.0, 2.0]), 3), (np.array([1.5, 2.0]), 3)
    assert_same(expected, actual, "bound", tolerance=(np.array([0.5, 0]), 0))
    with pytest.raises(Mismatch):
        assert_same(expected, actual, "bound", tolerance=(np.array([0.4, 9]), 0))
    assert_same(expected, actual, ignore=(np.array([True, False]), None))
    with pytest.raises(Mismatch):
        assert_same(expected, actual, ignore=(np.array([False, True]), None))


def test_clone_keeps_layout_and_shared_memory() -> None:
    memory = np.arange(24.0).reshape(4, 6)
    locked = memory[1]
    locked.flags.writeable = False
    tree = {
        "views": [memory, memory[::-1, ::2], memory.T, locked, np.broadcast_to(memory[0], (3, 6))],
        "others": (np.asfortranarray(memory), np.zeros((0, 3))[:, ::-1], np.array(2.0), memory),
    }
    copied = clone(tree)
    assert_same(tree, copied)
    for old, new in zip(tree["views"], copied["views"], strict=True):
        assert old.strides == new.strides
        assert old.flags.writeable == new.flags.writeable
        assert not np.shares_memory(old, new)
    assert copied["others"][0].flags.f_contiguous
    assert copied["others"][-1] is copied["views"][0]
    copied["views"][2][0, 1] = -1
    assert copied["views"][0][1, 0] == -1
    assert memory[1, 0] == 6


def test_outcome_sees_exceptions_mutation_and_sharing() -> None:
    def outcome(f: Callable[..., Any]) -> Outcome:
        return run(f, (np.arange(4.0),))

    plain = outcome(lambda x: x + 1)
    assert_same_outcome(plain, outcome(lambda x: 1 + x))

    def mutate(x: np.ndarray) -> np.ndarray:
        x[0] = 7
        return np.arange(4.0) + 1

    different = [mutate, lambda x: x[9], lambda x: x + 2]
    for f in different:
        with pytest.raises(Mismatch):
            assert_same_outcome(plain, outcome(f))
    with pytest.raises(Mismatch):
        assert_same_outcome(outcome(lambda x: x[9]), outcome(lambda x: x + 1))
    with pytest.raises(Mismatch):
        assert_same_outcome(outcome(lambda x: x[9]), outcome(lambda x: x.reshape(3)))
    view, copied, same = (outcome(f) for f in (lambda x: x[:], np.copy, lambda x: x))
    assert sharing(view) == {("result 0", "argument 0", False)}
    for other in (copied, same):
        with pytest.raises(Mismatch):
            assert_same_outcome(view, other)
        assert_same_outcome(view, other, check_alias=False)
    twice, apart = outcome(lambda x: (y := x + 1, y)), outcome(lambda x: (x + 1, x + 1))
    with pytest.raises(Mismatch):
        assert_same_outcome(twice, apart)
