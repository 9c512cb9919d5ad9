"""Connectionist temporal classification: labels of sequences without an alignment."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.api import stop_gradient
from tracejit.nn.losses import reduced

__all__ = ["ctc_loss"]

#: The logarithm of nothing: sums with it are finite, which those with -inf are not.
_NEVER = -1e30


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """The negative logarithm of the probability of all alignments of labels with a sequence.

    `log_probs` holds logarithms of probabilities, (T, N, C) of float32 or float64; `targets` the
    labels, (N, S), none of them `blank`; of each example count `input_lengths` and
    `target_lengths`, both (N,). A loss is infinite where a sequence is too short for its labels, 0
    with `zero_infinity`; its gradient is 0. "mean" divides by the numbers of labels first.

    Alignments are counted by the forward recursion of Graves et al., Connectionist Temporal
    Classification, 2006, whose derivative is the backward one. Raises ValueError for lengths
    beyond T or S, IndexError for labels outside 0 ... C - 1, TypeError for other floats.
    """
    steps, count, classes = log_probs.shape
    places = targets.shape[1]
    if log_probs.dtype.itemsize < 4:
        raise TypeError(f"ctc_loss takes float32 or float64, not {log_probs.dtype}")
    if (input_lengths > steps).any() or (target_lengths > places).any():
        raise ValueError(f"ctc_loss: a length beyond {steps} steps or {places} labels")
    # Blanks stand around all labels, and in place of those that do not count.
    labels = np.full((count, 2 * places + 1), blank)
    labels[:, 1::2] = np.where(np.arange(places) < target_lengths[:, None], targets, blank)
    if ((labels < 0) | (labels >= classes)).any():
        raise IndexError(f"ctc_loss: a label that is not in 0 ... {classes - 1}")
    skips = labels != blank
    skips[:, 2:] &= labels[:, 2:] != labels[:, :-2]
    rows = np.arange(count)[:, None]
    scores = np.maximum(log_probs[:, rows, labels], _NEVER)
    # Two columns before the first label: a sequence begins in the second of them.
    ways = np.full((count, labels.shape[1] + 2), _NEVER, log_probs.dtype)
    ways[:, 1] = 0
    for t in range(steps):
        stay, step = ways[:, 2:].copy(), ways[:, 1:-1]
        skip = np.where(skips, ways[:, :-2], _NEVER)
        top = stop_gradient(np.maximum(np.maximum(stay, step), skip))
        added = np.exp(stay - top) + np.exp(step - top) + np.exp(skip - top)
        goes_on = (t < input_lengths)[:, None]
        moved = np.where(goes_on, np.log(added) + top + scores[t], stay)
        ways[:, 1:2] = np.where(goes_on, _NEVER, ways[:, 1:2])
        ways[:, 2:] = moved
    last = 2 * target_lengths[:, None] + 1
    ends = np.concatenate([ways[rows, last], ways[rows, last + 1]], 1)
    top = stop_gradient(ends.max(1))
    losses = -(np.log(np.exp(ends - top[:, None]).sum(1)) + top)
    losses = np.where(losses > -0.1 * _NEVER, 0 if zero_infinity else np.inf, losses)
    if reduction == "mean":
        losses = losses / np.maximum(target_lengths, 1).astype(losses.dtype)
    return reduced(losses, reduction)
