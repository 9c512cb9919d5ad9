"""A name that is not known becomes the text of an error: with what was meant, or what there is"""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["no_such"]

#: Up to so many things are listed where none is like the one asked for.
_LISTED = 50


def no_such(kind: str, name: str, known: Iterable[str]) -> str:
    """That there is no such `kind` of thing."""
    from difflib import get_close_matches

    by_lower = {one.lower(): one for one in known}
    near = get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    if near:
        return f"there is no {kind} {name}; did you mean {by_lower[near[0]]}?"
    there = f"; there are {', '.join(by_lower.values())}" if 0 < len(by_lower) <= _LISTED else ""
    return f"there is no {kind} {name}{there}"
