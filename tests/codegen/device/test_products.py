"""Products of floats by many threads: infinities, zeros and NaNs are those from left to right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.codegen.device.test_ptx import launches, ptx

pytestmark = pytest.mark.sampled(14)

F = Callable[..., Any]

FLOATS = [np.float16, np.float32, np.float64]
#: More factors than one block takes, and than the threads of a row have at once.
COUNT = 5000
#: By their names functions, and how a line of factors lies in what they are given.
FORMS: dict[str, tuple[F, Callable[[Any], Any]]] = {
    "all": (lambda x: x.prod(), lambda x: x),
    "all of two axes": (lambda x: x.prod(), lambda x: x.reshape(4, -1)),
    "rows": (lambda x: x.prod(axis=1), lambda x: np.stack([x, np.ones_like(x), x])),
    "columns": (lambda x: x.prod(axis=0), lambda x: np.stack([x, np.ones_like(x)], axis=1)),
    "and more": (lambda x: x / x.prod(), lambda x: x),
}


def ones(dtype: Any, **places: float) -> Any:
    x = np.ones(COUNT, dtype)
    for name, value in places.items():
        x[int(name.removeprefix("at"))] = value
    return x


def cases(dtype: Any) -> list[Any]:
    """Factors whose product depends on the order, or seems to."""
    kind = np.finfo(dtype)
    big, small, inf = float(kind.max) / 2, float(kind.tiny) * 2, float("inf")
    least = float(kind.smallest_subnormal)
    return [
        ones(dtype, at1=big, at2=big, at3=small, at4=small),
        ones(dtype, at1=big, at2=small, at3=big, at4=small),
        ones(dtype, at7=small, at500=-small, at900=big, at4999=big),
        ones(dtype, at0=big, at4999=-3.0),
        ones(dtype, at3=least, at4=big),
        ones(dtype, at3=big, at4=least, at5=0.25),
        ones(dtype, at9=0.0, at10=-1.0),
        ones(dtype, at9=-0.0, at10=-inf),
        ones(dtype, at9=inf, at10=-2.0),
        ones(dtype, at9=inf, at4000=small, at4001=small),
        ones(dtype, at9=small, at10=small, at4001=inf),
        ones(dtype, at9=np.nan, at10=0.0),
        np.full(COUNT, 1.5, dtype),
        np.full(COUNT, -0.75, dtype),
        np.full(COUNT, kind.max, dtype),
        np.full(COUNT, -0.0, dtype),
    ]


def in_order(x: Any) -> Any:
    """The product from left to right: of halves, as NumPy's, in single precision."""
    with np.errstate(all="ignore"):
        wide = np.multiply.accumulate(x, dtype=np.float32 if x.dtype == np.float16 else x.dtype)
        return wide[-1].astype(x.dtype)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.__name__)
@pytest.mark.parametrize("form", list(FORMS)[:4])
def test_special_values(form: str, dtype: Any) -> None:
    f, laid = FORMS[form]
    jitted = tracejit.jit(f, device="cuda-sim")
    for x in cases(dtype):
        found = np.atleast_1d(jitted(laid(x)))[0]
        assert found.dtype == dtype
        np.testing.assert_equal(found, in_order(x))
        assert np.isnan(found) or np.signbit(found) == np.signbit(in_order(x))


@pytest.mark.parametrize("dtype", FLOATS, ids=lambda d: d.__name__)
@pytest.mark.parametrize("form", FORMS)
def test_ordinary_values(form: str, dtype: Any) -> None:
    f, laid = FORMS[form]
    x = np.random.default_rng(1).choice([-0.5, 0.5, 2.0, -2.0, 1.0], COUNT).astype(dtype)
    x[np.random.default_rng(2).permutation(COUNT)[:4990]] = 1
    assert np.array_equal(tracejit.jit(f, device="cuda-sim")(laid(x)), f(laid(x)))
    near = (1 + np.random.default_rng(3).uniform(-1, 1, COUNT) / COUNT).astype(dtype)
    found = tracejit.jit(f, device="cuda-sim")(laid(near))
    bound = COUNT * np.finfo(dtype).eps
    np.testing.assert_allclose(found, f(laid(near.astype(np.float64))), rtol=bound)


@pytest.mark.parametrize(("form", "dtype"), [("all", np.float64), ("columns", np.float32)])
def test_machine_code(form: str, dtype: Any) -> None:
    f, laid = FORMS[form]
    found = launches(f, laid(np.ones(COUNT, dtype)))
    assert any("_up" in launch.source for launch in found)
    for launch in found:
        for capability in ((8, 0), (9, 0)):
            text = ptx(launch, capability)
            assert f".entry {launch.name}(" in text
            assert dtype is np.float64 or ".f64" not in text


def test_what_stores_on_its_way_is_formed_in_order() -> None:
    def f(x: Any) -> Any:
        x *= 1.5
        return x.prod()

    jitted = tracejit.jit(f, device="cuda-sim")
    for first in (np.ones(COUNT), ones(np.float64, at1=1e-300, at2=1e-300)):
        x, y = first.copy(), first.copy()
        with np.errstate(all="ignore"):
            assert jitted(x) == in_order(first * 1.5)
            f(y)
        assert np.array_equal(x, y)
