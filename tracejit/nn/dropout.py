"""Dropout."""

from __future__ import annotations

from typing import Any

from tracejit.nn.module import Module

__all__ = ["Dropout"]


class Dropout(Module):
    """While training, sets elements to zero by chance, the others times 1 / (1 - rate).

    (Srivastava et al., 2014.) `rng` is the object's state: what is drawn depends on it alone, and
    goes on where a checkpoint left it. Raises ValueError for a rate that is not in [0, 1).
    """

    def __init__(self, rate: float, rng: Any) -> None:
        if not 0 <= rate < 1:
            raise ValueError(f"a rate of dropout is at least 0 and below 1, not {rate}")
        self.rate, self.rng = rate, rng

    def __call__(self, x: Any) -> Any:
        if not self.training or self.rate == 0:
            return x
        kept = self.rng.random(x.shape) >= self.rate
        return x * kept * (1 / (1 - self.rate))
