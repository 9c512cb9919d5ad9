"""Functions of `np.ma` on arrays without a mask."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.compare import assert_same

REDUCTIONS = "sum prod mean var std max min ptp all any median average count".split()
OTHERS = "is_masked isMaskedArray getmask getdata filled".split()
X = np.array([[1.5, -2.0, 0.5], [4.0, 2.5, -1.0]])


@pytest.mark.parametrize("name", [*REDUCTIONS, *OTHERS])
@pytest.mark.parametrize("kind", [float, np.float32, int, bool], ids=lambda k: k.__name__)
def test_without_a_mask(name: str, kind: Any) -> None:
    f: Callable[..., Any] = getattr(np.ma, name)
    x = X.astype(kind)
    if name == "ptp" and kind is bool:
        return  # NumPy cannot subtract bools.
    compiled = tracejit.jit(lambda x: f(x), strict=True)
    assert_same(compiled(x), f(x), parity="ulp", ulp=64)
    assert type(compiled(x)) is type(f(x))
    if name in ("getdata", "filled"):
        assert compiled(x) is x


def test_along_an_axis_the_result_is_masked() -> None:
    def f(x: Any) -> Any:
        return np.ma.sum(x, axis=0)

    compiled = tracejit.jit(f)
    found = compiled(X)
    assert isinstance(found, np.ma.MaskedArray) and (found == f(X)).all()
    assert compiled.report().fallbacks
    masked = np.ma.masked_less(X, 0)
    assert compiled(masked).tolist() == f(masked).tolist()


def test_weights() -> None:
    def f(x: Any, w: Any) -> Any:
        return np.ma.average(x, weights=w)

    assert_same(tracejit.jit(f, strict=True)(X, X**2), f(X, X**2), parity="ulp", ulp=16)
