"""Exceptions of a traced program: what stands for one, and how it leaves a block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.errors import TraceError, Where
from tracejit.frontend.tracing.trace import user_line

__all__ = ["Raised", "Raising", "TracedError"]


class TracedError:
    """Stands for an instance of an exception class that is made where it leaves the program.

    `is_exact` says whether its arguments are those of Python's own exception, `is_linked` whether
    it has a cause or a context, which only Python itself sets right, `where` where it was raised.
    """

    __slots__ = ("args", "cls", "is_exact", "is_linked", "kwargs", "where")

    def __init__(
        self,
        cls: type[BaseException],
        args: Sequence[Any],
        kwargs: dict[str, Any] | None = None,
        is_exact: bool = True,
        is_linked: bool = False,
        where: Where | None = None,
    ) -> None:
        self.cls, self.args, self.kwargs = cls, tuple(args), kwargs or {}
        self.is_exact, self.is_linked, self.where = is_exact, is_linked, where

    @property
    def is_made_by_code(self) -> bool:
        """Whether code of the program runs when it is made."""
        return self.has_own("__init__", "__new__")

    @property
    def is_plain(self) -> bool:
        """Whether what it holds and shows is that of Python's own exceptions, and known."""
        own = ("__init__", "__new__", "__str__", "__repr__", "__getattribute__", "__getattr__")
        return self.is_exact and not self.kwargs and not self.has_own(*own)

    def has_own(self, *names: str) -> bool:
        """Whether a class that is not Python's own holds one of the names."""
        own = [c for c in self.cls.__mro__ if c.__module__ != "builtins"]
        return any(name in vars(c) for c in own for name in names)

    def attribute(self, name: str) -> Any:
        """An attribute of the exception. Raises TraceError for all but the arguments."""
        if name == "__class__":
            return self.cls
        if name == "args" and self.is_plain:
            return self.args
        raise TraceError("TJ024", f"{name} of an exception that is handled", user_line())

    def parts(self) -> tuple[tuple[Any, ...], list[Any]]:
        """What two of them have in common that can be joined, and what is joined."""
        shape = len(self.args), tuple(self.kwargs)
        keys = (self.cls, shape, self.is_exact, self.is_linked, self.where)
        return keys, [*self.args, *self.kwargs.values()]

    @classmethod
    def of_parts(cls, keys: tuple[Any, ...], children: Sequence[Any]) -> TracedError:
        """The error of `keys` with these children."""
        error, (count, names), *more = keys
        named = dict(zip(names, children[count:], strict=True))
        return cls(error, children[:count], named, *more)


class Raised:
    """The outcome of a block that an exception leaves."""

    __slots__ = ("error",)

    def __init__(self, error: TracedError) -> None:
        self.error = error


class Raising(BaseException):
    """Leaves a block whose outcome is `outcome`: `Raised`, or a union of such."""

    def __init__(self, outcome: Any) -> None:
        super().__init__()
        self.outcome = outcome
