"""Objects that NumPy makes of arrays, as stand-ins: the flags of an array, converters."""

from __future__ import annotations

from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray
from tracejit.frontend.numpy.registry import SUBSCRIPTS
from tracejit.frontend.numpy.selection import as_scalar
from tracejit.frontend.tracing.layout import byte_strides, is_c_contiguous
from tracejit.frontend.tracing.symint import unwrap
from tracejit.frontend.tracing.tracer import TracedArray, here, is_number, user_line

__all__ = ["ArrayConverter", "Flags", "strides_of"]


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


class ArrayConverter:
    """NumPy's helper of functions that take numbers and arrays: one object that it converts."""

    def __init__(self, given: Any) -> None:
        self.given = given
        self.is_scalar = is_number(given)

    def attribute(self, name: str) -> Any:
        """A method of the converter, or whether it was given a scalar."""
        if name == "scalar_input":
            return (self.is_scalar,)
        if name == "as_arrays":
            return lambda subok=True: (asarray(self.given),)
        if name == "wrap":
            return lambda array, to_scalar=self.is_scalar: as_scalar(array) if to_scalar else array
        raise TraceError("TJ002", f"a converter's {name}", user_line())


def _converted(converter: ArrayConverter, k: int) -> TracedArray:
    return (asarray(converter.given),)[k]


SUBSCRIPTS[ArrayConverter] = _converted
