"""How a command ends early: its message, and by the class its exit code."""

from __future__ import annotations

__all__ = ["Failure", "Usage"]


class Usage(Exception):
    """The command line was wrong: exit code 2."""


class Failure(Exception):
    """The command could not do its work: exit code 1."""
