"""What happened to a function: its compiles and their reasons, its lines, and what runs eagerly."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from tracejit.base.late import shown
from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import CODES, Where, cause
from tracejit.runtime.report.fitting import MOST_LINES, at_most, duration, merged, source_runs
from tracejit.runtime.report.lines import Line

if TYPE_CHECKING:
    from tracejit.codegen.analysis.memory_use import Buffers
    from tracejit.codegen.device.target import Trips

__all__ = ["Compile", "Fallback", "Line", "Part", "Report"]


@dataclass(frozen=True)
class Fallback:
    """Why the function, called in some form, runs eagerly."""

    code: str
    reason: str
    where: Where | None
    signature: str

    @property
    def line(self) -> int:
        """The user's line, 0 where it is not known."""
        return self.where.line if self.where else 0

    def __str__(self) -> str:
        place = f"{self.where}: " if self.where else ""
        return place + cause(self.code, self.reason, self.where)


@dataclass(frozen=True)
class Compile:
    """One compile: why it was needed, for what, seconds by stage, what became of the lines.

    `copies` are the whole arrays that the code copies. `bounds_check` tells whether it checks the
    indices that it computes, `buffers` where its arrays lie, and how many bytes they take.
    Where it is not `worthwhile`, the plain function costs less than the checks before it: calls of
    its kind run that.
    """

    reason: str
    signature: str
    seconds: float
    stages: Mapping[str, float] = field(default_factory=dict)
    lines: tuple[Line, ...] = ()
    copies: tuple[str, ...] = ()
    bounds_check: bool = True
    buffers: Buffers | None = None
    worthwhile: bool = True
    #: Of a compile for a device, what its program does there.
    trips: Trips | None = None
    #: Whether an earlier process has compiled it.
    recalled: bool = False


@dataclass(frozen=True)
class Part:
    """A part of a function that runs eagerly, for which a compile was worth it.

    `name` is that of a function it calls, or "loop" for a loop that begins on `line` of `file`.
    """

    name: str
    file: str
    line: int
    report: Report

    @property
    def is_compiled(self) -> bool:
        """Whether there is code for it."""
        return bool(self.report.variants)

    def __str__(self) -> str:
        what = self.name
        if what == "loop":
            what = f"loop at line {self.line} ({Where(self.file, self.line).source().rstrip(':')})"
        count, report = len(self.report.variants), self.report
        if count:
            what += f": {count} compiled, {sum(report.seconds) * 1e3:.0f} ms"
        if report.bailouts:
            what += f", {report.bailouts} runs repeated"
        if report.fallbacks:
            what += f"{'; else' if count else ':'} plain, {report.fallbacks[0]}"
        return what


