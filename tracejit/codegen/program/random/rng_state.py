"""Random numbers that a run has drawn: a run that bails out gives them back, for its repetition.

Before its first draw from a stream a run saves the state of that, under a number that it writes to
a word of its activation, 0 at first.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import Any

from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.support.python_calls import BAIL, DONE
from tracejit.ops.host.random import lock_of, restorer, stream_at

__all__ = ["begin_draws", "emit_drawn_back", "emit_drawn_end", "emit_drawn_word", "save_state"]

#: Number of a run -> (address of a stream, whether it is locked) -> what restores it, the lock.
_SAVED: dict[int, dict[tuple[int, bool], tuple[Callable[[], None], Any]]] = {}
_IDS = itertools.count(1)


def begin_draws(drawn: int, address: int, _: int) -> int:
    """Let a stream belong to a run, as `save_state` does, with its lock."""
    return DONE if save_state(drawn, address, locks=True) else BAIL


def save_state(drawn: int, address: int, locks: bool = False) -> bool:
    """Save the state of a stream before a run's first draw; `drawn` points to the word.

    With `locks` others cannot draw from it until the run has ended; False where others do now.
    """
    word = ctypes.c_int64.from_address(drawn)
    saved = _SAVED.get(word.value)
    if saved is None:
        word.value = next(_IDS)
        saved = _SAVED[word.value] = {}
    if (address, locks) not in saved:
        stream = stream_at(address)
        lock = lock_of(stream) if locks else None
        if lock is not None and not lock.acquire(blocking=False):
            return False
        saved[address, locks] = restorer(stream), lock
    return True


def _give_back(drawn: int, *_: int) -> int:
    # Two streams may share one state: the first that was saved is the oldest.
    for saved in reversed(_SAVED[ctypes.c_int64.from_address(drawn).value].values()):
        saved[0]()
    return DONE


def _forget(drawn: int, *_: int) -> int:
    for _restore, lock in _SAVED.pop(ctypes.c_int64.from_address(drawn).value).values():
        if lock is not None:
            lock.release()
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
