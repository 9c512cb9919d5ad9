"""Optimisers that take the mean of all processes' gradients: programs, compiled as steps are."""

from __future__ import annotations

from typing import Any

from tracejit.dist.collectives import all_reduce

__all__ = ["with_mean_gradients"]


def with_mean_gradients(optimizer: Any) -> Any:
    """An optimiser with the state of another, and the same classes but for its gradients."""
    cls = type(optimizer)

    def update(self: Any, params: Any, grads: Any) -> Any:
        return cls.update(self, params, all_reduce(grads, "mean"))

    names = {"update": update, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    made: Any = object.__new__(type(cls.__name__, (cls,), names))
    # One state: what either stores the other has.
    made.__dict__ = optimizer.__dict__
    return made
