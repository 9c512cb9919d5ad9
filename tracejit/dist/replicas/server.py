"""The server of parameters: process 0 keeps them, a policy decides which gradients make a step.

A worker sends its gradient with the version of the parameters that it was computed on, and waits
for what it is to compute on next. The server is a thread of process 0, beside that process's own
worker; it has arrays of its own, and the state of process 0's optimiser.
"""

from __future__ import annotations

import atexit
import contextlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.api import jit
from tracejit.dist.collectives import ANSWER, FAILED, GRADIENT, OVER
from tracejit.dist.replicas.mode import Mode
from tracejit.dist.replicas.policy import Drop, Policy, Send, Step
from tracejit.dist.transport.link import Elastic, PeerLost
from tracejit.sparse import RowGradient

__all__ = ["ParameterServer", "name_of", "server_of"]

#: What process 0 tells its server: it has another optimiser, or its own work has ended.
_ADDED, _LEAVES = "added", "leaves"


@jit
def _apply(optimizer: Any, params: Any, gradients: Any) -> None:
    optimizer.update(params, gradients)


class _Slot:
    """What one optimiser keeps."""

    def __init__(self, policy: Policy, optimizer: Any) -> None:
        self.policy, self.optimizer = policy, optimizer
        self.params: list[np.ndarray[Any, Any]] = []
        #: By worker: the last gradient that it has sent.
        self.sent: dict[int, list[Any]] = {}
        #: Those who have come late, before there were parameters.
        self.late: set[int] = set()


class _Known:
    """What this process has: a server, if it is process 0, and names of optimisers."""

    def __init__(self) -> None:
        self.server: ParameterServer | None = None
        self.names: dict[int, tuple[Any, str]] = {}


_KNOWN = _Known()


def server_of(link: Elastic, mode: Mode) -> ParameterServer:
    """The server of process 0. Raises ValueError where it has one of another mode."""
    if _KNOWN.server is None:
        _KNOWN.server = ParameterServer(link, mode)
    if _KNOWN.server.mode != mode:
        raise ValueError(f"process 0 serves in the mode {_KNOWN.server.mode.kind!r} already")
    return _KNOWN.server


def name_of(optimizer: Any, server: ParameterServer | None) -> str:
    """The name of an optimiser, which is the same on all processes of a program."""
    if id(optimizer) not in _KNOWN.names:
        name = str(len(_KNOWN.names))
        _KNOWN.names[id(optimizer)] = optimizer, name
        if server is not None:
            server.add(name, optimizer)
    return _KNOWN.names[id(optimizer)][1]


class ParameterServer:
    """Answers the workers of a link until all others have gone."""

    def __init__(self, link: Elastic, mode: Mode) -> None:
        self._link, self.mode = link, mode
        self._slots: dict[str, _Slot] = {}
        #: How many gradients have been left out.
        self.dropped = 0
        #: What has come for optimisers that process 0 has not met yet.
        self._early: list[Any] = []
        #: The workers that were there in the beginning, or have come since; these; and whether
        #: process 0 still has work of its own.
        self._here, self._late, self._own = set(range(link.size)), set[int](), True
        self._thread = threading.Thread(target=self._serve, name="tracejit server", daemon=True)
        self._thread.start()
        atexit.register(self.finish)

    def add(self, name: str, optimizer: Any) -> None:
        """The optimiser of a name, as it is on process 0."""
        self._slots[name] = _Slot(self.mode.policy(self._link.size), optimizer)
        self._link.send(0, GRADIENT, [_ADDED])

    def finish(self) -> None:
        """Wait until the other processes have gone: they may need answers until then."""
        self._link.send(0, GRADIENT, [_LEAVES])
        self._thread.join()

    # The thread -----------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            self._answer_all()
        except BaseException as e:
            # Nobody waits for what does not come.
            for rank in range(self._link.size):
                with contextlib.suppress(PeerLost):
                    self._link.send(rank, ANSWER, [FAILED, f"{type(e).__name__}: {e}"])
            raise

    def _answer_all(self) -> None:
        while self._own or len(self._here) > 1:
            worker, message = self._link.receive_any(GRADIENT)
            if message is None:
                self._changed(worker)
            elif message == [_LEAVES]:
                self._own = False
                for slot in self._slots.values():
                    self._lost(slot, 0)
            elif message == [_ADDED]:
                early, self._early = self._early, []
                for worker, message in early:
                    self._arrived(worker, *message)
            elif message[0] in self._slots:
                self._arrived(worker, *message)
            else:
                self._early.append((worker, message))

    def _changed(self, worker: int) -> None:
        """A process has come, or is lost."""
        if worker in self._link.lost():
            self._here.discard(worker)
            for slot in self._slots.values():
                self._lost(slot, worker)
        else:
            self._here.add(worker)

    def _lost(self, slot: _Slot, worker: int) -> None:
        if worker in slot.policy.busy:
            self._do(slot, slot.policy.lost(worker))

    def _arrived(
        self, worker: int, name: str, version: int, leaves: list[Any], params: list[Any]
    ) -> None:
        """A gradient on a version; -1 is that of one who has come late."""
        slot = self._slots[name]
        if version < 0:
            self._late.add(worker)
        if worker in self._late and not self._own:
            # It has begun from the start, which the others have come to the end of.
            with contextlib.suppress(PeerLost):
                self._link.send(worker, ANSWER, [OVER, []])
            return
        if not slot.params:
            if version < 0:
                slot.late.add(worker)
                return
            # All begin with the same.
            slot.params = [np.array(p) for p in params]
            for other in sorted(self._here):
                actions = slot.policy.joined(other)
                self._do(slot, actions if other in slot.late else ())
        if worker not in slot.policy.busy:
            self._do(slot, slot.policy.joined(worker))
            if version != slot.policy.busy[worker]:
                return
        slot.sent[worker] = leaves
        self._do(slot, slot.policy.arrived(worker, version))

    def _do(self, slot: _Slot, actions: Sequence[Any]) -> None:
        for action in actions:
            match action:
                case Step(_, workers):
                    _apply(slot.optimizer, slot.params, _mean([slot.sent[w] for w in workers]))
                    for worker in workers:
                        del slot.sent[worker]
                case Send(worker, version):
                    # One that is lost meanwhile is told of by the link.
                    with contextlib.suppress(PeerLost):
                        self._link.send(worker, ANSWER, [version, slot.params])
                case Drop(worker, _):
                    del slot.sent[worker]
                    self.dropped += 1


def _mean(gradients: Sequence[list[Any]]) -> list[Any]:
    """The mean of gradients, leaf by leaf, in the order of the workers."""
    return [_mean_leaf([g[k] for g in gradients]) for k in range(len(gradients[0]))]


def _mean_leaf(leaves: Sequence[Any]) -> Any:
    if isinstance(leaves[0], np.ndarray):
        total = leaves[0] if len(leaves) == 1 else leaves[0] + leaves[1]
        for g in leaves[2:]:
            total = total + g
        return total / total.dtype.type(len(leaves)) if len(leaves) > 1 else total
    rows = np.concatenate([rows for rows, _, _ in leaves])
    values = np.concatenate([values for _, values, _ in leaves])
    return RowGradient(rows, values / values.dtype.type(len(leaves)), tuple(leaves[0][2]))
