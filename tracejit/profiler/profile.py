"""`with tracejit.profile() as p:` times the calls of compiled functions inside of a block."""

from __future__ import annotations

import copy
import json
import math
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tracejit import config
from tracejit.codegen.program.timing import Timers
from tracejit.errors import Where
from tracejit.monitor.writer import SummaryWriter
from tracejit.profiler.clock import copy_bandwidth, ticks
from tracejit.profiler.measured import (
    KernelTime,
    LineTime,
    kernel_times,
    shares_of_lines,
    shares_of_rest,
)
from tracejit.profiler.table import table

__all__ = ["Profile", "profile", "profile_call"]

#: So many calls leave an event for a trace.
_EVENTS = 20_000


@dataclass
class _Function:
    """One function while it is profiled: its twin, whose programs have clocks."""

    function: Any
    profiler: Profile
    twin: Any = None
    timers: list[Timers] = field(default_factory=list)
    calls: int = 0
    #: Of all calls, without calls of other profiled functions inside; and of compiles in them.
    seconds: float = 0.0
    compiling: float = 0.0

    def new(self) -> Timers:
        """Clocks for one more program."""
        self.timers.append(Timers())
        return self.timers[-1]

    @property
    def name(self) -> str:
        return str(self.function._report.function)

    @property
    def where(self) -> Where:
        code = getattr(self.function.__tracejit__, "__code__", None)
        if code is None:
            return Where("<no source>", 0, self.name)
        return Where(code.co_filename, code.co_firstlineno, self.name)

    def compile_seconds(self) -> float:
        found = float(sum(self.twin._report.seconds))
        return found + sum(sum(p.report.seconds) for p in self.twin._report.parts)


