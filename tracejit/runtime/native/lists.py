"""Lists of what is in arrays, as machine code: of numbers, or of tuples of numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tracejit.link.cpython.reflect import Layout
from tracejit.runtime.native.text import FunctionText

__all__ = ["fill_list", "list_size"]

_WORD = 8

#: Stores an object where it belongs, which takes its reference.
_Put = Callable[[str], None]


def list_size(text: FunctionText, layout: Layout, array: str) -> str:
    """The number of rows of an array."""
    return text.field(text.field(array, layout.array_shape, "ptr"), 0, "i64")


def fill_list(
    text: FunctionText,
    layout: Layout,
    made: str,
    form: Any,
    columns: list[tuple[str, np.dtype[Any]]],
    fail: str,
) -> None:
    """Fill the new list `made`, which the entry owns, from arrays with one axis.

    `form` is that of `boxed.boxed`, without lists and arrays; `fail` the label for want of memory.
    """
    size = list_size(text, layout, columns[0][0])
    counter = text.op("alloca i64")
    text.do(f"store i64 0, ptr {counter}")
    head, body, done = text.fresh("head"), text.fresh("body"), text.fresh("done")
    text.do(f"br label %{head}")
    text.label(head)
    k = text.op(f"load i64, ptr {counter}")
    text.do(f"br i1 {text.op(f'icmp slt i64 {k}, {size}')}, label %{body}, label %{done}")
    text.label(body)

    def put(obj: str) -> None:
        text.call("PyList_SetItem", f"ptr {made}", f"i64 {k}", f"ptr {obj}")

    _Element(text, layout, k, iter(columns), fail).emit(form, put)
    text.do(f"store i64 {text.op(f'add i64 {k}, 1')}, ptr {counter}")
    text.do(f"br label %{head}")
    text.label(done)


class _Element:
    """Makes the element with number `k`."""

    def __init__(
        self,
        text: FunctionText,
        layout: Layout,
        k: str,
        columns: Iterator[tuple[str, np.dtype[Any]]],
        fail: str,
    ) -> None:
        self.text, self.layout, self.k, self.columns, self.fail = text, layout, k, columns, fail

    def emit(self, form: Any, put: _Put) -> None:
        """What is made belongs to its container before anything else can fail."""
        text = self.text
        if isinstance(form, str):
            made = self._number(form, *next(self.columns))
            text.require(text.op(f"icmp ne ptr {made}, null"), self.fail)
            put(made)
            return
        _, parts = form
        made = text.call("PyTuple_New", f"i64 {len(parts)}")
        text.require(text.op(f"icmp ne ptr {made}, null"), self.fail)
        put(made)
        for at, (part, _) in enumerate(parts):
            place = text.at(made, self.layout.tuple_items + _WORD * at)
            self.emit(part, lambda obj, place=place: text.do(f"store ptr {obj}, ptr {place}"))  # type: ignore[misc]

    def _number(self, form: str, array: str, dtype: np.dtype[Any]) -> str:
        text, layout = self.text, self.layout
        data = text.field(array, layout.array_data, "ptr")
        step = text.field(text.field(array, layout.array_strides, "ptr"), 0, "i64")
        offset = text.op(f"mul i64 {self.k}, {step}")
        at = text.op(f"getelementptr i8, ptr {data}, i64 {offset}")
        if form == "scalar":
            return text.call("PyArray_Scalar", f"ptr {at}", f"ptr {text.object(dtype)}", "ptr null")
        if dtype.kind == "f":
            return text.call("PyFloat_FromDouble", f"double {text.field(at, 0, 'double')}")
        if dtype.kind == "c":
            parts = [f"double {text.field(at, k, 'double')}" for k in (0, _WORD)]
            return text.call("PyComplex_FromDoubles", *parts)
        if dtype.kind == "b":
            value = text.op(f"zext i8 {text.field(at, 0, 'i8')} to i64")
            return text.call("PyBool_FromLong", f"i64 {value}")
        return text.call("PyLong_FromLongLong", f"i64 {text.field(at, 0, 'i64')}")
