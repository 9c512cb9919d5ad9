"""Functions that machine code calls, found when they are first called."""

from __future__ import annotations

import importlib
from typing import Any, TypeAlias

from tracejit.link.finding import Kept

__all__ = ["Later", "Retold", "later"]

#: A module, the name of a function in it, and arguments that `marshal` can write: called with
#: these, it gives the function that is meant; without any, None, it is that function itself.
Retold: TypeAlias = "tuple[str, str, tuple[Any, ...] | None]"


class Later:
    """A function that imports what it needs at its first call."""

    __slots__ = ("_function", "_retold")

    def __init__(self, module: str, name: str, arguments: tuple[Any, ...] | None) -> None:
        self._retold: Retold = (module, name, arguments)
        self._function: Any = None

    def __call__(self, *args: Any) -> Any:
        function = self._function
        if function is None:
            module, name, arguments = self._retold
            found = getattr(importlib.import_module(module), name)
            # Threads may each make one: any of them will do.
            function = self._function = found if arguments is None else found(*arguments)
        return function(*args)


def later(module: str, name: str, arguments: tuple[Any, ...] | None) -> Kept:
    """Such a function, with its address."""
    made = Later(module, name, arguments)
    return Kept(id(made), made)
