"""Sorts of a program: line by line through NumPy's own loops.

A sort copies its operand to the result and sorts there. A line that is not along the last axis goes
through a temporary of its length, as it does in NumPy; positions of such a line do, too. Long lines
of bytes are counted.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tracejit.codegen.program.byte_sorts import place_bytes, sort_bytes
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.copies import copy_array
from tracejit.codegen.program.views import dense
from tracejit.codegen.support.routines import array_of
from tracejit.ir.dims import prod
from tracejit.ir.graph import Node
from tracejit.ir.types import c_order, dtype_name
from tracejit.link.sorts import sort_address
from tracejit.ops.array.sorting import ArgSort

__all__ = ["emit_places", "emit_sort"]

#: Elements of `size` bytes from a place to another, in steps of elements.
_MOVE = """
define internal void @tj_move{size}(ptr %to, i64 %to_step, ptr %from, i64 %from_step, i64 %n) {{
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %a = mul i64 %i, %from_step
  %b = mul i64 %i, %to_step
  %source = getelementptr [{size} x i8], ptr %from, i64 %a
  %target = getelementptr [{size} x i8], ptr %to, i64 %b
  %x = load i{bits}, ptr %source, align {align}
  store i{bits} %x, ptr %target, align {align}
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
_COUNT = """
define internal void @tj_count(ptr %to, i64 %n) {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %loop, label %done
loop:
  %target = getelementptr i64, ptr %to, i64 %i
  store i64 %i, ptr %target
  %next = add i64 %i, 1
  br label %head
done:
  ret void
}
"""
#: Lines of fewer bytes are sorted sooner than 256 counters are read, or 1024.
_COUNTED, _PLACED = 48, 512


def emit_sort(e: ProgramContext, node: Node) -> bool:
    """The code of a sort or argsort; False where NumPy has no loop to call."""
    (x,), (out,) = node.inputs, node.outputs
    t = array_of(x)
    positions = isinstance(node.op, ArgSort)
    stable = bool(node.attrs.get("stable"))
    dtype = dtype_name(t.dtype)
    address = sort_address(t.dtype.str, positions, stable)
    if address is None:
        return False
    name = f"tj_{node.op.name}_{dtype}{'_stable' * stable}"
    e.module.declare(name, "i32", ["ptr"] * (1 + positions) + ["i64", "ptr"])
    e.symbols[name] = address
    line = _Lines(e, node, name)
    target = e.pointer[out]
    if not positions:
        copy_array(e, e.scattered.get(x, x), target, c_order(t.ndim))
        line.each(lambda place, _: line.sort(place, target))
    elif line.dense and x not in e.scattered and x not in e.strides:
        source = e.pointer[x]
        line.each(lambda place, number: line.argsort_dense(place, number, source, target))
    else:
        with dense(e, x) as source:
            line.each(lambda place, _: line.argsort(place, source, target))
    return True


class _Lines:
    """The lines along the axis of a node, each sorted by the function `name`."""

    def __init__(self, e: ProgramContext, node: Node, name: str) -> None:
        t, axis = array_of(node.inputs[0]), node.attrs["axis"]
        self.e, self.fb, self.name = e, e.fb, name
        self.item = t.dtype.itemsize
        self.flip = -128 if t.dtype == np.int8 else 0
        self.stable = bool(node.attrs.get("stable"))
        self.outer, self.n = e.dim(prod(t.shape[:axis])), e.dim(t.shape[axis])
        self.inner = e.dim(prod(t.shape[axis + 1 :]))
        self.apart = axis != t.ndim - 1
        #: Whether the operand, dense in its order, has one line after another.
        self.dense = self.apart and t.order == (*(a for a in range(t.ndim) if a != axis), axis)
        self.scratch = e.scratch.get(node, [])

    def each(self, line: Callable[[str, str], None]) -> None:
        """The code of `line` for the number of the first element, and its own, of every line."""
        fb = self.fb

        def column(number: str, outer: str) -> list[str]:
            before = fb.integer("mul", outer, self.inner)
            block = fb.integer("mul", before, self.n)
            line(fb.integer("add", block, number), fb.integer("add", before, number))
            return []

        def row(outer: str, _: list[str]) -> list[str]:
            fb.do_while("0", self.inner, "1", (), lambda k, _: column(k, outer))
            return []

        def run() -> list[str]:
            return fb.do_while("0", self.outer, "1", (), row)

        size = fb.integer("mul", fb.integer("mul", self.outer, self.n), self.inner)
        fb.if_then(fb.less("0", size), (), run)

    def sort(self, place: str, target: str) -> None:
        """Sort a line where it lies."""
        first = self._element(target, place, self.item)
        if not self.apart:
            self._sort(first)
            return
        (buffer,) = self.scratch
        self._move(self.item, (buffer, "1"), (first, self.inner))
        self._sort(buffer)
        self._move(self.item, (first, self.inner), (buffer, "1"))

    def argsort(self, place: str, source: str, target: str) -> None:
        """Write the places that sort a line."""
        values, places = self._element(source, place, self.item), self._element(target, place, 8)
        if not self.apart:
            self._order(values, places)
            return
        buffer, _ = self.scratch
        self._move(self.item, (buffer, "1"), (values, self.inner))
        self._argsort_apart(buffer, places)

    def argsort_dense(self, place: str, number: str, source: str, target: str) -> None:
        """The same for an operand that has one line after another."""
        first = self.fb.integer("mul", number, self.n)
        places = self._element(target, place, 8)
        self._argsort_apart(self._element(source, first, self.item), places)

    def _argsort_apart(self, values: str, places: str) -> None:
        _, found = self.scratch
        self._order(values, found)
        self._move(8, (places, self.inner), (found, "1"))

    def _order(self, values: str, places: str) -> None:
        """Write the places that sort what lies one after the other."""
        fb = self.fb

        def call() -> list[str]:
            emit_places(self.e, places, self.n)
            self._call(f"ptr {values}, ptr {places}, i64 {self.n}, ptr null")
            return []

        # Stable places are the same however they are found.
        if self.item > 1 or not self.stable:
            call()
            return
        symbol = place_bytes(self.e.module)

        def many() -> list[str]:
            arguments = f"ptr {values}, ptr {places}, i64 {self.n}, i8 {self.flip}"
            fb.line(f"call void {symbol}({arguments})")
            return []

        fb.if_then(fb.less(self.n, str(_PLACED)), (), call)
        fb.if_then(fb.less(str(_PLACED - 1), self.n), (), many)

    def _sort(self, line: str) -> None:
        fb = self.fb
        if self.item > 1:
            self._call(f"ptr {line}, i64 {self.n}, ptr null")
            return
        symbol = sort_bytes(self.e.module)

        def few() -> list[str]:
            self._call(f"ptr {line}, i64 {self.n}, ptr null")
            return []

        def many() -> list[str]:
            fb.line(f"call void {symbol}(ptr {line}, i64 {self.n}, i8 {self.flip})")
            return []

        fb.if_then(fb.less(self.n, str(_COUNTED)), (), few)
        fb.if_then(fb.less(str(_COUNTED - 1), self.n), (), many)

    def _element(self, base: str, number: str, item: int) -> str:
        return self.fb.emit(f"getelementptr [{item} x i8], ptr {base}, i64 {number}")

    def _call(self, arguments: str) -> None:
        status = self.fb.emit(f"call i32 @{self.name}({arguments})")
        self.fb.check(self.fb.emit(f"icmp slt i32 {status}, 0"))

    def _move(self, item: int, to: tuple[str, str], source: tuple[str, str]) -> None:
        text = _MOVE.format(size=item, bits=8 * item, align=min(item, 8))
        module, name = self.e.module, f"tj_move{item}"
        symbol = module.helper(name, lambda: module.add_function(name, text))
        moved = f"ptr {to[0]}, i64 {to[1]}, ptr {source[0]}, i64 {source[1]}, i64 {self.n}"
        self.fb.line(f"call void {symbol}({moved})")


def emit_places(e: ProgramContext, to: str, n: str) -> None:
    """Store the numbers from 0 to `n` - 1, i64, one after the other."""
    symbol = e.module.helper("tj_count", lambda: e.module.add_function("tj_count", _COUNT))
    e.fb.line(f"call void {symbol}(ptr {to}, i64 {n})")
