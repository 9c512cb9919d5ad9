"""What optimisers do with leaves: parameters beside their gradients, whole or by rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.sparse import RowGradient

__all__ = ["decays", "each", "rate_at", "zeros"]

#: Says of a leaf, by its path (as `tracejit.tree.paths` has it) and the array, whether it decays.
Mask = Callable[[str, Any], bool]
#: A learning rate, or one for each count of steps, the first of which is 0.
Rate = float | Callable[[Any], Any]


def zeros(params: Any) -> list[Any]:
    """An array of zeros for each leaf, of its shape and dtype."""
    return [np.zeros_like(p) for p in tree.leaves(params)]


def decays(params: Any, weight_decay: float, mask: Mask | None = None) -> Any:
    """The weight decay of all leaves, or with a mask of each: 0 where it does not say so.

    Raises TypeError for a leaf that is no array of real floats, which no step could change.
    """
    found = []
    for path, p in tree.paths(params):
        if not isinstance(p, np.ndarray) or p.dtype.kind != "f":
            what = f"an array of {p.dtype}" if isinstance(p, np.ndarray) else type(p).__name__
            raise TypeError(f"parameters are arrays of floats, but params{path} is {what}")
        found.append(float(weight_decay) if mask is None or mask(path, p) else 0.0)
    return float(weight_decay) if mask is None else tuple(found)


def rate_at(lr: Rate, count: Any) -> Any:
    """The learning rate after `count` steps, as a Python float: it leaves a float32 what it is."""
    return float(lr(count) if callable(lr) else lr)


def each(params: Any, grads: Any, *states: Any) -> Iterator[tuple[Any, ...]]:
    """`(p, g, *state)` for each leaf of `params`, to be changed in place.

    A `state` has one entry for each leaf, an array of its shape or anything else, or it is a number
    or None for all. Where a gradient is a `RowGradient`, `p`, `g` and the arrays of the state are
    the rows that it has, each once; they are stored where they belong afterwards, and all other
    rows stay as they are.
    """
    leaves = tree.leaves(params)
    columns = [s if isinstance(s, (list, tuple)) else [s] * len(leaves) for s in states]
    for p, g, *state in zip(leaves, tree.leaves(grads), *columns, strict=True):
        if isinstance(g, RowGradient):
            g, whole = g.summed(), (p, *state)
            parts = [x[g.rows] if isinstance(x, np.ndarray) else x for x in whole]
            yield parts[0], g.values, *parts[1:]
            for x, part in zip(whole, parts, strict=True):
                if isinstance(x, np.ndarray):
                    x[g.rows] = part
        else:
            yield p, g, *state
