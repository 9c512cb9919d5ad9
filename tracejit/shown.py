"""What notebooks show of an object: the package says what makes it, when it is asked for."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["rendered_by", "shown"]

#: The function that makes it.
_renderers: list[Callable[[object], str]] = []


def rendered_by(renderer: Callable[[object], str]) -> None:
    """Let a function make what is shown."""
    _renderers[:] = [renderer]


def shown(x: object) -> str:
    """The HTML of a jitted function, report, graph, lowered compile or run."""
    (renderer,) = _renderers
    return renderer(x)
