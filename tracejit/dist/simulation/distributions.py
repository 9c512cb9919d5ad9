"""How long a worker computes: distributions of seconds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = [
    "Constant",
    "Distribution",
    "Empirical",
    "Exponential",
    "LogNormal",
    "Straggling",
    "stream",
]

#: Numbers that are drawn at once.
_BLOCK = 1024


class Distribution:
    """A distribution of seconds."""

    def draw(self, rng: np.random.Generator, count: int) -> Any:
        """`count` independent seconds, as an array."""
        raise NotImplementedError


def stream(distribution: Distribution, rng: np.random.Generator) -> Callable[[], float]:
    """Gives one number after another."""
    left: list[float] = []

    def one() -> float:
        if not left:
            left.extend(reversed(distribution.draw(rng, _BLOCK).tolist()))
        return left.pop()

    return one


def _positive(**numbers: float) -> None:
    for name, x in numbers.items():
        if not x >= 0:
            raise ValueError(f"{name} is not negative, so not {x}")


@dataclass(frozen=True)
class Constant(Distribution):
    """Always the same. Raises ValueError for negative seconds."""

    seconds: float

    def __post_init__(self) -> None:
        _positive(seconds=self.seconds)

    def draw(self, rng: np.random.Generator, count: int) -> Any:
        return np.full(count, self.seconds)


@dataclass(frozen=True)
class Exponential(Distribution):
    """`shift` and what is exponential with the mean `mean` besides."""

    shift: float
    mean: float

    def __post_init__(self) -> None:
        _positive(shift=self.shift, mean=self.mean)

    def draw(self, rng: np.random.Generator, count: int) -> Any:
        return self.shift + rng.exponential(self.mean, count)


@dataclass(frozen=True)
class LogNormal(Distribution):
    """The exponential of a normal with the deviation `sigma`: half are below `median`."""

    median: float
    sigma: float

    def __post_init__(self) -> None:
        _positive(median=self.median, sigma=self.sigma)

    def draw(self, rng: np.random.Generator, count: int) -> Any:
        return self.median * np.exp(self.sigma * rng.standard_normal(count))


@dataclass(frozen=True)
class Straggling(Distribution):
    """Another distribution, of which a `share` of the steps takes `factor` times as long."""

    usual: Distribution
    share: float
    factor: float

    def __post_init__(self) -> None:
        _positive(share=self.share, factor=self.factor)
        if self.share > 1:
            raise ValueError(f"a share is at most 1, not {self.share}")

    def draw(self, rng: np.random.Generator, count: int) -> Any:
        slow = rng.random(count) < self.share
        return self.usual.draw(rng, count) * np.where(slow, self.factor, 1.0)


@dataclass(frozen=True)
class Empirical(Distribution):
    """Draws of what was measured, with repetition."""

    samples: Sequence[float]

    def __post_init__(self) -> None:
        if not len(self.samples):
            raise ValueError("there are no samples to draw from")
        _positive(samples=min(self.samples))

    def draw(self, rng: np.random.Generator, count: int) -> Any:
        return rng.choice(np.asarray(self.samples, float), count)
