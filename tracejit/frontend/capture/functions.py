"""Functions of the program that a trace is given, known by their code and the way to them.

A lambda is a new object whenever it is made: what is compiled for one serves all of its code and
globals. Its cells and defaults are read by the way to it. Which function it is counts where the
program looks at that, and where another function has its code or its cells.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from types import CellType, FunctionType
from typing import Any

from tracejit.frontend.capture.guards import OfCode
from tracejit.frontend.capture.paths import Attribute, Contents, Leaf
from tracejit.frontend.tracing.instances import is_instance

__all__ = ["FunctionsByCode"]


class FunctionsByCode:
    """Those of one trace. `capture` is its `Capture`."""

    def __init__(self, capture: Any) -> None:
        self._capture = capture
        #: id -> (the source of the function, number) of cells.
        self._cells: dict[int, tuple[Any, int]] = {}
        self._sources: list[Any] = []
        #: Whether the program binds names of functions around it.
        self.binds_cells = False

    def reach(self, source: Any, f: FunctionType) -> FunctionType:
        """The stand-in of a function, which is itself.

        Names of modules and classes, and what holds a function several times, hold the very one.
        """
        capture = self._capture
        if capture.objects.get(id(f)) is not None or not self._is_way(source):
            capture.require_identity(f)
            capture.identity(source, f)
            return f
        source.check = OfCode(f)
        capture.objects[id(f)] = source
        capture.by_place.append(source)
        self._sources.append(source)
        cells = f.__closure__ or ()
        self.claim_cells(cells)
        self._cells.update((id(cell), (source, k)) for k, cell in enumerate(cells))
        if any(map(capture.is_read_as_cell, cells)):
            capture.guard_identity(source)
        return f

    def _is_way(self, source: Any) -> bool:
        """Whether each call may find another object there: an argument, or what an object has."""
        if isinstance(source.path, Attribute):
            return is_instance(self._capture.source_at(source.path.parent).value)
        return isinstance(source.path, (Leaf, Contents))

    def is_known(self, source: Any) -> bool:
        """Whether a function is known by its code, not by identity."""
        return isinstance(source.check, OfCode)

    def has_cell(self, cell: CellType) -> bool:
        """Whether a cell is one of such a function."""
        return id(cell) in self._cells

    def cell(self, cell: CellType, name: str, value: Any) -> Any:
        """The source of a free variable of such a function; None for any other cell."""
        if id(cell) not in self._cells:
            return None
        owner, k = self._cells[id(cell)]
        path = Contents(owner.path, k, len(owner.value.__closure__))
        return self._capture.step(owner, ("closure", k), path, f" ({name})", value)

    def claim_cells(self, cells: Sequence[CellType]) -> None:
        """Note that another function has these cells: which function it is counts, then."""
        for cell in cells:
            if id(cell) in self._cells:
                self._capture.guard_identity(self._cells[id(cell)][0])

    def tell_apart(self) -> None:
        """At the end of the trace: none of them is a function that is known by identity, nor
        another of them. Where a cell is bound, it may be theirs at another call.
        """
        if not self._sources:
            return
        objects = self._capture.objects.values()
        functions = {id(s.value): s.value for s in objects if type(s.value) is FunctionType}
        codes = Counter(f.__code__ for f in functions.values())
        for source in self._sources:
            f = source.value
            if codes[f.__code__] > 1 or self.binds_cells and f.__closure__:
                self._capture.guard_identity(source)

    def forget(self) -> None:
        """Drop what is held alive."""
        self._cells.clear()
        self._sources.clear()
