"""The outputs of an entry become its result: machine code for views, boxes and containers.

Every object that is made is owned by the entry until the result is complete: what fails meanwhile
gives all of them up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping

import numpy as np

from tracejit.runtime.call.entry_spec import (
    Container,
    EntrySpec,
    OutLeaf,
    OutNpScalar,
    OutObject,
    Output,
    OutPyScalar,
    OutView,
)
from tracejit.runtime.call.flags import WARN_ON_WRITE, WRITEABLE
from tracejit.runtime.native.reflect import Layout
from tracejit.runtime.native.text import FunctionText, SizeEmitter

__all__ = ["ResultEmitter"]

_WORD = 8
_NAMES: dict[type, str] = {tuple: "Tuple", list: "List", dict: "Dict"}


class _Placed:
    """Where a view lies: registers of its shape, strides and offset, and of what its picks need."""

    def __init__(self, sizes: SizeEmitter, view: OutView) -> None:
        self.shape = sizes.emit_shape(view.shape)
        self.strides = [sizes.emit(step) for step in view.strides]
        self.offset = sizes.emit(view.offset)
        self.picks = [(k, sizes.emit(n), sizes.emit(step)) for k, n, step in view.picks]


class ResultEmitter:
    """Writes what happens to outputs after the program, and before it where that can fail."""

    def __init__(self, text: FunctionText, spec: EntrySpec, layout: Layout) -> None:
        self.text, self.spec, self.layout = text, spec, layout
        #: For each output, and each container behind them: the name of its object, once it is made.
        self.made: list[str | None] = []
        self._views = {k: o for k, o in enumerate(spec.outputs) if isinstance(o, OutView)}
        self._placed: dict[int, _Placed] = {}
        #: The containers, numbered behind the outputs, with the numbers of what is in them.
        self._containers: list[tuple[Container, list[int]]] = []
        self._root = self._number(spec.made)

    def _number(self, made: int | Container) -> int:
        if isinstance(made, int):
            return made
        items = [self._number(item) for item in made.items]
        self._containers.append((made, items))
        return len(self.spec.outputs) + len(self._containers) - 1

    def place_early(self, sizes: SizeEmitter) -> None:
        """Find where those views lie whose sizes are known before the program runs."""
        for k, view in self._views.items():
            if not view.sizes:
                self._placed[k] = _Placed(sizes, view)

    def place_late(self, sizes: Mapping[str, str], outside: Callable[[], str]) -> None:
        """Find where the other views lie; `outside` is where an index outside its axis leads."""
        text = self.text
        for k, view in self._views.items():
            if view.sizes:
                late = {name: text.field(self._slot(at), 0, "i64") for name, at in view.sizes}
                emitter = SizeEmitter(text, {**sizes, **late})
                placed = self._placed[k] = _Placed(emitter, view)
                for fault in emitter.faults if placed.shape else ():
                    # NumPy refuses a negative size.
                    placed.shape[0] = text.op(f"select i1 {fault}, i64 -1, i64 {placed.shape[0]}")
            placed = self._placed[k]
            for at, size, step in placed.picks:
                index = text.field(self._slot(at), 0, "i64")
                wrapped = text.op(f"add i64 {index}, {size}")
                negative = text.op(f"icmp slt i64 {index}, 0")
                index = text.op(f"select i1 {negative}, i64 {wrapped}, i64 {index}")
                text.require(text.op(f"icmp ult i64 {index}, {size}"), outside())
                moved = text.op(f"mul i64 {index}, {step}")
                placed.offset = text.op(f"add i64 {placed.offset}, {moved}")

    def _slot(self, k: int) -> str:
        return self.text.at("%out", _WORD * self.spec.out_slots[k])

    def emit(self, leaves: Mapping[int, str], borrowed: list[str], fail: Callable[[], str]) -> None:
        """Return the result. `leaves` are objects that `borrowed` references keep alive so far;
        `fail` is where to go, with an exception, to give up all that is made."""
        text, spec = self.text, self.spec
        used = {self._root, *(view.base for view in self._views.values())}
        used.update(k for _, items in self._containers for k in items)
        # Objects that exist already come first: a failure then drops what was made before it.
        for k, output in enumerate(spec.outputs):
            if k in used and isinstance(output, (OutLeaf, OutObject)):
                obj = (
                    leaves[output.index]
                    if isinstance(output, OutLeaf)
                    else text.object(output.value)
                )
                text.call("Py_IncRef", f"ptr {obj}")
                self.made[k] = obj
        for obj in borrowed:
            text.call("Py_DecRef", f"ptr {obj}")
        for k, output in enumerate(spec.outputs):
            if k in used and self.made[k] is None and not isinstance(output, OutView):
                self._own(k, self._box(output, self._slot(k)), fail)
        for k in self._views:
            self._own(k, self._view(k), fail)
            self._set_base(k, fail)
        result = self._contain(fail)
        if spec.finish is not None:
            finish = f"ptr {text.object(spec.finish)}"
            finished = text.call("PyObject_CallOneArg", finish, f"ptr {result}")
            text.call("Py_DecRef", f"ptr {result}")
            result = finished
        text.do(f"ret ptr {result}")

    def _own(self, k: int, obj: str, fail: Callable[[], str]) -> None:
        self.text.require(self.text.op(f"icmp ne ptr {obj}, null"), fail())
        self.made[k] = obj

    # Views ---------------------------------------------------------------------------------------

    def _view(self, k: int) -> str:
        """A new array over the memory of another one, which does not keep it alive yet."""
        text, layout, view, placed = self.text, self.layout, self._views[k], self._placed[k]
        base = self.made[view.base]
        assert base is not None
        for where, values in ("%shape", placed.shape), ("%strides", placed.strides):
            for axis, value in enumerate(values):
                text.do(f"store i64 {value}, ptr {text.at(where, _WORD * axis)}")
        if view.dtype is None:
            descr = text.field(base, layout.array_dtype, "ptr")
        else:
            descr = text.object(view.dtype)
        text.call("Py_IncRef", f"ptr {descr}")  # The new array takes this reference.
        data = text.field(base, layout.array_data, "ptr")
        data = text.op(f"getelementptr i8, ptr {data}, i64 {placed.offset}")
        flags = "0"
        if view.writeable is not False:
            kept = WRITEABLE if view.writeable is None else WRITEABLE | WARN_ON_WRITE
            flags = text.op(f"and i32 {text.field(base, layout.array_flags, 'i32')}, {kept}")
        if view.writeable is None:
            warn = text.op(f"mul i32 {flags}, {WARN_ON_WRITE // WRITEABLE}")
            flags = text.op(f"or i32 {flags}, {warn}")
        arguments = [f"ptr {text.object(np.ndarray)}", f"ptr {descr}", f"i32 {len(placed.shape)}"]
        arguments += ["ptr %shape", "ptr %strides", f"ptr {data}", f"i32 {flags}", "ptr null"]
        return text.call("PyArray_NewFromDescr", *arguments)

    def _set_base(self, k: int, fail: Callable[[], str]) -> None:
        text, base = self.text, self.made[self._views[k].base]
        text.call("Py_IncRef", f"ptr {base}")  # The view takes this reference, even where it fails.
        status = text.call("PyArray_SetBaseObject", f"ptr {self.made[k]}", f"ptr {base}")
        text.require(text.op(f"icmp eq i32 {status}, 0"), fail())

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
        raise AssertionError(output)

    def _contain(self, fail: Callable[[], str]) -> str:
        """Put everything into the containers, and give up what is in none of them."""
        text, first = self.text, len(self.made)
        for k, (container, items) in enumerate(self._containers, first):
            size = [] if container.cls is dict else [f"i64 {len(items)}"]
            self.made.append(None)
            self._own(k, text.call(f"Py{_NAMES[container.cls]}_New", *size), fail)
        # What can fail comes first: a dict takes references of its own, the others those given.
        taken = Counter([self._root])
        for k, (container, items) in enumerate(self._containers, first):
            if container.cls is not dict:
                taken.update(items)
                continue
            for key, item in zip(container.keys, items, strict=True):
                pair = [f"ptr {text.object(key)}", f"ptr {self.made[item]}"]
                status = text.call("PyDict_SetItem", f"ptr {self.made[k]}", *pair)
                text.require(text.op(f"icmp eq i32 {status}, 0"), fail())
        for item, obj in enumerate(self.made):
            if obj is not None:
                count = taken[item] - 1
                for _ in range(abs(count)):
                    text.call("Py_DecRef" if count < 0 else "Py_IncRef", f"ptr {obj}")
        for k, (container, items) in enumerate(self._containers, first):
            for at, item in enumerate(items if container.cls is not dict else ()):
                put = f"Py{_NAMES[container.cls]}_SetItem"
                text.call(put, f"ptr {self.made[k]}", f"i64 {at}", f"ptr {self.made[item]}")
        result = self.made[self._root]
        assert result is not None
        return result
