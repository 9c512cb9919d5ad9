"""AdaDelta."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.optim.leaves import Mask, Rate, decays, each, rate_at, zeros

__all__ = ["AdaDelta"]


class AdaDelta:
    """Steps of the size of earlier ones (Zeiler, ADADELTA: An Adaptive Learning Rate Method, 2012).

    `v` averages `g**2`, `u` the squares of steps: `d = sqrt(u + eps) / sqrt(v + eps) * g; p -= lr *
    d`. Weight decay is that of an L2 penalty.
    """

    #: What servers of parameters divide (see `dist/replicas/optimizer_parts.py`).
    by_leaf = ("decays", "v", "u")

    def __init__(
        self,
        params: Any,
        lr: Rate = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
        mask: Mask | None = None,
    ) -> None:
        self.lr, self.rho, self.eps, self.count = lr, rho, eps, 0
        self.decays = decays(params, weight_decay, mask)
        self.v, self.u = zeros(params), zeros(params)

    def update(self, params: Any, grads: Any) -> None:
        """Take one step, in place."""
        rate, eps, new = rate_at(self.lr, self.count), self.eps, 1 - self.rho
        self.count += 1
        for p, g, v, u, decay in each(params, grads, self.v, self.u, self.decays):
            if decay:
                g = g + decay * p
            v += new * (g * g - v)
            d = np.sqrt((u + eps) / (v + eps)) * g
            u += new * (d * d - u)
            p -= rate * d
