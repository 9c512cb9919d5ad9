"""Methods of arrays that are functions of NumPy; some of these have no handler."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.traceable import Traceable
from tracejit.frontend.tracing.tracer import TracedArray

__all__ = ["array_method"]

#: Methods with the parameters of the functions of their names, after the array itself.
_SAME = frozenset("argpartition choose partition searchsorted".split())


class ArrayMethod(Traceable):
    """A method of an array."""

    def __init__(self, array: TracedArray, name: str) -> None:
        self.array, self.name = array, name

    def traced_call(
        self, interpreter: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """A call of the method, of which `partition` sorts the array in place."""
        found = interpreter.call(getattr(np, self.name), self.array, *args, **kwargs)
        if self.name != "partition":
            return found
        interpreter.store_item(found, self.array, ...)
        return None


class ToList(Traceable):
    """`x.tolist` of an array."""

    def __init__(self, array: TracedArray) -> None:
        self.array = array

    def traced_call(
        self, interpreter: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Lists in lists of Python's numbers; one number of an array without axes."""
        if args or kwargs:
            raise TypeError("ndarray.tolist() takes no arguments")
        return _listed(interpreter, self.array)


def _listed(interpreter: Interpreter, x: Any) -> Any:
    if not x.ndim:
        return x.item()
    part = interpreter.allocate(lambda v: _listed(interpreter, v))
    return interpreter.call(list, interpreter.call(map, part, x))


def array_method(x: Any, name: str) -> Traceable | None:
    """The method `name` of an array, if it is one of these."""
    if not isinstance(x, TracedArray):
        return None
    if name == "tolist":
        return ToList(x)
    return ArrayMethod(x, name) if name in _SAME else None
