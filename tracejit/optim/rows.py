"""Gradients by rows, as optimisers need them: each row once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.sparse import RowGradient

__all__ = ["summed"]


def summed(g: RowGradient) -> tuple[Any, Any]:
    """The rows that a gradient has, in order and each once, and the sums of their gradients."""
    rows, place = np.unique(g.rows, return_inverse=True)
    values = np.zeros((len(rows), *g.values.shape[1:]), g.values.dtype)
    np.add.at(values, place, g.values)
    return rows, values
