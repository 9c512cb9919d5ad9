"""The servers of parameters: threads of the first processes, beside these processes' own work.

A worker sends each server its part of a gradient, with the version of the parameters that it was
computed on, and waits for what it is to compute on next. A server tells process 0 what it has;
process 0 decides, and tells all servers the same in the same order. Each has arrays of its own, and
the state of its part of the optimiser.

    worker -> server     gradient, name, life, version, kinds, leaves, spans, params
    server -> process 0  has, name, worker, life, version; failed, text
    process 0 -> server  do, name, actions; end
    worker -> process 0  leaves; pause, name
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from tracejit.dist.replicas.coordinator import Coordinator
from tracejit.dist.replicas.mode import Mode
from tracejit.dist.replicas.sending import ANSWER, FAILED, GRADIENT, OVER, STATE
from tracejit.dist.replicas.shard import Shard
from tracejit.dist.replicas.spans import Span
from tracejit.dist.transport.link import DistError, Elastic, PeerLost

__all__ = ["ParameterServer", "known_name", "name_of", "server_of"]


class _Known:
    """What this process has: a server, if it is one of the first, and names of optimisers."""

    def __init__(self) -> None:
        self.server: ParameterServer | None = None
        self.names: dict[int, tuple[Any, str]] = {}


_KNOWN = _Known()


def server_of(link: Elastic, mode: Mode, count: int) -> ParameterServer:
    """The server of this process. Raises ValueError where it has one of another mode."""
    if _KNOWN.server is None:
        _KNOWN.server = ParameterServer(link, mode, count)
    if (_KNOWN.server.mode, _KNOWN.server.count) != (mode, count):
        raise ValueError(
            f"{_KNOWN.server.count} processes serve in the mode {_KNOWN.server.mode.kind!r} already"
        )
    return _KNOWN.server


def name_of(optimizer: Any, server: ParameterServer | None) -> str:
    """The name of an optimiser, which is the same on all processes of a program."""
    if id(optimizer) not in _KNOWN.names:
        name = str(len(_KNOWN.names))
        _KNOWN.names[id(optimizer)] = optimizer, name
        if server is not None:
            server.add(name, optimizer)
    return _KNOWN.names[id(optimizer)][1]


def known_name(optimizer: Any) -> str | None:
    """The name of an optimiser that has one."""
    return _KNOWN.names.get(id(optimizer), (None, None))[1]


class ParameterServer:
    """Answers the workers of a link until all others have gone."""

    def __init__(self, link: Elastic, mode: Mode, count: int) -> None:
        self._link, self.mode, self.count = link, mode, count
        self._shards: dict[str, Shard] = {}
        #: Those of process 0, which decides for all.
        self._coordinators: dict[str, Coordinator] = {}
        #: What has come for optimisers that this process has not met yet, in order.
        self._early: list[tuple[int, Any]] = []
        #: The workers that were there in the beginning, or have come since; those of them that have
        #: come late; whether process 0 still has work of its own; whether there is nothing to do.
        self._here, self._late = set(range(link.size)), set[int]()
        self._own, self._over = True, False
        self._go_on = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="tracejit server", daemon=True)
        self._thread.start()
        atexit.register(self.finish)

    @property
    def dropped(self) -> int:
        """How many gradients have been left out; 0 but on process 0."""
        return sum(c.dropped for c in self._coordinators.values())

    def add(self, name: str, optimizer: Any) -> None:
        """The optimiser of a name, as it is on this process."""
        if self._link.rank == 0:
            policy = self.mode.policy(self._link.size)
            tell = lambda actions: self._tell(name, actions)  # noqa: E731
            self._coordinators[name] = Coordinator(policy, self.count, tell)
        self._shards[name] = Shard(optimizer, self._link.rank, self.count)
        self._link.send(self._link.rank, GRADIENT, ["added"])

    def finish(self) -> None:
        """Wait until the other processes have gone: they may need answers until then.

        One that ends by an exception does not: the others may wait for it, and lose it.
        """
        if getattr(sys, "last_value", None) is not None:
            return
        with contextlib.suppress(PeerLost):
            self._link.send(0, GRADIENT, ["leaves"])
        self._thread.join()

    @contextlib.contextmanager
    def paused(self, name: str) -> Iterator[tuple[int | None, list[Any]]]:
        """On process 0: no step is made. Gives the version, and of each server the parameters and
        the state of the optimiser that it has; None and nothing before the first gradient.

        Raises PeerLost, DistError.
        """
        self._go_on.clear()
        try:
            self._link.send(0, GRADIENT, ["pause", name])
            version, first = self._link.receive(0, STATE)
            if version == FAILED:
                raise DistError(f"a server of parameters has failed: {first}")
            found = [first]
            for rank in range(1, self.count) if version is not None else ():
                same, state = self._link.receive(rank, STATE)
                if same != version:
                    raise DistError(f"servers pause at the versions {version} and {same}: {state}")
                found.append(state)
            yield version, found
        finally:
            self._go_on.set()

    # The thread -----------------------------------------------------------------------------------

    def _serve(self) -> None:
        try:
            self._answer_all()
        except BaseException as e:
            text = f"{type(e).__name__}: {e}"
            # Nobody waits for what does not come.
            for rank in range(self._link.size):
                with contextlib.suppress(PeerLost):
                    self._link.send(rank, ANSWER, [FAILED, text])
            with contextlib.suppress(PeerLost):
                self._link.send(0, STATE, [FAILED, text])
            if self._link.rank:
                with contextlib.suppress(PeerLost):
                    self._link.send(0, GRADIENT, ["failed", text])
            raise

    def _answer_all(self) -> None:
        first = self._link.rank == 0
        while (self._own or len(self._here) > 1) if first else not self._over:
            source, message = self._link.receive_any(GRADIENT)
            if message is None:
                self._changed(source)
            elif message == ["added"]:
                early, self._early = self._early, []
                for at in early:
                    self._take(*at)
            else:
                self._take(source, message)
        for rank in range(1, self.count) if first else ():
            with contextlib.suppress(PeerLost):
                self._link.send(rank, GRADIENT, ["end"])

    def _take(self, source: int, message: list[Any]) -> None:
        match message:
            case ["leaves"]:
                self._leaves(source)
            case ["end"]:
                self._over = True
            case ["pause", name]:
                if not self._coordinators[name].refresh(source):
                    self._link.send(source, STATE, [None, None])
                self._go_on.wait()
            case ["failed", text]:
                raise DistError(f"the server of process {source} has failed: {text}")
            case [_, name, *_] if name not in self._shards:
                self._early.append((source, message))
            case ["gradient", name, life, version, kinds, leaves, spans, params]:
                shard = self._shards[name]
                if params:
                    shard.begin([Span(*span) for span in spans], params)
                shard.take(source, life, version, kinds, leaves)
                self._has(name, self._link.rank, source, life, version)
            case ["has", name, worker, life, version]:
                self._has(name, source, worker, life, version)
            case ["do", name, actions]:
                self._do(self._shards[name], actions)

    def _has(self, name: str, server: int, worker: int, life: int, version: int) -> None:
        """Tell process 0 that a server has a gradient's part."""
        if self._link.rank:
            # That process 0 is lost is told of by the link; or it has said that all is over.
            with contextlib.suppress(PeerLost):
                self._link.send(0, GRADIENT, ["has", name, worker, life, version])
            return
        if version < 0:
            self._late.add(worker)
        if worker in self._late and not self._own and server == 0:
            # It has begun from the start, which the others have come to the end of. What this
            # server had before that end is answered when the others have it, too.
            with contextlib.suppress(PeerLost):
                self._link.send(worker, ANSWER, [OVER, []])
            return
        self._coordinators[name].has(server, worker, life, version, self._here)

    def _tell(self, name: str, actions: list[Any]) -> None:
        """Have all servers do something, this one last: the others need not wait for it."""
        for rank in range(1, self.count):
            self._link.send(rank, GRADIENT, ["do", name, actions])
        self._do(self._shards[name], actions)

    def _do(self, shard: Shard, actions: list[Any]) -> None:
        for action in actions:
            match action:
                case ["step", version, makers]:
                    shard.step(version, [(worker, life) for worker, life in makers])
                case ["answer", worker, version]:
                    # One that is lost meanwhile is told of by the link.
                    with contextlib.suppress(PeerLost):
                        self._link.send(worker, ANSWER, [version, shard.answer(worker)])
                case ["drop", worker, life]:
                    shard.drop(worker, life)
                case ["state", worker, version]:
                    self._link.send(worker, STATE, [version, shard.state()])

    def _changed(self, rank: int) -> None:
        """A process has come, or is lost."""
        if rank not in self._link.lost():
            self._here.add(rank)
            return
        if rank < self.count and not self._over and rank in self._here:
            # Its part of the parameters is lost: all are to begin anew.
            raise PeerLost(rank, "it was a server of parameters")
        self._leaves(rank)

    def _leaves(self, rank: int) -> None:
        """A worker has come to its end, or is lost. A process with a server serves on."""
        if rank == 0:
            self._own = False
        else:
            self._here.discard(rank)
        for coordinator in self._coordinators.values():
            coordinator.lost(rank)
