"""Attributes of functions: afterwards as Python leaves them."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs.function_programs import ATTRIBUTES, PROGRAMS


def outcomes(f: Any) -> list[Any]:
    """What calls give, and what the functions hold after each."""
    for function, held in ATTRIBUTES.items():
        vars(function).clear()
        vars(function).update(copy.deepcopy(held))
    found = []
    for x in (np.array([0.5, 1.5, -2.0]), np.array([-0.5, 1.0, 2.0]), np.ones(3), np.ones(3)):
        try:
            result = f(x)
        except ValueError as e:
            result = repr(e)
        held = [repr(vars(function)) for function in ATTRIBUTES]
        found.append((repr(result), held))
    return found


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_attributes_are_as_python_leaves_them(f: Any) -> None:
    expected = outcomes(f)
    compiled = tracejit.jit(f, strict=True)
    assert outcomes(compiled) == expected
    assert len(compiled.report().compiles) <= 3
