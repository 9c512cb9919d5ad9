"""Pieces of a program, each run by a thread of its own."""

from __future__ import annotations

import copy
import random
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.base.placing import HOST
from tracejit.ir.evaluate import evaluate
from tracejit.ir.graph import Graph, Node, replay
from tracejit.ops.host.transfer import meeting
from tracejit.passes.partition.costs import Costs
from tracejit.passes.partition.cut import Piece, cut
from tracejit.passes.partition.schedule import schedule
from tracejit.passes.partition.units import Unit, Units
from tracejit.passes.simplify.inline import inline_calls

__all__ = ["Left", "at_random", "run_pieces"]


class Left(Exception):
    """Another piece has ended the run, or nothing comes any more."""


class _Meeting:
    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.waiting: dict[tuple[str, str, str], deque[Any]] = {}
        self.left = False


class _End:
    """A device's end of it."""

    def __init__(self, shared: _Meeting, device: str) -> None:
        self._shared, self._device = shared, device

    def send(self, key: str, to: str, value: Any) -> None:
        with self._shared.changed:
            place = self._device, to, key
            self._shared.waiting.setdefault(place, deque()).append(copy.deepcopy(value))
            self._shared.changed.notify_all()

    def receive(self, key: str, source: str) -> Any:
        shared, place = self._shared, (source, self._device, key)
        with shared.changed:
            while not shared.waiting.get(place):
                if shared.left or not shared.changed.wait(20):
                    raise Left(f"{place} does not come")
            return shared.waiting[place].popleft()


def run_pieces(
    pieces: Sequence[Piece],
    inputs: Sequence[Any],
    count: int,
    run: Callable[[Graph, Sequence[Any]], Sequence[Any]] = evaluate,
) -> tuple[list[Any], list[BaseException], int]:
    """The outputs, the errors of all pieces but `Left`, and how many messages nobody has read."""
    shared = _Meeting()
    outputs: list[Any] = [None] * count
    errors: list[BaseException] = []

    def work(piece: Piece) -> None:
        try:
            with meeting(_End(shared, piece.device)):
                found = run(piece.graph, [inputs[k] for k in piece.inputs])
            for k, x in zip(piece.outputs, found, strict=False):
                outputs[k] = x
        except BaseException as e:
            errors.append(e)
            with shared.changed:
                shared.left = True
                shared.changed.notify_all()

    threads = [threading.Thread(target=work, args=(piece,)) for piece in pieces]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outputs, errors, sum(map(len, shared.waiting.values()))


def at_random(graph: Graph, sizes: dict[str, int], seed: int, count: int = 3) -> list[Piece]:
    """A graph cut for `count` devices at random, but for what must lie on one or on the host."""
    rng = random.Random(seed)
    devices = [HOST, *(f"worker:{k}" for k in range(count - 1))]
    whole = inline_calls(replay(graph, sizes=sizes) if sizes else graph)
    units = Units(whole, split=True)
    chosen: dict[Unit, str] = {}
    for unit in units.unit.values():
        chosen.setdefault(unit, unit.pin or rng.choice(devices))

    def place(node: Node) -> str:
        return chosen[units.unit[node]]

    return cut(
        schedule(whole, place, Costs()) if seed % 2 else whole,
        place,
        [rng.choice(devices) for _ in whole.inputs],
        [rng.choice(devices) for _ in whole.outputs],
    )
