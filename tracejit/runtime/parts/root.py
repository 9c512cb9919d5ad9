"""What the parts of one decorated function share: effort, a report, where compiles have ended"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

from tracejit.frontend.tracing.trace import TOO_LONG
from tracejit.runtime.parts.effort import Allowance, Effort
from tracejit.runtime.report.report import Fallback, Report

__all__ = ["Root"]


class Root:
    """What the parts of one decorated function share.

    `make(function, part)` gives a compiled form of a part, whose eager runs are what the part says.
    """

    def __init__(
        self,
        function: Any,
        report: Report,
        make: Callable[[FunctionType, Any], Any],
        allowance: Allowance,
    ) -> None:
        self.report, self.make = report, make
        self.home = (getattr(function, "__module__", None) or "").partition(".")[0]
        self.effort = Effort(allowance)
        #: Lines (file, number) that a compile has ended at.
        self.guilty: set[tuple[str, int]] = set()
        #: id of a function -> its parts, which keep it alive.
        self.callees: dict[int, Any] = {}

    def note(self, error: BaseException, fallback: Fallback) -> None:
        """A compile has ended in an error: what holds one of its lines is not compiled, either."""
        tb = error.__traceback__
        lines: list[tuple[str, int]] = []
        while tb is not None:
            lines.append((tb.tb_frame.f_code.co_filename, tb.tb_lineno))
            tb = tb.tb_next
        if fallback.reason == TOO_LONG:
            # What calls itself is to blame; parts of all else may be short enough.
            self.guilty.update(line for line in lines if lines.count(line) > 1)
            return
        self.guilty.update(lines)
        if fallback.where is not None:
            self.guilty.add((fallback.where.file, fallback.where.line))

    def is_guilty(self, file: str, first: int, last: int | None) -> bool:
        """Whether lines hold one that a compile has ended at."""
        return any(f == file and first <= n <= (last or first) for f, n in self.guilty)
