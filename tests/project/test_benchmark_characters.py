"""The benchmark of characters: its text, its models, and that PyTorch's are the same."""

from __future__ import annotations

import math

import numpy as np
import pytest

import tracejit
from benchmarks import characters
from benchmarks.__main__ import names
from benchmarks.characters import LENGTH, Ours, Recurrent, Torch, Transformer

EACH = pytest.mark.parametrize("kind", [Recurrent, Transformer])


def test_it_is_a_benchmark() -> None:
    assert "characters" in names()


@EACH
def test_a_character_costs_what_a_guess_costs_at_first(kind: type) -> None:
    ids, count = characters.text()
    assert len(ids) > 100_000 and 60 < count < 1000 and ids.min() == 0 and ids.max() == count - 1
    batch = characters.batch_of(ids, np.random.default_rng(0))
    assert all(part.shape == (characters.BATCH, LENGTH) for part in batch)
    assert np.array_equal(batch[0][:, 1:], batch[1][:, :-1])
    with tracejit.eager():
        loss = Ours(kind(count, np.random.default_rng(1))).loss(*batch)
    assert loss == pytest.approx(math.log(count), rel=0.1)


@EACH
def test_steps_are_those_of_pytorch(kind: type) -> None:
    pytest.importorskip("torch")
    ids, count = characters.text()
    net = kind(count, np.random.default_rng(1))
    twins = Ours(net), Torch(net)
    rng = np.random.default_rng(0)
    for _ in range(4):
        batch = characters.batch_of(ids, rng)
        ours, theirs = (twin.step(*batch) for twin in twins)
        assert ours == pytest.approx(theirs, rel=1e-4)
