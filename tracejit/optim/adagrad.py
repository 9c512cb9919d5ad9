"""AdaGrad."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.optim.leaves import Mask, Rate, decays, each, rate_at, zeros

__all__ = ["AdaGrad"]


class AdaGrad:
    """`v += g**2; p -= lr * g / (sqrt(v) + eps)` (Duchi, Hazan and Singer, Adaptive Subgradient
    Methods for Online Learning and Stochastic Optimization, 2011).

    `v` begins as `initial`. Weight decay is that of an L2 penalty.
    """

    #: What servers of parameters divide (see `dist/replicas/optimizer_parts.py`).
    by_leaf = ("decays", "v")

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-2,
        eps: float = 1e-10,
        initial: float = 0.0,
        weight_decay: float = 0.0,
        mask: Mask | None = None,
    ) -> None:
        self.lr, self.eps, self.count = lr, eps, 0
        self.decays, self.v = decays(params, weight_decay, mask), zeros(params)
        for v in self.v:
            v += initial

    def update(self, params: Any, grads: Any) -> None:
        """Take one step, in place."""
        rate = rate_at(self.lr, self.count)
        self.count += 1
        for p, g, v, decay in each(params, grads, self.v, self.decays):
            if decay:
                g = g + decay * p
            v += g * g
            p -= rate * g / (np.sqrt(v) + self.eps)
