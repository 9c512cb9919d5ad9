"""Linear maps of the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.nn import init
from tracejit.nn.module import Module

__all__ = ["Linear"]


class Linear(Module):
    """`x @ weight.T + bias`: x [..., inputs] -> [..., outputs].

    `weight` is [outputs, inputs] and `bias` [outputs], drawn from `rng` as PyTorch draws them:
    uniform within 1 / sqrt(inputs).
    """

    def __init__(
        self, inputs: int, outputs: int, rng: Any, *, bias: bool = True, dtype: Any = np.float32
    ) -> None:
        bound = inputs**-0.5
        self.weight = init.uniform((outputs, inputs), rng, -bound, bound, dtype)
        self.bias = init.uniform((outputs,), rng, -bound, bound, dtype) if bias else None

    def __call__(self, x: Any) -> Any:
        outputs, inputs = self.weight.shape
        if x.shape[-1] != inputs:
            raise ValueError(
                f"Linear({inputs}, {outputs}) takes {inputs} features in the last axis, "
                f"not {x.shape[-1]}"
            )
        y = x @ self.weight.T
        return y if self.bias is None else y + self.bias
