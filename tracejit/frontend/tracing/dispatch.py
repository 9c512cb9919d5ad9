"""What NumPy's protocols do with tracers: places that `frontend/numpy` fills when they are used."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tracejit.base.late import imported

__all__ = ["DISPATCH", "FILLED_BY", "Dispatch"]

#: Place -> the module that fills it.
FILLED_BY: dict[str, str] = {}


class Dispatch:
    """What tracers hand a use of theirs to. All of it raises as NumPy does, or TraceError."""

    #: (ufunc, method, inputs, keywords) -> what `__array_ufunc__` gives.
    ufunc: Callable[..., Any]
    #: (function, arguments, keywords) -> what `__array_function__` gives.
    function: Callable[..., Any]
    #: (array, name) and (scalar, name) -> an attribute or a method.
    array_attribute: Callable[..., Any]
    scalar_attribute: Callable[..., Any]
    #: (array, key) -> an item; (array, key, value) -> None.
    get_item: Callable[..., Any]
    set_item: Callable[..., None]
    #: A nested list, tuple or range of numbers and tracers -> an array.
    asarray: Callable[..., Any]
    #: (operator function, operand, operand) -> what the operator gives.
    binary_operator: Callable[..., Any]
    #: (trace, size) -> a traced Python int.
    number_of: Callable[..., Any]

    def __getattr__(self, name: str) -> Any:
        """A place that is not filled yet."""
        if name not in FILLED_BY:
            raise AttributeError(name)
        imported(FILLED_BY[name])
        return self.__dict__[name]


DISPATCH = Dispatch()
