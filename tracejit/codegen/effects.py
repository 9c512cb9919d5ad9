"""Ops with effects become calls of Python: what is printed and raised is made there.

A program calls `void tj_effect(i64 site, ptr slots, ptr printed)`. The slots are those of
`host.py`: the operands, the sizes that they mention, and how the call ended; a `raise_error` leaves
its exception pending. `printed` points to an i64 that stands for what the run has printed, 0 at
first. `void tj_output_end(ptr printed, ptr done)` writes that at the end of the run, and
`void tj_output_left(ptr printed)` keeps it for whoever called the program, where the run is left.
"""

from __future__ import annotations

import ast
import ctypes
import itertools
import weakref
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.codegen.host import HostCall, read_operand, slot_count
from tracejit.codegen.pending import set_pending
from tracejit.codegen.polls import interrupt_address
from tracejit.codegen.printing import Output, note_left
from tracejit.errors import Where
from tracejit.ir.dims import Dim, free_symbols, symbol
from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType, type_sizes
from tracejit.ops.effects import PrintText, RaiseError

if TYPE_CHECKING:
    from tracejit.codegen.program import Emitter

__all__ = ["emit_effect", "emit_output_end", "emit_output_left"]

_SITES: weakref.WeakValueDictionary[int, _Site] = weakref.WeakValueDictionary()
_OUTPUTS: dict[int, Output] = {}
_IDS = itertools.count(1)


# At run time -------------------------------------------------------------------------------------


class _Site:
    """One `print_text` or `raise_error` of a program. `done` is the slot for how a call ended."""

    def __init__(self, node: Node, strides: Sequence[tuple[Dim, ...] | None]) -> None:
        self.id = next(_IDS)
        self.node = node
        self.strides = strides
        self.prints = isinstance(node.op, PrintText)
        self.operands = node.inputs[1 : len(strides) + 1]
        sizes = set().union(*(type_sizes(v.type) for v in self.operands))
        for s in strides:
            sizes |= set().union(*(free_symbols(d) for d in s or ()))
        self.sizes = tuple(sorted(sizes))
        self.done = sum(slot_count(v.type) for v in self.operands) + len(self.sizes)
        _SITES[self.id] = self

    def run(self, slots: int, printed: int) -> int:
        """Print, or leave an exception pending; how the call ends. Raises Bailout."""
        at = slots + 8 * (self.done - len(self.sizes))
        raw = (ctypes.c_int64 * len(self.sizes)).from_address(at) if self.sizes else ()
        sizes = dict(zip(self.sizes, raw, strict=True))
        inputs: list[Any] = [None]
        for v, strides in zip(self.operands, self.strides, strict=True):
            inputs.append(read_operand(v.type, slots, sizes, strides))
            slots += 8 * slot_count(v.type)
        op, attrs = self.node.op, self.node.attrs
        if isinstance(op, PrintText):
            text = op.text(inputs, attrs)
            _output_of(printed).add(op.file(attrs), text, attrs.get("flush", False))
            return HostCall.DONE
        assert isinstance(op, RaiseError)
        # The program's memory does not outlive the run.
        owned = [np.array(x) if isinstance(x, np.ndarray) else x for x in inputs]
        set_pending(_raised(op.exception(owned, attrs), self.node.where))
        return HostCall.LEAVE


def _output_of(printed: int) -> Output:
    number = ctypes.c_int64.from_address(printed)
    if number.value == 0:
        number.value = next(_IDS)
        _OUTPUTS[number.value] = Output()
    return _OUTPUTS[number.value]


def _raised(error: BaseException, where: Where | None) -> BaseException:
    """`error` as if it had been raised at a place of the user's program."""
    if where is None:
        return error
    names = {"error": error}
    try:
        exec(_raise_code(where.file, where.line, where.function or "?"), names)
    except BaseException as e:
        assert e.__traceback__ is not None
        names.clear()
        return e.with_traceback(e.__traceback__.tb_next)
    raise AssertionError("an exception was not raised")


@lru_cache(maxsize=256)
def _raise_code(file: str, line: int, function: str) -> CodeType:
    """Code that raises the exception `error` on a line of a file."""
    text = Where(file, line).source()
    place = {"lineno": line, "end_lineno": line, "col_offset": 0, "end_col_offset": len(text)}
    name = ast.Name("error", ast.Load(), **place)
    module = ast.Module([ast.Raise(name, None, **place)], [])
    code: CodeType = compile(module, file, "exec")
    return code.replace(co_name=function, co_qualname=function)


def _ending(act: Callable[[], int]) -> int:
    """How a call ends that does `act`."""
    try:
        return act()
    except Exception:
        # The eager run that follows raises the user's own error.
        return HostCall.BAIL
    except BaseException as e:
        set_pending(e)
        return HostCall.LEAVE


