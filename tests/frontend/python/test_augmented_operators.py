"""`x op= y` stores what NumPy stores, or raises NumPy's error and leaves x alone."""

from __future__ import annotations

import operator

import numpy as np
import pytest

import tracejit
from tests.frontend.python.augmented_table import FORMS, NAMES, Case, check_all, part
from tests.support.sampling import sampled

#: The cases that pytest checks: one in so many.
PARTS = 120


def test_table_of_augmented_operators() -> None:
    """The whole table: python -m tests.frontend.python.augmented_table."""
    chosen = part(0, PARTS)
    assert {c.form for c in chosen} == set(FORMS) and {c.op for c in chosen} == set(NAMES)
    now = sampled(chosen, 4, name=repr, kind=lambda c: c.form)
    wrong = [f"{case}: {text}" for case, text, _ in check_all(now) if text]
    assert not wrong, "\n".join(wrong)


def test_results_are_not_broadcast_into_the_operand() -> None:
    """A result with more axes, or with longer ones, is refused as NumPy refuses it."""
    shapes = [((2, 3), (3, 1)), ((3,), (3, 1)), ((2, 2), (2,)), ((3,), (1, 3)), ((), (1,))]
    shapes += [((1, 3), (3, 3)), ((3, 1), (3, 3)), ((2, 2), (1, 2, 2)), ((1, 2, 2), (3, 2, 2))]
    chosen = [
        Case(form, op, (x, "f8"), (y, "f8"))
        for x, y in shapes
        for op in ("+", "@")
        for form in ("name", "function", "all", "made", "attribute", "branch")
    ]
    wrong = [f"{case}: {text}" for case, text, _ in check_all(chosen) if text]
    assert not wrong, "\n".join(wrong)


def test_sizes_known_at_run_time_are_checked() -> None:
    @tracejit.jit
    def add(x, y):
        v = x[x > 0]
        v += y[y > 0]
        return v

    x, y = np.array([1.0, -1.0, 2.0]), np.array([3.0, 4.0, -1.0])
    np.testing.assert_array_equal(add(x, y), [4.0, 6.0])
    np.testing.assert_array_equal(add(x, np.array([5.0, -1.0, -1.0])), [6.0, 7.0])
    with pytest.raises(ValueError, match="non-broadcastable"):
        add(np.array([1.0, -1.0, -1.0]), y)


def test_products_into_stacks() -> None:
    @tracejit.jit
    def product(x):
        out = np.zeros((3, 2, 2))
        np.matmul(x, x, out=out)
        return out

    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(product(x), [x @ x] * 3)
    assert [e.code for e in product.report().fallbacks] == ["TJ004"]
    assert operator.imatmul(x.copy(), x)[0, 0] == 7.0
