"""CTC: the sum over all alignments, finite differences, PyTorch."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import nn

TARGETS = np.array([[1, 1, 2], [3, 2, 3], [2, 0, 9], [1, 1, 1], [1, 2, 3]])
INPUTS, LABELS = np.array([5, 4, 5, 3, 0]), np.array([3, 3, 1, 3, 0])
LOGITS = np.random.default_rng(0).normal(size=(5, 5, 4))


def loss(logits: Any, targets: Any, inputs: Any, labels: Any, zero: bool = True) -> Any:
    logs = logits - np.log(np.exp(logits).sum(2, keepdims=True))
    return nn.ctc_loss(logs, targets, inputs, labels, zero_infinity=zero)


@tracejit.jit(strict=True)
def both(logits: Any, targets: Any, inputs: Any, labels: Any) -> Any:
    return tracejit.value_and_grad(loss)(logits, targets, inputs, labels)


def by_definition(logits: Any, labels: list[int]) -> float:
    """Over all paths that become the labels where repeated classes, then blanks, are left out."""
    p = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(p.shape[1]), repeat=len(p)):
        if [k for k, _ in itertools.groupby(path) if k] == labels:
            total += np.prod([p[t, k] for t, k in enumerate(path)])
    return -np.log(total) if total else np.inf


def test_the_sum_over_alignments() -> None:
    every = [
        by_definition(LOGITS[:i, k], TARGETS[k, :n].tolist())
        for k, (i, n) in enumerate(zip(INPUTS, LABELS, strict=True))
    ]
    assert np.isinf(every[3]) and every[4] == 0
    logs = LOGITS - np.log(np.exp(LOGITS).sum(2, keepdims=True))
    assert np.allclose(nn.ctc_loss(logs, TARGETS, INPUTS, LABELS, reduction="none"), every)
    finite = np.where(np.isinf(every), 0, every)
    value, slope = both(LOGITS, TARGETS, INPUTS, LABELS)
    assert np.isclose(value, np.mean(finite / np.maximum(LABELS, 1)), rtol=1e-12)
    assert not slope[:, 3:].any() and not slope[4, 1].any()
    step = 1e-6 * np.random.default_rng(1).normal(size=LOGITS.shape)
    change = loss(LOGITS + step, TARGETS, INPUTS, LABELS) - value
    assert np.isclose((slope * step).sum(), change, rtol=1e-4)


def test_one_compile_for_all_sizes() -> None:
    before = len(both.report().compiles)
    for count, steps, places in ((2, 7, 2), (3, 9, 3), (4, 30, 4)):
        rng = np.random.default_rng(count)
        logits = rng.normal(size=(steps, count, 4)).astype(np.float32)
        targets, inputs = rng.integers(1, 4, (count, places)), np.full(count, steps)
        value, slope = both(logits, targets, inputs, np.full(count, places))
        assert value.dtype == slope.dtype == np.float32
        wanted = loss(logits.astype(float), targets, inputs, np.full(count, places))
        assert np.isclose(value, wanted, rtol=1e-5)
    assert len(both.report().compiles) <= before + 2


def test_pytorch_gives_the_same() -> None:
    torch = pytest.importorskip("torch")
    x = torch.from_numpy(LOGITS).requires_grad_()
    lengths = torch.from_numpy(INPUTS), torch.from_numpy(LABELS)
    targets = torch.from_numpy(np.minimum(TARGETS, 3))
    wanted = torch.nn.functional.ctc_loss(x.log_softmax(2), targets, *lengths, zero_infinity=True)
    wanted.backward()
    value, slope = both(LOGITS, TARGETS, INPUTS, LABELS)
    assert np.isclose(value, wanted.item(), rtol=1e-12)
    assert np.allclose(slope, x.grad.numpy(), rtol=1e-10, atol=1e-14)


def test_classes_that_cannot_be() -> None:
    logs = np.log(np.full((4, 1, 3), 0.5, np.float32))
    logs[1:3, 0, 1:] = -np.inf
    lengths = np.array([4]), np.array([2])
    value = nn.ctc_loss(logs, np.array([[1, 2]]), *lengths, reduction="sum")
    assert np.isclose(value, 4 * np.log(2))
    slope = tracejit.grad(nn.ctc_loss)(logs, np.array([[1, 2]]), *lengths)
    assert np.isfinite(slope).all()


def test_mistakes_are_named() -> None:
    with pytest.raises(IndexError, match=r"label that is not in 0 \.\.\. 3"):
        nn.ctc_loss(LOGITS, TARGETS + 1, INPUTS, LABELS)
    with pytest.raises(ValueError, match="beyond 5 steps or 3 labels"):
        nn.ctc_loss(LOGITS, TARGETS, INPUTS + 1, LABELS)
    with pytest.raises(TypeError, match="not float16"):
        nn.ctc_loss(LOGITS.astype(np.float16), TARGETS, INPUTS, LABELS)
