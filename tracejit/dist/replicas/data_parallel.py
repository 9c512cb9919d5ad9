"""A training step on several processes, each with its own data, that keeps their models equal."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.dist.board import Board
from tracejit.dist.replicas.mean_gradients import with_mean_gradients
from tracejit.dist.world import VARIABLE, world

__all__ = ["DataParallel", "data_parallel"]


def data_parallel(step: Callable[..., Any]) -> DataParallel:
    """`step`, whose optimisers take the mean of all processes' gradients.

    `step(model, optimizer, *data)` is a function, jitted or not, that gives gradients to an
    optimiser's `update(params, grads)`: one of `tracejit.optim`, or any object of a class of Python
    with such a method. Each process calls it with data of its own, and as often as the others. Where
    the loss is a mean over as many samples on each, the step is that of one process on the data of
    all, but for the rounding of the sums; what else the step computes, such as the loss or the
    statistics of a `BatchNorm`, is of its own data.

    At the first call with a model or an optimiser the arrays of process 0 are copied to all others.
    Raises PeerLost where a process has ended, DistError where their calls do not fit.
    """
    return DataParallel(step)


class DataParallel:
    """What `data_parallel` gives: called as the step is."""

    def __init__(self, step: Callable[..., Any]) -> None:
        self.step = step
        self._known: dict[int, tuple[Any, Any]] = {}
        self._board = _board()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        given = [self._shared(x) for x in args]
        named = {name: self._shared(x) for name, x in kwargs.items()}
        result = self.step(*given, **named)
        if self._board is not None:
            self._board.step(world().rank)
        return result

    def _shared(self, x: Any) -> Any:
        """An argument: an object of the program's has the same arrays on all processes."""
        if type(x).__flags__ & _HEAP_TYPE == 0 or callable(getattr(x, "__array__", None)):
            return x
        known = self._known.get(id(x))
        if known is None:
            _copy_from_first(x)
            known = self._known[id(x)] = x, with_mean_gradients(x) if _is_optimizer(x) else x
        return known[1]


_HEAP_TYPE = 1 << 9


def _is_optimizer(x: Any) -> bool:
    update = getattr(type(x), "update", None)
    if not isinstance(update, FunctionType):
        return False
    return [*inspect.signature(update).parameters][1:3] == ["params", "grads"]


def _copy_from_first(x: Any) -> None:
    """Store the arrays that process 0 has in an object into this one's."""
    group = world()
    if group.size == 1:
        return
    arrays = [v for _, v in tree.entries(x, buffers=True) if isinstance(v, np.ndarray)]
    for mine, theirs in zip(arrays, group.broadcast(arrays), strict=True):
        mine[...] = theirs


def _board() -> Board | None:
    kind, _, rest = os.environ.get(VARIABLE, "").partition(":")
    if kind != "local":
        return None
    _, count, folder = rest.split(":", 2)
    return Board(Path(folder) / "board", int(count))
