"""Locks in a process that may fork: what another thread holds at that moment is free in the child.

The child has only the thread that forked. A short lock guards a change of state that belongs to the
whole process and is held for moments, by code that calls none of the user's: a fork waits for it,
so that the child finds the change made or not begun. A long lock may be held while the user's code
runs, which may itself wait for the thread that forks: the child finds it free, and whatever it
guards must be right at every moment. Both may be taken again by the thread that holds them.

Finalizers run anywhere, inside a compile too. One that calls a compiled function must not wait for
a lock of another thread, which may be waiting for one of this thread: `holds_lock` tells.
"""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["holding", "holds_lock", "long_lock", "short_lock"]

_SHORT: list[Any] = []
_LONG: weakref.WeakSet[Any] = weakref.WeakSet()
#: What the thread that forks has taken for that: no other thread can have all of them meanwhile.
_taken: list[Any] = []


def short_lock(lock: Any = None) -> Any:
    """A new short lock; `lock`, reentrant and another library's, becomes one."""
    lock = threading.RLock() if lock is None else lock
    _SHORT.append(lock)
    return lock


def long_lock() -> Any:
    """A new long lock, known here for as long as it lives."""
    lock = threading.RLock()
    _LONG.add(lock)
    return lock


class _Thread(threading.local):
    """How many long locks this thread holds."""

    long = 0


_THREAD = _Thread()


@contextmanager
def holding(lock: Any) -> Iterator[None]:
    """Hold a long lock inside."""
    with lock:
        _THREAD.long += 1
        try:
            yield
        finally:
            _THREAD.long -= 1


def holds_lock() -> bool:
    """Whether this thread holds a lock of this package."""
    return _THREAD.long > 0 or any(lock._is_owned() for lock in _SHORT)


def _take_all() -> None:
    """Take every short lock; none is held while another one is waited for, in whatever order."""
    first = 0
    while True:
        locks = [*_SHORT[first:], *_SHORT[:first]]
        held: list[Any] = []
        for lock in locks:
            if not lock.acquire(blocking=not held):
                first = _SHORT.index(lock)
                break
            held.append(lock)
        else:
            _taken.extend(held)
            return
        for lock in held:
            lock.release()
        time.sleep(0)


def _release_all() -> None:
    while _taken:
        _taken.pop().release()


def _in_child() -> None:
    _release_all()
    for lock in list(_LONG):
        if not lock._is_owned():
            lock._at_fork_reinit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_release_all, after_in_child=_in_child)
