"""Import statements inside a function: modules that are there already are found, not run."""

from __future__ import annotations

import importlib.util
import sys
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import user_line

__all__ = ["imported"]


def imported(
    interpreter: Interpreter, namespace: dict[str, Any], module: str, level: int, name: str | None
) -> Any:
    """A module, by its full name or relative to that of `namespace`, or what it holds as `name`.

    Raises TraceError for a module that has not been imported yet, whose code would run.
    """
    if level:
        module = importlib.util.resolve_name("." * level + module, namespace.get("__package__"))
    if module not in sys.modules:
        interpreter.capture.bind_absent(sys.modules, module)
        raise TraceError("TJ008", f"the first import of {module}", user_line())
    found = interpreter.capture.global_value(sys.modules, module)
    if name is None:
        return found
    if f"{module}.{name}" in sys.modules and not hasattr(found, name):
        return interpreter.capture.global_value(sys.modules, f"{module}.{name}")
    return interpreter.attribute(found, name)
