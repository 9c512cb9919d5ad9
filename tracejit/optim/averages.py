"""Averages of parameters over the steps."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tracejit import tree

__all__ = ["Average"]


class Average:
    """A mean of parameters in which a step weighs `decay` times what the next one does.

    Call `update(params)` after each step (Polyak and Juditsky, Acceleration of Stochastic
    Approximation by Averaging, 1992, with weights that decay). It begins as the parameters are.
    """

    def __init__(self, params: Any, decay: float = 0.999) -> None:
        self.decay, self.count = decay, 0
        self.means = [p.copy() for p in tree.leaves(params)]

    def update(self, params: Any) -> None:
        """Take parameters into the mean."""
        self.count += 1
        for mean, p in zip(self.means, tree.leaves(params), strict=True):
            mean += (1 - self.decay) * (p - mean)

    def swap(self, params: Any) -> None:
        """Exchange the parameters and the mean, in place; once more brings them back."""
        for mean, p in zip(self.means, tree.leaves(params), strict=True):
            held = p.copy()
            p[...] = mean
            mean[...] = held

    @contextmanager
    def swapped(self, params: Any) -> Iterator[Any]:
        """Let the parameters be the mean while a `with` lasts."""
        self.swap(params)
        try:
            yield params
        finally:
            self.swap(params)
