"""Derivatives of the programs that store, view and alias, against central differences."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.capturing import Compiled
from tests.transforms.gradient_checks import differences
from tests.transforms.gradients_of_programs import arguments, float_places, programs, scalar
from tracejit.errors import Bailout, TraceError

#: Programs that compute in single precision.
SINGLE = {"astc", "mmf32", "det32", "dtype_kw", "trc"}
#: What a gradient cannot pass through operation by operation: it says so.
LOST = {
    *("mmout", "mmoutself", "mmoutview", "mul_at", "neg_at", "add_at_c", "rc"),
    *("complex_arr_into_real", "cscalar_into_real", "complex_into_real"),
    *("shape_set_made", "shape_set_alias", "shape_set_arg", "shape_set_view"),
    # Attributes and methods that a stand-in for a real array has not.
    *("traceout", "trc", "real_set", "imag_set", "real_iadd", "real_real_set", "rev"),
    *("outcastunsafe", "cmpout", "where_none"),
    *("flat_sl2", "flat_sl3", "einsdiag", "einsdiag2", "dets"),
}


@pytest.mark.sampled(40)
@pytest.mark.parametrize("f", [pytest.param(f, id=name) for name, f in programs()])
def test_the_gradient_of_a_program(f: Callable[..., Any]) -> None:
    args = arguments(f)
    places = float_places(args)
    whole = scalar(f)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            whole(*copy.deepcopy(args))
        except Exception:
            pytest.skip("the program raises")
        if not places:
            pytest.skip("no floats")
        expected = [differences(whole, args, k)[0] for k in places]
        gradient = tracejit.grad(whole, argnums=places)
        tolerance = 1e-6
        if f.__name__ in SINGLE or any(np.asarray(args[k]).dtype.itemsize < 8 for k in places):
            tolerance = 2e-2
        try:
            found = Compiled(lambda *a: gradient(*a))(*copy.deepcopy(args))
        except (TraceError, Bailout):
            found = None
        if found is not None:
            _agree(found, expected, tolerance, "evaluated")
        try:
            with tracejit.eager():
                found = gradient(*copy.deepcopy(args))
        except Exception:
            if f.__name__ not in LOST:
                raise
        else:
            _agree(found, expected, tolerance, "operation by operation")


def _agree(found: Any, expected: list[Any], tolerance: float, what: str) -> None:
    for x, y in zip(found, expected, strict=True):
        if np.isfinite(y).all():
            size = 1 + np.max(np.abs(y), initial=0.0)
            np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * size, err_msg=what)
