"""Contenders for one call, timed in turns: CPU and wall time, medians."""

from __future__ import annotations

import contextlib
import copy
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tracejit import config
from tracejit.monitor.bars import bar

__all__ = ["Contender", "measure"]

#: A turn takes about so many seconds: short calls are repeated in it.
_TURN = 2e-3
#: Up to so many copies of arguments that a call changes.
_COPIES = 50


@dataclass
class Contender:
    """A function that answers the call, or why it does not; times in seconds of one call."""

    name: str
    function: Callable[..., Any] | None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    agrees: bool = True
    first_call: float | None = None
    cpu: float | None = None
    wall: float | None = None
    #: Whether functions that it calls, if they are decorated, run as plain Python.
    eager: bool = False


def measure(contenders: Sequence[Contender], rounds: int, changes: bool) -> None:
    """Time all contenders that have a function, in turns; a call that `changes` its arguments gets
    copies of them, which are not timed.
    """
    running = [c for c in contenders if c.function is not None]
    repeats = {c.name: _repeats(c, changes) for c in running}
    times: dict[str, list[tuple[float, float]]] = {c.name: [] for c in running}
    for turn in bar(range(rounds), name="bench"):
        for c in running if turn % 2 else reversed(running):
            times[c.name].append(_turn(c, repeats[c.name], changes))
    for c in running:
        c.cpu = statistics.median(cpu for cpu, _ in times[c.name])
        c.wall = statistics.median(wall for _, wall in times[c.name])


def _repeats(contender: Contender, changes: bool) -> int:
    _, wall = _turn(contender, 1, changes)
    return max(1, min(_COPIES if changes else 100_000, int(_TURN / max(wall, 1e-7))))


def _turn(contender: Contender, repeats: int, changes: bool) -> tuple[float, float]:
    """CPU and wall seconds of one call."""
    args, kwargs, function = contender.args, contender.kwargs, contender.function
    assert function is not None
    given = [(args, kwargs)] * repeats
    if changes:
        given = [copy.deepcopy(one) for one in given]
    with config.eager() if contender.eager else contextlib.nullcontext():
        cpu, wall = time.process_time(), time.perf_counter()
        for args, kwargs in given:
            function(*args, **kwargs)
        return (time.process_time() - cpu) / repeats, (time.perf_counter() - wall) / repeats
