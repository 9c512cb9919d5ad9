"""Functions of math and cmath that NumPy has for arrays: values, exceptions, derivatives."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.python.test_python_math import FLOATS, outcome
from tests.support.check_grads import check_grads
from tests.support.compare import assert_same

PLANE = [complex(a, b) for a in FLOATS[:9] for b in (0.0, -0.0, 0.7, -2.5)]
SPECIAL = (-math.inf, -1.5, -0.0, 0.0, 1.5, math.inf, math.nan)
EDGES = [complex(a, b) for a in SPECIAL for b in SPECIAL]
EDGES += [complex(1e300, 1.0), complex(-710.0, 5e-324), complex(1e-320, 710.0)]
OF_COMPLEX = (
    "exp log log10 sqrt sin cos tan sinh cosh tanh asin acos atan asinh acosh atanh "
    "isnan isinf isfinite"
).split()


def agree(f: Callable[..., Any], calls: Sequence[Sequence[Any]], ulp: float) -> None:
    """Compiled, `f` gives or raises what it does in Python."""
    jitted = tracejit.jit(f)
    for args in calls:
        how, expected = outcome(f, args)
        found, actual = outcome(jitted, args)
        assert (how, type(expected)) == (found, type(actual)), f"{args}: {expected!r}, {actual!r}"
        if how == "raises":
            assert expected == actual, args
        else:
            assert_same(actual, expected, "ulp", ulp=ulp, where=f"{args}")
    assert jitted.report().fallbacks == []


@pytest.mark.parametrize("name", ["gamma", "lgamma"])
def test_gamma_functions(name: str) -> None:
    function = getattr(math, name)
    # Next to a root of lgamma, at -2.7, Python's own has the fewer digits.
    values = (
        *(x for x in FLOATS if x != -2.7 or name == "gamma"),
        0.1,
        4.0,
        -3.0,
        1.5,
        2.5,
        10.25,
        170.5,
        171.7,
        1e-300,
        1e305,
    )
    agree(lambda x: function(x), [(x,) for x in values], 12 if name == "gamma" else 16)


def test_exponents() -> None:
    agree(lambda x, n: math.ldexp(x, n), [(x, n) for x in FLOATS for n in (0, 3, -1074, 1023)], 0)
    agree(lambda x: math.frexp(x), [(x,) for x in FLOATS], 0)


@pytest.mark.sampled(8)
@pytest.mark.parametrize("name", OF_COMPLEX)
def test_functions_of_a_complex_number(name: str) -> None:
    function = getattr(cmath, name)
    agree(lambda z: function(z), [(z,) for z in PLANE + EDGES], 4)
    agree(lambda x: function(x), [(x,) for x in (0.5, -2.0, 3.0, 0.0)], 4)


def test_polar_coordinates() -> None:
    agree(lambda r, phi: cmath.rect(r, phi), [(2.0, 0.5), (-1.0, 3.0), (0.0, 1.0)], 2)
    agree(lambda r, phi: cmath.rect(r, phi), [(r, phi) for r in SPECIAL for phi in SPECIAL], 2)
    agree(lambda z, b: cmath.log(z, b), [(1 + 2j, 2.0), (3.0, 10), (-1j, 1j)], 8)


def test_distances_are_right_in_the_last_place() -> None:
    def f(a: Any, b: Any, c: Any) -> Any:
        return math.dist((a, b), (c, 1.0)), math.dist((a, b, c), (0.5, c, a))

    values = np.random.default_rng(0).standard_normal((300, 3)) * (1.0, 1e3, 1e-2)
    specials = [(a, b, 5e-324) for a in SPECIAL for b in SPECIAL]
    agree(f, [*map(tuple, values.tolist()), *specials], 0)


def test_derivatives() -> None:
    def f(x: Any) -> Any:
        z = cmath.exp(complex(float(x[0]), 2.0)) * cmath.sqrt(complex(1.0, float(x[1])))
        mantissa, _ = math.frexp(float(x[2]))
        return z.real + math.gamma(float(x[1])) + math.lgamma(float(x[2])) * mantissa

    x = np.array([0.3, 1.7, 2.6])
    check_grads(tracejit.jit(f).trace(x), [x], order=1)
