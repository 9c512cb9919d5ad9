"""Tables of vectors, looked up by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.nn import init
from tracejit.nn.module import Module

__all__ = ["Embedding"]


class Embedding(Module):
    """Rows of a table: ids i64[...] -> [..., size].

    `weight` is [count, size], drawn from a normal distribution. With `sparse_rows=True` its
    gradient is a `tracejit.RowGradient`. Negative ids count from the end, as NumPy's indices do;
    raises IndexError for one that is outside.
    """

    def __init__(self, count: int, size: int, rng: Any, *, dtype: Any = np.float32) -> None:
        self.weight = init.normal((count, size), rng, 1.0, dtype)

    def __call__(self, ids: Any) -> Any:
        return self.weight[ids]
