"""Indices and operands that are one of several values: each run does what Python does with its."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.python.chosen_key_programs import PROGRAMS
from tests.support.compare import assert_parity


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_each_value_does_what_it_does_in_python(f: Any) -> None:
    jitted = tracejit.jit(f)
    for k in (-1.0, 2.0, 5.0, 20.0):
        assert_parity(f, np.arange(12.0).reshape(3, 4), k, jitted=jitted)
    assert jitted.report().fallbacks == [], str(jitted.report())
