"""Packages that only some programs need."""

from __future__ import annotations

from typing import Any

from tracejit.base.late import imported

__all__ = ["needed"]


def needed(name: str, what: str, install: str = "") -> Any:
    """A module. Raises ImportError that says what to install."""
    try:
        return imported(name)
    except ModuleNotFoundError as e:
        if e.name is None or e.name.partition(".")[0] != name.partition(".")[0]:
            raise
        package = install or name
        raise ImportError(f"{what} is not installed: pip install {package}", name=name) from None
