"""Where nothing may be compiled: the threads and processes whose calls run as plain Python.

What is looked for here must be known before a module of the compiler is imported, which takes what
such a thread does not have, or waits for a thread that is not there.
"""

from __future__ import annotations

import threading
import warnings
from typing import Any

from tracejit import config
from tracejit.base import locks
from tracejit.errors import FallbackError, FallbackWarning, TraceError, Where

__all__ = ["CODE", "LEAST_STACK", "reason_here", "run_plainly"]

CODE = "TJ035"
#: Bytes. Deep expressions, as parsers, LLVM and imports meet them, took up to 400 kB.
LEAST_STACK = 512 << 10


class _Thread(threading.local):
    """What is known of the present thread: the bytes of its stack, 0 where nobody knows."""

    stack: int | None = None


_THREAD = _Thread()


def reason_here() -> str | None:
    """Why nothing is compiled in this thread of this process; None where it may be."""
    unfinished = locks.unfinished_imports()
    if unfinished:
        return f"the process was forked while another thread imported {unfinished[0]}"
    if _THREAD.stack is None:
        _THREAD.stack = _stack_size()
    if 0 < _THREAD.stack < LEAST_STACK:
        return f"the thread has a stack of less than {LEAST_STACK >> 10} kB"
    return None


def _stack_size() -> int:
    """The bytes of this thread's stack; 0 where the system does not tell."""
    import ctypes

    try:
        library = ctypes.CDLL(None)
        about = library.pthread_getattr_np
    except (AttributeError, OSError, TypeError):
        return 0
    library.pthread_self.restype = ctypes.c_void_p
    # Longer than the structure of any system.
    attributes = ctypes.create_string_buffer(512)
    size = ctypes.c_size_t(0)
    if about(ctypes.c_void_p(library.pthread_self()), attributes):
        return 0
    library.pthread_attr_getstacksize(attributes, ctypes.byref(size))
    library.pthread_attr_destroy(attributes)
    return size.value


def run_plainly(jitted: Any, why: str, args: Any, kwargs: Any) -> Any:
    """What a call gives as plain Python, after it was told. Raises FallbackError where that is an
    error, and for transforms, which plain Python does not have.
    """
    if jitted._transform is not None:
        raise FallbackError(CODE, why)
    function = jitted.__tracejit__ if jitted._part is None else jitted._part.plain
    if not config.is_eager():
        _tell(jitted, function, why)
    return function(*args, **kwargs)


def _tell(jitted: Any, function: Any, why: str) -> None:
    state = jitted._state
    if state is not None:
        state.fallbacks.tell(state.fallbacks.add(state.fallbacks.of(TraceError(CODE, why))))
        return
    if jitted._part is not None:
        return  # Of parts nothing is said.
    mode = "error" if jitted._options.strict else config.on_fallback()
    if mode == "error":
        raise FallbackError(CODE, why)
    code = getattr(function, "__code__", None)
    if mode == "warn" and jitted._refused != why and code is not None:
        where = Where(code.co_filename, code.co_firstlineno, code.co_name)
        text = f"{code.co_qualname} runs eagerly: {where}: {CODE}: {why}"
        warning = FallbackWarning(text, CODE, why, where)
        warnings.warn_explicit(warning, None, where.file, where.line)
    # The report, which is made later, has it.
    jitted._refused = why
