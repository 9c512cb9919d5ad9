"""Eager runs of a function become what is said of them: in the report, by warnings or by errors"""

from __future__ import annotations

import functools
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np

from tracejit import config
from tracejit.base.logs import log
from tracejit.errors import FallbackError, FallbackWarning, TraceError, Where
from tracejit.runtime.report.report import Compile, Fallback, Report

__all__ = ["Fallbacks", "keep_contents", "line_in"]


#: Its level of that name.
_DEBUG = 10
#: Kinds of calls whose compiles have ended for one and the same reason, before no more are tried.
_FAILURES = 8


class Fallbacks:
    """The eager runs of one function, in a report."""

    def __init__(
        self,
        function: Callable[..., Any],
        report: Report,
        strict: bool,
        quiet: bool = False,
        how: str = "eagerly",
    ) -> None:
        self._function, self._report, self._strict = function, report, strict
        #: How such runs are called in messages.
        self._how = how
        #: Whether nothing is said of them.
        self._quiet = quiet
        #: Places (file, line) of which a warning has been issued.
        self._told: dict[tuple[str, int], object] = {}
        #: For how many kinds of calls each was the end of a compile.
        self._failures: Counter[Fallback] = Counter()
        #: What has ended so many that calls of other kinds are not tried.
        self.hopeless: Fallback | None = None

    def silence(self) -> None:
        """Say nothing from now on."""
        self._quiet = True

    @property
    def is_strict(self) -> bool:
        """Whether an eager run is an error."""
        return self._mode() == "error"

    def _mode(self) -> str:
        if self._quiet:
            return "ignore"
        return "error" if self._strict else config.on_fallback()

    def of(self, e: TraceError) -> Fallback:
        """What is said of an error of a trace."""
        return Fallback(e.code, e.detail, e.where or line_in(self._function, e), "")

    def fault(self, e: Exception) -> Fallback:
        """What is said of an error that no trace should end with."""
        return Fallback("TJ013", f"{type(e).__name__}: {e}", line_in(self._function, e), "")

    def add(self, fallback: Fallback) -> Fallback:
        """Note it in the report, once for each place and reason."""
        self._report.add(fallback)
        return fallback

    def failed(self, e: TraceError) -> Fallback:
        """Note that a compile has ended in an error."""
        fallback = self.add(self.of(e))
        self._failures[fallback] += 1
        if self._failures[fallback] >= _FAILURES:
            self.hopeless = fallback
        return fallback

    def may_raise(self, fallback: Fallback) -> bool:
        """Whether `tell` may raise an exception."""
        mode = self._mode()
        place = self._place(fallback)
        return mode == "error" or mode == "warn" and (place.file, place.line) not in self._told

    def tell(self, fallback: Fallback) -> None:
        """Say that a call runs eagerly: by a warning, once for each line, or by an error each time.

        The warning is issued from the line that it is about, in its module, and is a record of the
        log too. Raises FallbackError where `is_strict`, and what a filter makes of the warning,
        which is then issued again at the next call.
        """
        mode = self._mode()
        if mode == "error":
            raise FallbackError(fallback.code, fallback.reason, fallback.where)
        if mode == "ignore":
            return
        place = self._place(fallback)
        key, first = (place.file, place.line), object()
        if self._told.setdefault(key, first) is not first:
            return
        text = f"{self._report.function} runs {self._how}: {fallback}"
        try:
            names = self._namespace(place.file)
            registry = names.setdefault("__warningregistry__", {})
            warnings.warn_explicit(
                FallbackWarning(text, fallback.code, fallback.reason, fallback.where),
                None,
                place.file,
                place.line,
                names.get("__name__") or "<unknown>",
                registry,
            )
        except BaseException:
            del self._told[key]
            raise
        # As often as the default filter shows the warning: functions made anew at each call of an
        # eager one say the same. Python empties the registry when filters change.
        if registry.setdefault((text, log(), place.line), first) is first:
            log().warning("%s", text)

    def log_compile(self, c: Compile) -> None:
        """A record at the level DEBUG: what was compiled, why, and how long it took."""
        # Nobody can have asked for what is not there.
        if "logging" in sys.modules and log().isEnabledFor(_DEBUG):
            stages = ", ".join(f"{name} {s * 1e3:.1f}" for name, s in c.stages.items())
            given = self._report.function, c.signature, c.reason, c.seconds * 1e3, stages
            log().debug("%s compiled for %s: %s, %.0f ms (%s)", *given)

    def _place(self, fallback: Fallback) -> Where:
        """The user's line; of a function that has none, where it is called."""
        found = fallback.where or line_in(self._function, None)
        if found is None:
            from tracejit.frontend.tracing.trace import user_line

            found = user_line()
        return found or Where("<unknown>", 1)

    def _namespace(self, file: str) -> dict[str, Any]:
        """The globals of the module with this file, or else of the function."""
        function = _python_function(self._function)
        own: dict[str, Any] = getattr(function, "__globals__", {})
        if function is None or function.__code__.co_filename != file:
            for module in list(sys.modules.values()):
                if isinstance(module, ModuleType):
                    names = object.__getattribute__(module, "__dict__")
                    if names.get("__file__") == file:
                        return names  # type: ignore[no-any-return]
        return own


def _python_function(f: Any) -> Any:
    """The Python function that a method, a partial, a transform or an object calls; or None."""
    for _ in range(20):
        if hasattr(f, "__code__") and hasattr(f, "__globals__"):
            return f
        if isinstance(f, functools.partial):
            f = f.func
        elif hasattr(f, "__tracejit__"):
            f = f.__tracejit__
        else:
            f = f.function if hasattr(f, "traced_call") else type(f).__call__
    return None


def line_in(function: Callable[..., Any], e: BaseException | None) -> Where | None:
    """The innermost line of the user's file in a traceback, else where the function begins."""
    code = getattr(_python_function(function), "__code__", None)
    if code is None:
        return None
    place = Where(code.co_filename, code.co_firstlineno, code.co_name)
    frame = e.__traceback__ if e is not None else None
    while frame is not None:
        inner = frame.tb_frame.f_code
        if inner.co_filename == code.co_filename and frame.tb_lineno is not None:
            place = Where.of(inner, frame.tb_lineno, frame.tb_lasti)
        frame = frame.tb_next
    return place


def keep_contents(function: Callable[..., Any], args: Any, kwargs: Any) -> Callable[[], None]:
    """What gives the arrays, containers and objects of a call their present contents again.

    Only an eager run tells the user's own exceptions from fallbacks. Where an error is made of it
    when it has ended, its stores must not be seen.
    """
    from tracejit.frontend.capture.globals import captured_state
    from tracejit.frontend.tracing.contents import contents_of, put_contents

    state = captured_state(function, args, kwargs)
    arrays = [x for x in state if isinstance(x, np.ndarray) and x.flags.writeable]
    saved = [(x, x.copy()) for x in arrays]
    held = [(x, contents_of(x)) for x in state if not isinstance(x, np.ndarray)]

    def restore() -> None:
        for container, contents in held:
            put_contents(container, contents)
        for x, old in saved:
            x[...] = old

    return restore
