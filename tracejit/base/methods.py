"""Compiled functions that are bound to objects, as the attributes of these."""

from __future__ import annotations

import functools
from types import MethodType
from typing import Any

__all__ = ["METHODS", "BoundMethod"]

#: What is asked of a compiled function for the arguments of a call.
_FOR_CALLS = frozenset({"all_reasons", "lower", "partial", "profile", "trace"})


class BoundMethod:
    """A compiled function and the object that it is given first.

    It is taken for a method of Python's, whose type has no subclasses, and is laid out as one.
    """

    # By their names, they lie as in a method of Python's: native code reads both alike.
    __slots__ = ("__func__", "__self__", "__weakref__")

    __func__: Any
    __self__: Any

    def __init__(self, function: Any, owner: Any) -> None:
        self.__func__, self.__self__ = function, owner

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return MethodType

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        doc: str | None = self.__func__.__doc__
        return doc

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return self.__func__(self.__self__, *args, **kwargs)
        except BaseException as e:
            # A method of Python's has no line in a traceback, either.
            e.__traceback__ = e.__traceback__ and e.__traceback__.tb_next
            raise

    def __get__(self, instance: Any, owner: type | None = None, /) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.__func__, name)
        return functools.partial(found, self.__self__) if name in _FOR_CALLS else found

    def view(self, /, *args: Any, **kwargs: Any) -> Any:
        """The page of a call with such arguments, or without any of the newest compile."""
        given = (self.__self__, *args) if args or kwargs else ()
        return self.__func__.view(*given, **kwargs)

    def __dir__(self) -> list[str]:
        return sorted({*dir(MethodType), *dir(self.__func__)})

    def __eq__(self, other: object) -> bool:
        if type(other) not in METHODS:
            return NotImplemented
        return self.__self__ is other.__self__ and bool(self.__func__ == other.__func__)  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((id(self.__self__), self.__func__))

    def __repr__(self) -> str:
        name = getattr(self.__func__, "__qualname__", "?")
        return f"<bound method {name} of {self.__self__!r}>"

    def __reduce__(self) -> Any:
        return getattr, (self.__self__, self.__func__.__name__)


#: The types of bound methods.
METHODS = (MethodType, BoundMethod)
