"""Where a native entry finds an object to check: arguments, names, and what hangs on them."""

from __future__ import annotations

from types import CellType
from typing import Any, Literal, TypeAlias

from tracejit.frontend.tracing.packed import PackedForm
from tracejit.lazy_dataclass import dataclass
from tracejit.runtime.entries.watch import Watched

__all__ = [
    "AttributeSource",
    "CellSource",
    "ClassField",
    "DictItem",
    "ElementSource",
    "FunctionField",
    "GlobalSource",
    "MethodFunction",
    "ObjectSource",
    "PackedSource",
    "Positional",
    "RereadItem",
    "Source",
    "TupleItem",
    "TypeSource",
    "is_argument",
    "runs_python",
]


@dataclass(frozen=True)
class Positional:
    """Argument number `index`: positional ones first, then keywords in the call's order."""

    index: int


@dataclass(frozen=True, eq=False)
class GlobalSource:
    """`namespace[key]`, read at each call; a missing key is a miss."""

    namespace: dict[str, Any]
    key: str


@dataclass(frozen=True, eq=False)
class CellSource:
    """The contents of a closure cell, read at each call; an empty cell is a miss."""

    cell: CellType


@dataclass(frozen=True, eq=False)
class ObjectSource:
    """An object that is watched; a miss when it has died."""

    watched: Watched


@dataclass(frozen=True, eq=False)
class FunctionField:
    """A field of a Python function as it is at each call; a miss where it is None."""

    function: Source
    name: Literal["closure", "code", "defaults", "globals", "kwdefaults"]


@dataclass(frozen=True, eq=False)
class TupleItem:
    """`items[index]` of a function's defaults or cells, from the end; a miss if there are not so
    many."""

    items: FunctionField
    index: int

    def __post_init__(self) -> None:
        if self.index >= 0:
            raise ValueError("the index of a default counts from the end")


@dataclass(frozen=True)
class CellContents:
    """What a cell holds that is found at each call; a miss where it is empty."""

    cell: Source


@dataclass(frozen=True)
class ClassField:
    """A field of a class as it is at each call; for immutable classes it may not be there."""

    cls: ObjectSource
    name: Literal["dict", "mro"]


@dataclass(frozen=True)
class DictItem:
    """`items[key]` of what is known to be a dict; a missing key is a miss."""

    items: Source
    key: str


@dataclass(frozen=True)
class MethodFunction:
    """The function of what is known to be a bound method."""

    method: Source


@dataclass(frozen=True)
class AttributeSource:
    """`getattr(parent, name)`; an error is a miss."""

    parent: Source
    name: str


@dataclass(frozen=True)
class TypeSource:
    """The class of an object."""

    parent: Source


@dataclass(frozen=True)
class ElementSource:
    """Element `index` of a tuple, list or dict (in its order), which a leaf before has checked."""

    parent: Source
    index: int


@dataclass(frozen=True)
class PackedSource:
    """An array of what is in a list whose elements all have `form`: that with number `column`.

    Anything else, and an empty list, is a miss.
    """

    parent: Source
    form: PackedForm
    column: int


@dataclass(frozen=True)
class RereadItem:
    """Item `index` of what the spec's `reread` gives."""

    index: int


Source: TypeAlias = (
    Positional
    | GlobalSource
    | CellSource
    | ObjectSource
    | FunctionField
    | TupleItem
    | CellContents
    | DictItem
    | ClassField
    | MethodFunction
    | AttributeSource
    | TypeSource
    | ElementSource
    | PackedSource
    | RereadItem
)


def runs_python(source: Source) -> bool:
    """Whether going to a source may run Python code."""
    if isinstance(source, (TypeSource, ElementSource, PackedSource)):
        return runs_python(source.parent)
    if isinstance(source, FunctionField):
        return runs_python(source.function)
    if isinstance(source, (TupleItem, CellContents)):
        return runs_python(source.items if isinstance(source, TupleItem) else source.cell)
    if isinstance(source, (DictItem, MethodFunction)):
        return runs_python(source.items if isinstance(source, DictItem) else source.method)
    return isinstance(source, (AttributeSource, RereadItem))


def is_argument(source: Source) -> bool:
    """Whether a source is an argument or an element of one."""
    if isinstance(source, (TypeSource, ElementSource, PackedSource)):
        return is_argument(source.parent)
    return isinstance(source, Positional)
