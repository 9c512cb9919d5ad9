"""`np.ndindex` and `np.ndenumerate` by number: the places of an array, the last axis fastest."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.control.iteration import Items
from tracejit.frontend.numpy.shape import shape_dims
from tracejit.frontend.tracing.symint import unwrap
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import TracedArray, here, lift

__all__ = ["CALLS"]


class _Places(Items):
    """The indices of an array of a shape."""

    def __init__(self, shape: tuple[Any, ...]) -> None:
        self.shape, self.length = shape, 1
        for n in shape:
            self.length = self.length * n

    def item(self, k: Any) -> Any:
        place: tuple[Any, ...] = ()
        for n in self.shape[:0:-1]:
            k, last = k // n, k % n
            place = (last, *place)
        return (k, *place) if self.shape else ()


class _Elements(Items):
    """Indices with the elements there."""

    def __init__(self, array: TracedArray) -> None:
        self.array, self.places = array, _Places(tuple(array.shape))
        self.length = self.places.length

    def item(self, k: Any) -> Any:
        place = self.places.item(k)
        return place, self.array[place]


def _ndindex(interpreter: Any, *shape: Any) -> Any:
    if len(shape) == 1 and type(shape[0]) in (tuple, list):
        shape = tuple(shape[0])
    env, sizes = here().env, shape_dims(shape)
    if any(env.decide(n, "<", 0) for n in sizes):
        raise ValueError("negative dimensions are not allowed")
    return interpreter.allocate(_Places(tuple(unwrap(n, env) for n in sizes)))


def _ndenumerate(interpreter: Any, x: Any) -> Any:
    x = lift(x)
    if not isinstance(x, TracedArray):
        raise TraceError("TJ002", "np.ndenumerate of what is no array", user_line())
    return interpreter.allocate(_Elements(x))


#: What calls of these classes do.
CALLS = {np.ndindex: _ndindex, np.ndenumerate: _ndenumerate}
