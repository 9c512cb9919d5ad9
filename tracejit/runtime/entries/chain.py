"""The chain of entries of a function: published, stood aside from, called past the gate.

CPython calls a function that has entries through a gate, which looks at the context of the call and
goes on to the first entry; each that does not fit goes on to the next one.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

from tracejit.base.late import TOOLS
from tracejit.base.locks import once, short_lock
from tracejit.link.shared import Linked, Shared, shared
from tracejit.runtime.entries.answers import BAIL, MISS
from tracejit.runtime.entries.jit_type import JitBase, call_offset, has_words, jit_type, word_at
from tracejit.runtime.entries.profiled import shown

__all__ = [
    "GATE",
    "LAST",
    "PAST",
    "PLAIN",
    "answer_plainly",
    "append_entry",
    "entry_exports",
    "flat_callable",
    "next_cell",
    "put_first",
    "resume",
    "stand_aside",
]

_WORD = ctypes.sizeof(ctypes.c_void_p)
#: The symbols in the gate's library: of the gate, of the way past all entries, and of the ways to
#: the plain function, before the gate and behind the last entry.
GATE, PAST, PLAIN, LAST = "tracejit.gate", "tracejit.past", "tracejit.plain", "tracejit.last"


class Kinds(Protocol):
    """What `native.KindTable` is."""

    function: Any
    words: Any

    @property
    def has_late(self) -> bool: ...


def next_cell(entry_name: str) -> str:
    """The symbol of the word of an entry that holds the address of the next one."""
    return f"{entry_name}.next"


def entry_exports(entry_name: str) -> tuple[str, str]:
    """The symbols that the library of an entry must export."""
    return entry_name, next_cell(entry_name)


_publishing = short_lock()


class _Published(NamedTuple):
    """An entry of a chain, the word that continues it, and what must live as long as it."""

    address: int
    cell: ctypes.c_size_t
    keep: Any


def append_entry(obj: JitBase, library: Linked, entry_name: str, keep: Any) -> None:
    """Let `obj` answer calls through an entry, after those it has already.

    In a context that is eager, or where floating-point errors do more than warn, `_slow` answers
    instead. `obj` keeps the library, and what is to be kept, alive. An entry belongs to one object.
    Raises TypeError if `obj` takes no native entries, ValueError if it has this one.
    """
    address = library.address(entry_name)
    cell = word_at(library.address(next_cell(entry_name)))
    gate = _gate(call_offset(obj))
    with _publishing:
        if any(published.address == address for published in obj._entries):
            raise ValueError(f"entry {entry_name} was published before")
        word = _last_word(obj)
        obj._entries.append(_Published(address, cell, (library, keep, gate)))
        if obj._shown is None:
            obj._shown = shown(obj, _direct(obj))
        # One store: a thread that calls meanwhile sees the old end of the chain or the new one.
        cell.value = word.value
        word.value = address
        _open(obj)


def put_first(obj: JitBase, library: Linked, entry_name: str, keep: Any) -> None:
    """Let the gate lead to a function of machine code, which may lead to the entries of `obj`."""
    address, cell = library.address(entry_name), word_at(library.address(next_cell(entry_name)))
    with _publishing:
        obj._entries.insert(0, _Published(address, cell, (library, keep)))
        word_at(id(obj) + call_offset(obj) + _WORD).value = address


def answer_plainly(obj: JitBase, kinds: Kinds) -> None:
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
    if has_words(obj):
        at = call_offset(obj)
        gate = _gate(at)
        with _publishing:
            word_at(id(obj) + at).value = gate.address(PAST)


def resume(obj: JitBase, slow: Callable[..., Any]) -> None:
    """Let the entries of `obj` answer its calls again, and `slow` those that they do not."""
    if has_words(obj):
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


def _gate(offset: int) -> Shared:
    """The library of the gate of objects that are called through the word at `offset`."""

    def compiled() -> Linked:
        library: Linked = TOOLS["compiled_gate"](offset + _WORD)
        return library

    return shared(f"gate {offset}", compiled)


class _Flat(JitBase):
    """An entry as a function of flat leaf arguments: `MISS` and `BAIL` instead of a second try."""

    __slots__ = ()

    def note_copies(self) -> None:
        owner = self._entries[-1]
        if isinstance(owner, JitBase):
            owner.note_copies()


def _miss(*args: Any, **kwargs: Any) -> object:
    return MISS


def _bail(*args: Any, **kwargs: Any) -> object:
    return BAIL


@once
def _flat_type() -> type[Any]:
    return jit_type(_Flat)


def flat_callable(
    library: Linked, entry_name: str, keep: Any, owner: JitBase | None = None
) -> Callable[..., Any]:
    """The entry as a callable of its arguments.

    It looks at its arguments only, not at the context. It returns `MISS` if neither this entry nor
    one published after it accepts them, and `BAIL` if the program refuses to finish. `owner` is
    what the entry is or will be published on.
    """
    flat: JitBase = _flat_type()(_miss, _bail)
    # The chain may lead on into entries that only the owner keeps alive.
    flat._entries = [library, keep, owner]
    word_at(id(flat) + call_offset(flat)).value = library.address(entry_name)
    return flat
