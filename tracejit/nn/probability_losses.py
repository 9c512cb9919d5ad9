"""Losses between probabilities: of yes and no, and between distributions."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.nn.losses import reduced, same_shapes

__all__ = ["binary_cross_entropy", "binary_cross_entropy_with_logits", "kl_div"]


def binary_cross_entropy(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean"
) -> Any:
    """`-(y * log(p) + (1 - y) * log(1 - p))` of probabilities p and targets y of one shape.

    Logarithms are at least -100, with the slope 0 below. `weight` multiplies the losses.
    """
    same_shapes("binary_cross_entropy", input, target)
    inside, below = input > 0, input < 1
    yes = np.where(inside, np.maximum(np.log(np.where(inside, input, 1)), -100), -100)
    no = np.where(below, np.log1p(-np.where(below, input, 0)), -100)
    return reduced(_weighted((target - 1) * no - target * yes, weight), reduction)


def binary_cross_entropy_with_logits(
    input: Any, target: Any, weight: Any = None, reduction: str = "mean", pos_weight: Any = None
) -> Any:
    """`binary_cross_entropy` of `1 / (1 + exp(-input))`, for inputs of any size.

    `weight` multiplies the losses, `pos_weight` their part with `target`; both broadcast.
    """
    same_shapes("binary_cross_entropy_with_logits", input, target)
    missed = np.maximum(-input, 0) + np.log1p(np.exp(-np.abs(input)))
    if pos_weight is not None:
        missed = missed * (1 + (pos_weight - 1) * target)
    return reduced(_weighted((1 - target) * input + missed, weight), reduction)


def kl_div(input: Any, target: Any, reduction: str = "mean", log_target: bool = False) -> Any:
    """`target * (log(target) - input)`, where `input` holds logarithms of probabilities (Kullback
    and Leibler, On Information and Sufficiency, 1951).

    `target` holds probabilities, 0 among them, or with `log_target` their logarithms. "batchmean"
    divides the sum by the size of the first axis: that is the divergence of each row, on average.
    """
    same_shapes("kl_div", input, target)
    if log_target:
        losses = np.exp(target) * (target - input)
    else:
        some = target > 0
        losses = np.where(some, target * (np.log(np.where(some, target, 1)) - input), 0)
    if reduction == "batchmean":
        return losses.sum() / input.shape[0]
    return reduced(losses, reduction)


def _weighted(losses: Any, weight: Any) -> Any:
    return losses if weight is None else losses * weight
