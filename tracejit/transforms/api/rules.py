"""The rules that a program gives for a function of its own, and how deep they may call it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from tracejit.base.lazy_dataclass import dataclass

__all__ = ["CustomRules", "may_follow", "within"]

#: How many calls of a function may be within each other by way of its rules.
_ORDERS = 3
#: The functions whose rules are being traced, outermost first.
_WITHIN: ContextVar[tuple[object, ...]] = ContextVar("tracejit_rules", default=())


@contextmanager
def within(function: object) -> Iterator[None]:
    """While a rule of a function is called."""
    token = _WITHIN.set((*_WITHIN.get(), function))
    try:
        yield
    finally:
        _WITHIN.reset(token)


def may_follow(function: object) -> bool:
    """Whether a call of a function with rules, here, is not too deep in rules of its own."""
    return _WITHIN.get().count(function) < _ORDERS


@dataclass(frozen=True)
class CustomRules:
    """The rules of the function `owner`: `forward` and `backward` for reverse mode, or `jvp`."""

    owner: object
    name: str
    forward: Callable[..., Any] | None = None
    backward: Callable[..., Any] | None = None
    jvp: Callable[..., Any] | None = None
