"""The calls of Python functions that a call makes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["calls_of"]


def calls_of(f: Callable[..., Any], /, *args: Any, **kwargs: Any) -> list[str]:
    """The files of all functions of Python that run in a call of a compiled function.

    The first one is left out: it shows the call to profilers, and runs for them alone.
    """
    found: list[str] = []

    def note(frame: Any, event: str, _: Any) -> None:
        if event == "call":
            found.append(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        f(*args, **kwargs)
    finally:
        sys.setprofile(None)
    return found[1:]
