"""The outputs of an entry become its result: machine code for views, boxes and containers.

Every object that is made is owned by the entry until the result is complete: what fails meanwhile
gives all of them up.
"""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tracejit.base.lazy_dataclass import dataclass
from tracejit.frontend.tracing.union import UNBOUND
from tracejit.link.cpython.reflect import Layout
from tracejit.runtime.call.entry_spec import (
    Choice,
    Container,
    EntrySpec,
    OutArray,
    OutConstants,
    OutLeaf,
    OutList,
    OutMade,
    OutNpScalar,
    OutObject,
    Output,
    OutPyScalar,
    OutView,
)
from tracejit.runtime.call.flags import WARN_ON_WRITE, WRITEABLE
from tracejit.runtime.native.text import FunctionText, SizeEmitter

__all__ = ["ResultEmitter", "Surroundings"]

_WORD = 8
#: Behind the last element of any list.
_END = 2**63 - 1


class _Placed:
    """Where a view lies: registers of its shape, strides and offset, and of what its picks need."""

    def __init__(self, sizes: SizeEmitter, view: OutView) -> None:
        self.shape = sizes.emit_shape(view.shape)
        self.strides = [sizes.emit(step) for step in view.strides]
        self.offset = sizes.emit(view.offset)
        self.picks = [(k, sizes.emit(n), sizes.emit(step)) for k, n, step in view.picks]


@dataclass(frozen=True)
class Surroundings:
    """What the rest of the entry knows: registers of sizes, the objects of leaves by number, and
    the references that keep them alive so far; labels that give up all that is owned, for an index
    outside its axis, and where an exception is pending.
    """

    sizes: Mapping[str, str]
    leaves: Mapping[int, str]
    borrowed: Sequence[str]
    outside: Callable[[], str]
    fail: Callable[[], str]


class Made(list["str | None"]):
    """Objects that are made, by their numbers; None for those that are not yet.

    `added` are those that have come since anything else changed, which `epoch` counts.
    """

    def __init__(self) -> None:
        super().__init__()
        self.added: list[str] = []
        self.epoch = 0

    def append(self, obj: str | None) -> None:
        super().append(obj)
        if obj is not None:
            self.added.append(obj)

    def __setitem__(self, k: Any, obj: Any) -> None:
        if isinstance(k, slice) or self[k] is not None or obj is None:
            self.added, self.epoch = [], self.epoch + 1
        else:
            self.added.append(obj)
        super().__setitem__(k, obj)


class ResultEmitter:
    """Writes what happens to outputs after the program, and before it where that can fail."""

    def __init__(self, text: FunctionText, spec: EntrySpec, layout: Layout) -> None:
        self.text, self.spec, self.layout = text, spec, layout
        #: For each output, and each container behind them: the name of its object, once it is made.
        self.made = Made()
        self._early: dict[int, _Placed] = {}

    def place_early(self, sizes: SizeEmitter) -> None:
        """Find where those views lie whose sizes are known before the program runs."""
        for k, view in enumerate(self.spec.outputs):
            if isinstance(view, OutView) and not view.sizes and not view.base_strides:
                self._early[k] = _Placed(sizes, view)

    def emit(self, around: Surroundings) -> None:
        """Return the result."""
        self._choose(self.spec.made, around)

    def _choose(self, made: int | Container | Choice, around: Surroundings) -> None:
        if not isinstance(made, Choice):
            _Path(self, around, made).emit()
            return
        text = self.text
        flag = text.field(self.slot(made.flag), 0, "i8")
        before, sides = list(self.made), [text.fresh("first"), text.fresh("second")]
        second = text.op(f"icmp eq i8 {flag}, 0")
        text.do(f"br i1 {second}, label %{sides[1]}, label %{sides[0]}")
        for label, side in zip(sides, (made.first, made.second), strict=True):
            text.label(label)
            self.made[:] = before
            self._choose(side, around)

    def slot(self, k: int) -> str:
        """The out-slot of an output."""
        return self.text.at("%out", _WORD * self.spec.out_slots[k])

    def placed(self, k: int, view: OutView, around: Surroundings) -> _Placed:
        """Where a view lies, now that the program has run."""
        text = self.text
        placed = self._early.get(k)
        if placed is None:
            late = {name: text.field(self.slot(at), 0, "i64") for name, at in view.sizes}
            if view.base_strides:
                from tracejit.runtime.native.strides import strides_of_base

                late |= strides_of_base(text, self.layout, self.spec, view, around.leaves)
            emitter = SizeEmitter(text, {**around.sizes, **late})
            placed = _Placed(emitter, view)
            for fault in emitter.faults if placed.shape else ():
                # NumPy refuses a negative size.
                placed.shape[0] = text.op(f"select i1 {fault}, i64 -1, i64 {placed.shape[0]}")
        placed = copy.copy(placed)
        for at, size, step in placed.picks:
            index = text.field(self.slot(at), 0, "i64")
            wrapped = text.op(f"add i64 {index}, {size}")
            negative = text.op(f"icmp slt i64 {index}, 0")
            index = text.op(f"select i1 {negative}, i64 {wrapped}, i64 {index}")
            text.require(text.op(f"icmp ult i64 {index}, {size}"), around.outside())
            moved = text.op(f"mul i64 {index}, {step}")
            placed.offset = text.op(f"add i64 {placed.offset}, {moved}")
        return placed


