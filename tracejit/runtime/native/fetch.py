"""Access paths of an entry as machine code: going to an object, and giving up what that took.

What is fetched is borrowed, and safe until code of the program runs. Attributes are new references:
a miss after them gives them up again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tracejit.frontend.capture.guards import Keys, Size
from tracejit.frontend.capture.paths import Item, Packed, Path, Reference
from tracejit.frontend.tracing.packed import Arrays, columns_of
from tracejit.link.addresses import Address, This
from tracejit.link.cpython.reflect import Layout
from tracejit.link.watch import Watched
from tracejit.runtime.native.text import FunctionText

__all__ = ["Fetcher"]

_WORD = 8


class Fetcher:
    """Fetches objects; `miss` is the block to branch to where a check fails at this place."""

    def __init__(self, text: FunctionText, layout: Layout, miss: str) -> None:
        self.text = text
        self.layout = layout
        self.miss = miss
        #: References that belong to the entry.
        self.owned: list[str] = []
        self._held: dict[Path, str] = {}
        self._dicts: dict[Path, str] = {}
        #: Whether the program writes to arrays: those that are copies know of what.
        self.writes_arrays = False
        #: The arrays of lists, as these were when Python code has last run.
        self._packed: dict[tuple[Path | None, int], str] = {}
        self._borrowed: dict[Path, str] = {}
        self._containers: dict[Path, Size | Keys] = {}
        #: The values of dicts, by the places of their keys.
        self._elements: dict[tuple[Path, int], str] = {}
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

    # Paths ---------------------------------------------------------------------------------------

    def reread(self, function: Any) -> None:
        """Ask for the values that `Reread`s refer to."""
        text = self.text
        self._values = self.new("PyObject_CallNoArgs", f"ptr {text.object(function)}")
        self.require(text.op(f"icmp ne ptr {self._values}, {text.object(None)}"))

    def value(self, index: int) -> str:
        """What Python has read again for a `Reread`."""
        return self.text.field(self._values, self.layout.tuple_items + _WORD * index, "ptr")

    def ran_program(self) -> None:
        """Note that code of the program may have run: nothing borrowed lasts beyond it."""
        for known in (self._borrowed, self._elements, self._dicts):
            known.clear()

    def new(self, function: str, *arguments: str) -> str:
        """A new reference, owned by the entry, by a call that may run code of the program."""
        self.ran_program()
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
        return self.new("PyObject_Vectorcall", callee, f"ptr {given}", f"i64 {count}", "ptr null")

    def get(self, path: Path) -> str:
        """The object that a path leads to."""
        found = self._held.get(path) or self._borrowed.get(path)
        if found is None:
            found = path.emit(self)
            if path.runs_program:
                self._held[path] = found
            elif not isinstance(path, Packed):
                self._borrowed[path] = found
        return found

    def pin(self, path: Path) -> None:
        """Own the object at a path, and take it for what is there until the entry ends."""
        obj = self.get(path)
        self.hold(obj)
        self._held[path] = obj

    def column(self, path: Packed) -> str:
        """A new array of a column of a list, owned by the entry."""
        key = path.parent, path.column
        if key not in self._packed:
            assert path.parent is not None
            from tracejit.runtime.native.packing import Packer

            packer = Packer(self.text, self.layout, self.require, self.new)
            self._packed[key] = packer.emit(self.get(path.parent), path)
        return self._packed[key]

    def is_asked_for(self, path: Path) -> bool:
        """Whether Python code copies arrays into the one that a path leads to."""
        is_joined = isinstance(path, Packed) and isinstance(path.form, Arrays)
        return is_joined and self.writes_arrays

    def awaits_python(self, path: Packed) -> bool:
        """Whether such an array is still to be asked for."""
        return self.is_asked_for(path) and (path.parent, path.column) not in self._packed

    def ask_for_arrays(self, paths: Iterable[Path]) -> None:
        """Have Python code make those arrays that it is asked for."""
        places = {p.parent: p.form for p in paths if isinstance(p, Packed) and p.parent}
        lists = {parent: self.get(parent) for parent in places}
        for values in lists.values():
            self.hold(values)
        for parent, values in lists.items():
            columns = self.ask(columns_of, values, self.text.object(places[parent]))
            self.require(self.text.op(f"icmp ne ptr {columns}, {self.text.object(None)}"))
            for k in range(3):
                at = self.layout.tuple_items + _WORD * k
                self._packed[parent, k] = self.text.field(columns, at, "ptr")

    def own_dict(self, path: Path) -> str:
        """The dict of an instance, owned by the entry."""
        if path not in self._dicts:
            given = f"ptr {self.get(path)}", "ptr null"
            found = self.text.call("PyObject_GenericGetDict", *given)
            self.text.require(self.text.op(f"icmp ne ptr {found}, null"), self.miss_with_error())
            self.own(found)
            self._dicts[path] = found
        return self._dicts[path]

    def watched(self, watched: Watched) -> str:
        """A watched object, or null where it has died."""
        name = self._words.setdefault(watched.address, f"word{len(self._words)}")
        word = self.text.address(name, Address(watched.address, This("word", watched)))
        return self.text.op(f"load ptr, ptr {word}")

    def reference(self, reference: Reference) -> str:
        """A referenced object, or null where it has died."""
        if reference.watched is None:
            return self.text.object(reference.get())
        return self.watched(reference.watched)

    def lookup(self, items: str, key: Any) -> str:
        """What a dict holds under a key, or null."""
        given = f"ptr {items}", f"ptr {self.text.object(key)}"
        return self.text.call("PyDict_GetItemWithError", *given)

    def require_found(self, obj: str) -> None:
        """Go on only if a lookup has found something and has raised nothing."""
        self.text.require(self.text.op(f"icmp ne ptr {obj}, null"), self.miss_with_error())

    def require_absent(self, obj: str) -> None:
        """Go on only if a lookup has found nothing and has raised nothing."""
        self.require(self.text.op(f"icmp eq ptr {obj}, null"))
        error = self.text.call("PyErr_Occurred")
        self.text.require(self.text.op(f"icmp eq ptr {error}, null"), self.miss_with_error())

    def unless_unchanged(self, owner: Reference, check: Callable[[], None]) -> None:
        """Write a check that is skipped as long as a class is as it was when it last held.

        CPython numbers the states of classes, which change with their bases.
        """
        text = self.text
        if not self.layout.class_version:
            check()
            return
        # A class has no number before something has been looked up in it.
        getattr(owner.get(), "__doc__", None)
        cls = self.reference(owner)
        self.require(text.op(f"icmp ne ptr {cls}, null"))
        word = text.word(-1)
        version = text.field(cls, self.layout.class_version, "i32")
        found = text.op(f"zext i32 {version} to i64")
        same = text.op(f"icmp eq i64 {found}, {text.field(word, 0, 'i64')}")
        changed, go_on = text.fresh("changed"), text.fresh("unchanged")
        text.do(f"br i1 {same}, label %{go_on}, label %{changed}")
        text.label(changed)
        # What is fetched there is not known afterwards.
        kept = dict(self._borrowed)
        check()
        self._borrowed = kept
        # A class without a number may change unseen.
        known = text.op(f"icmp ne i64 {found}, 0")
        text.do(f"store i64 {text.op(f'select i1 {known}, i64 {found}, i64 -1')}, ptr {word}")
        text.do(f"br label %{go_on}")
        text.label(go_on)

    # Containers ----------------------------------------------------------------------------------

    def enter(self, path: Path, container: Size | Keys) -> None:
        """Note what a guard has found out about a container."""
        self._containers[path] = container

    def elements(self, path: Path, keys: Sequence[Any], values: Sequence[str]) -> None:
        """Note the values of a dict."""
        self._elements |= {(path, id(k)): v for k, v in zip(keys, values, strict=True)}

    def element(self, path: Item) -> str:
        """The item of a container, which a guard has checked."""
        assert path.parent is not None
        container = self._containers[path.parent]
        if (path.parent, id(path.key)) in self._elements:
            return self._elements[path.parent, id(path.key)]
        obj = self.get(path.parent)
        if isinstance(container, Keys):
            item = self.lookup(obj, path.key)
        elif container.cls is not list:
            at = self.layout.tuple_items + _WORD * path.key
            return self.text.field(obj, at, "ptr")
        else:
            item = self.text.call("PyList_GetItem", f"ptr {obj}", f"i64 {path.key}")
        self.require_found(item)
        return item
