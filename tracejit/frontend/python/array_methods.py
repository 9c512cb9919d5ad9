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
        if interpreter.following and self.name == "partition":
            # NumPy looks at elements alone that lie where sorting puts them.
            return self.array.sort(axis=kwargs.get("axis", -1))
        following, interpreter.following = interpreter.following, False
        try:
            found = interpreter.call(getattr(np, self.name), self.array, *args, **kwargs)
            if self.name != "partition":
                return found
            interpreter.store_item(found, self.array, ...)
        finally:
            interpreter.following = following


def array_method(x: Any, name: str) -> ArrayMethod | None:
    """The method `name` of an array, if it is one of these."""
    return ArrayMethod(x, name) if isinstance(x, TracedArray) and name in _SAME else None
