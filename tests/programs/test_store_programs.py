"""Whole functions that store, alias and compute, compiled without fallback, against NumPy."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import array_function_programs, in_place_programs, store_programs, view_programs
from tests.support.compare import assert_parity, run

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


@pytest.mark.sampled(90)
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


#: Programs that take arguments of other sizes.
SIZED = {
    store_programs: "add_at add_at2 add_at_bin add_at_row add_at_t2 copyto copyto_w copyto_wc put2 "
    "putmask putmask2 putmask3 place filldiag filldiag2 filldiag3 putalong where_out where_out2 "
    "where_bc sumout meanout stdout clipout2 cumout sumw minw meanw varw anyw mmout dotout "
    "outslice outoverlap divm modf concatout",
    array_function_programs: "cov1 cov2 cov3 cov4 corr corr1 covc mg2 mg4 og rc block det detc "
    "powr mm3 mm4 mmc ind3 ind4 indd cexp trc",
    in_place_programs: "flat_sl flat_sl2 flat_i flat_diag shape_set_alias sort_ax sort_view "
    "rowswap_loop put_m fill_view",
    view_programs: "rsA rvK rv2",
}


def _grown(x: Any, k: int) -> Any:
    """An array with `k` more along each axis."""
    if not isinstance(x, np.ndarray):
        return x
    if x.ndim == 2 and x.shape[0] == x.shape[1]:
        n = x.shape[0] + k
        values = np.random.default_rng(k).random((n, n)) + n * np.eye(n)
        return values.astype(x.dtype)
    return np.resize(x, (x.shape[0] + k, *(n + k for n in x.shape[1:])))


@pytest.mark.sampled(32)
@pytest.mark.parametrize(
    "f", [pytest.param(getattr(m, n), id=n) for m, names in SIZED.items() for n in names.split()]
)
def test_a_program_runs_at_other_sizes(f: Callable[..., Any]) -> None:
    given = [d() if callable(d) else d for d in f.__defaults__ or ()]
    jitted = tracejit.jit(f)
    for k in (0, 4, 8, 0, 12):
        arguments = [_grown(x, k) for x in given]
        assert_parity(f, *arguments, jitted=jitted, calls=1, parity="order", ulp=64)
    assert not jitted.report().fallbacks, jitted.report()
