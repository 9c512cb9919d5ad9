"""Which gradients make a step, decided once for all servers: by a policy, when all of them have a
gradient's parts.

A worker has lives: a process that takes its place is in the next one. What a life has sent counts
until it is lost, and what it has sent to some servers only does not count at all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tracejit.dist.replicas.policy import Action, Drop, Policy, Send, Step

__all__ = ["Coordinator"]


class Coordinator:
    """Decides for one optimiser with `count` servers; `tell(actions)` has all servers do these:

    ["step", version, [[worker, life], ...]]   ["answer", worker, version]
    ["drop", worker, life]   ["state", worker, version]
    """

    def __init__(self, policy: Policy, count: int, tell: Callable[[list[Any]], None]) -> None:
        self.policy, self.count, self._tell = policy, count, tell
        #: How many gradients have been left out.
        self.dropped = 0
        self._begun = False
        #: By worker: its present life, or the next one where it is lost.
        self._lives: dict[int, int] = {}
        #: Those who are lost, and of whom nothing has come since.
        self._gone: set[int] = set()
        #: By worker: the servers that have their parts of its gradient; of those whose gradient
        #: may still make a step, the life that has sent it.
        self._there: dict[int, set[int]] = {}
        self._makers: dict[int, int] = {}
        #: Those who have come late, before there were parameters.
        self._early: set[int] = set()

    def has(self, server: int, worker: int, life: int, version: int, here: Iterable[int]) -> None:
        """A server has its part of a gradient on a version; -1 is that of one who has come late.

        `here` are the workers that are there. Raises ValueError for a gradient not asked for.
        """
        known = self._lives.get(worker, 0)
        if life < known:
            return
        if life > known:
            # It is in the place of one whose end has not been told of yet, or of one that was
            # there for a moment.
            self.lost(worker)
            self._lives[worker] = life
        self._gone.discard(worker)
        there = self._there.setdefault(worker, set())
        there.add(server)
        if len(there) == self.count:
            del self._there[worker]
            self._arrived(worker, version, here)

    def _arrived(self, worker: int, version: int, here: Iterable[int]) -> None:
        policy, found = self.policy, list[Action]()
        if not self._begun and version < 0:
            self._early.add(worker)
            return
        if not self._begun:
            # All begin with the same parameters, and have them already, but for the late ones.
            self._begun = True
            for other in sorted(here):
                actions = policy.joined(other)
                if other in self._early:
                    self._do(actions)
        if worker not in policy.busy:
            found += policy.joined(worker)
            if version != policy.busy[worker]:
                self._do(found)
                return
            # It has what it would be sent.
            found.clear()
        self._makers[worker] = self._lives.get(worker, 0)
        self._do(policy.arrived(worker, version))

    def lost(self, worker: int) -> None:
        """A worker is there no more, or has come to its end; this may be told more than once."""
        if worker in self._gone:
            return
        self._gone.add(worker)
        life = self._lives.get(worker, 0)
        self._lives[worker] = life + 1
        if self._there.pop(worker, None):
            self._tell([["drop", worker, life]])
        self._early.discard(worker)
        if worker in self.policy.busy:
            self._do(self.policy.lost(worker))

    def refresh(self, worker: int) -> bool:
        """Have all servers tell a worker their state, of the present version, in the middle of its
        work; False where there is none yet.
        """
        if self._begun:
            self.policy.refreshed(worker)
            self._tell([["state", worker, self.policy.version]])
        return self._begun

    def _do(self, actions: Sequence[Action]) -> None:
        told: list[Any] = []
        for action in actions:
            match action:
                case Step(version, workers):
                    makers = [[w, self._makers.pop(w)] for w in sorted(workers)]
                    told.append(["step", version, makers])
                case Send(worker, version):
                    told.append(["answer", worker, version])
                case Drop(worker, _):
                    self.dropped += 1
                    told.append(["drop", worker, self._makers.pop(worker)])
        if told:
            self._tell(told)
