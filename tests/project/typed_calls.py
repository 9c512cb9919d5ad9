"""Calls as a type checker sees them: right ones pass, wrong ones are errors, marked as ignored.

Run under mypy with `warn_unused_ignores`, so that each mark stands for an error that there is; and
by hand under pyright, `pip install pyright; pyright tests/project/typed_calls.py`, without any.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

import tracejit
from tracejit.typing import Compiled

Array = NDArray[np.float64]


@tracejit.jit
def scaled(x: Array, by: float, *, shift: float = 0.0) -> Array:
    """An array."""
    return x * by + shift


@tracejit.jit(strict=True, num_threads=2)
def total(x: Array, n: int = 1) -> float:
    """A number."""
    return float(x.sum()) * n


class Model:
    """Methods of all kinds."""

    def __init__(self, weight: float) -> None:
        self.weight = weight

    @tracejit.jit
    def at(self, x: Array) -> Array:
        """A method."""
        return x * self.weight

    @tracejit.jit(strict=True)
    def strictly(self, x: Array, n: int) -> float:
        """A method of a decorator with arguments."""
        return float(x.sum()) * self.weight * n

    @tracejit.jit
    @staticmethod
    def half(x: Array) -> Array:
        """A static method."""
        return x / 2


def plain(x: Array, y: float) -> float:
    """What is differentiated."""
    return float((x * y).sum())


def checked(x: Array, m: Model) -> None:
    """Never called."""
    assert_type(scaled(x, 2.0), Array)
    assert_type(scaled(x, by=2.0, shift=1.0), Array)
    assert_type(total(x), float)
    assert_type(m.at(x), Array)
    assert_type(Model.at(m, x), Array)
    assert_type(m.strictly(x, n=2), float)
    assert_type(Model.half(x), Array)
    kept: Compiled[[Array, float], float] = tracejit.jit(plain)
    assert_type(kept(x, 1.0), float)
    scaled.lower(x, 2.0)
    scaled.trace(x, 2.0)
    scaled.report()
    m.at.report()
    m.at.lower(x)
    m.strictly.trace(x, n=2)
    m.at.lower(x, 2)  # type: ignore[call-arg]
    scaled(x)  # type: ignore[call-arg]
    scaled(x, "2")  # type: ignore[arg-type]
    scaled(x, 2.0, shit=1.0)  # type: ignore[call-arg]
    total(x, 1.5)  # type: ignore[arg-type]
    m.at(1)  # type: ignore[arg-type]
    m.at(x, x)  # type: ignore[call-arg]
    m.strictly(x, "n")  # type: ignore[arg-type]
    Model.half("x")  # type: ignore[arg-type]
    scaled.lower("x", 1.0)  # type: ignore[arg-type]
    text: str = total(x)  # type: ignore[assignment]
    tracejit.jit(strict="yes")  # type: ignore[call-overload]
    print(text)


def derivatives(x: Array) -> None:
    """Never called."""
    gradient = tracejit.grad(plain)
    assert_type(gradient(x, 1.0), Array)
    assert_type(gradient(x, y=1.0), Array)
    gradient(x=x, y=1.0)
    assert_type(tracejit.value_and_grad(plain)(x, 1.0), tuple[float, Array])
    assert_type(tracejit.grad(total)(x), Array)
    assert_type(tracejit.grad(plain, argnums=1)(x, 1.0), Any)
    assert_type(tracejit.grad(plain, argnums=(0, 1))(x, 1.0), Any)
    assert_type(tracejit.jacobian(plain)(x, 1.0), Any)
    assert_type(tracejit.jit(gradient)(x, 1.0), Array)
    tracejit.vmap(plain)(x, x)
    assert_type(tracejit.remat(plain)(x, 1.0), float)
    gradient("x", 1.0)  # type: ignore[call-overload]
    gradient(x)  # type: ignore[call-overload]
    tracejit.grad(plain, argnums=1)(x)  # type: ignore[call-arg]
    tracejit.jacobian(plain)(x, "1")  # type: ignore[arg-type]
    tracejit.grad(1)  # type: ignore[call-overload]
    number: int = gradient(x, 1.0)  # type: ignore[assignment]
    print(number)


def loops(x: Array) -> None:
    """Never called."""
    assert_type(tracejit.cond(x[0] > 0, lambda a: a + 1, lambda a: a * 2, x), Array)
    assert_type(tracejit.while_loop(lambda s: s < 1.0, lambda s: s + 0.5, 0.0), float)
    moved: Array = tracejit.fori_loop(0, 3, lambda i, s: s + i, x)
    carried: tuple[float, Any] = tracejit.scan(lambda c, v: (c + v, c), 0.0, moved)
    print(carried)
    tracejit.cond(True, plain, plain, x)  # type: ignore[arg-type]
    tracejit.while_loop(lambda s: True, lambda s: str(s), 0.0)  # type: ignore[arg-type, return-value]
