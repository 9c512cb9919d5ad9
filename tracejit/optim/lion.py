"""Lion."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.optim.leaves import Mask, Rate, decays, each, rate_at, zeros

__all__ = ["Lion"]


class Lion:
    """Steps of one size, by the sign of a mean gradient (Chen et al., Symbolic Discovery of
    Optimization Algorithms, 2023).

    `p -= lr * (sign(b1 * m + (1 - b1) * g) + weight_decay * p); m = b2 * m + (1 - b2) * g`.
    """

    #: What servers of parameters divide (see `dist/replicas/optimizer_parts.py`).
    by_leaf = ("decays", "m")

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-4,
        betas: tuple[float, float] = (0.9, 0.99),
        weight_decay: float = 0.0,
        mask: Mask | None = None,
    ) -> None:
        self.lr, self.betas, self.count = lr, betas, 0
        self.decays, self.m = decays(params, weight_decay, mask), zeros(params)

    def update(self, params: Any, grads: Any) -> None:
        """Take one step, in place."""
        (b1, b2), rate = self.betas, rate_at(self.lr, self.count)
        self.count += 1
        for p, g, m, decay in each(params, grads, self.m, self.decays):
            step = np.sign(m + (1 - b1) * (g - m))
            p -= rate * (step + decay * p if decay else step)
            m += (1 - b2) * (g - m)
