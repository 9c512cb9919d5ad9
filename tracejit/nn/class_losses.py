"""Losses of classification: one class of several for each example."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.api import stop_gradient
from tracejit.nn.losses import reduced, same_shapes

__all__ = ["cross_entropy", "log_sum_exp", "nll_loss"]


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """The negative logarithm of the softmax of `input` at the class of each example.

    `input` has the shape (N, C) or (N, C, ...), the classes in the second axis. `target` holds
    integers, of the shape (N, ...), or probabilities, floats of the shape of `input`. `weight`, of
    the shape (C,), weighs the classes; examples of the class `ignore_index` count nothing; with
    `label_smoothing` s a class has the probability 1 - s + s / C, all others s / C (Szegedy et al.,
    Rethinking the Inception Architecture, 2016).

    The mean over integers is divided by the weights of the examples that count (NaN if none does),
    that over probabilities by the number of examples. Raises ValueError for other shapes,
    IndexError for a class that is not in 0 ... C - 1.
    """
    classes, total = input.shape[1], log_sum_exp(input, 1)
    if target.dtype.kind == "f":
        same_shapes("cross_entropy", input, target)
        shares = target * (1 - label_smoothing) + label_smoothing / classes
        if weight is not None:
            shares = shares * _along_classes(weight, input)
        losses = (shares * (total - input)).sum(1)
        return losses.sum() / losses.size if reduction == "mean" else reduced(losses, reduction)
    kept, labels, weights = _counted("cross_entropy", input, target, weight, ignore_index)
    losses = weights * (total - np.take_along_axis(input, labels, 1))[:, 0]
    if label_smoothing:
        missed = total - input
        if weight is not None:
            missed = missed * _along_classes(weight, input)
        losses = (1 - label_smoothing) * losses + label_smoothing / classes * missed.sum(1)
    return _averaged(np.where(kept, losses, 0), weights, reduction)


def nll_loss(
    input: Any, target: Any, weight: Any = None, ignore_index: int = -100, reduction: str = "mean"
) -> Any:
    """`-input` at the class of each example, where `input` holds logarithms of probabilities.

    Shapes, weights, means and errors are those of `cross_entropy` with integers.
    """
    kept, labels, weights = _counted("nll_loss", input, target, weight, ignore_index)
    losses = -weights * np.take_along_axis(input, labels, 1)[:, 0]
    return _averaged(np.where(kept, losses, 0), weights, reduction)


def log_sum_exp(x: Any, axis: int) -> Any:
    """`log(sum(exp(x)))` along an axis, which stays with size 1, without overflow."""
    top = stop_gradient(x.max(axis, keepdims=True))
    return np.log(np.exp(x - top).sum(axis, keepdims=True)) + top


def _counted(
    name: str, input: Any, target: Any, weight: Any, ignore_index: int
) -> tuple[Any, Any, Any]:
    """Which examples count, their classes along an axis of size 1, and what they weigh."""
    classes = input.shape[1]
    if input.ndim < 2 or target.shape != (input.shape[0], *input.shape[2:]):
        raise ValueError(
            f"{name} takes inputs (N, C, ...) and classes (N, ...), not {input.shape} and "
            f"{target.shape}"
        )
    kept = target != ignore_index
    labels = np.where(kept, target, 0)
    if ((labels < 0) | (labels >= classes)).any():
        raise IndexError(f"{name}: a class that is not in 0 ... {classes - 1}")
    one = input.dtype.type(1)
    weights = np.where(kept, one if weight is None else weight[labels], 0)
    return kept, labels[:, None], weights


def _along_classes(weight: Any, input: Any) -> Any:
    return weight.reshape(-1, *(1,) * (input.ndim - 2))


def _averaged(losses: Any, weights: Any, reduction: str) -> Any:
    return losses.sum() / weights.sum() if reduction == "mean" else reduced(losses, reduction)
