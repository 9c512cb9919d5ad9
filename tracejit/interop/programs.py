"""Programs around a user's function, compiled as the user's own code is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import tracejit
from tracejit import tree

__all__ = [
    "arrays",
    "called",
    "floats",
    "of_leaves",
    "of_vector",
    "pullback",
    "raveled",
    "residuals_of_vector",
    "transposed",
    "unraveled",
    "with_gradient",
]


def called(x: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A call of an object."""
    return x(*args, **kwargs)


def floats(x: Any) -> list[Any]:
    """The leaves of a tree that have derivatives."""
    return [leaf for leaf in tree.leaves(x) if np.result_type(leaf).kind in "fc"]


def arrays(x: Any) -> list[Any]:
    """The `floats` that are NumPy's, not Python's."""
    return [leaf for leaf in floats(x) if isinstance(leaf, (np.ndarray, np.generic))]


def _pullback(
    function: Callable[..., Any], args: Any, kwargs: Any, found: Callable[[Any], Any]
) -> Any:
    """(what is `found` in the result, its pullback, the result) of a call."""

    def of_arguments(args: Any, kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        return found(result), result

    return tracejit.vjp(of_arguments, args, kwargs, has_aux=True)


def _chosen(places: Sequence[int], slopes: Any) -> list[Any]:
    """Some cotangents, of complex numbers those by the conjugates, as PyTorch has them."""
    found = floats(slopes)
    return [_conjugate(found[k]) for k in places]


def _conjugate(x: Any) -> Any:
    return x.conj() if x.dtype.kind == "c" else x


def with_gradient(function: Callable[..., Any], places: Sequence[int]) -> Callable[..., Any]:
    """(result, gradients by these `floats` of the arguments) of a call of `function`.

    The gradients are None where the result is not one real number.
    """

    def forward(args: Any, kwargs: Any) -> Any:
        values, pull, result = _pullback(function, args, kwargs, arrays)
        if len(values) == 1 and values[0].ndim == 0 and values[0].dtype.kind == "f":
            return result, _chosen(places, pull([np.ones_like(values[0])]))
        return result, None

    return forward


def _with_sorted_keys(x: Any) -> Any:
    """Containers with their dicts in the order that JAX has them."""
    if isinstance(x, dict):
        return {key: _with_sorted_keys(x[key]) for key in sorted(x)}
    if isinstance(x, (list, tuple)):
        parts = [_with_sorted_keys(part) for part in x]
        return type(x)(*parts) if hasattr(x, "_fields") else type(x)(parts)
    return x


def transposed(function: Callable[..., Any], places: Sequence[int]) -> Callable[..., Any]:
    """The cotangents of these `floats` of the arguments, for those of the result.

    These are in the order that JAX has.
    """

    def in_order(*args: Any, **kwargs: Any) -> Any:
        return _with_sorted_keys(function(*args, **kwargs))

    def backward(args: Any, kwargs: Any, cotangents: Any) -> Any:
        _, pull, _ = _pullback(in_order, args, kwargs, floats)
        found = floats(pull(cotangents))
        return [found[k] for k in places]

    return backward


def pullback(function: Callable[..., Any], places: Sequence[int]) -> Callable[..., Any]:
    """As `transposed`, for `arrays` of the result, by conjugates; and these arrays."""

    def backward(args: Any, kwargs: Any, cotangents: Any) -> Any:
        values, pull, _ = _pullback(function, args, kwargs, arrays)
        return _chosen(places, pull([_conjugate(x) for x in cotangents])), values

    return backward


def of_leaves(function: Callable[..., Any], places: Sequence[int]) -> Callable[..., Any]:
    """A function of some leaves of its arguments, and of the arguments around these."""

    def call(chosen: Any, args: Any, kwargs: Any) -> Any:
        leaves, structure = tree.flatten((args, kwargs))
        values = list(leaves)
        for k, x in zip(places, chosen, strict=True):
            values[k] = x
        given, named = tree.unflatten(structure, values)
        return function(*given, **named)

    return call


def raveled(x: Any) -> Any:
    """The floats of a tree as one vector of float64."""
    parts = [np.ravel(leaf) for leaf in floats(x)]
    return np.concatenate(parts).astype(np.float64) if parts else np.zeros(0)


def unraveled(vector: Any, like: Any) -> Any:
    """A tree like another one with these floats, in dtypes of its own."""
    leaves, structure = tree.flatten(like)
    made, at = [], 0
    for leaf in leaves:
        dtype, shape = np.result_type(leaf), np.shape(leaf)
        if dtype.kind in "fc":
            size = int(np.prod(shape))
            part = vector[at : at + size].reshape(shape).astype(dtype)
            made.append(part if isinstance(leaf, np.ndarray) else part[()])
            at += size
        else:
            made.append(leaf)
    return tree.unflatten(structure, made)


def of_vector(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a tree as one of the vector of its floats."""

    def value(vector: Any, like: Any, args: Any) -> Any:
        return function(unraveled(vector, like), *args)

    return value


def residuals_of_vector(function: Callable[..., Any]) -> Callable[..., Any]:
    """As `of_vector`, of a function that gives residuals in any tree: they are one vector."""

    def residuals(vector: Any, like: Any, args: Any) -> Any:
        return raveled(function(unraveled(vector, like), *args))

    return residuals
