"""Minima of smooth functions: L-BFGS with a line search for the strong Wolfe conditions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import tree
from tracejit.api import jit, value_and_grad

__all__ = ["Minimum", "lbfgs"]

#: Of the Wolfe conditions: how much less than linear descent will do, and how flat it must be.
_LESS, _FLAT = 1e-4, 0.9


class Minimum(NamedTuple):
    """What `lbfgs` has found."""

    #: The arguments of the least value, a tree as the ones given.
    x: Any
    value: Any
    #: The largest number of the gradient there, by magnitude.
    slope: Any
    #: Steps, and evaluations of the function with its gradient.
    steps: Any
    evaluations: Any
    #: Whether the slope is at most what was asked for.
    converged: Any


@jit
def lbfgs(
    f: Callable[[Any], Any],
    x: Any,
    history: int = 10,
    steps: int = 1000,
    slope: float = 1e-5,
    searches: int = 20,
) -> Minimum:
    """A local minimum of `f` from `x` on, an array or a tree of arrays, all in one compiled loop.

    It ends where no number of the gradient is above `slope`, after `steps` steps, or where no
    lower value is found in `searches` evaluations on a line. Directions are those of Nocedal and
    Wright, Numerical Optimization, 2006, algorithm 7.4, from the last `history` steps; the search
    is that of algorithms 3.5 and 3.6. The function is to be a smooth one of floats, computed
    without randomness. `x` stays as it is.
    """
    leaves, structure = tree.flatten(x)

    def apart(flat: Any) -> Any:
        parts, at = [], 0
        for leaf in leaves:
            parts.append(flat[at : at + leaf.size].reshape(leaf.shape))
            at += leaf.size
        return tree.unflatten(structure, parts)

    def of_flat(flat: Any) -> Any:
        return f(apart(flat))

    start = np.concatenate([leaf.ravel() for leaf in leaves])
    found, *rest = _minimise(value_and_grad(of_flat), start, history, steps, slope, searches)
    return Minimum(apart(found), *rest)


def _minimise(
    f: Callable[[Any], Any], x: Any, history: int, steps: int, slope: float, searches: int
) -> tuple[Any, ...]:
    """As `lbfgs`, of a vector; `f` gives the value and the gradient."""
    value, g = f(x)
    # Steps, changes of the gradient over them, and one over their products; the oldest go first.
    s, y, rho = (np.zeros((history, *shape), x.dtype) for shape in (x.shape, x.shape, ()))
    count, used, evaluations = 0, 0, 1
    while count < steps and abs(g).max() > slope:
        d = _direction(g, s, y, rho, used)
        if g @ d >= 0:
            d, used = -g, 0
        # No step is known at first: one of length 1 at most.
        t = 1.0 if used else float(min(1.0, 1 / np.sqrt(g @ g)))
        done, tried, new_x, new_value, new_g = _search(f, x, value, g, d, t, searches)
        evaluations += tried
        if not done and not new_value < value:
            break
        step, change = new_x - x, new_g - g
        x, value, g = new_x, new_value, new_g
        count += 1
        if step @ change > 1e-10 * (change @ change):
            at = used % history
            s[at], y[at], rho[at] = step, change, 1 / (step @ change)
            used += 1
    largest = abs(g).max()
    return x, value, largest, count, evaluations, largest <= slope


def _search(
    f: Callable[[Any], Any], x: Any, value: Any, g: Any, d: Any, t: Any, most: int
) -> tuple[Any, ...]:
    """Whether a place from `x` on along `d` fulfils the conditions, in how many evaluations, and
    the last place with its value and gradient; `t` is where to begin."""
    falls = float(g @ d)
    low, low_value, low_slope = 0.0, float(value), falls
    high, high_value, high_slope = math.inf, low_value, falls
    done, tried, new_x, new_value, new_g = False, 0, x, value, g
    while not done and tried < most:
        new_x = x + t * d
        new_value, new_g = f(new_x)
        tried += 1
        here, now = float(new_value), float(new_g @ d)
        if not here <= float(value) + _LESS * t * falls or tried > 1 and here >= low_value:
            high, high_value, high_slope = t, here, now
        elif abs(now) <= -_FLAT * falls:
            done = True
        else:
            if now * (high - low) >= 0:
                high, high_value, high_slope = low, low_value, low_slope
            low, low_value, low_slope = t, here, now
        if not done:
            t = _between(low, low_value, low_slope, high, high_value, high_slope)
    return done, tried, new_x, new_value, new_g


def _direction(g: Any, s: Any, y: Any, rho: Any, used: Any) -> Any:
    """Where the quasi-Newton step goes: the two loops over what is known of the last steps."""
    history = len(rho)
    d, factors = -g, np.zeros_like(rho)
    known = min(used, history)
    for k in range(known):
        at = (used - 1 - k) % history
        factors[at] = rho[at] * (s[at] @ d)
        d = d - factors[at] * y[at]
    if used:
        last = (used - 1) % history
        d = d / (rho[last] * (y[last] @ y[last]))
    for k in range(known):
        at = (used - known + k) % history
        d = d + (factors[at] - rho[at] * (y[at] @ d)) * s[at]
    return d


def _between(low: Any, f0: Any, d0: Any, high: Any, f1: Any, d1: Any) -> Any:
    """The next place on the line: beyond `low` if nothing bounds it, else the least of the cubic
    through two values and slopes, if it lies well inside, else the middle."""
    if high == math.inf:
        return 2.0 * low
    a = d0 + d1 - 3 * (f0 - f1) / (low - high)
    square = a * a - d0 * d1
    middle, wide = (low + high) / 2, abs(high - low)
    if not square >= 0:
        return middle
    b = math.sqrt(square) if high > low else -math.sqrt(square)
    under = d1 - d0 + 2 * b
    at = high - (high - low) * ((d1 + b - a) / under) if under != 0 else middle
    return at if abs(at - middle) <= 0.4 * wide else middle
