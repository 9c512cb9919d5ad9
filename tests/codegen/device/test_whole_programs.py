"""Whole programs, their control flow and their gradients on the simulated device, against NumPy."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import tests.transforms.gradient_algorithms
import tests.transforms.gradient_store_programs  # noqa: F401 - both add programs
import tracejit
from tests.control_programs import PROGRAMS as CONTROL
from tests.programs import PROGRAMS
from tests.support.compare import assert_parity, leaves
from tests.transforms.gradient_programs import PROGRAMS as GRADIENTS


def report_of(jitted: Any) -> Any:
    """What happened to a function that was moved to the simulated device."""
    return jitted.report()


@pytest.mark.sampled(12)
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_programs(program: Any) -> None:
    jitted = tracejit.jit(program.f, device="cuda-sim")
    args = program.arguments(min(program.sizes))
    assert_parity(program.f, *args, jitted=jitted, **program.allowed(args))
    report = jitted.report()
    if program.in_scope:
        assert not report.fallbacks, str(report)
        assert any(c.trips is not None for c in report.variants)


@pytest.mark.sampled(180)
@pytest.mark.parametrize("program", CONTROL, ids=lambda program: program.name)
def test_control_flow(program: Any, capsys: pytest.CaptureFixture[str]) -> None:
    jitted = tracejit.jit(program.f, device="cuda-sim")
    first, *others = program.calls
    assert_parity(
        program.f, *first, jitted=jitted, also=others, calls=1,
        parity=program.parity, ulp=program.ulp,
    )  # fmt: skip
    assert "TJ013" not in str(jitted.report())


@pytest.mark.sampled(36)
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    program = GRADIENTS[name]
    gradient = tracejit.grad(program.function)
    moved = tracejit.jit(gradient, device="cuda-sim")
    for call in program.calls[:2]:
        try:
            expected = gradient(*copy.deepcopy(call))
        except TypeError as e:
            with pytest.raises(TypeError) as raised:
                moved(*copy.deepcopy(call))
            assert str(raised.value) == str(e)
            continue
        actual = moved(*copy.deepcopy(call))
        for a, b in zip(leaves(actual), leaves(expected), strict=True):
            # Sums are formed in another order.
            eps = np.finfo(np.asarray(b).dtype).eps if np.asarray(b).dtype.kind in "fc" else 0
            np.testing.assert_allclose(a, b, rtol=1e4 * eps, atol=1e4 * eps)
