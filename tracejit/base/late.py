"""What is imported late, and the tools above the compiler that its objects offer."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

__all__ = ["TOOLS", "imported", "shown"]

#: Name -> a function of a module further up, which is imported when it is called: the package,
#: which is above all of them, says which.
TOOLS: dict[str, Callable[..., Any]] = {}


def imported(name: str) -> Any:
    """The module of a name. Raises ImportError.

    Whatever is imported by a name in a text is imported here, a program's own modules excepted:
    the imports can be watched at one place.
    """
    return import_module(name)


def shown(x: object) -> str:
    """The HTML of a jitted function, report, graph, lowered compile or run."""
    text: str = TOOLS["html"](x)
    return text
