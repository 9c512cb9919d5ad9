"""What a checkpoint needs of all processes, brought to process 0 while nobody makes a step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit import tree
from tracejit.dist.compression import Compressor
from tracejit.dist.replicas.sending import sender_of
from tracejit.dist.replicas.server import ParameterServer, known_name
from tracejit.dist.replicas.sharded import ShardedOptimizer
from tracejit.dist.transport.group import Group
from tracejit.dist.transport.link import DistError

__all__ = ["all_residuals", "servers_paused", "take_residuals"]


@contextmanager
def servers_paused(server: ParameterServer, params: Any, optimizer: Any) -> Iterator[None]:
    """On process 0: parameters, and the optimiser's state of all servers, become those of one step,
    and stay so until the end. Raises DistError, PeerLost.
    """
    if isinstance(optimizer, ShardedOptimizer) and server.count > 1:
        raise DistError("an optimiser in parts lies on several processes, and each has its own")
    name = known_name(optimizer)
    if name is None:
        # No step has been made of it.
        yield
        return
    with server.paused(name) as (version, parts):
        if version is not None:
            sender = sender_of(name)
            leaves = tree.leaves(params)
            for spans, (values, columns) in zip(sender.plan, parts, strict=True):
                for span, x in zip(spans, values, strict=True):
                    span.of(leaves[span.leaf])[...] = x
                _store(optimizer, spans, columns)
            sender.version = version
        sender_of(name).is_paused = True
        try:
            yield
        finally:
            sender_of(name).is_paused = False


def _store(optimizer: Any, spans: Sequence[Any], columns: dict[str, list[Any]]) -> None:
    for name, entries in columns.items():
        column = getattr(optimizer, name)
        for span, x in zip(spans, entries, strict=True):
            if x is not None:
                span.of(column[span.leaf])[...] = x


# What compression leaves out ----------------------------------------------------------------------


def all_residuals(group: Group, compressor: Compressor) -> list[Any] | None:
    """On process 0, what compression has left out on each process: by rank, of each bucket its
    number and arrays. All processes call it. Raises DistError, PeerLost.
    """
    mine = [[key[0], arrays] for key, arrays in compressor.residuals().items()]
    found: list[Any] = []
    group.meet(group.key(), "paused", mine, found.extend)
    copies = [[[bucket, [x.copy() for x in arrays]] for bucket, arrays in each] for each in found]
    return copies or None


def take_residuals(group: Group, compressor: Compressor, saved: list[Any] | None) -> None:
    """What process 0 gives as `all_residuals` has, back to where it was; all processes call it.

    Where there are other than so many processes, the first one takes what all had: the means of the
    gradients to come have what was left out of those before.
    """
    saved = group.broadcast(saved if group.rank == 0 else None)
    if not saved:
        return
    if len(saved) == group.size:
        mine = saved[group.rank]
    else:
        ratio = group.size / len(saved)
        mine = [
            [first[0], [sum(xs[1:], xs[0]) * ratio * (group.rank == 0) for xs in _by_array(same)]]
            for first, same in ((same[0], same) for same in zip(*saved, strict=True))
        ]
    for bucket, arrays in mine:
        compressor.restore(bucket, [np.array(x) for x in arrays])


def _by_array(same: Sequence[Any]) -> Any:
    """Of a bucket, each array as all processes have it."""
    return zip(*(arrays for _, arrays in same), strict=True)
