"""Gradients of several batches in one step."""

from __future__ import annotations

from typing import Any

from tracejit import tree
from tracejit.optim.leaves import zeros
from tracejit.sparse import RowGradient

__all__ = ["Accumulated"]


class Accumulated:
    """An optimiser that takes a step after every `every` gradients, by their mean.

    The parameters change at the last of these; `every` batches do what one of all of them does.
    """

    def __init__(self, opt: Any, params: Any, every: int) -> None:
        self.opt, self.every, self.count = opt, every, 0
        self.sums = zeros(params)

    def update(self, params: Any, grads: Any) -> None:
        """Add a gradient; with the last one, take a step, in place."""
        self.count += 1
        if self.count % self.every:
            self._add(grads)
        else:
            # All that may fail in the step does so before the sums change.
            self._add(grads)
            self.opt.update(params, self.sums)
            for s in self.sums:
                s[...] = 0

    def _add(self, grads: Any) -> None:
        for s, g in zip(self.sums, tree.leaves(grads), strict=True):
            if isinstance(g, RowGradient):
                g.add_to(s, 1 / self.every)
            else:
                s += g / self.every
