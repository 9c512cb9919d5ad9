"""Gradients of tables of which only some rows are read, kept as those rows.

    g = tracejit.grad(loss, sparse_rows=True)(table, idx)
    g.add_to(table, -rate)

The methods are plain Python over NumPy: inside a compiled function they are traced as the caller's
own code is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["RowGradient"]


@dataclass(frozen=True, eq=False)
class RowGradient:
    """The gradient by an array of the shape `shape`: `values[k]` belongs to the row `rows[k]`.

    A row that was read several times occurs as often, and its gradient is the sum; all other rows
    have zero.
    """

    #: i64[k], each from 0 on.
    rows: Any
    #: dtype[k, *shape[1:]], the dtype that of the array.
    values: Any
    shape: tuple[int, ...]

    def add_to(self, table: Any, scale: Any = 1.0) -> None:
        """Add `scale` times the gradient to `table`, an array of the shape `shape`, where it lies.

        No array of that shape is made. Raises ValueError for a table of another shape.
        """
        if table.shape != self.shape:
            raise ValueError("a gradient by rows is added to an array of another shape")
        np.add.at(table, self.rows, scale * self.values)

    def dense(self) -> Any:
        """The gradient as an array of the shape `shape`."""
        out = np.zeros(self.shape, self.values.dtype)
        np.add.at(out, self.rows, self.values)
        return out

    def summed(self) -> RowGradient:
        """The same gradient with each row once, in rising order: what is not linear in a row's
        gradient (its square, a step of Adagrad) takes this one."""
        rows, place = np.unique(self.rows, return_inverse=True)
        values = np.zeros((len(rows), *self.values.shape[1:]), self.values.dtype)
        np.add.at(values, place, self.values)
        return RowGradient(rows, values, self.shape)

    def scaled(self, scale: Any) -> RowGradient:
        """`scale` times the gradient."""
        return RowGradient(self.rows, scale * self.values, self.shape)

    def norm(self) -> Any:
        """The Euclidean norm of the gradient, as that of `dense()`."""
        values = self.summed().values
        return np.sqrt((values * values).sum())
