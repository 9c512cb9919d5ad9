"""Descent with momentum."""

from __future__ import annotations

from typing import Any

from tracejit.optim.leaves import Mask, Rate, decays, each, rate_at, zeros

__all__ = ["Momentum"]


class Momentum:
    """`m = momentum * m + g; p -= lr * m`, or with `nesterov` `p -= lr * (g + momentum * m)`.

    Polyak, Some Methods of Speeding up the Convergence of Iteration Methods, 1964; Sutskever et
    al., On the Importance of Initialization and Momentum in Deep Learning, 2013. Weight decay is
    that of an L2 penalty.
    """

    #: What servers of parameters divide (see `dist/replicas/optimizer_parts.py`).
    by_leaf = ("decays", "m")

    def __init__(
        self,
        params: Any,
        lr: Rate = 1e-2,
        momentum: float = 0.9,
        nesterov: bool = False,
        weight_decay: float = 0.0,
        mask: Mask | None = None,
    ) -> None:
        self.lr, self.momentum, self.nesterov, self.count = lr, momentum, nesterov, 0
        self.decays, self.m = decays(params, weight_decay, mask), zeros(params)

    def update(self, params: Any, grads: Any) -> None:
        """Take one step, in place."""
        rate = rate_at(self.lr, self.count)
        self.count += 1
        for p, g, m, decay in each(params, grads, self.m, self.decays):
            if decay:
                g = g + decay * p
            m *= self.momentum
            m += g
            p -= rate * (g + self.momentum * m if self.nesterov else m)
