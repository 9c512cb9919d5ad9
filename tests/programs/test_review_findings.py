"""Programs that once gave a wrong answer, or a compiler's fault, hold against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import review_samples as samples
from tests.support.compare import assert_parity

X = np.arange(10.0)


def codes(jitted: Any) -> set[str]:
    return {f.code for f in jitted.report().fallbacks}


@pytest.mark.parametrize(
    "f",
    [
        samples.remainder_of_a_square,
        samples.slice_to_a_square,
        samples.square_beyond_a_size,
        samples.rolled,
        samples.compared_with_more_than_64_bits,
    ],
)
def test_arithmetic_on_int_arguments_leaves_64_bits_unharmed(f: Callable[..., Any]) -> None:
    jitted = tracejit.jit(f)
    for n in (3, 4, 5, 2**31, 2**32, 2**33, 2**62, 2**63 - 1, -(2**63), 7):
        assert_parity(f, X, n, jitted=jitted)
    assert "TJ013" not in codes(jitted)


def test_arithmetic_on_lengths_leaves_64_bits_unharmed() -> None:
    f = samples.cube_of_a_length
    jitted = tracejit.jit(f)
    for n in (10, 11, 3_000_000, 4_000_000, 12):
        assert_parity(f, np.zeros(n, bool), jitted=jitted)
    assert codes(jitted) == set()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: (x * 1, None),
        lambda x: (x * 1, x * 2, None, None),
        lambda x: [x * 1, None],
        lambda x: (None, x * 1),
        lambda x: (None, None),
        lambda x: (x * 1, ()),
    ],
)
def test_none_at_the_end_of_a_result_is_part_of_it(f: Callable[..., Any]) -> None:
    assert_parity(f, X, jitted=tracejit.jit(f))


def test_places_of_loops_of_several_levels_are_one_number() -> None:
    def f(x: Any) -> Any:
        k = np.arange(4)
        e = (k[:, None] == k).astype(float)
        return e[:, 1:3].sum(0) + x, e[:, 2:].sum(0), e[:, :2].sum(0)

    jitted = tracejit.jit(f)
    assert_parity(f, np.ones(2), jitted=jitted)
    assert codes(jitted) == set()


def test_the_diagonal_that_einsum_gives_is_the_array_itself() -> None:
    def f(x: Any, y: Any) -> Any:
        part = np.einsum("ii->i", x)
        part *= 2
        np.einsum(y, [0, 1, 1], [1, 0])[1] = 7
        return x, y, np.einsum(x, [2, 0], y, [0, 1, 1]), np.einsum(y, [..., 3, 1]), part

    jitted = tracejit.jit(f)
    assert_parity(f, np.arange(9.0).reshape(3, 3), np.arange(12.0).reshape(3, 2, 2), jitted=jitted)
    assert codes(jitted) == set()
    assert jitted(np.eye(3), np.ones((3, 2, 2)))[-1].flags.writeable
