"""Samplers draw what they say, and sampled losses are what their papers say."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit import nn

SIZE, WIDTH = 40, 3
COUNTS = np.random.default_rng(9).integers(0, 50, SIZE)


def samplers(count: int, unique: bool) -> list[Any]:
    return [
        nn.LogUniformSampler(SIZE, count, np.random.default_rng(1), unique),
        nn.UnigramSampler(COUNTS, count, np.random.default_rng(1), 0.75, unique),
    ]


@pytest.mark.parametrize("kind", [0, 1])
def test_frequencies_are_those_that_are_said(kind: int) -> None:
    every = np.arange(SIZE)
    sampler = samplers(200_000, False)[kind]
    sampled, expected, _ = sampler(every)
    share = sampler.probability(every)
    weights = COUNTS**0.75 if kind else np.log((every + 2) / (every + 1))
    assert np.allclose(share, weights / weights.sum(), rtol=1e-12)
    assert np.allclose(expected, 200_000 * share)
    found = np.bincount(sampled, minlength=SIZE)
    assert (abs(found - expected) <= 5 * np.sqrt(expected)).all()

    sampler, seen, wanted = samplers(12, True)[kind], np.zeros(SIZE), np.zeros(SIZE)
    for _ in range(2000):
        sampled, expected, own = sampler(every)
        assert len(set(sampled.tolist())) == 12 and np.array_equal(own, expected[sampled])
        seen[sampled] += 1
        wanted += expected
    # How often a class is expected is known for the number of draws that it took: about.
    assert abs(seen - wanted).max() < 0.05 * 2000
    assert not sampler.drawn.any()


def test_an_alias_table_holds_the_shares() -> None:
    rng = np.random.default_rng(0)
    for counts in (rng.integers(0, 9, 50), rng.random(7) ** 8, np.ones(5), np.eye(4)[2], [3]):
        s = nn.UnigramSampler(counts, 1, rng)
        assert ((s.heights >= 0) & (s.heights <= 1 + 1e-12)).all()
        held = s.heights.copy()
        np.add.at(held, s.others, 1 - s.heights)
        assert np.allclose(held / s.size, s.shares, atol=1e-14)


def test_mistakes_are_named() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(ValueError, match="5 different ones of 4"):
        nn.LogUniformSampler(4, 5, rng)
    with pytest.raises(ValueError, match="fewer have counts"):
        nn.UnigramSampler([1, 0, 2], 3, rng)
    with pytest.raises(ValueError, match="some are more"):
        nn.UnigramSampler([0, 0], 1, rng)


def by_definition(kind: str, a: dict[str, Any], hits: bool) -> Any:
    """Losses of examples, one by one."""
    sampled, expected, own = a["sampled"]
    losses = []
    for x, labels, count in zip(a["x"], a["labels"], expected, strict=True):
        true = [x @ a["w"][c] + a["b"][c] - np.log(q) for c, q in zip(labels, count, strict=True)]
        rest = [
            x @ a["w"][c] + a["b"][c] - np.log(q)
            for c, q in zip(sampled, own, strict=True)
            if not hits or c not in labels
        ]
        z, y = np.array(true + rest), np.array([1 / len(true)] * len(true) + [0] * len(rest))
        if kind == "softmax":
            losses.append(-(y * (z - np.log(np.exp(z).sum()))).sum())
        else:
            p = 1 / (1 + np.exp(-z))
            losses.append(-(y * np.log(p) + (1 - y) * np.log(1 - p)).sum())
    return np.mean(losses)


LOSSES = {"softmax": nn.sampled_softmax_loss, "nce": nn.nce_loss}


def batch(n: int) -> dict[str, Any]:
    rng = np.random.default_rng(n)
    labels = rng.integers(0, SIZE, (n, 2))
    found = {"w": rng.normal(size=(SIZE, WIDTH)), "b": rng.normal(size=SIZE), "labels": labels}
    sampled = rng.permutation(SIZE)[:9]
    sampled[0] = labels[0, 1]
    return found | {
        "x": rng.normal(size=(n, WIDTH)),
        "sampled": (sampled, rng.random((n, 2)), rng.random(9)),
    }


@tracejit.jit(strict=True)
def sampled_step(a: dict[str, Any]) -> Any:
    found = []
    for loss in (nn.sampled_softmax_loss, nn.nce_loss):
        for hits in (True, False):

            def of(w: Any, b: Any, x: Any, loss: Any = loss, hits: Any = hits) -> Any:
                return loss(w, b, a["labels"], x, a["sampled"], hits)

            found.append(
                tracejit.value_and_grad(of, argnums=(0, 1, 2), sparse_rows=(0, 1))(
                    a["w"], a["b"], a["x"]
                )
            )
    return found


def test_losses_by_definition() -> None:
    for n in (4, 6, 11):
        a = batch(n)
        found = iter(sampled_step(a))
        for kind in LOSSES:
            for hits in (True, False):
                value, (w, b, x) = next(found)
                assert np.isclose(value, by_definition(kind, a, hits), rtol=1e-12)
                assert len(w.rows) == len(b.rows) == 2 * n + 9
                rng = np.random.default_rng(0)
                steps = {k: 1e-6 * rng.normal(size=a[k].shape) for k in ("w", "b", "x")}
                up, down = ({k: a[k] + s * v for k, v in steps.items()} for s in (1, -1))
                change = by_definition(kind, a | up, hits) - by_definition(kind, a | down, hits)
                slopes = {"w": w.dense(), "b": b.dense(), "x": x}
                total = sum((slopes[k] * steps[k]).sum() for k in steps)
                assert np.isclose(2 * total, change, rtol=1e-5)
    assert len(sampled_step.report().compiles) == 2


def shards_loss(shards: Any, labels: Any, x: Any, sampler: Any) -> Any:
    return nn.sampled_softmax_loss(shards, None, labels, x, sampler)


@pytest.mark.compiles
def test_a_step_draws_as_plain_numpy_does() -> None:
    @tracejit.jit(strict=True)
    def step(shards: Any, labels: Any, x: Any, sampler: Any) -> Any:
        value, gradients = tracejit.value_and_grad(shards_loss, sparse_rows=True)(
            shards, labels, x, sampler
        )
        for t, g in zip(shards, gradients, strict=True):
            g.add_to(t, -0.1)
        return value

    table = np.random.default_rng(2).normal(size=(SIZE, WIDTH)).astype(np.float32)
    shards = nn.sharded(table, 3)
    compiled, plain = samplers(8, True)[1], samplers(8, True)[1]
    for n in (4, 5, 7):
        x, labels = np.ones((n, WIDTH), np.float32), np.arange(n)
        wanted = shards_loss([t.copy() for t in shards], labels, x, plain)
        value = step(shards, labels, x, compiled)
        assert value.dtype == np.float32 and np.isclose(value, wanted, rtol=1e-5)
    assert compiled.rng.random() == plain.rng.random()
    assert len(step.report().compiles) == 2 and "argument shards" not in str(step.report())
