"""SciPy's minimisers with compiled derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import optimize

import tracejit

interop = tracejit.interop.scipy


def rosen(x: Any) -> Any:
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def test_scipy_takes_compiled_functions() -> None:
    f = tracejit.jit(tracejit.value_and_grad(rosen), strict=True)
    found = optimize.minimize(f, np.zeros(4), jac=True)
    assert found.success and np.allclose(found.x, 1, atol=1e-4) and len(f.report().variants) == 1


@pytest.mark.parametrize("method", ["L-BFGS-B", "Nelder-Mead", "trust-ncg", "trust-exact"])
def test_methods_have_the_derivatives_that_they_use(method: str) -> None:
    found = interop.minimize(rosen, np.zeros((2,)), method=method)
    assert np.allclose(found.x, 1, atol=1e-3)
    theirs = {
        "L-BFGS-B": {"jac": optimize.rosen_der},
        "Nelder-Mead": {},
        "trust-ncg": {"jac": optimize.rosen_der, "hessp": optimize.rosen_hess_prod},
        "trust-exact": {"jac": optimize.rosen_der, "hess": optimize.rosen_hess},
    }[method]
    same = optimize.minimize(optimize.rosen, np.zeros(2), method=method, **theirs)
    assert found.nit == same.nit and np.allclose(found.x, same.x)
    assert interop.minimize(rosen, np.zeros(2), method=method, bounds=None).nit == same.nit


class Line:
    def __init__(self) -> None:
        self.w, self.b, self.degree = np.zeros((3, 1), np.float32), np.zeros(()), 2

    def __call__(self, x: Any) -> Any:
        return (x @ self.w)[:, 0] + self.b


def squares(line: Any, x: Any, y: Any) -> Any:
    return ((line(x) - y) ** 2).sum()


def residuals(p: Any, x: Any, y: Any) -> Any:
    return {"a": p["line"][0](x)[:, None] - y[:, None], "b": 0.0 * p["rate"] + p["count"] - 3}


def test_parameters_are_any_tree() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((20, 3))
    y = x @ [1.0, 2.0, 3.0] + 4.0
    line = Line()
    found = interop.minimize(squares, line, args=(x, y))
    assert type(found.x) is Line and found.x is not line and found.x.degree == 2
    assert found.x.w.dtype == np.float32 and (line.w == 0).all() and line.b == 0
    assert np.allclose(found.x.w[:, 0], [1, 2, 3], atol=1e-3) and np.isclose(found.x.b, 4)
    assert type(found.x.b) is np.ndarray
    w = line.w
    again = interop.minimize(squares, line, args=(x, y), method="newton-cg", in_place=True)
    assert again.x is line and line.w is w and np.allclose(w[:, 0], [1, 2, 3], atol=1e-3)
    vector, unravel = interop.ravel(line)
    assert vector.shape == again.jac.shape == (4,) and vector.dtype == np.float64
    assert (unravel(vector).w == w).all()

    tree = {"line": [Line()], "rate": 0.5, "count": 3}
    for many in (x, x[:2]):  # more residuals than parameters, and fewer
        fit = interop.least_squares(residuals, tree, args=(many, y[: len(many)]))
        assert fit.cost < 1e-8 and fit.x["count"] == 3 and fit.x["rate"] == 0.5
        assert type(fit.x["rate"]) is np.float64
        assert fit.jac.shape == (len(many) + 1, 5) and type(fit.x["line"][0]) is Line


def test_what_is_no_parameter_is_refused() -> None:
    with pytest.raises(TypeError, match="complex numbers in them"):
        interop.minimize(rosen, np.zeros(2, complex))
    with pytest.raises(TypeError, match="no floats in them"):
        interop.minimize(rosen, np.zeros(2, int))
    with pytest.raises(TypeError, match="only arrays"):
        interop.minimize(lambda p: p["a"] ** 2, {"a": 1.0}, in_place=True)
    with pytest.raises(TypeError, match="one real floating-point number"):
        interop.minimize(lambda x: x * 2, np.zeros(2))
