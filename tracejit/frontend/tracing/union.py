"""Values that a branch leaves different in kind on its two sides."""

from __future__ import annotations

from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, TracedScalar

__all__ = ["UNBOUND", "Signal", "Union", "Unreachable"]


#: How many values a union may be one of: each use of it is a branch for each.
_ALTERNATIVES = 1_000


class _Unbound:
    """What a name holds that has not been assigned."""

    def __repr__(self) -> str:
        return "an unbound name"


UNBOUND = _Unbound()


class Union:
    """`first` where the predicate holds, else `second`; `merged` is the same by value, if any.

    `merged` holds what arrays held when the union was made: it is None once one of them changes.
    """

    __slots__ = ("_merged", "_seen", "alternatives", "first", "predicate", "second", "where")

    def __init__(self, predicate: TracedScalar, first: Any, second: Any, merged: Any = None):
        self.predicate, self.first, self.second = predicate, first, second
        #: How many values there are; one that is so on several paths counts for each of them.
        self.alternatives: int = sum(
            x.alternatives if isinstance(x, Union) else 1 for x in (first, second)
        )
        if self.alternatives > _ALTERNATIVES:
            what = f"one of more than {_ALTERNATIVES} values of different kinds"
            raise TraceError("TJ032", what, user_line())
        self._seen = {} if merged is None else self._versions()
        self._merged = None if merged is None else _copy_of(merged, self._seen)
        self.where = user_line()

    def _versions(self) -> dict[Storage, int]:
        out: dict[Storage, int] = {}
        for x in (self.first, self.second):
            if isinstance(x, Union):
                out |= x._versions()
            elif hasattr(x, "storage"):
                out[x.storage] = x.storage.version
        return out

    @property
    def merged(self) -> Any:
        """The arrays by value; None where they are not arrays, or have been stored into since."""
        return self._merged if self._seen == self._versions() else None

    def known(self) -> Any:
        """The alternative that is known to hold here; the union itself where none is."""
        x: Any = self
        while isinstance(x, Union):
            holds = here().known(x.predicate.own)
            if holds is None:
                return x
            x = x.first if holds else x.second
        return x

    def __hash__(self) -> int:
        """Raises TraceError: a dict or set of Python's would take it for a key of its own."""
        raise TraceError("TJ032", "one of several values as a key", user_line())

    def __repr__(self) -> str:
        return f"Union({self.first!r}, {self.second!r})"


def _copy_of(array: Any, storages: dict[Storage, int]) -> Any:
    """What an array holds now, in memory of its own: wrong once one of `storages` changes.

    Views that are taken of it know that, too.
    """
    copy = Storage(here(), array.value(), -1)
    copy.may_alias = tuple(storages.items())
    return TracedArray(here(), copy)


class Signal:
    """How a block of statements ends where it does not run to its end."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


class Unreachable(BaseException):
    """Leaves a region that ends here at run time: it has raised an exception."""
