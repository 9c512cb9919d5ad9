"""Lists of numbers as machine code: the array of what one part of every element is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tracejit.frontend.capture.paths import Packed
from tracejit.frontend.tracing.packed import Arrays, Ragged, Rows, class_of_name, column_paths
from tracejit.link.cpython.reflect import Layout
from tracejit.runtime.call.flags import C_CONTIGUOUS
from tracejit.runtime.native.text import FunctionText

__all__ = ["Packer"]

_WORD = 8


class Packer:
    """Writes the loops over lists; `require` goes on only if an i1 holds."""

    def __init__(
        self,
        text: FunctionText,
        layout: Layout,
        require: Callable[[str], None],
        new: Callable[..., str],
    ) -> None:
        self.text, self.layout, self.require, self.new = text, layout, require, new

    def emit(self, values: str, path: Packed) -> str:
        """A new array, owned by the entry, of a column of the list `values`."""
        if isinstance(path.form, (Ragged, Arrays)):
            return self._joined(values, path.form, path.column)
        text = self.text
        parts, last = list(column_paths(path.form))[path.column]
        size = self._list(values)
        self.require(text.op(f"icmp ne i64 {size}, 0"))
        shape = text.op("alloca [2 x i64]")
        text.do(f"store i64 {size}, ptr {shape}")
        length, name = "1", last
        if isinstance(last, Rows):
            name = last.of
            length = self._list(self._item(values, "0"))
            self.require(text.op(f"icmp ne i64 {length}, 0"))
            text.do(f"store i64 {length}, ptr {text.at(shape, _WORD)}")
        assert isinstance(name, str)
        dtype = np.dtype(class_of_name(name))
        array, at = self._new_array(dtype, shape, 2 if isinstance(last, Rows) else 1)
        # What lies between the check of a size and its use runs no Python code.
        self.require(text.op(f"icmp eq i64 {self._list(values)}, {size}"))

        def element(k: str) -> None:
            item = self._item(values, k)
            if not isinstance(last, Rows):
                self._store(self._part(item, parts), name, dtype, at)
                return
            self.require(text.op(f"icmp eq i64 {self._list(item)}, {length}"))
            self._loop(length, lambda j: self._store(self._item(item, j), name, dtype, at))

        self._loop(size, element)
        return array

    def _joined(self, values: str, form: Ragged | Arrays, column: int) -> str:
        """A column of a list of lists or arrays: where they begin, their sizes, what they hold."""
        text = self.text
        size, total = self._list(values), text.op("alloca i64")
        self.require(text.op(f"icmp ne i64 {size}, 0"))
        rest = self._rest(self._item(values, "0"), form) if isinstance(form, Arrays) else []
        text.do(f"store i64 0, ptr {total}")

        def row(k: str) -> tuple[str, str, str, str]:
            """A list or array, how long it is, and where it begins and ends in what is joined."""
            item = self._item(values, k)
            if isinstance(form, Arrays):
                length = self._length(item, form, rest)
            else:
                length = self._list(item)
            before = text.op(f"load i64, ptr {total}")
            after = text.op(f"add i64 {before}, {length}")
            text.do(f"store i64 {after}, ptr {total}")
            return item, length, before, after

        self._loop(size, row)
        count = text.op(f"load i64, ptr {total}")
        self.require(text.op(f"icmp ne i64 {count}, 0"))
        shape = text.op(f"alloca [{1 + len(rest)} x i64]")
        text.do(f"store i64 {size if column < 2 else count}, ptr {shape}")
        for k, dim in enumerate(rest, 1):
            text.do(f"store i64 {dim}, ptr {text.at(shape, _WORD * k)}")
        text.do(f"store i64 0, ptr {total}")
        if column < 2:
            array, at = self._new_array(np.dtype(np.int64), shape, 1)
        elif isinstance(form, Arrays):
            array, at = self._new_array(form.dtype, shape, form.ndim)
        else:
            path, of = list(column_paths(form.of))[column - 2]
            assert isinstance(of, str)
            name, dtype = of, np.dtype(class_of_name(of))
            array, at = self._new_array(dtype, shape, 1)
        # What lies between the check of a size and its use runs no Python code.
        self.require(text.op(f"icmp eq i64 {self._list(values)}, {size}"))

        def place(k: str) -> None:
            _, length, before, _ = row(k)
            to = text.op(f"load ptr, ptr {at}")
            text.do(f"store i64 {length if column else before}, ptr {to}")
            text.do(f"store ptr {text.at(to, _WORD)}, ptr {at}")

        def fill(k: str) -> None:
            item, length, _, after = row(k)
            self.require(text.op(f"icmp ule i64 {after}, {count}"))
            if isinstance(form, Arrays):
                self._copy(item, length, [str(form.dtype.itemsize), *rest], at)
                return
            some, done = text.fresh("some"), text.fresh("done")
            is_empty = text.op(f"icmp eq i64 {length}, 0")
            text.do(f"br i1 {is_empty}, label %{done}, label %{some}")
            text.label(some)
            self._loop(
                length,
                lambda j: self._store(self._part(self._item(item, j), path), name, dtype, at),
            )
            text.do(f"br label %{done}")
            text.label(done)

        self._loop(size, place if column < 2 else fill)
        self.require(text.op(f"icmp eq i64 {text.op(f'load i64, ptr {total}')}, {count}"))
        return array

    def _rest(self, item: str, form: Arrays) -> list[str]:
        """The sizes of the axes of an array but the first."""
        self._class(item, np.ndarray)
        ndim = self.text.field(item, self.layout.array_ndim, "i32")
        self.require(self.text.op(f"icmp eq i32 {ndim}, {form.ndim}"))
        shape = self.text.field(item, self.layout.array_shape, "ptr")
        return [self.text.field(shape, _WORD * k, "i64") for k in range(1, form.ndim)]

    def _length(self, item: str, form: Arrays, rest: list[str]) -> str:
        """The size of the first axis of what has to be an array of a form, in C order."""
        text, layout = self.text, self.layout
        found = self._rest(item, form)
        for dim, other in zip(found, rest, strict=True):
            self.require(text.op(f"icmp eq i64 {dim}, {other}"))
        dtype = text.field(item, layout.array_dtype, "ptr")
        self.require(text.op(f"icmp eq ptr {dtype}, {text.object(form.dtype)}"))
        flags = text.op(f"and i32 {text.field(item, layout.array_flags, 'i32')}, {C_CONTIGUOUS}")
        self.require(text.op(f"icmp ne i32 {flags}, 0"))
        return text.field(text.field(item, layout.array_shape, "ptr"), 0, "i64")

    def _copy(self, item: str, length: str, factors: list[str], at: str) -> None:
        """Copy the elements of an array to where the pointer in `at` points, and move that on."""
        text, size = self.text, length
        for factor in factors:
            size = text.op(f"mul i64 {size}, {factor}")
        to, data = text.op(f"load ptr, ptr {at}"), text.field(item, self.layout.array_data, "ptr")
        text.intrinsic(
            "llvm.memcpy.p0.p0.i64", "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
        )
        text.do(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {data}, i64 {size}, i1 false)")
        text.do(f"store ptr {text.op(f'getelementptr i8, ptr {to}, i64 {size}')}, ptr {at}")

    def _new_array(self, dtype: np.dtype[Any], shape: str, ndim: int) -> tuple[str, str]:
        """A new array, and a pointer to where its next element is to be stored."""
        text = self.text
        descr = text.object(dtype)
        text.call("Py_IncRef", f"ptr {descr}")  # The new array takes this reference.
        given = f"i32 {ndim}", f"ptr {shape}", "ptr null", "ptr null", "i32 0", "ptr null"
        array = self.new("tj_new_array", f"ptr {text.object(np.ndarray)}", f"ptr {descr}", *given)
        at = text.op("alloca ptr")
        text.do(f"store ptr {text.field(array, self.layout.array_data, 'ptr')}, ptr {at}")
        return array, at

    def _list(self, obj: str) -> str:
        """The size of what has to be a list."""
        self._class(obj, list)
        return self.text.field(obj, self.layout.tuple_size, "i64")

    def _class(self, obj: str, cls: type) -> None:
        text = self.text
        found = text.field(obj, self.layout.type, "ptr")
        self.require(text.op(f"icmp eq ptr {found}, {text.object(cls)}"))

    def _item(self, values: str, k: str) -> str:
        text = self.text
        table = text.field(values, self.layout.list_items, "ptr")
        return text.op(f"load ptr, ptr {text.op(f'getelementptr ptr, ptr {table}, i64 {k}')}")

    def _part(self, item: str, path: tuple[tuple[int, int], ...]) -> str:
        text, layout = self.text, self.layout
        for size, index in path:
            self._class(item, tuple)
            found = text.field(item, layout.tuple_size, "i64")
            self.require(text.op(f"icmp eq i64 {found}, {size}"))
            item = text.field(item, layout.tuple_items + _WORD * index, "ptr")
        return item

    def _store(self, item: str, name: str, dtype: np.dtype[np.generic], at: str) -> None:
        """Store a number where the pointer in `at` points to, and move that on."""
        text, layout = self.text, self.layout
        to = text.op(f"load ptr, ptr {at}")
        if name == "bool":
            is_true = text.op(f"icmp eq ptr {item}, {text.object(True)}")
            is_false = text.op(f"icmp eq ptr {item}, {text.object(False)}")
            self.require(text.op(f"or i1 {is_true}, {is_false}"))
            text.do(f"store i8 {text.op(f'zext i1 {is_true} to i8')}, ptr {to}")
        elif name == "int":
            self._class(item, int)
            # The element doubles as the overflow flag until the value is known.
            value = text.call("PyLong_AsLongLongAndOverflow", f"ptr {item}", f"ptr {to}")
            overflow = text.op(f"load i32, ptr {to}")
            self.require(text.op(f"icmp eq i32 {overflow}, 0"))
            text.do(f"store i64 {value}, ptr {to}")
        else:
            self._class(item, class_of_name(name))
            places = {"float": layout.float_value, "complex": layout.complex_value}
            first = places.get(name, layout.scalar_value)
            for k in range(0, dtype.itemsize, _WORD):
                bits = f"i{8 * min(_WORD, dtype.itemsize - k)}"
                value = text.field(item, first + k, bits)
                text.do(f"store {bits} {value}, ptr {text.at(to, k)}")
        text.do(f"store ptr {text.at(to, dtype.itemsize)}, ptr {at}")

    def _loop(self, count: str, body: Callable[[str], object]) -> None:
        """Write a loop whose body runs at least once, with the numbers below `count`."""
        text = self.text
        counter = text.op("alloca i64")
        text.do(f"store i64 0, ptr {counter}")
        again, done = text.fresh("again"), text.fresh("done")
        text.do(f"br label %{again}")
        text.label(again)
        k = text.op(f"load i64, ptr {counter}")
        body(k)
        after = text.op(f"add i64 {k}, 1")
        text.do(f"store i64 {after}, ptr {counter}")
        text.do(f"br i1 {text.op(f'icmp slt i64 {after}, {count}')}, label %{again}, label %{done}")
        text.label(done)
