"""Losses of margins and of angles."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.nn.losses import reduced, same_shapes

__all__ = ["cosine_embedding_loss", "cosine_similarity", "hinge_loss", "multi_margin_loss"]


def hinge_loss(input: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """`max(0, margin - target * input)` of targets that are 1 or -1 (Cortes and Vapnik,
    Support-Vector Networks, 1995)."""
    same_shapes("hinge_loss", input, target)
    return reduced(np.maximum(margin - target * input, 0), reduction)


def multi_margin_loss(input: Any, target: Any, margin: float = 1.0, reduction: str = "mean") -> Any:
    """`max(0, margin - input[n, y] + input[n, k])`, summed over all classes k but y, by their
    number C, for inputs (N, C) and classes y (N,) (Crammer and Singer, 2001).

    Raises IndexError for a class that is not in 0 ... C - 1.
    """
    count, classes = input.shape
    if ((target < 0) | (target >= classes)).any():
        raise IndexError(f"multi_margin_loss: a class that is not in 0 ... {classes - 1}")
    own = input[np.arange(count), target][:, None]
    missed = np.maximum(margin - own + input, 0)
    others = np.arange(classes) != target[:, None]
    return reduced(np.where(others, missed, 0).sum(1) / classes, reduction)


def cosine_similarity(x1: Any, x2: Any, axis: int = 1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between `x1` and `x2` along an axis; lengths are at least `eps`."""
    lengths = [np.maximum(np.sqrt((x * x).sum(axis)), eps) for x in (x1, x2)]
    return (x1 * x2).sum(axis) / (lengths[0] * lengths[1])


def cosine_embedding_loss(
    x1: Any, x2: Any, target: Any, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """`1 - cos` of the rows of two arrays (N, D) where the target (N,) is 1, and
    `max(0, cos - margin)` where it is -1."""
    cosine = cosine_similarity(x1, x2)
    return reduced(np.where(target > 0, 1 - cosine, np.maximum(cosine - margin, 0)), reduction)
