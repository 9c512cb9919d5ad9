"""Reverse rules of host calls that are the transposes of their forward rules."""

from typing import Any

import numpy as np
import pytest
from scipy import special

import tracejit
from tracejit.ops.host.derivatives.registry import RULES, HostAdaptor, Rule, host

X = np.array([0.5, 1.2, -0.4])


def kelvin(x: Any) -> Any:
    return (special.ber(x) * np.array([1.0, 2.0, 3.0])).sum()


def _along(at: HostAdaptor, tangents: Any) -> Any:
    (slope,) = host(at.c, "scipy.special:berp", [at.x("x")], at.type("x"))
    return (at.c.mul_no_nan(tangents["x"], slope),)


def _squared(at: HostAdaptor, tangents: Any) -> Any:
    return (at.c.mul(tangents["x"], tangents["x"]),)


def test_a_jvp_alone_gives_both_modes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "scipy.special:ber", Rule(("x",), _along, None))
    expected = special.berp(X) * [1.0, 2.0, 3.0]
    np.testing.assert_allclose(tracejit.grad(kelvin)(X), expected, rtol=1e-15)
    _, tangent = tracejit.jvp(kelvin, (X,), (np.ones(3),))
    np.testing.assert_allclose(tangent, expected.sum(), rtol=1e-15)


@pytest.mark.compiles
def test_what_is_not_linear_has_no_transpose(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RULES, "scipy.special:ber", Rule(("x",), _squared, None))
    with pytest.raises(AssertionError, match="not linear"):
        tracejit.grad(kelvin)(X)


def test_the_values_of_the_tangents_are_not_computed() -> None:
    """The backward pass of a least squares solution has one pseudo-inverse and no second call."""
    a, b = np.random.default_rng(0).random((2, 4, 3))

    def loss(a: Any, b: Any) -> Any:
        return np.linalg.lstsq(a, b)[0].sum()

    text = tracejit.jit(tracejit.grad(loss, argnums=(0, 1))).lower(a, b).text()
    assert text.count("numpy.linalg:pinv") == 1
    assert text.count("numpy.linalg:lstsq") <= 1
