"""Ops with effects become calls of Python: what is printed and raised is made there.

A program calls the methods `call` of sites by `support/python_calls.py`. The slots are those of
`host/calls.py`: the operands, then the sizes that they mention; a `raise_error` leaves its
exception pending. What a run has printed is known by a number, 0 at first: `_output_end` writes it
at the end of the run, and `_output_left` keeps it for whoever called the program, where the run is
left. All these functions give `DONE`, `BAIL` or `LEAVE`.
"""

from __future__ import annotations

import ctypes
import itertools
import struct
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.program.exits import call_python
from tracejit.codegen.program.host.arrays import array_at
from tracejit.codegen.program.host.calls import slot_count
from tracejit.codegen.program.host.retelling import retold
from tracejit.codegen.support.printing import Output, note_left
from tracejit.codegen.support.python_calls import BAIL, DONE, LEAVE
from tracejit.ir.dims import Dim, free_symbols, symbol
from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType, PyScalar, Type, dtype_of, type_sizes
from tracejit.link.later import Retold
from tracejit.link.pending_exception import raised_at, set_pending
from tracejit.ops.control.effects import PrintText, RaiseError
from tracejit.ops.control.templates import renderer

__all__ = ["Print", "Raise", "emit_effect", "emit_output_end", "emit_output_left"]

_OUTPUTS: dict[int, Output] = {}
_IDS = itertools.count(1)


# At run time -------------------------------------------------------------------------------------


class _Site:
    """One `print_text` or `raise_error` of a program, with the operands that it reads."""

    def __init__(self, node: Node, strides: Sequence[tuple[Dim, ...] | None]) -> None:
        self.node, self.strides = node, strides
        self.operands = node.inputs[1 : len(strides) + 1]
        sizes = set().union(*(type_sizes(v.type) for v in self.operands))
        for s in strides:
            sizes |= set().union(*(free_symbols(d) for d in s or ()))
        self.sizes = tuple(sorted(sizes))
        self.slots = sum(slot_count(v.type) for v in self.operands) + len(self.sizes)
        self._memory = ctypes.c_char * (8 * self.slots)
        formats = [_FORMATS[_dtype(v.type)] for v in self.operands]
        self._unpack = struct.Struct("=" + "".join([*formats, *("q" for _ in self.sizes)]))
        self._values = _values([v.type for v in self.operands], strides)

    def retold(self, method: str) -> Retold | None:
        """How another process finds a method of such a site; None where it cannot."""
        return retold(type(self), method, self.node, self.strides)

    def read(self, slots: int) -> list[Any]:
        """The operands; arrays are views of the program's memory."""
        words = self._unpack.unpack(self._memory.from_address(slots)) if self.slots else ()
        sizes: dict[str, int] = {}
        if self.sizes:
            sizes = dict(zip(self.sizes, words[len(words) - len(self.sizes) :], strict=True))
        return self._values(words, sizes)


class Print(_Site):
    """A `print_text`."""

    def __init__(self, node: Node, strides: Sequence[tuple[Dim, ...] | None]) -> None:
        super().__init__(node, strides)
        assert isinstance(node.op, PrintText)
        self._op, self._attrs = node.op, node.attrs
        self._text = renderer(node.attrs["text"])
        self._flush = bool(node.attrs.get("flush", False))

    def call(self, slots: int, printed: int, number: int) -> int:
        """Print to the run's output; `printed` points to its number, 0 at first."""
        try:
            text = self._text(self.read(slots))
            if number == 0:
                number = ctypes.c_int64.from_address(printed).value = next(_IDS)
                _OUTPUTS[number] = Output()
            _OUTPUTS[number].add(self._op.file(self._attrs), text, self._flush)
        except Exception:
            # The eager run that follows raises the user's own error.
            return BAIL
        return DONE


class Raise(_Site):
    """A `raise_error`."""

    def call(self, slots: int, *_: int) -> int:
        """Leave the exception pending."""
        op = self.node.op
        assert isinstance(op, RaiseError)
        try:
            # The program's memory does not outlive the run.
            given = [np.array(x) if isinstance(x, np.ndarray) else x for x in self.read(slots)]
        except Exception:
            return BAIL
        set_pending(raised_at(op.exception([None, *given], self.node.attrs), self.node.where))
        return LEAVE


