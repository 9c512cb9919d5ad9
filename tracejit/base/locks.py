"""Locks in a process that may fork: what another thread holds at that moment is free in the child.

The child has only the thread that forked. A short lock guards a change of state that belongs to the
whole process and is held for moments, by code that calls none of the user's: a fork waits for it,
so that the child finds the change made or not begun. A long lock may be held while the user's code
runs, which may itself wait for the thread that forks: the child finds it free, and whatever it
guards must be right at every moment. Both may be taken again by the thread that holds them.
A fork waits for imports as well: in the child nobody would ever finish them. One that takes longer
than a fork waits, and may itself wait for the thread that forks, is unfinished in the child.

Finalizers run anywhere, inside a compile too. One that calls a compiled function must not wait for
a lock of another thread, which may be waiting for one of this thread: `holds_lock` tells.
"""

from __future__ import annotations

import _imp
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, Generic, ParamSpec, TypeVar, overload

__all__ = [
    "holding",
    "holds_lock",
    "in_child",
    "long_lock",
    "once",
    "once_computed",
    "short_lock",
    "unfinished_imports",
]

_P = ParamSpec("_P")
_T = TypeVar("_T")

_SHORT: list[Any] = []
#: What tells of each of these whether the present thread holds it.
_OWNED: list[Callable[[], bool]] = []
_LONG: weakref.WeakSet[Any] = weakref.WeakSet()
#: What a child does when all locks are free.
_IN_CHILD: list[Callable[[], object]] = []
#: What the thread that forks has taken for that: no other thread can have all of them meanwhile.
_taken: list[Any] = []
#: What other threads were importing when this process was forked, and did not finish.
_unfinished: list[str] = []
#: Packages that are imported when they are needed, and seconds that a fork waits for imports.
_IMPORTED, _PATIENCE = ("tracejit", "llvmlite", "numpy", "scipy"), 10.0


def short_lock(lock: Any = None) -> Any:
    """A new short lock; `lock`, reentrant and another library's, becomes one."""
    lock = threading.RLock() if lock is None else lock
    _SHORT.append(lock)
    _OWNED.append(lock._is_owned)
    return lock


def long_lock() -> Any:
    """A new long lock, known here for as long as it lives."""
    lock = threading.RLock()
    _LONG.add(lock)
    return lock


def in_child(work: Callable[[], _T]) -> Callable[[], _T]:
    """Do it in every child, which has none of the other threads: what is known of them is over."""
    _IN_CHILD.append(work)
    return work


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
    if _THREAD.long > 0:
        return True
    for owned in _OWNED:
        if owned():
            return True
    return False


class once_computed(Generic[_T]):
    """An attribute that its first read computes. Threads that read it at once may both compute it.

    `functools.cached_property` takes one lock for all objects of a class until Python 3.12.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, obj: None, cls: Any) -> once_computed[_T]: ...
    @overload
    def __get__(self, obj: Any, cls: Any) -> _T: ...
    def __get__(self, obj: Any, cls: Any) -> Any:
        if obj is None:
            return self
        value = obj.__dict__[self._compute.__name__] = self._compute(obj)
        return value


_BUILDING = short_lock()


def once(build: Callable[_P, _T]) -> Callable[_P, _T]:
    """Cache what a function gives for its arguments, for good; two threads never build it twice.

    `functools.cache` lets both build it and drops one: native code that was told the address of
    something in it would find it gone.
    """
    cached = cache(build)

    @wraps(build)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        with _BUILDING:
            return cached(*args, **kwargs)  # type: ignore[arg-type]

    call.cache_clear = cached.cache_clear  # type: ignore[attr-defined]
    return call


def _take_all() -> None:
    """Take every short lock; none is held while another one is waited for, in whatever order."""
    first, deadline = 0, time.monotonic() + _PATIENCE
    while True:
        held: list[Any] = []
        for lock in (*_SHORT[first:], *_SHORT[:first]):
            if not lock.acquire(blocking=not held):
                first = _SHORT.index(lock)
                break
            held.append(lock)
        else:
            # No module begins to be imported from here on. Who holds the lock for long goes on with
            # its import behind it.
            before = time.monotonic()
            _imp.acquire_lock()
            deadline += time.monotonic() - before
            if not _imported() or time.monotonic() > deadline:
                _taken.extend(held)
                return
            _imp.release_lock()
        for lock in held:
            lock.release()
        time.sleep(0.001)


def _imported() -> list[str]:
    """What other threads are importing that a compile may import."""
    locks = getattr(sys.modules.get("_frozen_importlib"), "_module_locks", {})
    me = threading.get_ident()
    return [
        name
        for name, reference in list(locks.items())
        if getattr(reference(), "owner", None) not in (None, me)
        and name.partition(".")[0] in _IMPORTED
        and name not in _unfinished
    ]


def unfinished_imports() -> list[str]:
    """The modules of the compiler that no thread of this process will ever have imported."""
    return _unfinished


def _release_all() -> None:
    # Where an interrupt has kept the thread from taking them, others may have them.
    if _taken:
        _imp.release_lock()
    while _taken:
        _taken.pop().release()


def _in_child() -> None:
    _release_all()
    _unfinished.extend(_imported())
    for lock in [*_SHORT, *_LONG]:
        if not lock._is_owned():
            lock._at_fork_reinit()
    for work in _IN_CHILD:
        work()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_take_all, after_in_parent=_release_all, after_in_child=_in_child)
