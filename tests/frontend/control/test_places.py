"""`np.ndindex` and `np.ndenumerate`: loops over them do what they do in Python, at any size."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.control.places_samples import PROGRAMS
from tests.support.compare import assert_parity


@pytest.mark.parametrize("f", PROGRAMS, ids=lambda f: f.__name__)
def test_loops_over_places(f: Any) -> None:
    jitted = tracejit.jit(f, strict=True)
    for shape in ((3, 4), (5, 2), (1, 3), (6, 7)):
        assert_parity(f, np.arange(float(np.prod(shape))).reshape(shape), jitted=jitted, calls=1)
    if f.__name__ != "stored":
        assert_parity(f, np.zeros((0, 3)), jitted=jitted, calls=1)
