"""The flags and strides of arrays."""

from __future__ import annotations

from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.tracing.memory.layout import byte_strides, is_c_contiguous
from tracejit.frontend.tracing.symint import unwrap
from tracejit.frontend.tracing.tracer import TracedArray, here, user_line

__all__ = ["Flags", "strides_of"]


class Flags:
    """The flags of an array that say in which order its elements lie."""

    def __init__(self, array: TracedArray) -> None:
        self.array = array

    def attribute(self, name: str) -> bool:
        """One flag. Raises TraceError for others, and where the layout is not known."""
        x = self.array
        if name in ("c_contiguous", "contiguous"):
            return _known(is_c_contiguous(x))
        if name == "f_contiguous":
            axes = tuple(reversed(range(x.ndim)))
            return _known(is_c_contiguous(x.view("transpose", axes=axes)))
        if name == "fnc":
            return not self.attribute("c_contiguous") and self.attribute("f_contiguous")
        if name == "forc":
            return self.attribute("c_contiguous") or self.attribute("f_contiguous")
        raise TraceError("TJ002", f"ndarray.flags.{name}", user_line())


def _known(flag: bool | None) -> bool:
    if flag is None:
        raise TraceError("TJ002", "flags of an array whose layout is not known", user_line())
    return flag


def strides_of(x: TracedArray) -> tuple[Any, ...]:
    """`x.strides`. Raises TraceError where the layout is not known."""
    found, env = byte_strides(x), here().env
    # Along an axis with one element or none any stride may be noted.
    if found is None or not all(env.expect(1, "<", d) for d in x.type.shape):
        raise TraceError("TJ002", "strides of an array whose layout is not known", user_line())
    return tuple(unwrap(s, env) for s in found)
