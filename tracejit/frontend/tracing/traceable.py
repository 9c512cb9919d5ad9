"""Callables that say themselves how a call of them is traced: the transforms of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import user_line

__all__ = ["Traceable", "part_of"]


class Traceable:
    """A callable whose calls `traced_call` records in the innermost trace."""

    def traced_call(
        self, interpreter: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """The result of a call on tracers. Raises TraceError, and what the program raises."""
        raise NotImplementedError


def part_of(interpreter: Interpreter, owner: Any, name: str) -> Callable[..., Any]:
    """A function that `owner`, which never changes, holds as an attribute."""
    value = getattr(owner, name)
    if interpreter.is_local(owner):
        return value  # type: ignore[no-any-return]
    if interpreter.capture.source_of(owner) is None:
        raise TraceError("TJ006", f"a {type(owner).__name__}", user_line())
    interpreter.capture.object_source(value, name)
    return value  # type: ignore[no-any-return]
