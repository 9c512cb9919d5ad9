"""What optimisers do with leaves: parameters beside their gradients, whole or by rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.optim.rows import summed
from tracejit.sparse import RowGradient

__all__ = ["decays", "each", "rate_at", "zeros"]

#: Says of a leaf, by its path (as `tracejit.tree.paths` has it) and the array, whether it decays.
Mask = Callable[[str, Any], bool]
#: A learning rate, or one for each count of steps, the first of which is 0.
Rate = float | Callable[[Any], Any]


def zeros(params: Any) -> list[Any]:
    """An array of zeros for each leaf, of its shape and dtype."""
    return [np.zeros_like(p) for p in tree.leaves(params)]


def decays(params: Any, weight_decay: float, mask: Mask | None = None) -> tuple[float, ...]:
    """The weight decay of each leaf: 0 where there is a mask and it says so."""
    leaves = tree.paths(params)
    return tuple(weight_decay if mask is None or mask(path, p) else 0.0 for path, p in leaves)


def rate_at(lr: Rate, count: Any) -> Any:
    """The learning rate after `count` steps, as a Python float: it leaves a float32 what it is."""
    return float(lr(count)) if callable(lr) else lr


def each(params: Any, grads: Any, *states: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
    """`(p, g, *state)` for each leaf of `params`, to be changed in place.

    A `state` has one entry for each leaf: an array of its shape, or anything else. Where a gradient
    is a `RowGradient`, `p`, `g` and the arrays of the state are the rows that it has, each once;
    they are stored where they belong afterwards, and all other rows stay as they are.
    """
    for p, g, *state in zip(tree.leaves(params), tree.leaves(grads), *states, strict=True):
        if isinstance(g, RowGradient):
            rows, values = summed(g)
            whole = (p, *state)
            parts = [x[rows] if isinstance(x, np.ndarray) else x for x in whole]
            yield parts[0], values, *parts[1:]
            for x, part in zip(whole, parts, strict=True):
                if isinstance(x, np.ndarray):
                    x[rows] = part
        else:
            yield p, g, *state
