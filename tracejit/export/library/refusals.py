"""What a library cannot have, as errors that name the user's line."""

from __future__ import annotations

import re
from collections.abc import Callable

from tracejit.codegen.llvm.debug_info import instruction_places
from tracejit.codegen.program.emit import Program
from tracejit.errors import Where
from tracejit.export.library.symbols import is_provided
from tracejit.runtime.report.lines import host_lines

__all__ = ["NotExported", "require_no_python"]


class NotExported(ValueError):
    """A function that cannot be in a library: why, and where in its source."""

    def __init__(self, why: str, where: Where | None = None) -> None:
        lines = [why]
        if where is not None:
            lines.append(f'  File "{where.file}", line {where.line}, in {where.function or "?"}')
            lines += ["    " + line for line in where.excerpt().splitlines()]
        super().__init__("\n".join(lines))
        self.why, self.where = why, where


def require_no_python(program: Program, located: Callable[[], str]) -> None:
    """Raise NotExported for a program that needs Python, or what only a process of Python has.

    `located` gives the text of the program with places.
    """
    for where, why in host_lines(program.host_nodes, ()):
        raise NotExported(f"{why}: there is no Python in a library", where)
    missing = [name for name, at in program.symbols.items() if not is_provided(name, at)]
    if missing:
        raise NotExported(
            "there is no Python in a library, to print, to raise exceptions, to draw random "
            f"numbers or to run a function of NumPy's own ({missing[0]})",
            _place_of(missing, located()),
        )


def _place_of(symbols: list[str], text: str) -> Where | None:
    """The first line of the user's that uses one of these symbols."""
    used = re.compile(r"@(?:" + "|".join(map(re.escape, symbols)) + r")\b")
    for line, place in instruction_places(text):
        if place is not None and used.search(line):
            return Where(*place)
    return None
