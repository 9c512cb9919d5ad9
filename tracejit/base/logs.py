"""The package's log, which is silent where the program has set up none."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging

__all__ = ["log"]


@cache
def log() -> logging.Logger:
    """Returns the logger `tracejit`."""
    import logging

    found = logging.getLogger("tracejit")
    found.addHandler(logging.NullHandler())
    return found
