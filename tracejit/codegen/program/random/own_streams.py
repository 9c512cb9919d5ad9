"""Generators that a program makes: their state is six words of an array, and no object.

A draw copies them to what NumPy's functions take for PCG64, on the stack (see
`random_functions.py`), and afterwards to the words of the result.
"""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.support.pcg64_seeds import is_known, seeded
from tracejit.ir.graph import Node
from tracejit.ir.types import ArrayType, dtype_name, dtype_of
from tracejit.link.random_functions import bits_function
from tracejit.ops.host.random import START

__all__ = ["begin_words", "emit_start", "end_words"]

#: The state, the increment; a pointer to these, and what is left over; then the `bitgen_t`.
_NUMBERS, _STATE, _BITS, _WORDS = 0, 4, 6, 11
#: Where the four halves of the numbers lie among the words of an array: the upper ones first.
_HALVES = (1, 0, 3, 2)


def emit_start(e: ProgramContext, node: Node) -> bool:
    """The code of a generator's making from an int; False where Python has to make it."""
    if node.attrs["function"] != START or node.attrs["arguments"] != (("operand", 0),):
        return False
    (seed,), (words,) = node.inputs, node.outputs
    if isinstance(seed.type, ArrayType) or dtype_name(dtype_of(seed.type)) != "i64":
        return False
    if not is_known():
        return False
    (register,) = e.registers(e.scalars[seed])
    e.fb.check(e.fb.emit(f"icmp slt i64 {register}, 0"))
    e.pointer.require(words)
    e.fb.line(f"call void {seeded(e.module)}(i64 {register}, ptr {e.pointer[words]})")
    e.pointer.stores(words)
    return True


def begin_words(e: ProgramContext, words: str) -> str:
    """The pointer to a `bitgen_t` that goes on from these words."""
    fb = e.fb
    if e.own_stream is None:
        e.own_stream = fb.alloca(f"[{_WORDS} x i64]", 16)
    for k, half in enumerate(_HALVES):
        _store(e, _NUMBERS + k, _load(e, words, half))
    kept, rest = _load(e, words, 4), _load(e, words, 5)
    both = fb.emit(f"or i64 {kept}, {fb.emit(f'shl i64 {rest}, 32')}")
    _store(e, _STATE, fb.emit(f"ptrtoint ptr {e.own_stream} to i64"))
    _store(e, _STATE + 1, both)
    _store(e, _BITS, fb.emit(f"ptrtoint ptr {_at(e, e.own_stream, _STATE)} to i64"))
    for k, name in enumerate(_NAMES):
        e.module.add_global(name, "external global i8")
        e.symbols[name] = bits_function("PCG64", k)
        _store(e, _BITS + 1 + k, f"ptrtoint (ptr @{name} to i64)")
    return _at(e, e.own_stream, _BITS)


_NAMES: Sequence[str] = ("tj_pcg64", "tj_pcg64_32", "tj_pcg64_double", "tj_pcg64_raw")


def end_words(e: ProgramContext, words: str) -> None:
    """After a draw: the words to go on from."""
    fb, own = e.fb, e.own_stream
    assert own is not None
    for k, half in enumerate(_HALVES):
        fb.line(f"store i64 {_load(e, own, _NUMBERS + k)}, ptr {_at(e, words, half)}")
    both = _load(e, own, _STATE + 1)
    fb.line(f"store i64 {fb.emit(f'and i64 {both}, {2**32 - 1}')}, ptr {_at(e, words, 4)}")
    fb.line(f"store i64 {fb.emit(f'lshr i64 {both}, 32')}, ptr {_at(e, words, 5)}")


def _at(e: ProgramContext, pointer: str, k: int) -> str:
    return e.fb.emit(f"getelementptr i64, ptr {pointer}, i64 {k}")


def _load(e: ProgramContext, pointer: str, k: int) -> str:
    return e.fb.emit(f"load i64, ptr {_at(e, pointer, k)}")


def _store(e: ProgramContext, k: int, value: str) -> None:
    assert e.own_stream is not None
    e.fb.line(f"store i64 {value}, ptr {_at(e, e.own_stream, k)}")
