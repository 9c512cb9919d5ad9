"""How a command ends early: its message, and by the class its exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["Failure", "Usage", "unknown"]


class Usage(Exception):
    """The command line was wrong: exit code 2."""


class Failure(Exception):
    """The command could not do its work: exit code 1."""


def unknown(kind: str, name: str, known: Iterable[str]) -> Usage:
    """That there is no such `kind` of thing, with what may have been meant, or what there is."""
    by_lower = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return Usage(f"there is no {kind} {name}; did you mean {by_lower[near[0]]}?")
    return Usage(f"there is no {kind} {name}; there are {', '.join(by_lower.values()) or 'none'}")
