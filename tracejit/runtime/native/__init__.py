"""Native dispatch: calls of a jitted function that run no Python code.

`jit_type` makes the type of the public object, `entry_ir` writes the machine code that answers one
signature, `append_entry` publishes it behind a gate that looks at the context of the call, and
`flat_callable` and `python_entry` call it from the slow path, which has looked already. Where
`available()` is false everything but `python_entry` is off, and `why_not()` says why.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from tracejit.locks import once, short_lock
from tracejit.runtime.call.entry_spec import EntrySpec
from tracejit.runtime.native.capi import function_addresses
from tracejit.runtime.native.entry import next_cell, write_entry
from tracejit.runtime.native.gate import (
    GATE,
    PAST,
    QUIET,
    ErrorState,
    compile_gate,
    reflect_error_state,
)
from tracejit.runtime.native.jit_type import JitBase, call_offset, word_at
from tracejit.runtime.native.jit_type import jit_type as _native_type
from tracejit.runtime.native.plain import LAST, PLAIN, Kind, KindTable, kind_of, tables_work
from tracejit.runtime.native.profiled import is_debugger, shown
from tracejit.runtime.native.python_entry import BAIL, MISS, PythonEntry
from tracejit.runtime.native.reflect import Layout, LayoutError, reflect_layout
from tracejit.runtime.native.result_memory import array_functions

__all__ = [
    "BAIL",
    "MISS",
    "JitBase",
    "Kind",
    "KindTable",
    "answer_plainly",
    "append_entry",
    "available",
    "entry_exports",
    "entry_ir",
    "errors_are_quiet",
    "flat_callable",
    "is_debugger",
    "jit_type",
    "kind_of",
    "late_array_address",
    "python_entry",
    "resume",
    "stand_aside",
    "tables_work",
    "why_not",
]

_WORD = ctypes.sizeof(ctypes.c_void_p)


class _Linked(Protocol):
    def address(self, symbol: str) -> int: ...


class _Environment(NamedTuple):
    """What the writers of entries need to know of this interpreter and this NumPy."""

    layout: Layout
    functions: dict[str, int]
    errors: ErrorState


@once
def _environment() -> _Environment | str:
    """The environment, or why native entries do not work in it."""
    try:
        return _Environment(reflect_layout(), function_addresses(), reflect_error_state())
    except LayoutError as error:
        return str(error)


def available() -> bool:
    """Whether native entries work with this interpreter, this NumPy and this machine."""
    return not isinstance(_environment(), str)


def errors_are_quiet() -> bool:
    """Whether in this context no floating-point error does more than warn."""
    environment = _environment()
    if not isinstance(environment, str) and environment.errors.is_usual():
        return True
    return set(np.geterr().values()) <= set(QUIET)


def why_not() -> str:
    """Why `available()` is false; empty where it is true."""
    environment = _environment()
    return environment if isinstance(environment, str) else ""


def entry_ir(spec: EntrySpec, program: str, entry_name: str) -> tuple[str, dict[str, int]]:
    """The LLVM text of an entry for the function `program`, and the symbols (name -> address) to
    link it with: they belong to objects that `spec` keeps alive.

    The text is a module of its own, the `glue` of `compile_module`; the main module defines
    `program` with external linkage. Export `entry_exports(entry_name)` from the library.
    Raises RuntimeError where native entries are not available.
    """
    environment = _environment()
    if isinstance(environment, str):
        raise RuntimeError(f"native entries are not available: {environment}")
    return write_entry(spec, program, entry_name, environment.layout, environment.functions)


def entry_exports(entry_name: str) -> tuple[str, str]:
    """The symbols that the library of an entry must export."""
    return entry_name, next_cell(entry_name)


def late_array_address() -> int:
    """The address of `tj_late_array`, or 0 where native entries are not available."""
    environment = _environment()
    if isinstance(environment, str):
        return 0
    return array_functions(environment.functions, environment.layout)["tj_late_array"]


def jit_type(cls: type[Any]) -> type[Any]:
    """A class decorator for a subclass of `JitBase`: its instances take native entries.

    Returns `cls` itself where native entries are not available.
    """
    return _native_type(cls) if available() else cls


_publishing = short_lock()


class _Published(NamedTuple):
    """An entry of a chain, the word that continues it, and what must live as long as it."""

    address: int
    cell: ctypes.c_size_t
    keep: Any


def append_entry(obj: JitBase, library: _Linked, entry_name: str, spec: EntrySpec) -> None:
    """Let `obj` answer calls through an entry, after those it has already.

    In a context that is eager, or where floating-point errors do more than warn, `_slow` answers
    instead. `obj` keeps the library and the spec's objects alive. An
    entry belongs to one object.
    Raises TypeError if `obj` takes no native entries, ValueError if it has this one.
    """
    address = library.address(entry_name)
    cell = word_at(library.address(next_cell(entry_name)))
    gate = _gate(call_offset(obj))
    with _publishing:
        if any(published.address == address for published in obj._entries):
            raise ValueError(f"entry {entry_name} was published before")
        word = _last_word(obj)
        obj._entries.append(_Published(address, cell, (library, spec, gate)))
        if obj._shown is None:
            obj._shown = shown(obj, _direct(obj))
        # One store: a thread that calls meanwhile sees the old end of the chain or the new one.
        cell.value = word.value
        word.value = address
        _open(obj)


def answer_plainly(obj: JitBase, kinds: KindTable) -> None:
    """Let a plain function answer the calls of `obj` that are of these kinds: those of rows that
    are late if no entry does."""
    gate = _gate(call_offset(obj))
    with _publishing:
        obj._plain, obj._kinds = kinds.function, kinds.words
        _last_word(obj).value = gate.address(LAST) if obj._entries and kinds.has_late else 0
        _open(obj)


def _last_word(obj: JitBase) -> ctypes.c_size_t:
    """The word behind the last entry of `obj`."""
    if obj._entries:
        cell: ctypes.c_size_t = obj._entries[-1].cell
        return cell
    return word_at(id(obj) + call_offset(obj) + _WORD)


def _open(obj: JitBase) -> None:
    """Let calls of `obj` go where they find what answers them."""
    at = call_offset(obj)
    word, gate = word_at(id(obj) + at), _gate(at)
    if word.value == gate.address(PAST):
        return
    if obj._kinds is not None and obj._kinds[0]:
        word.value = gate.address(PLAIN)
    else:
        word.value = gate.address(GATE) if obj._entries else 0


def stand_aside(obj: JitBase, function: Callable[..., Any]) -> None:
    """Let `function` answer all calls of `obj`, as if it were called itself, until `resume`."""
    obj._slow = function
    if available():
        at = call_offset(obj)
        gate = _gate(at)
        with _publishing:
            word_at(id(obj) + at).value = gate.address(PAST)


def resume(obj: JitBase, slow: Callable[..., Any]) -> None:
    """Let the entries of `obj` answer its calls again, and `slow` those that they do not."""
    if available():
        with _publishing:
            word_at(id(obj) + call_offset(obj)).value = 0
            _open(obj)
    obj._slow = slow


def _direct(obj: JitBase) -> Callable[..., Any]:
    """The entries of `obj`, called without the gate: MISS for what none of them accepts."""
    made: JitBase = _flat_type()(_miss, lambda *args, **kwargs: obj._bail(*args, **kwargs))
    made._entries = [obj]
    word_at(id(made) + call_offset(made)).value = obj._entries[0].address
    return made


@once
def _gate(offset: int) -> _Linked:
    """The library of the gate of objects that are called through the word at `offset`."""
    environment = _environment()
    assert not isinstance(environment, str)
    return compile_gate(
        offset + _WORD, environment.functions, environment.errors, environment.layout
    )


class _Flat(JitBase):
    """An entry as a function of flat leaf arguments: `MISS` and `BAIL` instead of a second try."""

    __slots__ = ()


def _miss(*args: Any, **kwargs: Any) -> object:
    return MISS


def _bail(*args: Any, **kwargs: Any) -> object:
    return BAIL


@once
def _flat_type() -> type[Any]:
    return _native_type(_Flat)


def flat_callable(
    library: _Linked, entry_name: str, spec: EntrySpec, owner: JitBase | None = None
) -> Callable[..., Any]:
    """The entry as a callable of the spec's arguments.

    It looks at its arguments only, not at the context. It returns `MISS` if neither this entry nor
    one published after it accepts them, and `BAIL` if the program refuses to finish. `owner` is
    what the entry is or will be published on.
    """
    flat: JitBase = _flat_type()(_miss, _bail)
    # The chain may lead on into entries that only the owner keeps alive.
    flat._entries = [library, spec, owner]
    word_at(id(flat) + call_offset(flat)).value = library.address(entry_name)
    return flat


def python_entry(spec: EntrySpec, program: int) -> PythonEntry:
    """An entry that checks, allocates and boxes in Python and calls the program's address: the
    definition of what the machine code does, and its replacement where that is not available."""
    return PythonEntry(spec, program)
