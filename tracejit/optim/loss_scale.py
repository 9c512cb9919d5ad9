"""Losses of halves, scaled so that gradients neither vanish nor overflow."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import tree
from tracejit.sparse import RowGradient

__all__ = ["LossScale"]


class LossScale:
    """A factor for the loss that grows until gradients overflow (Micikevicius et al., Mixed
    Precision Training, 2018).

    The gradients of `scaling.scale * loss` go to `scaling.update(opt, params, grads)`. Parameters
    should be float32, of which the program computes with float16: of halves, what is scaled back
    vanishes after all.
    """

    def __init__(self, scale: float = 2.0**15, factor: float = 2.0, every: int = 2000) -> None:
        self.scale, self.factor, self.every, self.good = scale, factor, every, 0

    def update(self, opt: Any, params: Any, grads: Any) -> Any:
        """Take a step with gradients scaled back, in place. Gives whether it did.

        It does not where one is infinite or NaN: the scale is divided by `factor` instead. After
        `every` steps in a row it is multiplied by it.
        """
        leaves = [g.values if isinstance(g, RowGradient) else g for g in tree.leaves(grads)]
        finite = True
        for g in leaves:
            finite = finite & np.isfinite(g).all()
        if finite:
            for g in leaves:
                g /= self.scale
            opt.update(params, grads)
            self.good += 1
            if self.good == self.every:
                self.scale, self.good = self.scale * self.factor, 0
        else:
            self.scale, self.good = self.scale / self.factor, 0
        return finite
