"""What an iterator yields in a forked child, whose crash leaves this process as it was."""

from __future__ import annotations

import faulthandler
import gc
import os
import pickle
import selectors
import signal
import warnings
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

__all__ = ["ChildCrashed", "yielded_in_child"]

_HEADER = 8


class ChildCrashed(Exception):
    """The child has ended before the iterator."""


def yielded_in_child(items: Iterator[Any], patience: float) -> Iterator[Any]:
    """Yields what `items` yields in a child process, each item pickled.

    Raises ChildCrashed; TimeoutError where the child needs more than `patience` seconds for an
    item; OSError where there can be no child.
    """
    if not hasattr(os, "fork"):
        raise OSError("no fork on this system")
    end, into = os.pipe()
    try:
        with warnings.catch_warnings():
            # The child runs this one thread, and none of the compiler's locks is held in it.
            warnings.simplefilter("ignore", DeprecationWarning)
            child = os.fork()
    except OSError:
        os.close(end)
        os.close(into)
        raise
    if child == 0:
        _run(items, into)
    os.close(into)
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(end, selectors.EVENT_READ)
            while length := int.from_bytes(_read(selector, end, _HEADER, patience), "little"):
                yield pickle.loads(_read(selector, end, length, patience))
    finally:
        os.close(end)
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        # The program may have chosen that its children are not waited for, or waits for all itself.
        with suppress(ChildProcessError):
            os.waitpid(child, 0)


def _run(items: Iterator[Any], into: int) -> None:
    """Write the items, and end the process; no finalizer and no handler of the program runs."""
    try:
        gc.disable()
        faulthandler.disable()
        _leave_no_core()
        for item in items:
            data = pickle.dumps(item)
            _write(into, len(data).to_bytes(_HEADER, "little") + data)
        _write(into, bytes(_HEADER))
    finally:
        os._exit(0)


def _leave_no_core() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, resource.getrlimit(resource.RLIMIT_CORE)[1]))


def _write(into: int, data: bytes) -> None:
    while data:
        data = data[os.write(into, data) :]


def _read(selector: selectors.BaseSelector, end: int, length: int, patience: float) -> bytes:
    found = b""
    while len(found) < length:
        if not selector.select(patience):
            raise TimeoutError
        part = os.read(end, length - len(found))
        if not part:
            raise ChildCrashed
        found += part
    return found
