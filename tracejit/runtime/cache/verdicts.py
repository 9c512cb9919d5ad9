"""Calls that earlier processes have found to run eagerly do so at once, without the compiler.

A verdict accepts a call by machine code, as an entry does. Where a plain run of it takes long, or
all of them together do, the dispatcher takes over, which compiles parts of the function: it takes
the verdict for granted as well.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tracejit import config
from tracejit.base.locks import holds_lock
from tracejit.link.library_names import refresh
from tracejit.runtime.cache.guard import never_fails
from tracejit.runtime.cache.records import restored
from tracejit.runtime.entries.answers import BAIL, MISS
from tracejit.runtime.entries.chain import flat_callable
from tracejit.runtime.entries.jit_type import name_of
from tracejit.runtime.report.fallbacks import Fallbacks
from tracejit.runtime.report.report import Fallback, Report

__all__ = ["Verdict", "Verdicts"]

#: Seconds of a plain run, and of all of them with the checks before them, from which on the
#: compiler is worth its import.
_LONG, _WORTH_IMPORT = 0.05, 0.2


class Verdict(NamedTuple):
    """Why calls run eagerly, the lines of which no part is compiled, and how long such a call has
    taken."""

    accepts: Callable[..., Any]
    fallback: Fallback
    guilty: list[tuple[str, int]]
    seconds: float


class Verdicts:
    """The verdicts on calls of one function."""

    def __init__(self, jitted: Any) -> None:
        self._jitted = jitted
        self._found: list[Verdict] = []
        self._seconds, self._is_running = 0.0, False

    def __len__(self) -> int:
        return len(self._found)

    def add(self, library: Any, record: dict[str, Any], names: dict[str, str]) -> None:
        """Add a verdict of a file; `names` are those of source files here, by what they were."""
        accepts = flat_callable(library, record["entry"], None)
        guilty = [(names.get(file, file), line) for file, line in record["guilty"]]
        found = Verdict(accepts, restored(record["fallback"], names), guilty, record["seconds"])
        self._found.append(found)

    @never_fails(lambda: None)
    def find(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Verdict | None:
        """The verdict on a call; None where there is none."""
        if not refresh():
            return None
        for verdict in self._found:
            found = verdict.accepts(*args, **kwargs)
            if found is not MISS and found is not BAIL:
                return verdict
        return None

    def answer(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """What a call gives as plain Python, which is told as the dispatcher tells it; MISS where
        that is for the dispatcher. Raises FallbackError where to run eagerly is an error.
        """
        start = time.thread_time()
        if self._is_running or self._seconds > _WORTH_IMPORT or not _is_usual():
            return MISS
        verdict = self.find(args, kwargs)
        if verdict is None:
            return MISS
        jitted = self._jitted
        if jitted._given_fallbacks is None:
            function = jitted.__tracejit__
            report = jitted._given_report = jitted._given_report or Report(name_of(function))
            jitted._given_fallbacks = Fallbacks(function, report, jitted._options.strict)
        told: Fallbacks = jitted._given_fallbacks
        if verdict.seconds > _LONG and not told.is_strict:
            return MISS
        told.tell(told.add(verdict.fallback))
        self._is_running = True
        try:
            return jitted.__tracejit__(*args, **kwargs)
        finally:
            self._is_running = False
            self._seconds += time.thread_time() - start


def _is_usual() -> bool:
    """Whether the dispatcher would compile a call in this context."""
    if config.is_eager() or config.profiler() is not None or sys.gettrace() is not None:
        return False
    quiet = set(np.geterr().values()) <= {"ignore", "warn"}
    return quiet and not holds_lock() and not sys.is_finalizing()
