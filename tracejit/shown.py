"""What notebooks show of an object; it is made when it is asked for."""

from __future__ import annotations

import importlib

__all__ = ["shown"]


def shown(x: object) -> str:
    """The HTML of a jitted function, report, graph, lowered compile or run."""
    text: str = importlib.import_module("tracejit.notebook.html").html_of(x)
    return text
