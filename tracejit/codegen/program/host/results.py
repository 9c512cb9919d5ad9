"""Host calls in a program: run first, bind sizes, make room, then copy the arrays of the result.

The slots are those of `calls.py`. The call writes the scalars among its results to them, the
sizes that it binds included, and the addresses of the arrays, which a word of the activation holds
until they are copied; where the program is left in between, `emit_held_left` lets go of them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from tracejit.codegen.analysis.buffer_plan import byte_count
from tracejit.codegen.analysis.liveness import is_array
from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.exits import call_python, leave_if
from tracejit.codegen.program.host.calls import HostCallSite, slot_count
from tracejit.codegen.program.host.functions import ufunc_of
from tracejit.codegen.program.random.rng_state import emit_drawn_word, save_state
from tracejit.codegen.program.random.stream_claims import emit_begin, is_claimed, stream_of
from tracejit.codegen.support.host_call_text import host_address
from tracejit.codegen.support.python_calls import BAIL, DONE, LEAVE
from tracejit.errors import TraceError
from tracejit.ir.dims import symbol
from tracejit.ir.graph import Node, Value
from tracejit.ir.types import TOKEN
from tracejit.link.portable import Portable, portable
from tracejit.ops.host.random import DRAWN, MODULES, HostDraw, module_stream

__all__ = ["emit_held_left", "emit_host_call"]


def emit_host_call(e: ProgramContext, node: Node) -> None:
    """The code of an op that runs through NumPy. Raises TraceError where there is none."""
    if any(v in e.scattered for v in node.inputs):
        raise TraceError("TJ015", f"{node.op.name} of such a view has no native code", node.where)
    fb = e.fb
    site = HostCallSite(node, [e.strides.get(v) for v in node.inputs])
    slots = fb.alloca(f"[{site.slots} x i64]", 8)
    e.held = e.held or fb.alloca("ptr", 8, "null")

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
    _store_words(e, site, slots)
    fills = ufunc_of(node) is not None
    if fills:
        (out,) = node.outputs
        fb.line(f"store ptr {e.pointer[out]}, ptr {slot(places[out])}")
    if isinstance(node.op, HostDraw) and node.attrs["function"] == DRAWN:
        key, address, cls = stream_of(e, node)
        if is_claimed(e, cls):
            emit_begin(e, key, address, cls)
        else:
            _save_state(e, node, slots)
    _call(e, site, slots)
    for v, k in places.items():
        if not is_array(v) and v.type != TOKEN:
            e.scalars[v] = e.load_scalar(slot(k), v.type)
    last = node.outputs[len(node.outputs) - len(node.binds) :]
    for size, v in zip(node.binds, last, strict=True):
        (e.env[size],) = e.registers(e.scalars[v])
    arrays = {v: slot(k) for v, k in places.items() if is_array(v)}
    for v, at in arrays.items():
        e.pointer.require(v)
        source, target = fb.emit(f"load ptr, ptr {at}"), e.pointer[v]

        def copy(v: Value = v, source: str = source, target: str = target) -> Sequence[str]:
            _copy(e, target, source, e.dim(byte_count(v)))
            return ()

        if fills:
            fb.if_then(fb.emit(f"icmp ne ptr {source}, {target}"), (), copy)
        else:
            copy()
        e.pointer.stores(v)
    if arrays:
        _declare(e, "tj_let_go", "void", ["ptr"])
        fb.line(f"call void @tj_let_go(ptr {e.held})")


def _store_words(e: ProgramContext, site: HostCallSite, slots: str) -> None:
    """The sizes that shapes depend on, and whether one of them is less than it must be."""
    fb, misfit = e.fb, "0"

    def store(value: str, at: int) -> None:
        fb.line(f"store i64 {value}, ptr {fb.emit(f'getelementptr i8, ptr {slots}, i64 {at}')}")

    for d, at in site.words.items():
        store(e.dim(d), at)
    for d in site.longer:
        less = fb.emit(f"zext i1 {fb.emit(f'icmp slt i64 {e.dim(d)}, 2')} to i64")
        misfit = fb.emit(f"or i64 {misfit}, {less}")
    if site.is_free:
        store(misfit, site.misfit)


def _declare(e: ProgramContext, name: str, result: str, parameters: Sequence[str]) -> None:
    e.module.declare(name, result, parameters)
    e.symbols[name] = host_address(name)


class _Saved:
    """The stream of a draw, whose first operand is its address, unless a module has it."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def portable(self) -> Portable:
        """The arguments that another process makes the same of."""
        return portable((self.kind,))

    def save(self, drawn: int, slots: int, _: int) -> int:
        """Save the state of the stream before a run's first draw."""
        try:
            address = ctypes.c_uint64.from_address(slots).value
            if self.kind in MODULES:
                address = id(module_stream(self.kind))
            save_state(drawn, address)
        except Exception:
            return BAIL
        return DONE


def _save_state(e: ProgramContext, node: Node, slots: str) -> None:
    """Before a run's first draw: what its repetition begins with."""
    words = [e.fb.emit(f"ptrtoint ptr {p} to i64") for p in (emit_drawn_word(e), slots)]
    call_python(e, _Saved(node.attrs["arguments"][0][1]).save, *words)


def _call(e: ProgramContext, site: HostCallSite, slots: str) -> None:
    name, general = e.fresh("site"), site.run
    e.keep += [site, general]
    e.symbols[name] = site.native.begin(general, lambda: site.retold("run"))
    e.module.add_global(name, "external global i64")
    _declare(e, "tj_host", "i64", ["ptr", "ptr", "ptr"])
    status = e.fb.emit(f"call i64 @tj_host(ptr @{name}, ptr {slots}, ptr {e.held})")
    e.fb.check(e.fb.emit(f"icmp eq i64 {status}, {BAIL}"))
    leave_if(e, e.fb.emit(f"icmp eq i64 {status}, {LEAVE}"))


def _copy(e: ProgramContext, target: str, source: str, count: str) -> None:
    name = e.module.declare("llvm.memmove.p0.p0.i64", "void", ["ptr", "ptr", "i64", "i1"])
    e.fb.line(f"call void {name}(ptr {target}, ptr {source}, i64 {count}, i1 false)")


def emit_held_left(e: ProgramContext) -> None:
    """Before the program returns without its end: let go of what a host call has given."""
    if e.held is not None:
        _declare(e, "tj_let_go", "void", ["ptr"])
        e.fb.line(f"call void @tj_let_go(ptr {e.held})")