@dataclass
class Report:
    """What `f.report()` gives; `str` of it is for reading in a terminal.

    `variants` are the compiles in order, `fallbacks` the forms of call that run eagerly.
    `bailouts` counts calls of compiled code that were repeated eagerly, `repeats` how they ended.
    `errors` counts the exceptions of calls that were not compiled, since the trace raised them too.
    `parts` are loops and callees of eager runs that were compiled, or were to be.
    `seconds_of_a_call` are those of compiled code and of plain NumPy, where they were measured.
    `off` has (what, why) of native entries, threads and the cache, where these are off.
    """

    function: str
    variants: list[Compile] = field(default_factory=list)
    fallbacks: list[Fallback] = field(default_factory=list)
    bailouts: int = 0
    repeats: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    parts: list[Part] = field(default_factory=list)
    seconds_of_a_call: tuple[float, float] | None = None
    off: tuple[tuple[str, str], ...] = ()

    def measured(self, compiled: float, plain: float) -> None:
        """Note what a call takes compiled and as plain NumPy, in seconds; where that is slower, it
        is said once, as a record of the log.
        """
        first = self.seconds_of_a_call is None
        self.seconds_of_a_call = compiled, plain
        if first and self._is_slower():
            import logging

            logging.getLogger("tracejit").warning("%s: %s", self.function, self._speed())

    def _is_slower(self) -> bool:
        compiled, plain = self.seconds_of_a_call or (0.0, 0.0)
        # By less than what clocks in a profiled program take, or noise, is not said.
        return not self.fallbacks and compiled > 1.1 * plain + 5e-6

    def _speed(self) -> str:
        compiled, plain = self.seconds_of_a_call or (0.0, 0.0)
        text = f"a call takes {duration(compiled)}, by plain NumPy {duration(plain)}"
        slower = ": compiled code is slower here; f.profile(...) names the lines"
        return text + slower * self._is_slower()

    def add(self, fallback: Fallback) -> None:
        """Note a fallback, once for each place and reason."""
        known = [(f.code, f.where, f.reason) for f in self.fallbacks]
        if (fallback.code, fallback.where, fallback.reason) not in known:
            self.fallbacks.append(fallback)

    @property
    def compiles(self) -> list[tuple[str, str]]:
        """(reason, signature) of every compile, in order."""
        return [(c.reason, c.signature) for c in self.variants]

    @property
    def seconds(self) -> list[float]:
        """How long each compile took."""
        return [c.seconds for c in self.variants]

    @property
    def lines(self) -> list[Line]:
        """What became of each line, over all compiles: by file, line number and kind."""
        found = {(x.where.file, *x): x for c in self.variants for x in c.lines}
        for f in self.fallbacks:
            if f.where is not None:
                line = Line(f.where, "eager", f"{f.code}: {f.reason or CODES[f.code][0]}")
                found.setdefault((f.where.file, *line), line)
        return [found[key] for key in sorted(found)]

    def __str__(self) -> str:
        compiles = [line for c in self.variants for line in self._compile_lines(c)]
        problems = [*self._fallback_lines(), *self._run_lines()]
        head = [f"{self.function}: {len(self.variants)} compiled, {len(self.fallbacks)} eager"]
        stages = self._stage_lines()
        stages += [f"  measured  {self._speed()}"] if self.seconds_of_a_call else []
        stages += [f"  off       {what}: {why}" for what, why in self.off]
        whole = [*head, *compiles, *stages, *problems, *self._source_lines(len(self.lines))]
        if len(whole) <= MOST_LINES:
            return "\n".join(whole)
        # What there is to see to comes first, then what fits.
        problems = at_most(problems, 16, "lines of reasons: .fallbacks has all")
        each = max(1, 12 // max(1, len(self.variants)))
        blocks = [self._compile_lines(c) for c in self.variants]
        cut = [line for b in blocks for line in at_most(b, each, "about memory", "            ")]
        compiles = at_most(cut, 12, "lines of compiles: .variants has all")
        out = [*head, *problems, *compiles, *stages]
        source = self._source_lines(MOST_LINES - len(out) - 3)
        lines = at_most(source, MOST_LINES - len(out), "lines: .lines has all")
        return "\n".join([*out, *lines])

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        # IPython in a terminal.
        printer.text(str(self))

    def _repr_html_(self) -> str:
        return shown(self)

    def _compile_lines(self, c: Compile) -> list[str]:
        how = "" if c.bounds_check else ", bounds not checked"
        how += ", from the cache" if c.recalled else ""
        out = [f"  compiled  {c.signature}  ({c.reason}, {c.seconds * 1e3:.0f} ms{how})"]
        if not c.worthwhile:
            out.append("            plain: Python costs less than the checks before it would")
        texts = [f"copies {x}" for x in c.copies]
        if c.buffers is not None:
            texts = [*c.buffers.lines()]
        texts += [] if c.trips is None else c.trips.lines()
        return out + [f"            {text}" for text in merged(texts)]

    def _fallback_lines(self) -> list[str]:
        out = []
        for f in self.fallbacks:
            out.append(f"  eager     {f.signature}".rstrip())
            out.append(f"            {f}")
            out.append(f"            {CODES[f.code][1]}")
        return out

    def _run_lines(self) -> list[str]:
        out = [
            f"  {'in parts ' if part.is_compiled else 'plain    '} {part}" for part in self.parts
        ]
        if self.bailouts:
            ends = ", ".join(f"{n} {text}" for text, n in self.repeats.most_common())
            out.append(
                f"  repeated  {self.bailouts} calls eagerly (TJ010){': ' * bool(ends)}{ends}"
            )
        if self.errors:
            ends = ", ".join(f"{n} {text}" for text, n in self.errors.most_common())
            out.append(f"  raised    {self.errors.total()} calls without a compile: {ends}")
        return out

    def _stage_lines(self) -> list[str]:
        total: Counter[str] = Counter()
        for c in self.variants:
            total.update(c.stages)
        times = ", ".join(f"{name} {s * 1e3:.1f}" for name, s in total.items())
        return [f"  stages    {times} ms"] if times else []

    def _source_lines(self, most: int) -> list[str]:
        """A block for each file: number, kind, source, reason (of eager lines it is said above)."""
        out: list[str] = []
        file = ""
        for x, more in source_runs(self.lines, most):
            if x.where.file != file:
                file = x.where.file
                out += ["", f"  {os.path.basename(file)}"]
            text = f"  {x.line:>6}  {x.kind:<10}  {x.where.source()}"
            if more:
                text += f"  (and {more} more)"
            out.append(f"{text:<60}  # {x.why}" if x.why and x.kind != "eager" else text)
        return out
