"""Functions that machine code calls, found when they are first called."""

from __future__ import annotations

from typing import Any, TypeAlias

from tracejit.base.late import imported
from tracejit.link.finding import Kept

__all__ = ["Later", "Retold", "later"]

#: A module, the name of a function in it, arguments that `marshal` can write, and the files that
#: places of the program in them are of: called with these, it gives the function that is meant;
#: without arguments, None, it is that function itself.
Retold: TypeAlias = "tuple[str, str, tuple[Any, ...] | None, tuple[str, ...]]"


class Later:
    """A function that imports what it needs at its first call."""

    __slots__ = ("_function", "_retold")

    def __init__(self, retold: Retold) -> None:
        self._retold = retold
        self._function: Any = None

    def __call__(self, *args: Any) -> Any:
        function = self._function
        if function is None:
            module, name, arguments, files = self._retold
            found = getattr(imported(module), name)
            # Threads may each make one: any of them will do.
            function = self._function = found if arguments is None else found(*arguments, files)
        return function(*args)


def later(retold: Retold) -> Kept:
    """Such a function, with its address."""
    made = Later(retold)
    return Kept(id(made), made)
