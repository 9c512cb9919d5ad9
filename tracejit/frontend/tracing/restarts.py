"""Exceptions by which a trace ends that is to begin anew, with what it has learned."""

from __future__ import annotations

from types import CodeType
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.trace import Trace, user_line

__all__ = ["Recursive", "Refused", "Tabled", "Uncovered"]


class Recursive(TraceError):
    """Traced values decide how often a function calls itself: `callee` is its code."""

    def __init__(self, code: CodeType) -> None:
        super().__init__("TJ020", code.co_name, user_line())
        self.callee = code


class Refused(TraceError):
    """A function of NumPy cannot be traced from its source: the trace is to begin anew."""

    def __init__(self, error: TraceError) -> None:
        super().__init__("TJ002", error.detail, error.where)


class Uncovered(TraceError):
    """A function of the prelude gives up a form of its arguments.

    `place` is where the trace stood: its innermost part, and how many nodes that had.
    """

    def __init__(self, what: str, place: tuple[Trace, int]) -> None:
        super().__init__("TJ004", what, user_line())
        self.place = place


class Tabled(TraceError):
    """A dict or set is to be a table from where it is made on: the trace is to begin anew.

    `site` is that place, `forms` those of its keys and values.
    """

    def __init__(self, site: Any, forms: tuple[Any, Any]) -> None:
        super().__init__("TJ002", "a dict or set of numbers of several kinds", user_line())
        self.site, self.forms = site, forms
