"""Who computes on which parameters, and which gradients make a step: decisions without clocks,
threads or messages, which real processes and simulated ones take alike.

A policy is told what happens (a worker has joined, is lost, has sent a gradient) and answers what
is to be done, in order: send parameters to a worker, make a step of gradients, drop one. Versions
count the steps: version 0 is the start, and a gradient on version v was computed after v steps.
A worker is sent parameters only when it has nothing to do: what is late is never waited for, and
never queued behind.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["Action", "Async", "Backup", "Drop", "Policy", "Send", "Step", "Sync"]


@dataclass(frozen=True)
class Send:
    """Send the parameters of a version to a worker, which computes a gradient on them."""

    worker: int
    version: int


@dataclass(frozen=True)
class Step:
    """Make the step to `version` from the gradients that these workers have sent last."""

    version: int
    workers: tuple[int, ...]


@dataclass(frozen=True)
class Drop:
    """Leave out the gradient that a worker has sent, on `version`."""

    worker: int
    version: int


Action: TypeAlias = Send | Step | Drop


@dataclass
class Policy:
    """What all have: the workers, the version that each one computes on, the present version."""

    version: int = 0
    #: By worker: the version it computes on, None for one that waits.
    busy: dict[int, int | None] = field(default_factory=dict)

    def joined(self, worker: int) -> list[Action]:
        """A worker is there. Raises ValueError for one that is there already."""
        if worker in self.busy:
            raise ValueError(f"worker {worker} is there already")
        self.busy[worker] = None
        return self._hand_out([worker])

    def lost(self, worker: int) -> list[Action]:
        """A worker is there no more; a gradient that it has sent before counts still."""
        del self.busy[worker]
        return []

    def arrived(self, worker: int, version: int) -> list[Action]:
        """A worker has sent its gradient on a version. Raises ValueError for one not asked for."""
        if self.busy.get(worker) != version:
            raise ValueError(f"worker {worker} was not asked for a gradient on version {version}")
        self.busy[worker] = None
        return self._take(worker, version)

    def refreshed(self, worker: int) -> None:
        """A worker has got the present version, and computes on it what it was to compute on an
        older one.
        """
        if self.busy.get(worker) is not None:
            self.busy[worker] = self.version

    def restored(self, version: int) -> list[Action]:
        """The state of `version` has been restored: what was computed since counts no more."""
        self.version = version
        return self._hand_out([w for w, on in self.busy.items() if on is None])

    def _take(self, worker: int, version: int) -> list[Action]:
        raise NotImplementedError

    def _hand_out(self, workers: list[int]) -> list[Action]:
        """The present version to workers that wait."""
        for worker in workers:
            self.busy[worker] = self.version
        return [Send(worker, self.version) for worker in workers]


@dataclass
class Backup(Policy):
    """A step is made of the first `needed` gradients on its version; all later ones are dropped.
    Where fewer workers are there, it is made of those of all.

    With b workers more than are needed, the b slowest of each step do not hold it up (Chen, Pan,
    Monga, Bengio and Jozefowicz, Revisiting Distributed Synchronous SGD, 2016).
    """

    needed: int = 1
    #: Those whose gradients are there, in the order in which they came, and how many of them are
    #: workers no more.
    _sent: dict[int, None] = field(default_factory=dict)
    _absent: int = 0

    def __post_init__(self) -> None:
        if self.needed < 1:
            raise ValueError(f"a step needs a gradient, not {self.needed}")

    def joined(self, worker: int) -> list[Action]:
        """A worker that joins again, with a gradient of its own in the present step, waits."""
        actions = super().joined(worker)
        if worker in self._sent:
            self._absent -= 1
            self.busy[worker] = None
            return []
        return actions

    def lost(self, worker: int) -> list[Action]:
        """Where fewer are left than are needed, these make the step."""
        super().lost(worker)
        self._absent += worker in self._sent
        return self._step()

    def restored(self, version: int) -> list[Action]:
        """Gradients of the step that was under way are forgotten."""
        self._sent.clear()
        self._absent = 0
        return super().restored(version)

    def _take(self, worker: int, version: int) -> list[Action]:
        if version != self.version:
            return [Drop(worker, version), *self._hand_out([worker])]
        self._sent[worker] = None
        return self._step()

    def _step(self) -> list[Action]:
        if not self._sent or len(self._sent) < min(self.needed, len(self.busy) + self._absent):
            return []
        made = tuple(self._sent)
        waiting = [w for w in made if w in self.busy]
        self._sent.clear()
        self._absent = 0
        self.version += 1
        return [Step(self.version, made), *self._hand_out(waiting)]


@dataclass
class Sync(Backup):
    """A step is made of the gradients of all workers that are there; one that joins takes part in
    the next step.
    """

    needed: int = sys.maxsize


@dataclass
class Async(Policy):
    """Each gradient is a step by itself, if not more than `bound` steps were made since the version
    that it was computed on (None: however many were).
    """

    bound: int | None = None

    def _take(self, worker: int, version: int) -> list[Action]:
        if self.bound is not None and self.version - version > self.bound:
            return [Drop(worker, version), *self._hand_out([worker])]
        self.version += 1
        return [Step(self.version, (worker,)), *self._hand_out([worker])]