class _Path:
    """Makes one result: an output, or a container."""

    def __init__(self, on: ResultEmitter, around: Surroundings, made: int | Container) -> None:
        self.on, self.around = on, around
        self.text, self.spec, self.layout, self.made = on.text, on.spec, on.layout, on.made
        self.fail = around.fail
        #: The containers, numbered behind the outputs, with the numbers of what is in them.
        self._containers: list[tuple[Container, list[int]]] = []
        self._numbers: dict[int, int] = {}
        self._root = self._number(made)

    def _number(self, made: int | Container) -> int:
        if isinstance(made, int):
            return made
        # A container that occurs several times is one object.
        if id(made) not in self._numbers:
            items = [self._number(item) for item in made.items]
            self._containers.append((made, items))
            self._numbers[id(made)] = len(self.spec.outputs) + len(self._containers) - 1
        return self._numbers[id(made)]

    def emit(self) -> None:
        """Return the result."""
        text, spec, around = self.text, self.spec, self.around
        used = {self._root}.union(*(items for _, items in self._containers))
        views = {
            k: view
            for k, view in enumerate(spec.outputs)
            if isinstance(view, OutView) and k in used
        }
        used.update(view.base for view in views.values())
        places = {k: self.on.placed(k, view, around) for k, view in views.items()}
        # Objects that exist already come first: a failure then drops what was made before it.
        for k, output in enumerate(spec.outputs):
            if k in used and isinstance(output, (OutLeaf, OutObject)):
                obj = (
                    around.leaves[output.index]
                    if isinstance(output, OutLeaf)
                    else text.object(output.value)
                )
                text.call("Py_IncRef", f"ptr {obj}")
                self.made[k] = obj
        for obj in around.borrowed:
            text.call("Py_DecRef", f"ptr {obj}")
        for k, output in enumerate(spec.outputs):
            if k in used and self.made[k] is None and not isinstance(output, (OutView, OutList)):
                self._own(k, self._box(output, self.on.slot(k)))
        for k, view in views.items():
            self._own(k, self._view(view, places[k]))
        for k, made in enumerate(spec.outputs):
            if k in used and isinstance(made, OutList):
                self._list(k, made)
        result = self._contain()
        if spec.finish is not None:
            finish = f"ptr {text.object(spec.finish)}"
            finished = text.call("PyObject_CallOneArg", finish, f"ptr {result}")
            text.call("Py_DecRef", f"ptr {result}")
            result = finished
        if spec.stores:
            result = self._store(result)
        text.do(f"ret ptr {result}")

    def _store(self, made: str) -> str:
        """Make the stores, whose values and owners follow the result in the tuple `made`."""
        text, spec = self.text, self.spec
        items = self._containers[-1][1]

        def item(k: int) -> str:
            return text.field(made, self.layout.tuple_items + _WORD * k, "ptr")

        failed = "0"
        for k, (kind, key) in enumerate(spec.stores, 1):
            owner, value = f"ptr {item(len(spec.stores) + k)}", f"ptr {item(k)}"
            stored = spec.outputs[items[k]] if items[k] < len(spec.outputs) else None
            if isinstance(stored, OutObject) and stored.value is UNBOUND:
                # What a branch may have left as it was: not there.
                self._delete(kind, key, owner)
                continue
            status = self._stored(kind, key, owner, value)
            failed = text.op(f"or i32 {failed}, {status}")
        bad, good = text.fresh("bad"), text.fresh("good")
        # Only for want of memory; then an exception is pending.
        text.do(f"br i1 {text.op(f'icmp eq i32 {failed}, 0')}, label %{good}, label %{bad}")
        text.label(bad)
        text.call("Py_DecRef", f"ptr {made}")
        text.do("ret ptr null")
        text.label(good)
        result = item(0)
        text.call("Py_IncRef", f"ptr {result}")
        text.call("Py_DecRef", f"ptr {made}")
        return result

    def _stored(self, kind: str, key: Any, owner: str, value: str) -> str:
        """The status of one store."""
        text = self.text
        match kind:
            case "attribute":
                name = f"ptr {text.object(key)}"
                return text.call("PyObject_GenericSetAttr", owner, name, value)
            case "class":
                # The class notes that it changes.
                name = f"ptr {text.object(key)}"
                return text.call("PyObject_SetAttr", owner, name, value)
            case "item":
                return text.call("PyDict_SetItem", owner, f"ptr {text.object(key)}", value)
            case "cell":
                return text.call("PyCell_Set", owner, value)
            case "element":
                text.call("Py_IncRef", value)
                return text.call("PyList_SetItem", owner, f"i64 {key}", value)
            case "tail":
                first = f"i64 {_END if key is None else key}"
                return text.call("PyList_SetSlice", owner, first, f"i64 {_END}", value)
        raise AssertionError(kind)

    def _delete(self, kind: str, key: Any, owner: str) -> None:
        text = self.text
        if kind == "cell":
            text.call("PyCell_Set", owner, "ptr null")
            return
        name = f"ptr {text.object(key)}"
        if kind == "item":
            text.call("PyDict_DelItem", owner, name)
        else:
            text.call("PyObject_GenericSetAttr", owner, name, "ptr null")
        text.call("PyErr_Clear")

    def _own(self, k: int, obj: str) -> None:
        self.text.require(self.text.op(f"icmp ne ptr {obj}, null"), self.fail())
        self.made[k] = obj

    def _list(self, k: int, made: OutList) -> None:
        """A list of what is in arrays."""

        from tracejit.runtime.native.lists import fill_list, list_size

        columns = []
        for at in made.columns:
            array, output = self.made[at], self.spec.outputs[at]
            assert array is not None and isinstance(output, (OutArray, OutMade))
            columns.append((array, output.dtype))
        size = list_size(self.text, self.layout, columns[0][0])
        self._own(k, self.text.call("PyList_New", f"i64 {size}"))
        new = self.made[k]
        assert new is not None
        fill_list(self.text, self.layout, new, made.form, columns, self.fail())

    # Views ---------------------------------------------------------------------------------------

    def _view(self, view: OutView, placed: _Placed) -> str:
        """A new array over the memory of another one."""
        text = self.text
        for where, values in ("%shape", placed.shape), ("%strides", placed.strides):
            for axis, value in enumerate(values):
                text.do(f"store i64 {value}, ptr {text.at(where, _WORD * axis)}")
        kept, added = WRITEABLE | WARN_ON_WRITE, 0
        if view.writeable is None:
            kept, added = WRITEABLE, WARN_ON_WRITE // WRITEABLE
        descr = "null" if view.dtype is None else text.object(view.dtype)
        return text.call(
            "tj_new_view",
            *(f"ptr {self.made[view.base]}", f"ptr {descr}", f"i32 {len(placed.shape)}"),
            *("ptr %shape", "ptr %strides", f"i64 {placed.offset}"),
            *(f"i32 {0 if view.writeable is False else kept}", f"i32 {added}"),
        )

    # Numbers and containers ----------------------------------------------------------------------

    def _box(self, output: Output, slot: str) -> str:
        text = self.text
        match output:
            case OutNpScalar(dtype):
                descr = text.object(dtype)
                return text.call("PyArray_Scalar", f"ptr {slot}", f"ptr {descr}", "ptr null")
            case OutPyScalar("float"):
                return text.call("PyFloat_FromDouble", f"double {text.field(slot, 0, 'double')}")
            case OutPyScalar("complex"):
                parts = [f"double {text.field(slot, at, 'double')}" for at in (0, _WORD)]
                return text.call("PyComplex_FromDoubles", *parts)
            case OutPyScalar(kind):
                function = "PyBool_FromLong" if kind == "bool" else "PyLong_FromLongLong"
                return text.call(function, f"i64 {text.field(slot, 0, 'i64')}")
            case OutConstants(values):
                return text.call("PySequence_List", f"ptr {text.object(values)}")
        raise AssertionError(output)

    def _contain(self) -> str:
        """Put everything into the containers, and give up what is in none of them."""
        text, first = self.text, len(self.spec.outputs)
        for k, (container, items) in enumerate(self._containers, first):
            self.made.append(None)
            self._own(k, self._new(container.cls, len(items)))
        # What can fail comes first, with references of its own; the others are given theirs.
        taken = Counter([self._root])
        for k, (container, items) in enumerate(self._containers, first):
            if issubclass(container.cls, (tuple, list)):
                taken.update(items)
                continue
            put = "PyDict_SetItem" if container.cls is dict else "PyObject_GenericSetAttr"
            for key, item in zip(container.keys, items, strict=True):
                pair = [f"ptr {text.object(key)}", f"ptr {self.made[item]}"]
                status = text.call(put, f"ptr {self.made[k]}", *pair)
                text.require(text.op(f"icmp eq i32 {status}, 0"), self.fail())
        for item, obj in enumerate(self.made):
            if obj is not None:
                count = taken[item] - 1
                for _ in range(max(count, -count)):
                    text.call("Py_DecRef" if count < 0 else "Py_IncRef", f"ptr {obj}")
        for k, (container, items) in enumerate(self._containers, first):
            if container.cls is list:
                for at, item in enumerate(items):
                    given = f"i64 {at}", f"ptr {self.made[item]}"
                    text.call("PyList_SetItem", f"ptr {self.made[k]}", *given)
            elif issubclass(container.cls, tuple):
                # PyTuple_SetItem takes no tuple that anything else refers to already.
                for at, item in enumerate(items):
                    place = text.at(str(self.made[k]), self.layout.tuple_items + _WORD * at)
                    text.do(f"store ptr {self.made[item]}, ptr {place}")
        result = self.made[self._root]
        assert result is not None
        return result

    def _new(self, cls: type, size: int) -> str:
        """An empty container; a namedtuple is, as a tuple, complete once all is in it."""
        text = self.text
        if cls is dict:
            return text.call("PyDict_New")
        if cls is tuple or cls is list:
            return text.call(f"Py{cls.__name__.capitalize()}_New", f"i64 {size}")
        if issubclass(cls, tuple):
            return text.call("PyType_GenericAlloc", f"ptr {text.object(cls)}", f"i64 {size}")
        new = f"ptr {text.object(object.__new__)}"
        return text.call("PyObject_CallOneArg", new, f"ptr {text.object(cls)}")