def _effect(number: int, slots: int, printed: int) -> None:
    site = _SITES[number]
    done = ctypes.c_int64.from_address(slots + 8 * site.done)
    done.value = _ending(lambda: site.run(slots, printed))


def _output_end(printed: int, done: int) -> None:
    number = ctypes.c_int64.from_address(printed)

    def write() -> int:
        _OUTPUTS[number.value].write()
        del _OUTPUTS[number.value]
        number.value = 0
        return HostCall.DONE

    ctypes.c_int64.from_address(done).value = _ending(write)


def _output_left(printed: int) -> None:
    note_left(_OUTPUTS.pop(ctypes.c_int64.from_address(printed).value))


_CALLBACKS: dict[str, tuple[Callable[..., None], int]] = {
    "tj_effect": (_effect, 3),
    "tj_output_end": (_output_end, 2),
    "tj_output_left": (_output_left, 1),
}


@cache
def _callback(name: str) -> tuple[Any, int]:
    """A callback and its address."""
    function, count = _CALLBACKS[name]
    callback = ctypes.CFUNCTYPE(None, *[ctypes.c_int64] * count)(function)
    address = ctypes.cast(callback, ctypes.c_void_p).value
    assert address is not None
    return callback, address


# In the program ----------------------------------------------------------------------------------


def emit_effect(e: Emitter, node: Node) -> None:
    """The code of a `print_text` or a `raise_error`; what follows the latter is not reached."""
    fb = e.fb
    count = len(node.inputs) - len(node.attrs.get("states", ()))
    site = _Site(node, [e.strides.get(v) for v in node.inputs[1:count]])
    e.keep.append(site)
    if site.prints and e.printed is None:
        e.printed = fb.alloca("i64", 8, "0")
    slots = fb.alloca(f"[{site.done + 1} x i64]", 8)
    cursor = 0

    def slot() -> str:
        return fb.emit(f"getelementptr i64, ptr {slots}, i64 {cursor}")

    for v in site.operands:
        if isinstance(v.type, ArrayType):
            fb.line(f"store ptr {e.pointer[v]}, ptr {slot()}")
        else:
            e.store_scalar(e.scalars[v], slot())
        cursor += slot_count(v.type)
    for size in site.sizes:
        fb.line(f"store i64 {e.dim(symbol(size))}, ptr {slot()}")
        cursor += 1
    arguments = [("i64", str(site.id)), ("ptr", slots), ("ptr", e.printed or "null")]
    _call(e, "tj_effect", arguments, slot())
    if not site.prints:
        fb.line("unreachable")
        fb.block(fb.fresh_label("dead"))


def emit_output_end(e: Emitter) -> None:
    """Before the program ends: write what it has printed. It may still bail out here."""
    if e.printed is not None:
        done = e.fb.alloca("i64", 8)
        arguments = [("ptr", e.printed), ("ptr", done)]
        _if_printed(e, lambda: _call(e, "tj_output_end", arguments, done))


def emit_output_left(e: Emitter) -> None:
    """Before the program returns without its end: keep what it has printed."""
    if e.printed is not None:
        arguments = [("ptr", e.printed)]
        _if_printed(e, lambda: _plain_call(e, "tj_output_left", arguments))


def _if_printed(e: Emitter, act: Callable[[], None]) -> None:
    fb = e.fb

    def then() -> Sequence[str]:
        act()
        return ()

    number = fb.emit(f"load i64, ptr {e.printed}")
    fb.if_then(fb.emit(f"icmp ne i64 {number}, 0"), (), then)


def _plain_call(e: Emitter, name: str, arguments: Sequence[tuple[str, str]]) -> None:
    e.symbols[name] = _callback(name)[1]
    e.module.declare(name, "void", [kind for kind, _ in arguments])
    given = ", ".join(f"{kind} {register}" for kind, register in arguments)
    e.fb.line(f"call void @{name}({given})")


def _call(e: Emitter, name: str, arguments: Sequence[tuple[str, str]], done: str) -> None:
    """A call of Python that may end in any way."""
    fb = e.fb
    e.symbols["tj_interrupted"] = interrupt_address()
    e.module.declare("tj_interrupted", "i32", [])
    # A signal that came before this would otherwise be raised, and lost, on the way into Python.
    signal = fb.emit("call i32 @tj_interrupted()")
    e.leave_if(fb.emit(f"icmp ne i32 {signal}, 0"))
    fb.line(f"store i64 {HostCall.BAIL}, ptr {done}")
    _plain_call(e, name, arguments)
    status = fb.emit(f"load i64, ptr {done}")
    fb.check(fb.emit(f"icmp eq i64 {status}, {HostCall.BAIL}"))
    e.leave_if(fb.emit(f"icmp eq i64 {status}, {HostCall.LEAVE}"))
