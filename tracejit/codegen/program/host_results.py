"""Host calls whose results have sizes that only the call tells: run first, make room, then copy.

Those that draw random numbers go this way too.

The slots are those of `host_calls.py`. `begin` runs the op, writes the scalars among its results,
the sizes that it binds included, and keeps the arrays under a number, which it writes to a word of
the activation, 0 otherwise. The program then binds the sizes and makes room. `finish` copies the
arrays there and lets go of them; where the program is left in between, `emit_held_left` does that.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any

from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.exits import call_python
from tracejit.codegen.program.host_calls import HostCallSite, array_at, slot_count, write_scalar
from tracejit.codegen.program.rng_state import emit_drawn_word, save_state
from tracejit.codegen.support.python_calls import BAIL, DONE
from tracejit.codegen.support.quiet import quietly
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import TOKEN, ArrayType
from tracejit.ops.host.random import DRAWN, MODULES, HostDraw, module_stream

__all__ = ["emit_held_left", "emit_host_results"]

_HELD: dict[int, list[Any]] = {}
_IDS = itertools.count(1)


class _HostResults(HostCallSite):
    """A call site in two steps."""

    def __init__(self, node: Node, strides: Sequence[tuple[Dim, ...] | None]) -> None:
        super().__init__(node, strides)
        self.first = 8 * (self.slots - sum(slot_count(v.type) for v in node.outputs))

    def begin(self, slots: int, held: int, drawn: int) -> int:
        """Run the op and keep its arrays."""
        node = self.node
        try:
            if drawn:
                kind = node.attrs["arguments"][0][1]
                address = ctypes.c_uint64.from_address(slots).value
                save_state(drawn, id(module_stream(kind)) if kind in MODULES else address)
            with quietly():
                results = self.results(slots)
            at = slots + self.first
            for v, result in zip(node.outputs, results, strict=False):
                if not is_array(v) and v.type != TOKEN:
                    write_scalar(v.type, at, result)
                at += 8 * slot_count(v.type)
            number = ctypes.c_int64.from_address(held).value = next(_IDS)
            _HELD[number] = [x for v, x in zip(node.outputs, results, strict=False) if is_array(v)]
        except Exception:
            # The eager run that follows raises the user's own error.
            return BAIL
        return DONE

    def finish(self, slots: int, held: int, _: int) -> int:
        """Copy the arrays to where they belong."""
        try:
            arrays = iter(_HELD.pop(ctypes.c_int64.from_address(held).value))
            ctypes.c_int64.from_address(held).value = 0
            at = slots + self.first
            for v in self.node.outputs:
                if is_array(v):
                    x = next(arrays)
                    assert isinstance(v.type, ArrayType)
                    t = ArrayType(v.type.dtype, x.shape, v.type.order)
                    array_at(t, ctypes.c_int64.from_address(at).value, {}, None)[...] = x
                at += 8 * slot_count(v.type)
        except Exception:
            return BAIL
        return DONE


def _drop(held: int, *_: int) -> int:
    _HELD.pop(ctypes.c_int64.from_address(held).value, None)
    return DONE


def emit_host_results(e: ProgramContext, node: Node) -> None:
    """The code of a host call that binds sizes, or draws random numbers."""
    fb = e.fb
    site = _HostResults(node, [e.strides.get(v) for v in node.inputs])
    e.keep.append(site)
    slots = fb.alloca(f"[{site.slots + 1} x i64]", 8)
    e.held = e.held or fb.alloca("i64", 8, "0")

    def slot(k: int) -> str:
        return fb.emit(f"getelementptr i64, ptr {slots}, i64 {k}")

    cursor = 0
    for v in node.inputs:
        if is_array(v):
            fb.line(f"store ptr {e.pointer[v]}, ptr {slot(cursor)}")
        elif v.type != TOKEN:
            e.store_scalar(e.scalars[v], slot(cursor))
        cursor += slot_count(v.type)
    for s in site.sizes:
        fb.line(f"store i64 {e.dim(symbol(s))}, ptr {slot(cursor)}")
        cursor += 1
    places: dict[Value, int] = {}
    for v in node.outputs:
        places[v] = cursor
        cursor += slot_count(v.type)
    words = [fb.emit(f"ptrtoint ptr {p} to i64") for p in (slots, e.held)]
    drawn = "0"
    if isinstance(node.op, HostDraw) and node.attrs["function"] == DRAWN:
        drawn = fb.emit(f"ptrtoint ptr {emit_drawn_word(e)} to i64")
    call_python(e, site.begin, *words, drawn)
    for v, k in places.items():
        if not is_array(v) and v.type != TOKEN:
            e.scalars[v] = e.load_scalar(slot(k), v.type)
    last = node.outputs[len(node.outputs) - len(node.binds) :]
    for size, v in zip(node.binds, last, strict=True):
        (e.env[size],) = e.registers(e.scalars[v])
    for v, k in places.items():
        if is_array(v):
            e.pointer.require(v)
            fb.line(f"store ptr {e.pointer[v]}, ptr {slot(k)}")
            e.pointer.stores(v)
    call_python(e, site.finish, *words)


def emit_held_left(e: ProgramContext) -> None:
    """Before the program returns without its end: let go of what a host call has given."""
    if e.held is None:
        return
    fb, held = e.fb, e.held

    def then() -> Sequence[str]:
        e.call_plainly(_drop, fb.emit(f"ptrtoint ptr {held} to i64"))
        return ()

    number = fb.emit(f"load i64, ptr {held}")
    fb.if_then(fb.emit(f"icmp ne i64 {number}, 0"), (), then)
