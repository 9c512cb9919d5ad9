"""Settings of a process, `tracejit.config`: what a program may set, and environment variables.

- `config.fallback = "ignore" | "warn" | "error"`, or TRACEJIT_FALLBACK: what is done where a
  function runs eagerly because it cannot be compiled.
- `config.traceback = "short" | "full"`, or TRACEJIT_TRACEBACK: whether exceptions of compiled
  functions show the user's lines alone, or the compiler's, too.
- `with config.eager():`, or TRACEJIT_EAGER=1: decorated functions run as plain Python.
- TRACEJIT_VERIFY=1: graphs are checked after every pass.
- TRACEJIT_DUMP=<dir>: every compile leaves its stages in a folder there.
- TRACEJIT_DEVICE=cuda, or cuda-sim: where decorated functions run that do not say it themselves.
- `config.set_num_threads(n)`, or TRACEJIT_NUM_THREADS: how many threads share a long kernel.
- `config.set_background(True)`, or TRACEJIT_BACKGROUND=1: compiles are made in other threads, and
  calls run as plain Python meanwhile.
- TRACEJIT_COMPILE_SECONDS and TRACEJIT_COMPILE_MEMORY: what one compile may take.
- TRACEJIT_TARGET=x86-64-v3, or another level: code is for all processors that have what it names.
- TRACEJIT_CUDA_GRAPHS=1: loops whose conditions a GPU computes are run by the GPU alone.
"""

from __future__ import annotations

import math
import os
import sys
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from tracejit.base.spelling import no_such

__all__ = [
    "DEVICES",
    "SettingError",
    "TARGETS",
    "background",
    "compile_budget",
    "cuda_graphs",
    "device",
    "dump_dir",
    "eager",
    "eager_opened",
    "eager_variable",
    "fallback",
    "has_full_tracebacks",
    "is_eager",
    "is_traced",
    "num_threads",
    "on_fallback",
    "profiler",
    "profiling",
    "set_background",
    "set_num_threads",
    "target",
    "thread_word",
    "trace_variable",
    "traceback",
    "verify",
]

#: True in contexts that are inside an `eager()` block, a profiler in those that it times.
eager_variable: ContextVar[Any] = ContextVar("tracejit_eager", default=False)
#: The innermost trace of this context, or None.
trace_variable: ContextVar[Any] = ContextVar("tracejit_trace", default=None)
#: One machine word, 0 until the first `eager()` block: native code then need not ask its context.
#: It stays set: a context copied inside a block, such as an asyncio task's, outlives the block.
eager_opened = array("q", [0])
#: What is done where a function runs eagerly because it cannot be compiled: "ignore", "warn" (once
#: for each line) or "error". None: what TRACEJIT_FALLBACK says, and without it "warn".
fallback: str | None = None
#: "short": exceptions of compiled functions show the user's lines, "full": the compiler's, too.
#: None: what TRACEJIT_TRACEBACK says, and without it "short".
traceback: str | None = None
#: The values of these two.
_VALUES = {"fallback": ("ignore", "warn", "error"), "traceback": ("short", "full")}
#: The names of devices; "cuda-sim" is simulated, and slow.
DEVICES = ("cpu", "cuda", "cuda-sim")
#: Seconds and megabytes that a compile may take where nothing else is set.
_SECONDS, _MEGABYTES = 60.0, 2048.0
#: The names of targets: this processor, and levels that others have as well.
TARGETS = ("native", "x86-64-v2", "x86-64-v3", "x86-64-v4")
#: One machine word, how many threads share a long kernel; 0 until that is asked.
_threads = array("q", [0])
#: Such words of functions with a number of their own, by it.
_fixed_threads: dict[int, array[int]] = {}
#: Whether compiles are made in other threads.
_background = [os.environ.get("TRACEJIT_BACKGROUND", "") not in ("", "0")]
_ALWAYS_EAGER = os.environ.get("TRACEJIT_EAGER", "") not in ("", "0")


class SettingError(ValueError):
    """A setting, or an environment variable, has a value that means nothing."""


@contextmanager
def eager() -> Iterator[None]:
    """Within the block, this thread runs decorated functions as plain Python under NumPy."""
    eager_opened[0] = 1
    token = eager_variable.set(True)
    try:
        yield
    finally:
        eager_variable.reset(token)
        # Calls find a value that is set sooner than one that is not.
        eager_variable.set(eager_variable.get())


def is_eager() -> bool:
    """Whether decorated functions run as plain Python here: by `eager()` or TRACEJIT_EAGER=1."""
    return _ALWAYS_EAGER or eager_variable.get() is True


def is_traced() -> bool:
    """Returns whether this is inside a trace."""
    return trace_variable.get() is not None


def profiler() -> Any:
    """What times the calls of this context; None for nothing."""
    found = eager_variable.get()
    return None if isinstance(found, bool) else found


@contextmanager
def profiling(by: Any) -> Iterator[None]:
    """Within the block, calls of decorated functions in this thread go to `by.call`; None: not."""
    eager_opened[0] = 1
    token = eager_variable.set(False if by is None else by)
    try:
        yield
    finally:
        eager_variable.reset(token)
        eager_variable.set(eager_variable.get())


def verify() -> bool:
    """Whether graphs are checked after every pass: TRACEJIT_VERIFY=1."""
    return os.environ.get("TRACEJIT_VERIFY", "") not in ("", "0")


def dump_dir() -> str | None:
    """Where every compile leaves its stages: TRACEJIT_DUMP=<dir>."""
    return os.environ.get("TRACEJIT_DUMP") or None


