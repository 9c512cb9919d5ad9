"""Python of the compiler's own that is traced like the program: what compiled containers do."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any, TypeVar

__all__ = ["DIRECT", "PERMUTING", "TRACED", "direct", "permuting", "traced"]

F = TypeVar("F", bound=Callable[..., Any])

#: The functions whose calls are traced, those of them that only move elements of a list about, and
#: those that traced ones call as they are.
TRACED: set[Any] = set()
PERMUTING: set[Any] = set()
DIRECT: set[Any] = set()


def traced(f: F) -> F:
    """Let calls of `f` in a traced program be traced as its source says."""
    assert isinstance(f, FunctionType)
    TRACED.add(f)
    return f


def permuting(f: F) -> F:
    """Let calls of `f` be traced, which leaves each element of a list once, where it was once."""
    PERMUTING.add(f)
    return traced(f)


def direct(f: F) -> F:
    """Let calls of `f` in a traced function be Python's own: it acts on tracers."""
    DIRECT.add(f)
    return f
