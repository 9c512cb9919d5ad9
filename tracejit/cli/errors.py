"""How a command ends early: its message, and by the class its exit code."""

from __future__ import annotations

from collections.abc import Iterable

from tracejit.base.spelling import no_such

__all__ = ["Failure", "Usage", "unknown"]


class Usage(Exception):
    """The command line was wrong: exit code 2."""


class Failure(Exception):
    """The command could not do its work: exit code 1."""


def unknown(kind: str, name: str, known: Iterable[str]) -> Usage:
    """That there is no such `kind` of thing, with what was meant, or what there is."""
    return Usage(no_such(kind, name, known))
