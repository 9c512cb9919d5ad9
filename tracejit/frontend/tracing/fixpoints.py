"""What loops have settled to: where a loop's body is traced again, loops in it begin from there.

Each trace of a body knows less than the one before, so that a loop inside carries at least what it
carried then. The first of its own traces is then mostly the last, however deep it is nested.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from dataclasses import field
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import TraceError

__all__ = ["Fixpoint", "Fixpoints", "Nested"]


@dataclass
class Fixpoint:
    """What a loop carried in the end; see `Loop`."""

    carries: dict[str, Any]
    storages: list[Any]
    left_out: set[Any]
    clobbered: dict[Any, None]
    objects: dict[int, Any]
    parts: dict[int, list[Any]]
    #: The places whose sizes change from iteration to iteration, and their symbols.
    sizes: dict[Hashable, str]


@dataclass
class Nested:
    """One loop, and the loops in it."""

    fixpoint: Fixpoint | None = None
    #: How many iterations make one round of the rolled loop.
    copies: int = 1
    #: Whether the test stands at the end of the body.
    rotated: bool = False
    #: Why its first iteration runs by itself: what a name begins as, and the error without that.
    unlike: tuple[str, Hashable, TraceError] | None = None
    #: The loops in its body, and those in an iteration that stands before it.
    body: Fixpoints = field(default_factory=lambda: Fixpoints())
    peeled: Fixpoints = field(default_factory=lambda: Fixpoints())

    def differs(self, name: str, kind: Hashable, error: TraceError) -> None:
        """Note that a name which begins as `kind` is of another type after an iteration."""
        if kind is not None:
            self.unlike = name, kind, error
        # The same loops stand in that iteration: they begin as these did.
        self.peeled.like = self.body


class Fixpoints:
    """The loops in one stretch of the program, by statement and how often that was met before."""

    def __init__(self) -> None:
        self._loops: dict[Hashable, Nested] = {}
        self._met: Counter[Hashable] = Counter()
        #: The same stretch in another place: loops differ in their first iterations as there.
        self.like: Fixpoints | None = None

    def begin(self) -> None:
        """The stretch is traced again."""
        self._met.clear()

    def mark(self) -> Counter[Hashable]:
        """What was met so far, to go back to."""
        return self._met.copy()

    def back(self, met: Counter[Hashable]) -> None:
        """Be where `mark` gave `met`."""
        self._met = met.copy()

    def next(self, statement: Hashable) -> Nested:
        """The loop of a statement that is met next."""
        key = statement, self._met[statement]
        self._met[statement] += 1
        if key not in self._loops:
            self._loops[key] = found = Nested()
            like = None if self.like is None else self.like._loops.get(key)
            if like is not None:
                found.unlike = like.unlike
                found.body.like, found.peeled.like = like.body, like.peeled
        return self._loops[key]
