"""A worker's side of servers of parameters: gradients go to them, and parameters come back."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.dist.collectives import exchanged_as
from tracejit.dist.replicas.spans import Plan, joined, part, planned
from tracejit.dist.transport.link import DistError, TrainingOver
from tracejit.dist.world import LATE, is_late, world
from tracejit.ops.host.exchange import KINDS
from tracejit.sparse import RowGradient

__all__ = ["ANSWER", "FAILED", "GRADIENT", "OVER", "STATE", "sender_of", "with_sent_gradients"]

#: The keys of what a server is sent, answers, and says of its state; the versions where nothing is
#: left to do, and where it cannot go on.
GRADIENT, ANSWER, STATE = "gradient", "parameters", "state"
OVER, FAILED = -2, -3


@dataclass
class _Sender:
    """What this process knows of an optimiser: how many servers it has, whether arrays are divided,
    who has what, the version of the parameters that this process has, and whether it has made
    the servers pause.
    """

    servers: int
    whole: bool
    plan: Plan = ()
    version: int = 0
    is_paused: bool = False


#: By the names of optimisers.
_SENDERS: dict[str, _Sender] = {}


def sender_of(name: str) -> _Sender:
    """What this process knows of the optimiser of a name."""
    return _SENDERS[name]


def with_sent_gradients(optimizer: Any, name: str, servers: int) -> Any:
    """An optimiser with the state of another, whose steps the servers make under a name."""
    cls = type(optimizer)
    whole = getattr(optimizer, "is_sharded", False)
    _SENDERS.setdefault(name, _Sender(servers, whole, version=-1 if is_late() else 0))

    def update(self: Any, params: Any, grads: Any) -> None:
        leaves, held = tree.leaves(grads), tree.leaves(params)
        by_rows = [g for g in leaves if isinstance(g, RowGradient)]
        found = exchanged_as(
            "gradient",
            name,
            "".join(["r" if isinstance(g, RowGradient) else "d" for g in leaves]),
            [g for g in leaves if not isinstance(g, RowGradient)],
            [g.rows for g in by_rows],
            [g.values for g in by_rows],
            held,
        )
        for p, g, new in zip(held, leaves, found, strict=True):
            if isinstance(g, RowGradient):
                rows, values = new
                p[rows] = values
            else:
                p[...] = new

    names = {"update": update, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    made: Any = object.__new__(type(cls.__name__, (cls,), names))
    # One state: what either stores the other has.
    made.__dict__ = optimizer.__dict__
    return made


def _exchanged(name: str, kinds: str, dense: Any, rows: Any, values: Any, params: Any) -> list[Any]:
    """The parameters that the servers of an optimiser answer to a gradient, by leaf: an array, or
    the rows that have changed, with their values.

    `kinds` says of each leaf of the gradient whether it is "d", one of `dense`, or "r", the next of
    `rows` and `values`. Raises PeerLost where a server has ended, DistError where one has failed.
    """
    link, sender = world().link, _SENDERS[name]
    if sender.is_paused:
        raise DistError("no step is made while the servers pause")
    sender.plan = sender.plan or planned(params, sender.servers, sender.whole)
    whole, by_rows = iter(dense), iter(zip(rows, values, strict=True))
    leaves: list[Any] = []
    for kind, p in zip(kinds, params, strict=True):
        leaves.append(next(whole) if kind == "d" else [*next(by_rows), list(p.shape)])
    life, version = int(os.environ.get(LATE) or 0), sender.version
    for rank, spans in enumerate(sender.plan):
        mine = "".join([kinds[s.leaf] for s in spans])
        parts = [part(s, leaves[s.leaf]) for s in spans] if version >= 0 else []
        # The first parameters, which all processes have.
        given = [s.of(params[s.leaf]) for s in spans] if version == 0 else []
        where = [[s.leaf, s.start, s.stop] for s in spans] if version == 0 else []
        link.send(rank, GRADIENT, ["gradient", name, life, version, mine, parts, where, given])
    found = [_answered(rank) for rank in range(sender.servers)]
    if len({version for version, _ in found}) != 1:
        raise DistError(f"servers answer with versions {[version for version, _ in found]}")
    sender.version = found[0][0]
    return joined(sender.plan, [answer for _, answer in found], len(params))


def _answered(rank: int) -> tuple[int, list[Any]]:
    """What a server answers. Process 0 is asked first: it knows when there is nothing to come."""
    version, found = world().link.receive(rank, ANSWER)
    if version == FAILED:
        raise DistError(f"a server of parameters has failed: {found}")
    if version == OVER:
        raise TrainingOver("process 0 has come to the end of its training")
    return version, [x if isinstance(x, list) else np.asarray(x) for x in found]


KINDS["gradient"] = _exchanged
