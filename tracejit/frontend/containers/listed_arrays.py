"""Arguments of NumPy's functions: arrays in place of lists that grow."""

from __future__ import annotations

from typing import Any

from tracejit.frontend.tracing.grown import is_grown
from tracejit.frontend.tracing.standins import StandIn

__all__ = ["with_arrays"]


def with_arrays(
    args: tuple[Any, ...], kwargs: dict[str, Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a function of NumPy: arrays in place of grown lists."""
    if any(map(_holds, args)) or any(map(_holds, kwargs.values())):
        return tuple(map(_as_array, args)), {k: _as_array(v) for k, v in kwargs.items()}
    return args, kwargs


def _holds(x: Any) -> bool:
    return is_grown(x) or isinstance(x, StandIn) or type(x) in (list, tuple) and any(map(_holds, x))


def _as_array(x: Any) -> Any:
    if isinstance(x, StandIn):
        x = x.listed()
    if is_grown(x):
        from tracejit.frontend.containers.grown_lists import array_of

        return array_of(x)
    return type(x)(map(_as_array, x)) if type(x) in (list, tuple) else x
