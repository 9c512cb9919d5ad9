"""Optimisers of which each process keeps a part: programs, compiled as steps are.

After Rajbhandari, Rasley, Ruwase and He, ZeRO: Memory Optimizations Toward Training Trillion
Parameter Models, 2020 (its first stage): every process has all parameters and gradients, and the
state of those parameters alone that it makes the steps of.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from tracejit import tree
from tracejit.dist.collectives import broadcast, rank, size
from tracejit.dist.world import MODE, SERVERS

__all__ = ["ShardedOptimizer", "owners", "sharded"]


def sharded(make: Callable[..., Any], params: Any, **settings: Any) -> ShardedOptimizer:
    """`make(part, **settings)` for this process's part of the parameters, as an optimiser of all.

        opt = dist.sharded(optim.Adam, net, lr=1e-3)

    Its state is that part's: about 1 / `size()` of the whole. `update(params, grads)` makes the
    steps of the part and gives them to the other processes, so that all have all parameters. In a
    step of `data_parallel` gradients are the means of all processes', as always. An array is in one
    part as a whole. Where `tracejit launch` says that servers make the steps, each of these has a
    part, and other processes have none. Raises ValueError where there are fewer arrays than parts.
    """
    return ShardedOptimizer(make, params, settings)


class ShardedOptimizer:
    """What `sharded` gives; `optimizer` is that of the part, `parts` how many there are."""

    #: Arrays of its state are not those of other processes.
    is_sharded = True

    def __init__(self, make: Callable[..., Any], params: Any, settings: dict[str, Any]) -> None:
        leaves = tree.leaves(params)
        by_server = os.environ.get(MODE, "sync") != "sync"
        self.parts = min(int(os.environ.get(SERVERS) or 1), size()) if by_server else size()
        self.owners = owners([p.nbytes for p in leaves], self.parts)
        own = [p for p, owner in zip(leaves, self.owners, strict=True) if owner == rank()]
        self.optimizer: Any = make(own, **settings) if rank() < self.parts else None

    def update(self, params: Any, grads: Any) -> None:
        """Take one step, in place, together with the other processes."""
        leaves, slopes, mine = tree.leaves(params), tree.leaves(grads), rank()
        places = [k for k, owner in enumerate(self.owners) if owner == mine]
        self.optimizer.update([leaves[k] for k in places], [slopes[k] for k in places])
        for owner in tuple(range(size())):
            theirs = [leaves[k] for k, o in enumerate(self.owners) if o == owner]
            found = broadcast(theirs, owner)
            if owner != mine:
                for p, new in zip(theirs, found, strict=True):
                    p[...] = new


def owners(sizes: list[int], count: int) -> tuple[int, ...]:
    """The process of each array, by bytes: the largest first, each to who has the least.

    Raises ValueError where a process would have none.
    """
    if len(sizes) < count:
        raise ValueError(f"{len(sizes)} arrays cannot be shared among {count} processes")
    held, found = [0] * count, [0] * len(sizes)
    for k in sorted(range(len(sizes)), key=lambda k: (-sizes[k], k)):
        owner = min(range(count), key=lambda r: (held[r], r))
        held[owner] += max(sizes[k], 1)
        found[k] = owner
    return tuple(found)
