"""Derivatives of whole functions by central differences, and a call's arguments as one vector."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.transforms.gradient_programs import Body
from tracejit.frontend.tracing.pytree import flatten, unflatten

__all__ = [
    "differences",
    "dot",
    "is_float",
    "leaves_of",
    "places_of",
    "random_like",
    "slopes_along",
]


def is_float(x: Any) -> bool:
    """Whether a leaf has derivatives."""
    return np.asarray(x).dtype.kind in "fc"


def leaves_of(argument: Any) -> list[Any]:
    """The arrays and numbers in an argument's containers."""
    return list(flatten((argument,), {})[0])


def places_of(args: Sequence[Any]) -> tuple[int, ...]:
    """The arguments that have derivatives."""
    return tuple(k for k, a in enumerate(args) if all(map(is_float, leaves_of(a))))


def random_like(argument: Any, rng: np.random.Generator) -> Any:
    """An argument with other numbers, of both signs, in its containers."""
    leaves, tree = flatten((argument,), {})
    new = [_random(x, rng) for x in leaves]
    return unflatten(tree, new)[0][0]


def _random(x: Any, rng: np.random.Generator) -> Any:
    dtype, shape = np.asarray(x).dtype, np.shape(x)
    t: Any = rng.uniform(-1, 1, shape)
    if dtype.kind == "c":
        t = t + 1j * rng.uniform(-1, 1, shape)
    t = np.asarray(t).astype(dtype)
    if isinstance(x, np.ndarray):
        return t
    return t[()] if isinstance(x, np.generic) else type(x)(t[()])


def differences(f: Callable[..., Any], args: Sequence[Any], place: int) -> list[Any]:
    """The gradient by argument `place`, leaf by leaf, in the convention du/dx - i du/dy.

    Central differences extrapolated once; single precision is computed in double precision.
    """
    leaves, tree = flatten(tuple(args), {})
    leaves = [_widened(x) for x in leaves]
    before = sum(len(leaves_of(a)) for a in args[:place])
    count = len(leaves_of(args[place]))

    def moved(number: int, index: Any, by: complex) -> Any:
        given = copy.deepcopy(leaves)
        if isinstance(given[number], np.ndarray):
            given[number][index] += by
        else:
            given[number] = given[number] + by
        positional, named = unflatten(tree, given)
        return f(*positional, **named)

    def slope(number: int, index: Any, unit: complex) -> Any:
        def at(h: float) -> Any:
            ends = [moved(number, index, s * h * unit) for s in (1, -1)]
            return (float(ends[0]) - float(ends[1])) / (2 * h)

        h = 1e-4 * max(1.0, abs(np.asarray(leaves[number])[index]))
        return (4 * at(h / 2) - at(h)) / 3

    out = []
    for number in range(before, before + count):
        x = np.asarray(leaves[number])
        g = np.zeros(x.shape, x.dtype)
        for index in np.ndindex(x.shape):
            g[index] = slope(number, index, 1.0)
            if x.dtype.kind == "c":
                g[index] -= 1j * slope(number, index, 1j)
        out.append(g)
    return out


def dot(a: Any, b: Any) -> Any:
    """The sum of the products of the leaves of two values of one structure."""
    if isinstance(a, (tuple, list)):
        total = 0.0
        for x, y in zip(a, b, strict=True):
            total = total + dot(x, y)
        return total
    if isinstance(a, dict):
        total = 0.0
        for k in a:
            total = total + dot(a[k], b[k])
        return total
    if isinstance(a, Body):
        return dot((a.place, a.speed, a.mass), (b.place, b.speed, b.mass))
    return np.sum(a * b)


def slopes_along(f: Callable[..., Any], args: Sequence[Any], along: Sequence[Any]) -> list[Any]:
    """The derivatives of the leaves of `f(*args)` along tangents (None: zero), as `differences`."""

    def at(h: float) -> list[Any]:
        ends = [leaves_of(f(*_moved(args, along, s * h))) for s in (1, -1)]
        return [(np.asarray(a) - np.asarray(b)) / (2 * h) for a, b in zip(*ends, strict=True)]

    h = 1e-4
    return [(4 * a - b) / 3 for a, b in zip(at(h / 2), at(h), strict=True)]


def _moved(args: Sequence[Any], along: Sequence[Any], h: float) -> list[Any]:
    out = []
    for x, t in zip(args, along, strict=True):
        leaves, tree = flatten((copy.deepcopy(x),), {})
        leaves = [_widened(a) for a in leaves]
        if t is not None:
            leaves = [_as(a + h * b, a) for a, b in zip(leaves, leaves_of(t), strict=True)]
        out.append(unflatten(tree, leaves)[0][0])
    return out


def _as(x: Any, like: Any) -> Any:
    return x if isinstance(x, np.ndarray) else type(like)(x)


def _widened(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        wide = {"f": np.float64, "c": np.complex128}.get(x.dtype.kind, x.dtype)
        return x.astype(wide)
    return np.float64(x) if isinstance(x, np.floating) else x
