"""Sources of an entry as machine code: going to an object, and giving up what that took.

What is fetched is borrowed, and safe until Python code runs. Attributes are new references: a miss
after them gives them up again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from tracejit.frontend.tracing.packed import Arrays, columns_of
from tracejit.link.addresses import Address, This
from tracejit.runtime.call.entry_spec import DictLeaf, SequenceLeaf
from tracejit.runtime.call.sources import (
    AttributeSource,
    CellContents,
    CellSource,
    ClassField,
    DictItem,
    ElementSource,
    FunctionField,
    GlobalSource,
    MethodFunction,
    ObjectSource,
    PackedSource,
    Positional,
    RereadItem,
    Source,
    TupleItem,
    TypeSource,
)
from tracejit.runtime.entries.watch import Watched
from tracejit.runtime.native.packing import Packer
from tracejit.runtime.native.reflect import Layout
from tracejit.runtime.native.text import FunctionText

__all__ = ["CURSOR", "Fetcher"]

#: Three words on the stack: PyDict_Next's position, key and value.
CURSOR = "%cursor"
_WORD = 8


class Fetcher:
    """Fetches objects; `miss` is the block to branch to where a check fails at this place."""

    def __init__(self, text: FunctionText, layout: Layout, miss: str) -> None:
        self.text = text
        self.layout = layout
        self.miss = miss
        #: References that belong to the entry.
        self.owned: list[str] = []
        self._held: dict[Source, str] = {}
        #: Whether the program writes to arrays: those that are copies know of what.
        self.writes_arrays = False
        #: The arrays of lists, as these were when Python code has last run.
        self._packed: dict[Source, str] = {}
        self._borrowed: dict[Source, str] = {}
        self._containers: dict[Source, SequenceLeaf | DictLeaf] = {}
        self._values = ""
        #: The names of the words of watched objects, by their addresses.
        self._words: dict[int, str] = {}
        self._late: list[tuple[str, str, Callable[[], None]]] = []

    # Misses --------------------------------------------------------------------------------------

    def require(self, condition: str) -> None:
        """Go on only if an i1 holds."""
        self.text.require(condition, self.miss)

    def later(self, hint: str, emit: Callable[[], None]) -> str:
        """The label of a block that calls rarely reach; `emit` writes it behind all others."""
        label = self.text.fresh(hint)
        self._late.append((label, self.miss, emit))
        return label

    def emit_late_blocks(self) -> None:
        """Write the blocks promised by `later`, in which `miss` is what it was then."""
        for label, miss, emit in self._late:
            self.miss = miss
            self.text.label(label)
            emit()

    def miss_with_error(self) -> str:
        """The label of a miss that first clears an exception."""

        def emit() -> None:
            self.text.call("PyErr_Clear")
            self.text.do(f"br label %{self.miss}")

        return self.later("error", emit)

    def own(self, obj: str) -> None:
        """From here on a miss gives up this reference."""

        def emit() -> None:
            self.text.call("Py_DecRef", f"ptr {obj}")
            self.text.do(f"br label %{self.miss}")

        self.owned.append(obj)
        self.miss = self.later("drop", emit)

    def hold(self, obj: str) -> None:
        """Own a reference to what is borrowed."""
        if obj not in self.owned:
            self.text.call("Py_IncRef", f"ptr {obj}")
            self.own(obj)

    # Sources -------------------------------------------------------------------------------------

    def reread(self, function: Any) -> None:
        """Ask for the values of `RereadItem`s."""
        text = self.text
        self._values = self._new("PyObject_CallNoArgs", f"ptr {text.object(function)}")
        self.require(text.op(f"icmp ne ptr {self._values}, {text.object(None)}"))

    def _new(self, function: str, *arguments: str) -> str:
        """A new reference, by a call that may run Python code: nothing borrowed lasts beyond it."""
        self._borrowed.clear()
        obj = self.text.call(function, *arguments)
        self.text.require(self.text.op(f"icmp ne ptr {obj}, null"), self.miss_with_error())
        self.own(obj)
        return obj

    def ask(self, function: Callable[..., Any], *arguments: str) -> str:
        """The result of a function of a module, owned by the entry."""
        text, count = self.text, len(arguments)
        given = text.op(f"alloca [{count} x ptr]")
        for k, obj in enumerate(arguments):
            text.do(f"store ptr {obj}, ptr {text.at(given, _WORD * k)}")
        callee = f"ptr {text.object(function)}"
        return self._new("PyObject_Vectorcall", callee, f"ptr {given}", f"i64 {count}", "ptr null")

    def get(self, source: Source) -> str:
        """The object that a source holds."""
        if isinstance(source, AttributeSource):
            return self._attribute(source)
        if isinstance(source, PackedSource):
            if source not in self._packed:
                packer = Packer(self.text, self.layout, self.require, self._new)
                self._packed[source] = packer.emit(self.get(source.parent), source)
            return self._packed[source]
        found = self._borrowed.get(source)
        if found is None:
            found = self._borrowed[source] = self._get(source)
        return found

    def is_asked_for(self, source: Source) -> bool:
        """Whether Python code copies arrays into the one that a source holds."""
        is_joined = isinstance(source, PackedSource) and isinstance(source.form, Arrays)
        return is_joined and self.writes_arrays

    def ask_for_arrays(self, sources: Iterable[Source]) -> None:
        """Have Python code make those arrays that it is asked for."""
        places = [(s.parent, s.form) for s in sources if isinstance(s, PackedSource)]
        lists = {place: self.get(place[0]) for place in places}
        for values in lists.values():
            self.hold(values)
        for (parent, form), values in lists.items():
            columns = self.ask(columns_of, values, self.text.object(form))
            self.require(self.text.op(f"icmp ne ptr {columns}, {self.text.object(None)}"))
            for k in range(3):
                at = self.layout.tuple_items + _WORD * k
                column = PackedSource(parent, form, k)
                self._packed[column] = self.text.field(columns, at, "ptr")

    def _attribute(self, source: AttributeSource) -> str:
        held = self._held.get(source)
        if held is None:
            parent = self.get(source.parent)
            if not isinstance(source.parent, (Positional, AttributeSource)):
                self.hold(parent)
            name = self.text.object(source.name)
            held = self._new("PyObject_GetAttr", f"ptr {parent}", f"ptr {name}")
            self._held[source] = held
        return held

    def _get(self, source: Source) -> str:
        text = self.text
        match source:
            case Positional(index):
                return text.field("%args", _WORD * index, "ptr")
            case RereadItem(index):
                return text.field(self._values, self.layout.tuple_items + _WORD * index, "ptr")
            case TypeSource(parent):
                return text.field(self.get(parent), self.layout.type, "ptr")
            case ElementSource(parent, index):
                return self._element(parent, index)
            case TupleItem(items, index):
                return self._tuple_item(self.get(items), index)
            case GlobalSource() | DictItem():
                obj = self.lookup(source)
                text.require(text.op(f"icmp ne ptr {obj}, null"), self.miss_with_error())
                return obj
            case CellSource(cell):
                obj = text.field(text.object(cell), self.layout.cell_contents, "ptr")
            case CellContents(cell):
                obj = text.field(self.get(cell), self.layout.cell_contents, "ptr")
            case ObjectSource(watched):
                obj = self.watched(watched)
            case FunctionField(owner, name):
                offset = getattr(self.layout, f"function_{name}")
                obj = text.field(self.get(owner), offset, "ptr")
            case ClassField(owner, name):
                offset = getattr(self.layout, f"class_{name}")
                obj = text.field(self.get(owner), offset, "ptr")
            case MethodFunction(method):
                obj = text.field(self.get(method), self.layout.method_function, "ptr")
            case _:
                raise AssertionError(source)
        self.require(text.op(f"icmp ne ptr {obj}, null"))
        return obj

    def watched(self, watched: Watched) -> str:
        """A watched object, or null where it has died."""
        name = self._words.setdefault(watched.address, f"word{len(self._words)}")
        word = self.text.address(name, Address(watched.address, This("word", watched)))
        return self.text.op(f"load ptr, ptr {word}")

    def lookup(self, source: Source) -> str:
        """What a namespace or dict holds under a key, or null."""
        assert isinstance(source, (GlobalSource, DictItem))
        if isinstance(source, GlobalSource):
            found = self.text.object(source.namespace)
        else:
            found = self.get(source.items)
        key = self.text.object(source.key)
        return self.text.call("PyDict_GetItemWithError", f"ptr {found}", f"ptr {key}")

    def _tuple_item(self, items: str, index: int) -> str:
        text = self.text
        size = text.field(items, self.layout.tuple_size, "i64")
        self.require(text.op(f"icmp sge i64 {size}, {-index}"))
        offset = text.op(f"shl i64 {text.op(f'add i64 {size}, {index}')}, 3")
        item = text.op(f"getelementptr i8, ptr {items}, i64 {offset}")
        return text.field(item, self.layout.tuple_items, "ptr")

    # Containers ----------------------------------------------------------------------------------

    def enter_sequence(self, source: Source, leaf: SequenceLeaf) -> None:
        """Require a tuple or list of the leaf's size."""
        text, obj = self.text, self.get(source)
        cls = text.field(obj, self.layout.type, "ptr")
        self.require(text.op(f"icmp eq ptr {cls}, {text.object(leaf.cls)}"))
        # Tuples and lists keep their size where all objects of variable size do.
        size = text.field(obj, self.layout.tuple_size, "i64")
        self.require(text.op(f"icmp eq i64 {size}, {leaf.size}"))
        self._containers[source] = leaf

    def enter_dict(
        self, source: Source, leaf: DictLeaf, check_key: Callable[[str, Any], None]
    ) -> None:
        """Require a dict with the leaf's keys."""
        text, obj = self.text, self.get(source)
        cls = text.field(obj, self.layout.type, "ptr")
        self.require(text.op(f"icmp eq ptr {cls}, {text.object(dict)}"))
        size = text.call("PyDict_Size", f"ptr {obj}")
        self.require(text.op(f"icmp eq i64 {size}, {len(leaf.keys)}"))
        self._containers[source] = leaf
        if not leaf.ordered:
            for index in range(len(leaf.keys)):
                self._element(source, index)
            return
        text.do(f"store i64 0, ptr {CURSOR}")
        key, value = text.at(CURSOR, _WORD), text.at(CURSOR, 2 * _WORD)
        for index, wanted in enumerate(leaf.keys):
            more = text.call(
                "PyDict_Next", f"ptr {obj}", f"ptr {CURSOR}", f"ptr {key}", f"ptr {value}"
            )
            self.require(text.op(f"icmp ne i32 {more}, 0"))
            check_key(text.op(f"load ptr, ptr {key}"), wanted)
            self._borrowed[ElementSource(source, index)] = text.op(f"load ptr, ptr {value}")

    def _element(self, parent: Source, index: int) -> str:
        leaf = self._containers[parent]
        obj = self.get(parent)
        if isinstance(leaf, DictLeaf):
            key = self.text.object(leaf.keys[index])
            item = self.text.call("PyDict_GetItemWithError", f"ptr {obj}", f"ptr {key}")
        elif leaf.cls is not list:
            return self.text.field(obj, self.layout.tuple_items + _WORD * index, "ptr")
        else:
            item = self.text.call("PyList_GetItem", f"ptr {obj}", f"i64 {index}")
        self.text.require(self.text.op(f"icmp ne ptr {item}, null"), self.miss_with_error())
        return item
