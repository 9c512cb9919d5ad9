"""Adam, and Adam with decoupled weight decay."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.optim.leaves import Mask, Rate, decays, each, rate_at, zeros

__all__ = ["Adam", "AdamW"]


class Adam:
    """Steps of the mean gradient over the root of the mean square, both without the bias of their
    start (Kingma and Ba, Adam: A Method for Stochastic Optimization, 2015).

    `m` averages `g`, `v` averages `g**2`: `p -= lr * (m / c1) / (sqrt(v / c2) + eps)` with `c1 = 1
    - b1**count` and `c2 = 1 - b2**count`. With `amsgrad` the largest `v` so far is in its place
    (Reddi, Kale and Kumar, On the Convergence of Adam and Beyond, 2018). Weight decay is that of an
    L2 penalty. Of a gradient by rows `m` and `v` of other rows stay: they do not decay meanwhile.
    """

    #: Whether weights decay by themselves, and not by their part in the gradient.
    decoupled = False
    #: What servers of parameters divide (see `dist/replicas/optimizer_parts.py`).
    by_leaf = ("decays", "m", "v", "largest")

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        amsgrad: bool = False,
        mask: Mask | None = None,
    ) -> None:
        self.lr, self.betas, self.eps, self.count = lr, betas, eps, 0
        self.decays = decays(params, weight_decay, mask)
        self.m, self.v = zeros(params), zeros(params)
        self.largest = zeros(params) if amsgrad else None

    def update(self, params: Any, grads: Any) -> None:
        """Take one step, in place."""
        (b1, b2), rate = self.betas, rate_at(self.lr, self.count)
        self.count += 1
        # As above, without a division and a root for each element.
        root = math.sqrt(1 - b2**self.count)
        step, eps = rate * root / (1 - b1**self.count), self.eps * root
        states = self.m, self.v, self.largest, self.decays
        for p, g, m, v, largest, decay in each(params, grads, *states):
            if decay and self.decoupled:
                p *= 1 - rate * decay
            elif decay:
                g = g + decay * p
            m += (1 - b1) * (g - m)
            v += (1 - b2) * (g * g - v)
            if largest is not None:
                np.maximum(largest, v, out=largest)
            p -= step * m / (np.sqrt(v if largest is None else largest) + eps)


class AdamW(Adam):
    """Adam whose weights decay by themselves: `p -= lr * weight_decay * p` besides (Loshchilov and
    Hutter, Decoupled Weight Decay Regularization, 2019).
    """

    decoupled = True

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        mask: Mask | None = None,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, mask)