class Profile:
    """What a `with tracejit.profile() as p:` block has measured.

    `seconds` is the wall time of the outermost calls of compiled functions in this thread; `lines`
    what of it each line of source took, with the calls themselves and the compiles as lines of
    their own, so that they add up to it; `kernels` the kernels and calls of libraries. `print(p)`
    shows the dearest of both.

    While a block runs, decorated functions run programs of their own with clocks in them, which
    are compiled at their first call in it. Calls in other threads are not seen, and of programs on
    a GPU only the calls are.
    """

    def __init__(self) -> None:
        self._functions: dict[int, _Function] = {}
        #: Seconds that calls inside of each running call have taken.
        self._inside: list[float] = []
        self._stack = ExitStack()
        self._begun = self._ended = (0.0, 0)
        self.seconds = 0.0
        #: Calls, as (function, start, seconds), for traces.
        self.events: list[tuple[str, float, float]] = []
        #: Seconds of one call, the first apart, and of it by plain NumPy, where they were taken.
        self.call_seconds: float | None = None
        self.plain_seconds: float | None = None

    def __enter__(self) -> Profile:
        self._begun = time.perf_counter(), ticks()
        self._stack.enter_context(config.profiling(self))
        return self

    def __exit__(self, *exception: object) -> None:
        self._stack.close()
        self._ended = time.perf_counter(), ticks()

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Answer a call of a decorated function, and count it."""
        known = self._functions.get(id(function))
        if known is None:
            known = self._functions[id(function)] = _Function(function, self)
            options = replace(function._options, timers=known)
            known.twin = type(function)(function.__tracejit__, options)
        before = known.compile_seconds()
        self._inside.append(0.0)
        start = time.perf_counter()
        try:
            with config.profiling(None):
                return known.twin(*args, **kwargs)
        finally:
            seconds = time.perf_counter() - start
            inside = self._inside.pop()
            compiling = known.compile_seconds() - before
            known.calls += 1
            known.seconds += seconds - inside
            known.compiling += compiling
            if self._inside:
                self._inside[-1] += seconds
            else:
                self.seconds += seconds
            if len(self.events) < _EVENTS:
                self.events.append((known.name, start - self._begun[0], seconds))

    def _second(self) -> float:
        """How many ticks a second has."""
        now = self._ended if self._ended[1] else (time.perf_counter(), ticks())
        return max(1.0, (now[1] - self._begun[1]) / max(1e-9, now[0] - self._begun[0]))

    @property
    def kernels(self) -> list[KernelTime]:
        """Kernels and calls of libraries, the dearest first."""
        second = self._second()
        found = [
            k
            for f in self._functions.values()
            for t in f.timers
            for k in kernel_times(f.name, t, second)
        ]
        return sorted(found, key=lambda k: -k.seconds)

    @property
    def lines(self) -> list[LineTime]:
        """Lines of source, and what is no line's own, the dearest first."""
        found: dict[tuple[str, int, str], LineTime] = {}

        def at(where: Where, what: str = "") -> LineTime:
            key = where.file, where.line, what
            return found.setdefault(key, LineTime(where, what=what))

        for f in self._functions.values():
            inside = self._add_programs(f, at)
            at(f.where, "compile").seconds += f.compiling
            left = max(0.0, f.seconds - f.compiling - inside)
            what = "run as plain Python" if not f.timers else "call"
            at(f.where, what).seconds += left
        for line in found.values():
            line.share = line.seconds / self.seconds if self.seconds else 0.0
        return sorted((x for x in found.values() if x.seconds > 0), key=lambda x: -x.seconds)

    def _add_programs(self, f: _Function, at: Callable[[Where, str], LineTime]) -> float:
        """Share the time of a function's programs among lines; the seconds inside of them."""
        second, inside = self._second(), 0.0
        for timers in f.timers:
            sites = [s for s in timers.sites if s.passes]
            for site, kernel in zip(sites, kernel_times(f.name, timers, second), strict=True):
                for where, share in (shares_of_lines(site) or {f.where: 1.0}).items():
                    line = at(where, "")
                    line.seconds += share * kernel.seconds
                    line.host += share * kernel.seconds if kernel.is_host else 0.0
                    line.bytes += share * kernel.bytes
                    line.operations += share * kernel.operations
            whole = timers.whole.ticks / second
            rest = max(0.0, whole - sum(s.ticks for s in sites) / second)
            for where, share in (shares_of_rest(timers) or {f.where: 1.0}).items():
                at(where, "").seconds += share * rest
            inside += whole
        return inside

    @property
    def calls(self) -> dict[str, int]:
        """How often each function was called."""
        return {f.name: f.calls for f in self._functions.values()}

    @property
    def compile_seconds(self) -> float:
        """What of `seconds` were compiles."""
        return sum(f.compiling for f in self._functions.values())

    @property
    def host_seconds(self) -> float:
        """What of `seconds` NumPy and SciPy took, called from inside of programs."""
        return sum(k.seconds for k in self.kernels if k.is_host)

    def __str__(self) -> str:
        return table(self, copy_bandwidth())

    def costs(self) -> Mapping[tuple[str, int], tuple[float, float, float]]:
        """Seconds, bytes and share of lines (file, line), as `tracejit.view` shows them."""
        out: dict[tuple[str, int], tuple[float, float, float]] = {}
        for x in self.lines:
            if not x.what:
                out[x.where.file, x.where.line] = x.seconds, x.bytes, x.share
        return out

    def to_json(self) -> dict[str, Any]:
        """All of it as lists, dicts, numbers and texts."""
        return {
            "seconds": self.seconds,
            "compile_seconds": self.compile_seconds,
            "host_seconds": self.host_seconds,
            "plain_seconds": self.plain_seconds,
            "calls": self.calls,
            "lines": [
                {
                    "file": x.where.file,
                    "line": x.where.line,
                    "source": x.where.source(),
                    "what": x.what,
                    "seconds": x.seconds,
                    "host": x.host,
                    "bytes": x.bytes,
                    "operations": x.operations,
                    "share": x.share,
                }
                for x in self.lines
            ],
            "kernels": [
                {
                    "function": k.function,
                    "what": k.what,
                    "lines": [str(w) for w in k.lines],
                    "seconds": k.seconds,
                    "passes": k.passes,
                    "bytes": k.bytes,
                    "operations": k.operations,
                    "host": k.is_host,
                }
                for k in self.kernels
            ],
        }

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the calls as a Chrome trace, which Perfetto (ui.perfetto.dev) opens; the path.

        Raises OSError where that cannot be done.
        """
        target = Path(path)
        target.write_text(json.dumps({"traceEvents": [*self._events()]}), encoding="utf-8")
        return target

    def _events(self) -> Iterator[dict[str, Any]]:
        common = {"ph": "X", "pid": os.getpid(), "tid": 1, "cat": "call"}
        for name, start, seconds in self.events:
            yield {**common, "name": name, "ts": start * 1e6, "dur": seconds * 1e6}
        # Kernels are counted in sum: they lie one after the other on a line of their own.
        at = 0.0
        for k in self.kernels:
            place = ", ".join(map(str, k.lines))
            about = {"passes": k.passes, "bytes": k.bytes, "operations": k.operations, "at": place}
            yield {
                **common,
                "tid": 2,
                "cat": "kernels, in sum",
                "name": f"{k.function}: {k.what}",
                "ts": at * 1e6,
                "dur": k.seconds * 1e6,
                "args": about,
            }
            at += k.seconds

    def tensorboard(self, logdir: str | os.PathLike[str]) -> None:
        """Write the table, and the seconds of each line, as events for TensorBoard."""
        with SummaryWriter(logdir) as events:
            events.add_text("profile", "```\n" + str(self) + "\n```", 0)
            for x in self.lines:
                events.add_scalar(f"seconds/{x.where} {x.what}".rstrip(), x.seconds, 0)


def profile() -> Profile:
    """Time the calls of decorated functions in a `with` block: see `Profile`."""
    return Profile()


def profile_call(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], seconds: float = 0.2
) -> Profile:
    """The profile of a first call with copies of these arguments, which compiles, and of calls for
    about so long after it. Plain NumPy is timed after them; what is slower is said in the log.
    """
    found = Profile()
    compiled = plain = math.inf
    with found:
        _seconds(function, args, kwargs)
        end = time.perf_counter() + seconds
        while True:
            compiled = min(compiled, _seconds(function, args, kwargs))
            if time.perf_counter() > end:
                break
    end = time.perf_counter() + seconds
    with config.eager():
        while True:
            plain = min(plain, _seconds(function, args, kwargs))
            if time.perf_counter() > end:
                break
    found.call_seconds, found.plain_seconds = compiled, plain
    function.report().measured(compiled, plain)
    return found


def _seconds(function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> float:
    """Of a call with copies of these arguments."""
    given = copy.deepcopy((args, kwargs))
    start = time.perf_counter()
    function(*given[0], **given[1])
    return time.perf_counter() - start
