"""Arguments of NumPy's functions: arrays in place of lists that grow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.standins import StandIn
from tracejit.frontend.tracing.tracer import TracedArray

__all__ = ["takes_arrays"]

F = TypeVar("F", bound=Callable[..., Any])


def takes_arrays(call: F) -> F:
    """Decorator: a call of NumPy, which ends in arguments, has arrays in place of grown lists.

    Nothing is stored into these: what NumPy stores into is an array before the call.
    """

    @functools.wraps(call)
    def run(*given: Any) -> Any:
        *head, args, kwargs = given
        if not any(map(_holds, args)) and not any(map(_holds, kwargs.values())):
            return call(*given)
        made: list[TracedArray] = []
        args = tuple([_as_array(x, made) for x in args])
        kwargs = {k: _as_array(x, made) for k, x in kwargs.items()}
        for array in made:
            array.storage.listed = True
        try:
            return call(*head, args, kwargs)
        finally:
            for array in made:
                array.storage.listed = False

    return run  # type: ignore[return-value]


def _holds(x: Any) -> bool:
    return is_grown(x) or isinstance(x, StandIn) or type(x) in (list, tuple) and any(map(_holds, x))


def _as_array(x: Any, made: list[TracedArray]) -> Any:
    """`x` with arrays, which are noted in `made`, in place of the grown lists in it."""
    if isinstance(x, StandIn):
        x = x.listed()
    if is_grown(x):
        from tracejit.frontend.containers.grown_lists import array_of

        made.append(array_of(x))
        return made[-1]
    return type(x)([_as_array(v, made) for v in x]) if type(x) in (list, tuple) else x
