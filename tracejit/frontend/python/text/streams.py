"""The standard streams in a traced program: stand-ins, looked up when something is printed."""

from __future__ import annotations

from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.trace import user_line

__all__ = ["STREAMS", "StandardStream", "StreamMethod"]


class StandardStream:
    """`sys.stdout` or `sys.stderr`, whatever they are when something is printed."""

    def __init__(self, name: str) -> None:
        self.name = name

    def attribute(self, name: str) -> Any:
        """A method of the stream. Raises TraceError for any but those that print."""
        if name not in ("write", "flush"):
            raise TraceError("TJ002", f"sys.{self.name}.{name}", user_line())
        return StreamMethod(self, name)


#: The standard streams by their names in the module sys.
STREAMS = {name: StandardStream(name) for name in ("stdout", "stderr")}


class StreamMethod:
    """A method of a standard stream."""

    def __init__(self, stream: StandardStream, name: str) -> None:
        self.stream, self.name = stream, name

    def call(self, interpreter: Interpreter, *args: Any) -> Any:
        """`stream.write(text)` or `stream.flush()`."""
        if self.name == "flush" and not args:
            interpreter.print_(end="", file=self.stream, flush=True)
            return None
        if self.name == "flush" or len(args) != 1 or not isinstance(args[0], (str, TracedText)):
            raise TraceError("TJ004", f"sys.{self.stream.name}.{self.name}", user_line())
        interpreter.print_(args[0], end="", file=self.stream)
        return len(args[0]) if isinstance(args[0], str) else _Length()


class _Length:
    """The number of characters of a traced text."""

    def __bool__(self) -> bool:
        raise TraceError("TJ021", "its length", user_line())
