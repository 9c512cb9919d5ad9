"""Texts of traced values: results are those of Python, made when the run is over."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.python.text_programs import PROGRAMS, RAISING, Run


def held(x: Any) -> Any:
    """A value for comparisons."""
    return vars(x) if isinstance(x, Run) else x


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_texts_are_results(f: Any) -> None:
    compiled = tracejit.jit(f, strict=True)
    for args in [*PROGRAMS[f], *PROGRAMS[f]]:
        given = copy.deepcopy(args), copy.deepcopy(args)
        expected, found = f(*given[0]), compiled(*given[1])
        assert repr(found) == repr(expected)
        assert [repr(held(x)) for x in given[1]] == [repr(held(x)) for x in given[0]]


@pytest.mark.parametrize("f", RAISING, ids=lambda f: f.__name__)
def test_where_making_a_text_may_raise_python_makes_it(f: Any) -> None:
    compiled, plain, given = tracejit.jit(f), RAISING[f].copy(), RAISING[f].copy()
    with pytest.raises((TypeError, ValueError)) as expected:
        f(plain)
    with pytest.raises(expected.type):
        compiled(given)
    np.testing.assert_array_equal(given, plain)
    assert [x.code for x in compiled.report().fallbacks] == ["TJ021"]


def test_the_options_of_printing_are_those_of_the_call() -> None:
    compiled = tracejit.jit(lambda x: str(x / 3), strict=True)
    x = np.ones(2)
    assert compiled(x) == "[0.33333333 0.33333333]"
    with np.printoptions(precision=2):
        assert compiled(x) == "[0.33 0.33]"
