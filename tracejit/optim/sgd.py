"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from tracejit.optim.leaves import Mask, Rate, decays, each, rate_at

__all__ = ["SGD"]


class SGD:
    """`p -= lr * g` (Robbins and Monro, A Stochastic Approximation Method, 1951).

    Weight decay is that of an L2 penalty: `g + weight_decay * p` in place of `g`.
    """

    #: What servers of parameters divide (see `dist/replicas/optimizer_parts.py`).
    by_leaf = ("decays",)

    def __init__(
        self, params: Any, lr: Rate = 1e-2, weight_decay: float = 0.0, mask: Mask | None = None
    ) -> None:
        self.lr, self.count = lr, 0
        self.decays = decays(params, weight_decay, mask)

    def update(self, params: Any, grads: Any) -> None:
        """Take one step, in place."""
        rate = rate_at(self.lr, self.count)
        self.count += 1
        for p, g, decay in each(params, grads, self.decays):
            p -= rate * (g + decay * p if decay else g)
