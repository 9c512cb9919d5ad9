"""`warnings.warn` and loggers in a traced program: texts printed to streams of messages."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.checks import require_plain
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.text import TextLike, pieces_of
from tracejit.frontend.tracing.trace import user_frame, user_line
from tracejit.frontend.tracing.traceable import Traceable
from tracejit.ops.control.messages import END, LogStream, MessageStream, WarningStream

__all__ = ["MESSAGE_CALLS", "log_method"]

_LEVELS = {
    name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error")
} | {"critical": logging.CRITICAL}


def _send(interpreter: Interpreter, stream: MessageStream, text: TextLike) -> None:
    if r"\x00" in repr(pieces_of(text)):
        raise TraceError("TJ004", "a message with a null character", user_line())
    interpreter.print_(text, end=END, file=stream)


def _warn(
    interpreter: Any, message: Any, category: Any = None, stacklevel: Any = 1, **given: Any
) -> None:
    """`warnings.warn(message, category)`."""
    require_plain(stacklevel, "stacklevel")
    category = UserWarning if category is None else category
    frame = user_frame()
    plain = isinstance(category, type) and issubclass(category, Warning)
    if given or stacklevel != 1 or frame is None or isinstance(message, Warning) or not plain:
        raise TraceError("TJ002", "warnings.warn in this form", user_line())
    if interpreter.filters:
        raise TraceError("TJ025", "a warning where filters are taken back", user_line())
    place = frame.f_code.co_filename, frame.f_lineno, frame.f_globals
    _send(interpreter, WarningStream(category, *place), interpreter.call(str, message))


class LogMethod(Traceable):
    """A method of a logger that sends a message."""

    def __init__(self, logger: logging.Logger, level: int) -> None:
        self.logger, self.level = logger, level

    def traced_call(self, interpreter: Any, args: Any, kwargs: Any) -> None:
        """`logger.info(message, *args)` and its kind."""
        where = user_line()
        if kwargs or not args or where is None or len(args) == 2 and isinstance(args[1], dict):
            raise TraceError("TJ002", "a message of a logger in this form", where)
        message, *values = args
        text = interpreter.call(str, message)
        if values:
            text = interpreter.binary("mod", text, tuple(values))
        place = where.file, where.line, where.function or ""
        _send(interpreter, LogStream(self.logger, self.level, *place), text)


def log_method(interpreter: Interpreter, logger: logging.Logger, name: str) -> LogMethod:
    """A method of a logger. Raises TraceError for any but those that send a message."""
    if name not in _LEVELS or type(logger) not in (logging.Logger, logging.RootLogger):
        raise TraceError("TJ002", f"the logger's {name}", user_line())
    interpreter.capture.require_identity(logger)
    return LogMethod(logger, _LEVELS[name])


def _to_root(name: str) -> Callable[..., None]:
    def run(interpreter: Interpreter, *args: Any, **kwargs: Any) -> None:
        LogMethod(logging.root, _LEVELS[name]).traced_call(interpreter, args, kwargs)

    return run


#: Callee -> what a call of it does.
MESSAGE_CALLS: dict[Any, Callable[..., Any]] = {
    warnings.warn: _warn,
    **{getattr(logging, name): _to_root(name) for name in _LEVELS},
}
