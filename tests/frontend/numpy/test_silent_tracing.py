"""Tracing prints nothing: functions run on stand-ins there, of which LAPACK may complain."""

import numpy as np
import pytest

import tracejit
from tests.frontend.numpy.silent_samples import CASES


@pytest.mark.parametrize("k", range(len(CASES)))
def test_tracing_prints_nothing(k, capfd) -> None:
    a = np.diag([4.0, 5.0, 6.0, 7.0, 8.0, 9.0]) + 1
    tracejit.jit(CASES[k])(a, np.arange(1.0, 7.0))
    assert tuple(capfd.readouterr()) == ("", "")
