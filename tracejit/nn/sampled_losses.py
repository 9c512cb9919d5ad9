"""Losses over large vocabularies, computed at a sample of the classes.

Of the table of classes only the rows of the labels and of the sample are read: its gradient is
these rows (`value_and_grad(..., sparse_rows=...)`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.nn.class_losses import log_sum_exp
from tracejit.nn.embedding import embedding
from tracejit.nn.losses import reduced
from tracejit.nn.probability_losses import binary_cross_entropy_with_logits

__all__ = ["nce_loss", "sampled_softmax_loss"]


def sampled_softmax_loss(
    weight: Any,
    bias: Any,
    labels: Any,
    input: Any,
    sampler: Any,
    remove_accidental_hits: bool = True,
    reduction: str = "mean",
    strategy: str = "mod",
) -> Any:
    """The cross entropy of `input @ weight.T + bias` over the true classes and a sample of all.

    `weight` has the shape (C, D), `bias` (C,) or is None; both may be lists of shards, for which
    `strategy` is that of `embedding`. `input` is (N, D), `labels` (N,) or (N, T) for T true
    classes of equal probability. `sampler` is a `Sampler`, or what it gives for `labels`. The
    logarithm of how often a class is expected in the sample is subtracted from its logit; sampled
    classes that are true ones of an example do not count for it with `remove_accidental_hits`
    (Jean et al., On Using Very Large Target Vocabulary for Neural Machine Translation, 2015).
    """
    given = weight, bias, labels, input, sampler, remove_accidental_hits, strategy
    true, sampled = _logits(*given)
    total = log_sum_exp(np.concatenate([true, sampled], 1), 1)[:, 0]
    return reduced(total - true.mean(1), reduction)


def nce_loss(
    weight: Any,
    bias: Any,
    labels: Any,
    input: Any,
    sampler: Any,
    remove_accidental_hits: bool = False,
    reduction: str = "mean",
    strategy: str = "mod",
) -> Any:
    """Noise-contrastive estimation: true classes told from sampled ones by logistic regression.

    Arguments are those of `sampled_softmax_loss`. T true classes have the target 1 / T each
    (Gutmann and Hyvärinen, Noise-Contrastive Estimation, 2010).
    """
    given = weight, bias, labels, input, sampler, remove_accidental_hits, strategy
    true, sampled = _logits(*given)
    losses = [
        binary_cross_entropy_with_logits(x, np.full_like(x, y), reduction="none").sum(1)
        for x, y in ((true, 1 / true.shape[1]), (sampled, 0))
    ]
    return reduced(losses[0] + losses[1], reduction)


def _logits(
    weight: Any, bias: Any, labels: Any, input: Any, sampler: Any, remove: bool, strategy: str
) -> tuple[Any, Any]:
    """The logits of the true classes, (N, T), and of the sampled ones, (N, S)."""
    labels = labels.reshape(len(input), -1)
    sampled, true_counts, counts = sampler(labels) if callable(sampler) else sampler
    count, dtype = labels.size, input.dtype
    ids = np.concatenate([labels.reshape(-1), sampled])
    rows = _rows(weight, ids, strategy)
    own = rows[:count].reshape(*labels.shape, -1)
    true, others = (input[:, None] * own).sum(2), input @ rows[count:].T
    if bias is not None:
        shifts = _rows(bias, ids, strategy)
        true, others = true + shifts[:count].reshape(labels.shape), others + shifts[count:]
    true = true - np.log(true_counts).reshape(labels.shape).astype(dtype)
    others = others - np.log(counts).astype(dtype)
    if remove:
        hits = (labels[:, :, None] == sampled).any(1)
        others = np.where(hits, np.finfo(dtype).min, others)
    return true, others


def _rows(table: Any, ids: Any, strategy: str) -> Any:
    return embedding(table, ids, strategy) if isinstance(table, (list, tuple)) else table[ids]
