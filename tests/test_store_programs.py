"""Whole functions that store, alias and compute, compiled without fallback, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tracejit
from tests import array_function_programs, in_place_programs, store_programs, view_programs
from tests.compare import assert_parity, run

#: Programs that run eagerly: NumPy warns or raises, reads memory that was never written, or changes
#: an object of the caller's.
EAGER = {
    "complex_into_real",
    "complex_arr_into_real",
    "cscalar_into_real",
    "shape_set_arg",
    "sumoutint",
    "where_none",
    "mul_at",
    "neg_at",
    "einsdiag",
    "einsdiag2",
    "putalong3",
}


def _programs() -> list[Any]:
    found = []
    for module in (store_programs, in_place_programs, view_programs, array_function_programs):
        for name, f in vars(module).items():
            if isinstance(f, FunctionType) and not name.startswith("_") and f.__defaults__:
                found.append(pytest.param(f, id=f"{module.__name__.split('.')[-1]}.{name}"))
    return found


def _layouts(x: np.ndarray) -> list[np.ndarray]:
    apart = np.zeros(tuple(2 * n for n in x.shape), x.dtype)[(slice(None, None, 2),) * x.ndim]
    apart[...] = x
    back = (slice(None, None, -1),) * x.ndim
    return [x, np.asfortranarray(x), apart, x[back].copy()[back]]


@pytest.mark.parametrize("f", _programs())
def test_a_program_does_what_it_does_in_numpy(f: Callable[..., Any]) -> None:
    given = [d() if callable(d) else d for d in f.__defaults__ or ()]
    jitted = tracejit.jit(f)
    raised = False
    for first in _layouts(given[0]):
        arguments = (first, *given[1:])
        assert_parity(f, *arguments, jitted=jitted, parity="order", ulp=16)
        raised |= run(f, arguments).exception is not None
    eager = bool(jitted.report().fallbacks)
    assert not eager or f.__name__ in EAGER or raised, jitted.report()
