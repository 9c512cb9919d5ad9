"""How a command ends early: its message, and by the class its exit code."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

__all__ = ["Failure", "Usage", "unknown"]


#: Up to so many things are listed where none is like the one asked for.
_LISTED = 50


class Usage(Exception):
    """The command line was wrong: exit code 2."""


class Failure(Exception):
    """The command could not do its work: exit code 1."""


def unknown(kind: str, name: str, known: Iterable[str]) -> Usage:
    """That there is no such `kind` of thing, with what was meant, or what there is."""
    by_lower = {one.lower(): one for one in known}
    near = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return Usage(f"there is no {kind} {name}; did you mean {by_lower[near[0]]}?")
    there = f"; there are {', '.join(by_lower.values())}" if 0 < len(by_lower) <= _LISTED else ""
    return Usage(f"there is no {kind} {name}{there}")