def perf() -> str:
    """How machine code is made known to Linux's `perf`: TRACEJIT_PERF=map, dump or 1 (both)."""
    how = os.environ.get("TRACEJIT_PERF", "")
    if how not in ("", "0", "1", "map", "dump"):
        raise SettingError(f"TRACEJIT_PERF is one of 0, 1, map, dump, not {how!r}")
    return how if how != "0" else ""


def cuda_graphs() -> bool:
    """Whether loops on data of a device are to be CUDA graphs with conditional nodes."""
    return os.environ.get("TRACEJIT_CUDA_GRAPHS", "") not in ("", "0")


def device(name: str | None) -> str | None:
    """The device `name`, or what TRACEJIT_DEVICE says; None for the host. Raises ValueError."""
    found = name or os.environ.get("TRACEJIT_DEVICE") or "cpu"
    if found not in DEVICES:
        raise SettingError(no_such("device", found, DEVICES))
    return None if found == "cpu" else found


def num_threads() -> int:
    """How many threads share a long kernel: what was set, or else TRACEJIT_NUM_THREADS says, or
    else as many as there are CPUs for this process. Raises ValueError.
    """
    if not _threads[0]:
        given = os.environ.get("TRACEJIT_NUM_THREADS")
        if given and not given.isdecimal():
            raise SettingError(f"TRACEJIT_NUM_THREADS is a positive number, not {given!r}")
        set_num_threads(int(given) if given else _cpus())
    return _threads[0]


def set_num_threads(n: int) -> None:
    """Let `n` threads share a long kernel, from now on. Results do not depend on it.

    Raises ValueError where it is not positive.
    """
    if n < 1:
        raise ValueError(f"there is at least one thread, not {n}")
    _threads[0] = n


def background() -> bool:
    """Whether compiles are made in other threads: by `set_background`, or TRACEJIT_BACKGROUND=1."""
    return bool(_background[0])


def set_background(on: bool) -> None:
    """Make compiles in other threads from now on, or not: the calls that need them, and those that
    come before there is code, run as plain Python. `f.report()` waits for the compiles of `f`.
    """
    _background[0] = on


def compile_budget() -> tuple[float, float]:
    """Seconds of the processor and megabytes of memory that one compile may take, before the call
    runs eagerly: TRACEJIT_COMPILE_SECONDS and TRACEJIT_COMPILE_MEMORY. Raises ValueError.
    """
    seconds = _number("TRACEJIT_COMPILE_SECONDS", _SECONDS)
    return seconds, _number("TRACEJIT_COMPILE_MEMORY", _MEGABYTES)


def _number(name: str, usual: float) -> float:
    given = os.environ.get(name)
    try:
        found = float(given) if given else usual
    except ValueError:
        found = math.nan
    if not found > 0:
        raise ValueError(f"{name} is a positive number, not {given!r}")
    return found


def target() -> str:
    """The processors that code is for: TRACEJIT_TARGET=native (this one), or a level of x86-64.

    Raises ValueError for another name.
    """
    found = os.environ.get("TRACEJIT_TARGET") or TARGETS[0]
    if found not in TARGETS:
        raise SettingError(no_such("target", found, TARGETS))
    return found


def thread_word(n: int | None = None) -> int:
    """The address of a 64-bit word that says how many threads share a long kernel.

    It holds `n` for good, or what the process is set to.
    """
    if n is not None:
        return _fixed_threads.setdefault(n, array("q", [n])).buffer_info()[0]
    num_threads()
    return _threads.buffer_info()[0]


def _cpus() -> int:
    """CPUs that this process may use, by its affinity and the quota of its control group."""
    allowed = getattr(os, "sched_getaffinity", None)
    cpus = len(allowed(0)) if allowed else os.cpu_count() or 1
    for quota in _quotas():
        cpus = min(cpus, max(1, math.ceil(quota)))
    return cpus


def _quotas() -> Iterator[float]:
    """How many CPUs control groups of Linux grant, by both versions of their files."""
    for names in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        try:
            quota, period = (int(w) for name in names for w in _words("/sys/fs/cgroup/" + name))
        except (OSError, ValueError):
            continue
        if quota > 0 and period > 0:
            yield quota / period


def _words(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        return file.read().split()


def on_fallback() -> str:
    """ "ignore", "warn" or "error": by `fallback` or TRACEJIT_FALLBACK. Raises ValueError."""
    return fallback or _from_outside("fallback", "TRACEJIT_FALLBACK") or "warn"


def has_full_tracebacks() -> bool:
    """Whether exceptions show the compiler's lines: by `traceback` or TRACEJIT_TRACEBACK."""
    return (traceback or _from_outside("traceback", "TRACEJIT_TRACEBACK")) == "full"


def _from_outside(setting: str, variable: str) -> str | None:
    value = os.environ.get(variable)
    return _checked(value, setting, variable) if value else None


def _checked(value: str, setting: str, name: str) -> str:
    """The value of a setting that has a few. Raises ValueError for another one."""
    known = _VALUES[setting]
    if value not in known:
        raise SettingError(no_such(f"value of {name}", repr(value), map(repr, known)))
    return value


class _Settings(ModuleType):
    """This module: what is assigned is checked."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _VALUES and value is not None:
            _checked(value, name, name)
        elif name not in self.__dict__ and not name.startswith("__"):
            raise AttributeError(no_such("setting", name, _VALUES))
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Settings
