"""Objects of the compiler as bytes for another process, and apart from these what they mean there.

Places of the program are of files that have other names there; objects of the program are found by
whoever reads the bytes.
"""

from __future__ import annotations

import io
import pickle
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from tracejit.base.late import imported
from tracejit.errors import Where

__all__ = ["Meant", "Portable", "loaded", "method", "portable"]


class Portable(NamedTuple):
    """Bytes, the files that places in them are of, and the objects that they mean."""

    data: bytes
    files: tuple[str, ...]
    objects: tuple[Any, ...]


class Meant(NamedTuple):
    """A value that is found in the other process as objects are, though bytes could hold it."""

    value: Any


#: What is made in place of an object: a function and its arguments, or NotImplemented.
Reduce = Callable[[Any], Any]


def portable(
    x: Any, is_meant: Callable[[Any], bool] | None = None, reduce: Reduce | None = None
) -> Portable:
    """An object as bytes, without those that are meant. Raises what `pickle` does."""
    file = io.BytesIO()
    pickler = _Pickler(file, is_meant, reduce)
    pickler.dump(x)
    objects = tuple(obj for _, obj in pickler.objects.values())
    return Portable(file.getvalue(), tuple(pickler.files), objects)


def loaded(data: bytes, files: Sequence[str], objects: Sequence[Any] = ()) -> Any:
    """The object of bytes that `portable` has made."""
    return _Unpickler(io.BytesIO(data), files, objects).load()


def method(
    module: str,
    cls: str,
    name: str,
    data: bytes,
    objects: Sequence[Any],
    files: Sequence[str],
) -> Callable[..., Any]:
    """A method of an object of a class, made of the arguments that the bytes hold."""
    made = getattr(imported(module), cls)(*loaded(data, files, objects))
    found: Callable[..., Any] = getattr(made, name)
    return found


class _Pickler(pickle.Pickler):
    def __init__(
        self, file: io.BytesIO, is_meant: Callable[[Any], bool] | None, reduce: Reduce | None
    ) -> None:
        super().__init__(file)
        self.is_meant, self.reduce = is_meant, reduce
        #: Files with their numbers, objects with theirs, by their ids.
        self.files: dict[str, int] = {}
        self.objects: dict[int, tuple[int, Any]] = {}

    def persistent_id(self, obj: Any) -> Any:
        if type(obj) is Where:
            number = self.files.setdefault(obj.file, len(self.files))
            return number, obj.line, obj.function, obj.column, obj.end_column, obj.device
        if type(obj) is Meant:
            obj = obj.value
        elif self.is_meant is None or not self.is_meant(obj):
            return None
        number, _ = self.objects.setdefault(id(obj), (len(self.objects), obj))
        return number

    def reducer_override(self, obj: Any) -> Any:
        return NotImplemented if self.reduce is None else self.reduce(obj)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, files: Sequence[str], objects: Sequence[Any]) -> None:
        super().__init__(file)
        self.files, self.objects = files, objects

    def persistent_load(self, pid: Any) -> Any:
        return self.objects[pid] if type(pid) is int else Where(self.files[pid[0]], *pid[1:])
