"""Gradients clipped, in place."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import tree
from tracejit.sparse import RowGradient

__all__ = ["clip_by_global_norm", "clip_by_norm", "clip_by_value", "global_norm"]


def clip_by_value(grads: Any, limit: float) -> None:
    """Bring every number of gradients to at least `-limit` and at most `limit`.

    Raises TypeError for a gradient by rows, in which a row may occur several times.
    """
    for g in tree.leaves(grads):
        if isinstance(g, RowGradient):
            raise TypeError("a gradient by rows is not clipped by value: clip its dense() one")
        np.clip(g, -limit, limit, out=g)


def clip_by_norm(grads: Any, limit: float) -> None:
    """Scale each gradient down whose norm is above `limit`, to have that one."""
    for g in tree.leaves(grads):
        _scale(g, _factor(np.sqrt(_square(g)), limit))


def clip_by_global_norm(grads: Any, limit: float) -> Any:
    """Scale all gradients down if their norm as one vector is above `limit`, to have that one.

    Gives the norm that they had (Pascanu, Mikolov and Bengio, On the Difficulty of Training
    Recurrent Neural Networks, 2013).
    """
    norm = global_norm(grads)
    factor = _factor(norm, limit)
    for g in tree.leaves(grads):
        _scale(g, factor)
    return norm


def global_norm(grads: Any) -> Any:
    """The norm of all gradients as one vector."""
    total = 0.0
    for g in tree.leaves(grads):
        total = total + _square(g)
    return np.sqrt(total)


def _factor(norm: Any, limit: float) -> Any:
    # A Python number leaves gradients their dtype.
    return float(np.minimum(1.0, limit / (norm + 1e-6)))


def _square(g: Any) -> Any:
    """The sum of squares, of halves in floats."""
    x = g.summed().values if isinstance(g, RowGradient) else g
    if x.dtype == np.float16:
        x = x.astype(np.float32)
    return (x * x).sum()


def _scale(g: Any, factor: Any) -> None:
    x = g.values if isinstance(g, RowGradient) else g
    x *= factor
