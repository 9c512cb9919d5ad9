"""What one server has of the parameters of one optimiser, and what it does when it is told to.

All servers are told the same, in the same order: after as many steps all have the parameters of one
version, and an answer is of one version, whichever server it comes from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.api import jit
from tracejit.dist.replicas.changes import Changes
from tracejit.dist.replicas.optimizer_parts import by_leaf, common, part_of, take_common
from tracejit.dist.replicas.sharded import ShardedOptimizer
from tracejit.dist.replicas.spans import Span
from tracejit.sparse import RowGradient

__all__ = ["Shard"]


@jit
def _apply(optimizer: Any, params: Any, gradients: Any) -> None:
    optimizer.update(params, gradients)


class _Has:
    """What a worker has: parameters of a version, and of each leaf whether it is sent the rows that
    have changed since ("r") or the whole ("d").
    """

    def __init__(self, version: int, kinds: str) -> None:
        self.version, self.kinds = version, kinds


class Shard:
    """The part of server `number` of `count`; `optimizer` is that of all parameters."""

    def __init__(self, optimizer: Any, number: int, count: int) -> None:
        self.optimizer, self.number, self.count = optimizer, number, count
        self._part: Any = None
        self.params: list[np.ndarray[Any, Any]] = []
        self.begun = False
        #: Whether a step changes the rows of its gradients alone.
        self._by_rows = False
        self._changes: list[Changes | None] = []
        self._has: dict[int, _Has] = {}
        self._lives: dict[int, int] = {}
        #: By worker and its life: the gradient that it has sent. One of a life that has ended may
        #: still make a step.
        self._gradients: dict[tuple[int, int], list[Any]] = {}

    def take(self, worker: int, life: int, version: int, kinds: str, leaves: list[Any]) -> None:
        """What a worker has sent: a gradient on a version, or that it has come late (-1).

        What comes from a life that has ended is nothing any more.
        """
        if life < self._lives.get(worker, 0):
            return
        self._lives[worker] = life
        self._has[worker] = _Has(version, kinds)
        if version >= 0:
            self._gradients[worker, life] = leaves

    def begin(self, spans: Sequence[Span], params: Sequence[Any]) -> None:
        """Take the first parameters, which are the same on all workers: those of these spans.

        Raises DistError where the optimiser cannot be divided.
        """
        if self.begun:
            return
        whole = self.optimizer
        if isinstance(whole, ShardedOptimizer):
            self._part = whole.optimizer
        else:
            self._part = whole if self.count == 1 else part_of(whole, spans)
        self._by_rows = by_leaf(type(self._part)) is not None
        self.params = [np.array(p) for p in params]
        self._changes = [Changes(len(p)) if p.ndim else None for p in self.params]
        self.begun = True

    def step(self, version: int, makers: Sequence[tuple[int, int]]) -> None:
        """Make the step to a version from the gradients of workers, each in one of its lives."""
        gradients = [self._gradients.pop((worker, life)) for worker, life in makers]
        mean = [_mean_leaf([g[k] for g in gradients]) for k in range(len(self.params))]
        _apply(self._part, self.params, mean)
        for g, changes in zip(mean, self._changes, strict=True):
            if changes is not None:
                rows = isinstance(g, RowGradient) and self._by_rows
                changes.add(version, g.rows if rows else None)
        if self._part is not self.optimizer and not isinstance(self.optimizer, ShardedOptimizer):
            take_common(self.optimizer, common(self._part))

    def drop(self, worker: int, life: int) -> None:
        """Leave out the gradient of a worker, if there is one."""
        self._gradients.pop((worker, life), None)

    def state(self) -> list[Any]:
        """The present parameters, and the arrays of the optimiser's part by their names."""
        columns = {}
        for name in by_leaf(type(self._part)) or () if self.count > 1 else ():
            column = getattr(self._part, name)
            if isinstance(column, (list, tuple)):
                columns[name] = [x if isinstance(x, np.ndarray) else None for x in column]
        return [self.params, columns]

    def answer(self, worker: int) -> list[Any]:
        """The present parameters, for what a worker has: a whole array, or the rows in which its
        own may differ, with their values.
        """
        has = self._has[worker]
        found: list[Any] = []
        for kind, p, changes in zip(has.kinds, self.params, self._changes, strict=True):
            if kind == "d" or changes is None:
                found.append(p)
            else:
                rows = changes.since(has.version)
                found.append([rows, p[rows]])
        return found


def _mean_leaf(leaves: Sequence[Any]) -> Any:
    """The mean of one leaf's gradients, in the order of the workers; of rows where all are."""
    if any(isinstance(g, np.ndarray) for g in leaves):
        leaves = [g if isinstance(g, np.ndarray) else _rows(g).dense() for g in leaves]
        total = leaves[0] if len(leaves) == 1 else leaves[0] + leaves[1]
        for g in leaves[2:]:
            total = total + g
        return total / total.dtype.type(len(leaves)) if len(leaves) > 1 else total
    rows = np.concatenate([rows for rows, _, _ in leaves])
    values = np.concatenate([values for _, values, _ in leaves])
    return RowGradient(rows, values / values.dtype.type(len(leaves)), tuple(leaves[0][2]))


def _rows(leaf: Any) -> RowGradient:
    rows, values, shape = leaf
    return RowGradient(rows, values, tuple(shape))
