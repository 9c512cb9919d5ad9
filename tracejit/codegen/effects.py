"""Ops with effects become calls of Python: what is printed and raised is made there.

A program calls `_effect(site, slots, printed)` by `callbacks.py`. The slots are those of `host.py`:
the operands, then the sizes that they mention; a `raise_error` leaves its exception pending.
`printed` points to an i64 that stands for what the run has printed, 0 at first. `_output_end`
writes that at the end of the run, and `_output_left` keeps it for whoever called the program, where
the run is left. All give `HostCall.DONE`, `BAIL` or `LEAVE`.
"""

from __future__ import annotations

import ast
import ctypes
import itertools
import weakref
from collections.abc import Callable, Sequence
from functools import lru_cache
from types import CodeType
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.codegen.callbacks import call_address
from tracejit.codegen.host import HostCall, read_operand, slot_count
from tracejit.codegen.pending import set_pending
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
    """One `print_text` or `raise_error` of a program."""

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
        _SITES[self.id] = self

    def run(self, slots: int, printed: int) -> int:
        """Print, or leave an exception pending; how the call ends. Raises Bailout."""
        at = slots + 8 * sum(slot_count(v.type) for v in self.operands)
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


def _effect(site: int, slots: int, printed: int) -> int:
    try:
        return _SITES[site].run(slots, printed)
    except Exception:
        # The eager run that follows raises the user's own error.
        return HostCall.BAIL


def _output_end(printed: int, *_: int) -> int:
    number = ctypes.c_int64.from_address(printed)
    try:
        _OUTPUTS[number.value].write()
    except Exception:
        return HostCall.BAIL
    del _OUTPUTS[number.value]
    number.value = 0
    return HostCall.DONE


def _output_left(printed: int, *_: int) -> int:
    note_left(_OUTPUTS.pop(ctypes.c_int64.from_address(printed).value))
    return HostCall.DONE


# In the program ----------------------------------------------------------------------------------


def emit_effect(e: Emitter, node: Node) -> None:
    """The code of a `print_text` or a `raise_error`; what follows the latter is not reached."""
    fb = e.fb
    operands = node.inputs[1 : len(node.inputs) - len(node.attrs.get("states", ()))]
    site = _Site(node, [e.strides.get(v) for v in operands])
    e.keep.append(site)
    if site.prints and e.printed is None:
        e.printed = fb.alloca("i64", 8, "0")
    count = sum(slot_count(v.type) for v in site.operands) + len(site.sizes)
    slots = fb.alloca(f"[{count + 1} x i64]", 8)
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
    printed = "0" if e.printed is None else fb.emit(f"ptrtoint ptr {e.printed} to i64")
    _call(e, _effect, str(site.id), fb.emit(f"ptrtoint ptr {slots} to i64"), printed)
    if not site.prints:
        fb.line("unreachable")
        fb.block(fb.fresh_label("dead"))


def emit_output_end(e: Emitter) -> None:
    """Before the program ends: write what it has printed. It may still bail out here."""
    _if_printed(e, lambda printed: _call(e, _output_end, printed))


def emit_output_left(e: Emitter) -> None:
    """Before the program returns without its end: keep what it has printed."""
    _if_printed(e, lambda printed: _plain_call(e, _output_left, printed))


def _if_printed(e: Emitter, act: Callable[[str], object]) -> None:
    if e.printed is None:
        return
    fb, printed = e.fb, e.printed

    def then() -> Sequence[str]:
        act(fb.emit(f"ptrtoint ptr {printed} to i64"))
        return ()

    number = fb.emit(f"load i64, ptr {printed}")
    fb.if_then(fb.emit(f"icmp ne i64 {number}, 0"), (), then)


def _plain_call(e: Emitter, function: Callable[..., int], *arguments: str) -> str:
    """A call of Python; the register of how it ended."""
    name = f"tj{function.__name__}"
    e.symbols["tj_call"] = call_address()
    e.module.declare("tj_call", "i64", ["ptr", "i64", "i64", "i64"])
    e.symbols[name] = id(function)
    e.module.add_global(name, "external global i8")
    given = ", ".join(f"i64 {a}" for a in [*arguments, "0", "0"][:3])
    return e.fb.emit(f"call i64 @tj_call(ptr @{name}, {given})")


def _call(e: Emitter, function: Callable[..., int], *arguments: str) -> None:
    """A call of Python that may end in any way."""
    status = _plain_call(e, function, *arguments)
    e.fb.check(e.fb.emit(f"icmp eq i64 {status}, {HostCall.BAIL}"))
    e.leave_if(e.fb.emit(f"icmp eq i64 {status}, {HostCall.LEAVE}"))
