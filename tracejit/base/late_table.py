"""Tables whose parts are in modules that are imported when a key of theirs is looked up.

A part is announced by the names of its keys. What has another name is found, or not, at once; one
that has such a name by chance only costs an import.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import BuiltinFunctionType, FunctionType
from typing import Any, TypeVar

from tracejit.base.late import imported
from tracejit.base.module_index import index

__all__ = ["LateTable", "name_of"]

_K = TypeVar("_K")
_V = TypeVar("_V")


def name_of(key: Any) -> str:
    """The name by which a key is announced: itself, or a function's or class's own."""
    cls = type(key)
    if cls is str:
        return str(key)
    if issubclass(cls, type):
        return str(type.__dict__["__name__"].__get__(key))
    # Functions of NumPy are of two classes of its own. Attributes of other objects may be code.
    if cls in (FunctionType, BuiltinFunctionType) or cls.__module__.startswith("numpy"):
        name = getattr(key, "__name__", "")
        return name if type(name) is str else ""
    return ""


class LateTable(dict[_K, _V]):
    """A dict with parts that come later. To go through it imports all of them."""

    def __init__(
        self, known: Mapping[_K, _V] | None = None, *, name_of: Callable[[Any], str] = name_of
    ) -> None:
        super().__init__(known or {})
        self._name_of = name_of
        #: Name -> the modules that may have keys of that name, each with the name of its table.
        #: Where that is empty, the import itself adds what there is.
        self._later: dict[str, tuple[tuple[str, str], ...]] = {}

    def announce(self, table: str) -> None:
        """Announce all parts that the index has of a table."""
        for place, names in index().get(table, ()):
            self.later(names, *place.split(":"))

    def later(self, names: str, module: str, table: str = "") -> None:
        """Announce the keys of a module by their names."""
        for name in names.split():
            self._later[name] = (*self._later.get(name, ()), (module, table))

    @property
    def announced(self) -> dict[str, set[tuple[str, str]]]:
        """What is still to come: names, and the modules and their tables."""
        return {name: set(places) for name, places in self._later.items()}

    def _import(self, name: str) -> None:
        for module, table in self._later.get(name, ()):
            found = imported(module)
            if table:
                for key, value in getattr(found, table).items():
                    self.setdefault(key, value)
        # Only now: another thread that looks meanwhile waits for the same imports.
        self._later.pop(name, None)

    def _seek(self, key: object) -> None:
        """Import what may have a key."""
        name = self._name_of(key)
        if name in self._later:
            self._import(name)

    def load(self) -> None:
        """Import all that is still to come."""
        for name in list(self._later):
            self._import(name)

    def __missing__(self, key: _K) -> _V:
        self._seek(key)
        if dict.__contains__(self, key):
            return dict.__getitem__(self, key)
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        if dict.__contains__(self, key):
            return True
        self._seek(key)
        return dict.__contains__(self, key)

    def get(self, key: Any, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self[key] if key in self else default

    def __iter__(self) -> Iterator[_K]:
        self.load()
        return super().__iter__()

    def __len__(self) -> int:
        self.load()
        return super().__len__()

    def keys(self) -> Any:
        """All keys."""
        self.load()
        return super().keys()

    def values(self) -> Any:
        """All values."""
        self.load()
        return super().values()

    def items(self) -> Any:
        """All pairs."""
        self.load()
        return super().items()

    def copy(self) -> Any:
        """A plain dict of all of it."""
        self.load()
        return dict(self)
