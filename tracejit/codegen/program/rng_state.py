"""Random numbers that a run has drawn: a run that bails out gives them back, for its repetition.

Before its first draw from a stream a run saves the state of that, under a number that it writes to
a word of its activation, 0 at first.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence

from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.support.python_calls import DONE
from tracejit.ops.host.random import restorer, stream_at

__all__ = ["emit_drawn_back", "emit_drawn_end", "emit_drawn_word", "save_state"]

#: Number of a run -> address of a stream -> what gives it back its state.
_SAVED: dict[int, dict[int, Callable[[], None]]] = {}
_IDS = itertools.count(1)


def save_state(drawn: int, address: int) -> None:
    """Save the state of a stream before a run's first draw; `drawn` points to the word."""
    word = ctypes.c_int64.from_address(drawn)
    saved = _SAVED.get(word.value)
    if saved is None:
        word.value = next(_IDS)
        saved = _SAVED[word.value] = {}
    if address not in saved:
        saved[address] = restorer(stream_at(address))


def _give_back(drawn: int, *_: int) -> int:
    # Two streams may share one state: the first that was saved is the oldest.
    saved = _SAVED[ctypes.c_int64.from_address(drawn).value]
    for restore in reversed(saved.values()):
        restore()
    return DONE


def _forget(drawn: int, *_: int) -> int:
    _SAVED.pop(ctypes.c_int64.from_address(drawn).value, None)
    return DONE


def emit_drawn_word(e: ProgramContext) -> str:
    """The pointer to the word of this activation."""
    e.drawn = e.drawn or e.fb.alloca("i64", 8, "0")
    return e.drawn


def emit_drawn_back(e: ProgramContext) -> None:
    """Where the run bails out: as if nothing had been drawn."""
    _if_drawn(e, _give_back)


def emit_drawn_end(e: ProgramContext) -> None:
    """Before the program returns in whatever way."""
    _if_drawn(e, _forget)


def _if_drawn(e: ProgramContext, function: Callable[..., int]) -> None:
    if e.drawn is None:
        return
    fb, drawn = e.fb, e.drawn

    def then() -> Sequence[str]:
        e.call_plainly(function, fb.emit(f"ptrtoint ptr {drawn} to i64"))
        return ()

    number = fb.emit(f"load i64, ptr {drawn}")
    fb.if_then(fb.emit(f"icmp ne i64 {number}, 0"), (), then)
