"""Tools above the compiler that its objects offer: the package, which is above both, says them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["TOOLS", "shown"]

#: Name -> the function, which may import its module when it is called.
TOOLS: dict[str, Callable[..., Any]] = {}


def shown(x: object) -> str:
    """The HTML of a jitted function, report, graph, lowered compile or run."""
    text: str = TOOLS["html"](x)
    return text
