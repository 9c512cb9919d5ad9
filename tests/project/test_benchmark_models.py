"""The models of the literature compile whole, learn, and have PyTorch's gradients."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import models
from benchmarks.models.cases import CASES, Case

NAMES = [case.name for case in CASES]


@pytest.mark.sampled(9)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_a_model_trains(case: Case) -> None:
    ours = models.Ours(case, small=True)
    losses = ours.train(4)
    assert np.isfinite(losses).all() and losses[0] < 10
    report = ours.jitted.report()
    assert len(report.variants) == 1 and not report.fallbacks and not report.bailouts


@pytest.mark.sampled(9)
@pytest.mark.parametrize("case", CASES, ids=NAMES)
def test_gradients_are_pytorchs(case: Case) -> None:
    pytest.importorskip("torch")
    models.require_equal_gradients(case, small=True)
