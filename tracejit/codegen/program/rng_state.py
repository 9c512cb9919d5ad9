"""Random numbers that a run has drawn: a run that bails out gives them back, for its repetition.

Before its first draw a run saves the state of NumPy's global random numbers, under a number that it
writes to a word of its activation, 0 at first.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tracejit.codegen.program.context import ProgramContext
from tracejit.codegen.support.python_calls import DONE

__all__ = ["emit_drawn_back", "emit_drawn_end", "emit_drawn_word", "save_state"]

_SAVED: dict[int, Any] = {}
_IDS = itertools.count(1)


def save_state(drawn: int) -> None:
    """Save the state before a run's first draw; `drawn` points to the word."""
    word = ctypes.c_int64.from_address(drawn)
    if not word.value:
        state = np.random.get_state(legacy=False)
        number = word.value = next(_IDS)
        _SAVED[number] = state


def _give_back(drawn: int, *_: int) -> int:
    state = _SAVED.get(ctypes.c_int64.from_address(drawn).value)
    if state is not None:
        np.random.set_state(state)
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
