"""Failures of the compiler itself, found in the reports of whatever a test or a search compiles.

A call that the compiler fails at is run eagerly, so its answer is right, and a comparison with
NumPy notices nothing. It is a defect all the same: no test and no random program may cause it.
"""

from __future__ import annotations

from collections.abc import Iterable

from tracejit.runtime.report.report import Fallback, Report

#: The code of a fallback that is the compiler's own fault.
COMPILER_FAILED = "TJ013"

#: Those that were reported since the list was emptied, each with its function.
FOUND: list[str] = []


def watch() -> None:
    """Keep `FOUND` from now on."""
    add = Report.add

    def watched(self: Report, fallback: Fallback) -> None:
        if fallback.code == COMPILER_FAILED:
            FOUND.append(f"{self.function}: {fallback}")
        add(self, fallback)

    Report.add = watched  # type: ignore[method-assign]


def compiler_failure(fallbacks: Iterable[str]) -> str:
    """What a search says of a program whose fallbacks are these texts; "" if all are in order."""
    failed = [text for text in fallbacks if text.startswith(COMPILER_FAILED)]
    return f"the compiler itself failed: {failed[0]}" if failed else ""
