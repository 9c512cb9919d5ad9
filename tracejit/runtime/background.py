"""Compiles in other threads, while calls run eagerly: `config.set_background(True)`.

The first call of a kind hands over copies of its arguments and runs as plain Python, and so do the
calls after it until there is code, which is published as by any other compile. A compile does not
run the program: it traces it, which changes nothing.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from tracejit.base.locks import in_child, short_lock
from tracejit.runtime.refusing import LEAST_STACK

if TYPE_CHECKING:
    import concurrent.futures

__all__ = ["begin", "finish"]

#: Python's part of a compile holds the GIL, LLVM's does not: two of them use two CPUs.
_WORKERS = 2
_LOCK = short_lock()
_POOL: list[concurrent.futures.ThreadPoolExecutor] = []
#: By function and kind of call, the compiles that have not ended.
_PENDING: dict[tuple[int, Any], concurrent.futures.Future[None]] = {}


def begin(jitted: Any, kind: Any, given: Any, compile_for: Callable[[Any, Any], None]) -> bool:
    """Let `compile_for(args, kwargs)` be called with copies of the arguments in another thread,
    unless such a compile is under way; whether one is. False for arguments that are not copied:
    objects are known by identity, and where threads get too small a stack.
    """
    if 0 < threading.stack_size() < LEAST_STACK:
        return False
    key = (id(jitted), kind)
    with _LOCK:
        if key in _PENDING:
            return True
    try:
        args, kwargs = _copied(given)
    except TypeError:
        return False

    def work() -> None:
        try:
            compile_for(args, kwargs)
        finally:
            with _LOCK:
                _PENDING.pop(key, None)

    with _LOCK:
        if not _POOL:
            import concurrent.futures

            _POOL.append(concurrent.futures.ThreadPoolExecutor(_WORKERS, "tracejit"))
        if key in _PENDING:
            return True
        try:
            _PENDING[key] = _POOL[0].submit(work)
        except RuntimeError:  # the interpreter ends
            return False
    return True


def finish(jitted: Any) -> None:
    """Wait until no compile of a function is under way. Raises nothing that a compile raises."""
    with _LOCK:
        found = [future for (owner, _), future in _PENDING.items() if owner == id(jitted)]
    if found:
        import concurrent.futures

        concurrent.futures.wait(found)


def _copied(x: Any) -> Any:
    """A copy of arguments. Raises TypeError for an object that is not known to have copies."""
    if type(x) is np.ndarray and x.dtype.kind in "biufc":
        return x.copy(order="K")
    if type(x) in (tuple, list):
        return type(x)([_copied(item) for item in x])
    if type(x) is dict:
        return {key: _copied(value) for key, value in x.items()}
    if x is None or isinstance(x, (bool, int, float, complex, str, np.generic)):
        return x
    raise TypeError(type(x).__name__)


@in_child
def _forget_threads() -> None:
    """The threads of the parent do not exist in the child."""
    _POOL.clear()
    _PENDING.clear()
