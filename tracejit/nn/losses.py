"""Losses of regression, and how the losses of elements become one number."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["huber_loss", "l1_loss", "mse_loss", "reduced", "same_shapes", "smooth_l1_loss"]


def mse_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """`(input - target) ** 2`, of two arrays of one shape."""
    same_shapes("mse_loss", input, target)
    return reduced((input - target) ** 2, reduction)


def l1_loss(input: Any, target: Any, reduction: str = "mean") -> Any:
    """`abs(input - target)`, of two arrays of one shape."""
    same_shapes("l1_loss", input, target)
    return reduced(np.abs(input - target), reduction)


def huber_loss(input: Any, target: Any, delta: float = 1.0, reduction: str = "mean") -> Any:
    """`d ** 2 / 2` for `d = abs(input - target)` up to `delta`, a line with its slope beyond
    (Huber, Robust Estimation of a Location Parameter, 1964)."""
    same_shapes("huber_loss", input, target)
    d = np.abs(input - target)
    return reduced(np.where(d <= delta, 0.5 * d * d, delta * (d - 0.5 * delta)), reduction)


def smooth_l1_loss(input: Any, target: Any, beta: float = 1.0, reduction: str = "mean") -> Any:
    """`huber_loss` with `delta=beta`, divided by `beta`: the slope is 1 beyond it. With `beta` 0 it
    is `l1_loss` (Girshick, Fast R-CNN, 2015)."""
    if beta == 0:
        return l1_loss(input, target, reduction)
    return huber_loss(input, target, beta, reduction) / beta


def reduced(losses: Any, reduction: str) -> Any:
    """Losses as they are for "none", else their "sum" or "mean". Raises ValueError otherwise."""
    if reduction == "none":
        return losses
    if reduction == "sum":
        return losses.sum()
    if reduction != "mean":
        raise ValueError(f"reduction is 'mean', 'sum' or 'none', not {reduction!r}")
    return losses.mean()


def same_shapes(name: str, input: Any, target: Any) -> None:
    """Raise ValueError for arrays of two shapes: what broadcasts here is a mistake."""
    if input.shape != target.shape:
        raise ValueError(
            f"{name} takes an input and a target of one shape, not {input.shape} and {target.shape}"
        )
