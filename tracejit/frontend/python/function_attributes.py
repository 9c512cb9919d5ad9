"""Attributes that the program has given to functions: names of a dict, as those of a module are."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.capture.captured import Source
from tracejit.frontend.capture.paths import MISSING
from tracejit.frontend.control.unions import narrow_bound
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.union import UNBOUND

__all__ = ["DESCRIPTIVE", "function_attribute", "source_of_function", "store_in_function"]

#: Attributes of functions and classes that name and describe them.
DESCRIPTIVE = frozenset({"__name__", "__qualname__", "__module__", "__doc__"})


def source_of_function(interpreter: Interpreter, x: Any) -> Source | None:
    """The source of a function from outside; None for anything else."""
    found: Source | None = None
    if isinstance(x, FunctionType):
        found = interpreter.capture.source_of(x)
    return found


def function_attribute(interpreter: Interpreter, f: FunctionType, name: str) -> Any:
    """`f.name`. Raises AttributeError, and TraceError for what cannot be followed."""
    source = source_of_function(interpreter, f)
    if name in DESCRIPTIVE or source is None and name in f.__dict__:
        value = getattr(f, name)
        return value if source is None else interpreter.capture.attribute(source, name, value)
    if hasattr(FunctionType, name):
        raise TraceError("TJ006", f"the attribute {name} of a function", user_line())
    if source is not None:
        interpreter.capture.guard_identity(source)
        stored = narrow_bound(interpreter.state.outer_name(f.__dict__, name))
        if stored is not MISSING and stored is not UNBOUND:
            return stored
        if stored is MISSING and name in f.__dict__:
            return interpreter.capture.global_value(f.__dict__, name)
        if stored is MISSING:
            interpreter.capture.bind_absent(f.__dict__, name)
    raise AttributeError(f"'function' object has no attribute '{name}'")


def store_in_function(
    interpreter: Interpreter, value: Any, f: FunctionType, source: Source, name: str
) -> None:
    """`f.name = value`, of a function from outside; UNBOUND deletes.

    Raises AttributeError for a name to be deleted that is not there, TraceError for one of Python's
    own.
    """
    if hasattr(FunctionType, name):
        raise TraceError("TJ027", f"{name} of a function from outside", user_line())
    if value is UNBOUND:
        function_attribute(interpreter, f, name)
    interpreter.capture.guard_identity(source)
    interpreter.state.set_outer_name(interpreter, f.__dict__, name, value)