#: How the values of a dtype lie in slots; None is the pointer to an array.
_FORMATS: dict[str | None, str] = {
    None: "q",
    "c8": "ff8x",
    "c16": "dd",
    **{
        f"{kind}{size}": f"{code}{16 - size}x"
        for kind, codes in {"b": "?", "f": " efd", "i": "bhiq", "u": "BHIQ"}.items()
        for size, code in zip((1, 2, 4, 8), codes, strict=False)
        if code != " "
    },
}


def _dtype(t: Type) -> str | None:
    if isinstance(t, ArrayType):
        return None
    dtype = dtype_of(t)
    return f"{dtype.kind}{dtype.itemsize}"


def _values(
    types: Sequence[Type], strides: Sequence[tuple[Dim, ...] | None]
) -> Callable[[tuple[Any, ...], dict[str, int]], list[Any]]:
    """A function from the words in slots and the sizes to values: one expression for all."""
    names: dict[str, Any] = {}
    parts: list[str] = []
    at = 0
    for k, (t, steps) in enumerate(zip(types, strides, strict=True)):
        word = f"w[{at}]"
        at += 1
        if isinstance(t, ArrayType):
            names[f"f{k}"] = partial(_array, t, steps)
            parts.append(f"f{k}({word}, s)")
            continue
        if dtype_of(t).kind == "c":
            word = f"complex({word}, w[{at}])"
            at += 1
        if not isinstance(t, PyScalar):
            names[f"f{k}"] = dtype_of(t).type
            word = f"f{k}({word})"
        parts.append(word)
    made: Callable[..., list[Any]] = eval(f"lambda w, s: [{', '.join(parts)}]", names)
    return made


def _array(
    t: ArrayType, strides: tuple[Dim, ...] | None, address: int, sizes: dict[str, int]
) -> np.ndarray[Any, Any]:
    return array_at(t, address, sizes, strides)


def _output_end(printed: int, *_: int) -> int:
    number = ctypes.c_int64.from_address(printed)
    try:
        _OUTPUTS[number.value].write()
    except Exception:
        return BAIL
    del _OUTPUTS[number.value]
    number.value = 0
    return DONE


def _output_left(printed: int, *_: int) -> int:
    note_left(_OUTPUTS.pop(ctypes.c_int64.from_address(printed).value))
    return DONE


# In the program ----------------------------------------------------------------------------------


def emit_effect(e: ProgramContext, node: Node) -> None:
    """The code of a `print_text` or a `raise_error`; what follows the latter is not reached."""
    fb = e.fb
    operands = node.inputs[1 : len(node.inputs) - len(node.attrs.get("states", ()))]
    strides = [e.strides.get(v) for v in operands]
    prints = isinstance(node.op, PrintText)
    site = Print(node, strides) if prints else Raise(node, strides)
    slots = fb.alloca(f"[{site.slots + 1} x i64]", 8)
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
    given = [fb.emit(f"ptrtoint ptr {slots} to i64")]
    if prints:
        e.printed = e.printed or fb.alloca("i64", 8, "0")
        given.append(fb.emit(f"ptrtoint ptr {e.printed} to i64"))
        given.append(fb.emit(f"load i64, ptr {e.printed}"))
    call_python(e, site.call, *given)
    if not prints:
        fb.line("unreachable")
        fb.block(fb.fresh_label("dead"))


def emit_output_end(e: ProgramContext) -> None:
    """Before the program ends: write what it has printed. It may still bail out here."""
    _if_printed(e, lambda printed: call_python(e, _output_end, printed))


def emit_output_left(e: ProgramContext) -> None:
    """Before the program returns without its end: keep what it has printed."""
    _if_printed(e, lambda printed: e.call_plainly(_output_left, printed))


def _if_printed(e: ProgramContext, act: Callable[[str], object]) -> None:
    if e.printed is None:
        return
    fb, printed = e.fb, e.printed

    def then() -> Sequence[str]:
        act(fb.emit(f"ptrtoint ptr {printed} to i64"))
        return ()

    number = fb.emit(f"load i64, ptr {printed}")
    fb.if_then(fb.emit(f"icmp ne i64 {number}, 0"), (), then)
