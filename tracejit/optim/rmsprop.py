"""RMSProp."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.optim.leaves import Mask, Rate, decays, each, rate_at, zeros

__all__ = ["RMSProp"]


class RMSProp:
    """Steps over the root of the mean square of gradients (Tieleman and Hinton, Neural Networks for
    Machine Learning, lecture 6.5, 2012), or `centered`, of their variance (Graves, Generating
    Sequences With Recurrent Neural Networks, 2013).

    `v` averages `g**2`, `m` (where centered) `g`: `d = g / (sqrt(v - m**2) + eps)`. With momentum
    `b = momentum * b + d; p -= lr * b`, else `p -= lr * d`. Weight decay is that of an L2 penalty.
    """

    #: What servers of parameters divide (see `dist/replicas/optimizer_parts.py`).
    by_leaf = ("decays", "v", "m", "b")

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        momentum: float = 0.0,
        centered: bool = False,
        weight_decay: float = 0.0,
        mask: Mask | None = None,
    ) -> None:
        self.lr, self.alpha, self.eps, self.momentum = lr, alpha, eps, momentum
        self.count, self.decays = 0, decays(params, weight_decay, mask)
        self.v = zeros(params)
        self.m = zeros(params) if centered else None
        self.b = zeros(params) if momentum else None

    def update(self, params: Any, grads: Any) -> None:
        """Take one step, in place."""
        rate, new = rate_at(self.lr, self.count), 1 - self.alpha
        self.count += 1
        for p, g, v, m, b, decay in each(params, grads, self.v, self.m, self.b, self.decays):
            if decay:
                g = g + decay * p
            v += new * (g * g - v)
            square = v
            if m is not None:
                m += new * (g - m)
                square = np.maximum(v - m * m, 0)
            d = g / (np.sqrt(square) + self.eps)
            if b is not None:
                b *= self.momentum
                b += d
                d = b
            p -= rate * d
