"""The processor's cycle counter, and what its ticks are in seconds; the machine's bandwidth."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable

import numpy as np

from tracejit.base.locks import once
from tracejit.codegen.llvm.engine import compile_module

__all__ = ["copy_bandwidth", "ticks"]

_TEXT = """\
declare i64 @llvm.readcyclecounter()
define i64 @tj_ticks() nounwind {
  %now = call i64 @llvm.readcyclecounter()
  ret i64 %now
}
"""


@once
def _reader() -> tuple[object, Callable[[], int]]:
    library = compile_module(_TEXT, {}, ["tj_ticks"])
    return library, ctypes.PYFUNCTYPE(ctypes.c_int64)(library.address("tj_ticks"))


def ticks() -> int:
    """The cycle counter now, as `Timers` read it in programs."""
    return _reader()[1]()


@once
def copy_bandwidth() -> float:
    """Bytes a second that a copy of a large array reads and writes, by one thread."""
    source = np.ones(4_000_000)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        np.copyto(target, source)
        best = min(best, time.perf_counter() - start)
    return 2 * source.nbytes / best
