"""What stands for objects of classes written in C, such as deques, that a program makes.

A stand-in is made of lists and numbers, its attributes, which branches and loops join as those of
any object; its methods are Python that is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import FunctionType, MethodType
from typing import Any, ClassVar

from tracejit.errors import TraceError
from tracejit.frontend.tracing.trace import user_line

__all__ = ["StandIn"]


class StandIn:
    """An object of class `stands_for`. Methods of it that are missing here are not known."""

    stands_for: ClassVar[type]
    #: Gives the interpreter, which is no part of the object.
    home: Callable[[], Any]

    @property
    def interpreter(self) -> Any:
        """The interpreter of the trace."""
        return self.home()

    def attribute(self, name: str) -> Any:
        """A method, or an attribute. Raises AttributeError as Python does, TraceError TJ002."""
        if name in vars(self):
            return vars(self)[name]
        found = getattr(type(self), name, None)
        if isinstance(found, FunctionType) and name not in _OWN:
            return MethodType(found, self)
        if hasattr(self.stands_for, name):
            raise TraceError("TJ002", f"{self.stands_for.__name__}.{name}", user_line())
        raise AttributeError(f"'{self.stands_for.__name__}' object has no attribute '{name}'")

    def special(self, name: str) -> Any:
        """A special method; None where the class has none. Raises TraceError TJ002."""
        return self.attribute(name) if hasattr(self.stands_for, name) else None

    def iterated(self) -> Any:
        """What a loop over it runs over: `Items`, or a container."""
        raise NotImplementedError

    def listed(self) -> Any:
        """What NumPy makes arrays of in its place."""
        raise TraceError("TJ002", f"an array of a {self.stands_for.__name__}", user_line())

    def result(self) -> tuple[Callable[..., Any], Sequence[Any]]:
        """A function, and values of which it makes what is stood for."""
        raise NotImplementedError


#: What the base class has for the interpreter.
_OWN = frozenset(vars(StandIn))
