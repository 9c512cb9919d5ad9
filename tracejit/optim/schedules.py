"""Learning rates by the count of steps: `lr=schedules.Cosine(1e-3, steps=10_000)`.

A schedule is a function of how many steps have been taken, 0 at the first. Those here are plain
Python; any other function will do, of Python's numbers with `math`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Cosine",
    "Exponential",
    "Joined",
    "MultiStep",
    "OneCycle",
    "Polynomial",
    "Step",
    "WarmUp",
]


@dataclass(frozen=True)
class Step:
    """`lr`, times `factor` after every `every` steps."""

    lr: float
    every: int
    factor: float = 0.1

    def __call__(self, count: Any) -> Any:
        return self.lr * self.factor ** (count // self.every)


@dataclass(frozen=True)
class MultiStep:
    """`lr`, times `factor` at each of the counts in `at`."""

    lr: float
    at: tuple[int, ...]
    factor: float = 0.1

    def __call__(self, count: Any) -> Any:
        rate = self.lr
        for k in self.at:
            rate = rate * self.factor if count >= k else rate
        return rate


@dataclass(frozen=True)
class Exponential:
    """`lr`, times `factor` after each step."""

    lr: float
    factor: float

    def __call__(self, count: Any) -> Any:
        return self.lr * self.factor**count


@dataclass(frozen=True)
class Cosine:
    """From `lr` down to `last` in `steps`, half a cosine, and on there (Loshchilov and Hutter,
    SGDR: Stochastic Gradient Descent with Warm Restarts, 2017)."""

    lr: float
    steps: int
    last: float = 0.0

    def __call__(self, count: Any) -> Any:
        return _between(self.lr, self.last, min(count, self.steps) / self.steps)


@dataclass(frozen=True)
class Polynomial:
    """From `lr` down to `last` in `steps` by `(1 - count / steps) ** power`, and on there."""

    lr: float
    steps: int
    power: float = 1.0
    last: float = 0.0

    def __call__(self, count: Any) -> Any:
        left = 1 - min(count, self.steps) / self.steps
        return self.last + (self.lr - self.last) * left**self.power


@dataclass(frozen=True)
class WarmUp:
    """From `first` up to what `then` begins with in `steps`, in a line; then as `then` says.

    `then` is a rate or a schedule, whose steps are counted from there.
    """

    steps: int
    then: Any
    first: float = 0.0

    def __call__(self, count: Any) -> Any:
        if count >= self.steps:
            return _at(self.then, count - self.steps)
        return self.first + (_at(self.then, 0) - self.first) * (count / self.steps)


@dataclass(frozen=True)
class OneCycle:
    """From `lr / start` up to `lr` in a part `warm` of `steps`, then down to `lr / start / end`,
    each half a cosine (Smith and Topin, Super-Convergence, 2018)."""

    lr: float
    steps: int
    warm: float = 0.3
    start: float = 25.0
    end: float = 1e4

    def __call__(self, count: Any) -> Any:
        first, top = self.lr / self.start, self.warm * self.steps - 1
        if count <= top:
            return _between(first, self.lr, count / top)
        done = (min(count, self.steps - 1) - top) / (self.steps - 1 - top)
        return _between(self.lr, first / self.end, done)


@dataclass(frozen=True)
class Joined:
    """One schedule after another: the next begins, its steps counted from there, at each of `at`.

    There is one number less than there are schedules.
    """

    schedules: tuple[Any, ...]
    at: tuple[int, ...]

    def __call__(self, count: Any) -> Any:
        rate = _at(self.schedules[0], count)
        for k, schedule in zip(self.at, self.schedules[1:], strict=True):
            rate = _at(schedule, count - k) if count >= k else rate
        return rate


def _at(schedule: Any, count: Any) -> Any:
    return schedule(count) if callable(schedule) else schedule


def _between(first: float, last: float, done: Any) -> Any:
    """What lies between two numbers, a part `done` of half a cosine on the way."""
    return last + (first - last) * (1 + math.cos(math.pi * done)) / 2
