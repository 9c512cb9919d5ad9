"""Optimisers that send gradients to a server and take what it answers: compiled as steps are."""

from __future__ import annotations

from typing import Any

from tracejit import tree
from tracejit.dist.collectives import sent_for
from tracejit.sparse import RowGradient

__all__ = ["with_sent_gradients"]


def with_sent_gradients(optimizer: Any, name: str) -> Any:
    """An optimiser with the state of another, whose steps the server makes under a name."""
    cls = type(optimizer)

    def update(self: Any, params: Any, grads: Any) -> None:
        leaves, held = tree.leaves(grads), tree.leaves(params)
        by_rows = [g for g in leaves if isinstance(g, RowGradient)]
        found = sent_for(
            name,
            "".join(["r" if isinstance(g, RowGradient) else "d" for g in leaves]),
            [g for g in leaves if not isinstance(g, RowGradient)],
            [g.rows for g in by_rows],
            [g.values for g in by_rows],
            held,
        )
        for p, new in zip(held, found, strict=True):
            p[...] = new

    names = {"update": update, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    made: Any = object.__new__(type(cls.__name__, (cls,), names))
    # One state: what either stores the other has.
    made.__dict__ = optimizer.__dict__
    return made
