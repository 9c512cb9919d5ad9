"""A part of a function that runs eagerly: run plainly and measured, compiled, compared, called"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CellType, FunctionType
from typing import Any

from tracejit.base.deadlines import limited
from tracejit.runtime.parts.effort import Spent, compiled_for, now
from tracejit.runtime.parts.root import Root
from tracejit.runtime.report.report import Fallback, Part

__all__ = ["Tiered"]

#: Variants for arguments of one kind: a part that needs more will need ever more.
_VARIANTS = 4


class Tiered:
    """What its code looks into is in cells: `measure` holds the part itself while it may be
    compiled yet, `compiled` what to call in its place, if anything."""

    most_variants: int = _VARIANTS
    #: Whether an eager repetition of a call raises what the program raises.
    raises = True

    def __init__(self, function: Any, root: Root) -> None:
        self.function, self.root = function, root
        self.measure, self.compiled = CellType(None), CellType(None)
        self.jitted: Any = None
        self._spent = Spent()
        self._slow = False
        #: Whether it runs plainly until one more compile is worth it.
        self._waits = False

    @abstractmethod
    def around(self) -> int:
        """How many parts around it may be compiled as a whole."""

    @abstractmethod
    def settle(self) -> None:
        """Look whether code that asks for parts is still worth it."""

    @property
    @abstractmethod
    def plain(self) -> Callable[..., Any]:
        """What an eager repetition of a call calls."""

    @abstractmethod
    def usual(self, args: Any) -> Callable[..., Any]:
        """What to call where no compiled code answers."""

    @property
    def is_hopeful(self) -> bool:
        """Whether it may be compiled yet."""
        return self.measure.cell_contents is not None and self.jitted is None

    @property
    def is_open(self) -> bool:
        """Whether it is compiled or may be."""
        return self.compiled.cell_contents is not None or self.measure.cell_contents is not None

    # What code asks -------------------------------------------------------------------------------

    def begin(self) -> float:
        """A plain run begins."""
        return now()

    def end(self, start: float) -> None:
        """A plain run that began then has ended."""
        self._spent.add(now() - start)
        if self.jitted is not None:
            if self._waits and self._spent.is_due():
                self._waits, self.compiled.cell_contents = False, self._try
        elif self._spent.is_much(self.around()):
            self._offer()
        elif self._spent.is_little():
            self.close()

    def _offer(self) -> None:
        """Let further runs be calls of the compiled part."""
        function: FunctionType = self.function
        self.jitted = self.root.make(function, self)
        self.root.report.parts.append(self.described(self.jitted.report()))
        self.compiled.cell_contents = self._try

    @abstractmethod
    def described(self, report: Any) -> Part:
        """What the report says of it."""

    def _try(self, /, *args: Any, **kwargs: Any) -> Any:
        """A compiled run that is measured."""
        self._slow = False
        start = now()
        result = self.jitted(*args, **kwargs)
        if not self._slow:
            gained = self._spent.has_gained(now() - start)
            if gained is False:
                self.close()
            elif gained and self.compiled.cell_contents is not None:
                self.compiled.cell_contents = self.jitted
        return result

    def close(self) -> None:
        """Run plainly from now on."""
        self._waits = False
        self.compiled.cell_contents = self.measure.cell_contents = None
        self.settle()

    # What the dispatcher asks ---------------------------------------------------------------------

    def run(self, args: Any) -> Callable[..., Any]:
        """What to call where no compiled code answers."""
        self.missed()
        return self.usual(args)

    def missed(self) -> None:
        """Compiled code has not answered a call, or has given it up."""
        self._slow = True
        if self._spent.misses():
            if self._spent.is_due() or not self.root.effort.is_left(self._spent):
                self.close()
            else:
                self._waits, self.compiled.cell_contents = True, None

    def is_ready(self) -> bool:
        """Whether a call that no compiled code answers is to be compiled."""
        return self._spent.is_due() and self.root.effort.is_left(self._spent)

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Around a compile."""
        self._slow = True
        start = time.thread_time()
        try:
            with limited(self.root.effort.left(self._spent)):
                yield
        finally:
            seconds = time.thread_time() - start
            self.root.effort.spent += seconds
            self._spent.add_compile(seconds)
            compiled_for(seconds)
            if self.compiled.cell_contents is not None:
                self.compiled.cell_contents = self._try

    def failed(self, fallback: Fallback, error: Exception) -> None:
        """A compile has ended in an error."""
        self.root.note(error, fallback)
        if not self.jitted.report().variants:
            self.close()
