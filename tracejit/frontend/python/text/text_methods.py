"""Methods of texts that are known only at run time: those that give another text."""

from __future__ import annotations

from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.text import TextLike, TracedText
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.traceable import Traceable
from tracejit.ops.control.templates import TEXT_METHODS

__all__ = ["TextMethod", "text_method"]


class TextMethod(Traceable):
    """A method of a traced text, for arguments that are known."""

    def __init__(self, text: TracedText, name: str) -> None:
        self.text, self.name = text, name

    def traced_call(self, interpreter: Any, args: Any, kwargs: Any) -> TextLike:
        """`text.ljust(20)` and its kind. Raises what Python raises, and TraceError."""
        if kwargs or not all(type(x) in (str, int, type(None)) for x in args):
            raise TraceError("TJ021", f"the method {self.name} in this form", user_line())
        getattr("1", self.name)(*args)
        return TracedText((("method", self.name, self.text.pieces, repr(args)),))


def text_method(text: TracedText, name: str) -> TextMethod:
    """A method of a text. Raises TraceError where its characters are needed while tracing."""
    if name not in TEXT_METHODS:
        text.refuse(f"the attribute {name}")
    return TextMethod(text, name)
