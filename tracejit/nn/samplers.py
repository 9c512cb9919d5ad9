"""Samplers of classes: what losses over large vocabularies compare the true classes with.

A sampler is state, as a layer is: its generator goes on with each call.
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["LogUniformSampler", "Sampler", "UnigramSampler"]


class Sampler:
    """Draws `count` of `size` classes, for all examples of a batch.

    With `unique`, classes that have been drawn already are drawn again until all differ. Raises
    ValueError where there are fewer than `count` classes then.
    """

    __buffers__: tuple[str, ...] = ()

    def __init__(self, size: int, count: int, rng: Any, unique: bool = True) -> None:
        if unique and count > size:
            raise ValueError(f"{count} different ones of {size} classes cannot be drawn")
        self.size, self.count, self.rng, self.unique = size, count, rng, unique
        self.drawn = np.zeros(size if unique else 0, bool)

    def __call__(self, labels: Any) -> tuple[Any, Any, Any]:
        """The classes that are drawn, i64 (count,), how often each of `labels` is expected among
        them, and how often each of these is: float64, of the shapes of both."""
        if self.unique:
            sampled, tries = self._different()
            absent = [np.log1p(-self.probability(c)) for c in (labels, sampled)]
            return sampled, -np.expm1(tries * absent[0]), -np.expm1(tries * absent[1])
        sampled = self.draw(self.rng.random((self.count, 2)))
        return sampled, *(self.count * self.probability(c) for c in (labels, sampled))

    def draw(self, u: Any) -> Any:
        """A class for each pair of uniform numbers below 1, which lie in the last axis."""
        raise NotImplementedError

    def probability(self, classes: Any) -> Any:
        """How probable it is that one draw gives each of these classes."""
        raise NotImplementedError

    def _different(self) -> tuple[Any, int]:
        """So many classes that differ, and how many draws that took."""
        sampled, found, tries = np.zeros(self.count, np.int64), 0, 0
        while found < self.count:
            k = self.draw(self.rng.random(2))
            tries += 1
            if not self.drawn[k]:
                self.drawn[k] = True
                sampled[found] = k
                found += 1
        self.drawn[sampled] = False
        return sampled, tries


class LogUniformSampler(Sampler):
    """Classes by `log((k + 2) / (k + 1)) / log(size + 1)`: words sorted by falling frequency have
    such ones about (Zipf's law)."""

    def draw(self, u: Any) -> Any:
        k = np.exp(u[..., 0] * np.log(self.size + 1.0)).astype(np.int64) - 1
        return np.minimum(k, self.size - 1)

    def probability(self, classes: Any) -> Any:
        return np.log1p(1 / (classes + 1.0)) / np.log(self.size + 1.0)


class UnigramSampler(Sampler):
    """Classes by their counts, to the power `distortion`: 0.75 in word2vec, 0 for equal ones.

    A draw is one of the `size` equal columns of an alias table: its own class up to a height,
    another above (Walker, An Efficient Method for Generating Discrete Random Variables, 1977). The
    table is made of sums (Hübschle-Schneider and Sanders, Parallel Weighted Random Sampling, 2019).
    """

    __buffers__ = ("shares", "heights")

    def __init__(
        self, counts: Any, count: int, rng: Any, distortion: float = 1.0, unique: bool = True
    ) -> None:
        weights = np.asarray(counts, np.float64) ** distortion
        if not (weights >= 0).all() or not weights.sum() > 0:
            raise ValueError("counts are at least 0, and some are more")
        super().__init__(len(weights), count, rng, unique)
        if unique and count > np.count_nonzero(weights):
            raise ValueError(f"{count} different classes cannot be drawn: fewer have counts")
        self.shares = weights / weights.sum()
        self.heights, self.others = _alias_table(self.shares)

    def draw(self, u: Any) -> Any:
        k = (u[..., 0] * self.size).astype(np.int64)
        return np.where(u[..., 1] < self.heights[k], k, self.others[k])

    def probability(self, classes: Any) -> Any:
        return self.shares[classes]


def _alias_table(shares: Any) -> tuple[Any, Any]:
    """The height of each column, and the class above it.

    The columns of rare classes are filled up, one after the other, by frequent classes, one after
    the other. What a frequent class has left when it cannot fill up a column is its own height: the
    next one fills up both.
    """
    heights, others = shares * len(shares), np.arange(len(shares))
    rare, frequent = np.nonzero(heights < 1)[0], np.nonzero(heights >= 1)[0]
    lack, excess = np.cumsum(1 - heights[rare]), np.cumsum(heights[frequent] - 1)
    filler = np.searchsorted(excess, np.append(0, lack[:-1])[: len(rare)], side="right")
    others[rare] = frequent[np.minimum(filler, len(frequent) - 1)]
    # The last one fills up what is left, which is nothing but for rounding.
    first = np.searchsorted(lack, excess[:-1], side="right")
    used = first < len(lack)
    heights[frequent] = 1.0
    heights[frequent[:-1][used]] = 1 - (lack[first[used]] - excess[:-1][used])
    others[frequent[:-1]] = frequent[1:]
    return heights, others
