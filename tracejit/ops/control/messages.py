"""Streams that make warnings and log records of what is printed to them, message by message."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from tracejit.errors import Bailout

if TYPE_CHECKING:
    import logging

__all__ = ["END", "LogStream", "MessageStream", "WarningStream"]

#: What a message ends in: a stream gets several at once.
END = "\0"


class MessageStream:
    """Takes texts, each of which is a message."""

    # No weak references: programs know it by its number alone.
    __slots__ = ()

    def require(self) -> None:
        """Raise Bailout where a message would raise an exception."""

    def send(self, message: str) -> None:
        """Do with a message what it is for."""
        raise NotImplementedError

    def write(self, text: str) -> None:
        """Send the messages that a text is made of."""
        for message in text.split(END)[:-1]:
            self.send(message)

    def flush(self) -> None:
        """Nothing waits."""


class WarningStream(MessageStream):
    """`warnings.warn(message, category)` at a line of a module with these globals."""

    __slots__ = ("category", "file", "line", "namespace")

    def __init__(
        self, category: type[Warning], file: str, line: int, namespace: dict[str, Any]
    ) -> None:
        self.category, self.file, self.line, self.namespace = category, file, line, namespace

    def require(self) -> None:
        for action, message, category, module, line in warnings.filters:
            if not issubclass(self.category, category):
                continue
            if action == "error":
                raise Bailout(f"a {self.category.__name__} may be an error")
            if message is None and module is None and line == 0:
                return

    def send(self, message: str) -> None:
        module = self.namespace.get("__name__", "<string>")
        registry = self.namespace.setdefault("__warningregistry__", {})
        warnings.warn_explicit(message, self.category, self.file, self.line, module, registry)


class LogStream(MessageStream):
    """`logger.log(level, message)` at a line of a function."""

    __slots__ = ("file", "function", "level", "line", "logger")

    def __init__(
        self, logger: logging.Logger, level: int, file: str, line: int, function: str
    ) -> None:
        self.logger, self.level = logger, level
        self.file, self.line, self.function = file, line, function

    def send(self, message: str) -> None:
        import logging

        logger = self.logger
        if logger is logging.root and not logger.handlers:
            logging.basicConfig()
        if logger.isEnabledFor(self.level):
            place = self.file, self.line
            logger.handle(
                logger.makeRecord(logger.name, self.level, *place, message, (), None, self.function)
            )
