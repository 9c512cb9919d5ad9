"""A function with arguments becomes what the page shows of it, as data for JSON."""

from __future__ import annotations

import inspect
import linecache
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tracejit.api import jit
from tracejit.codegen.analysis.memory_use import memory_use
from tracejit.errors import CODES, TraceError, Where, cause, explain
from tracejit.inspect.loops import find_loops
from tracejit.inspect.reasons import Reason, all_reasons
from tracejit.inspect.stages import Stage, lowered_stages
from tracejit.passes.manager import PASSES
from tracejit.runtime.compile.stages import Lowered
from tracejit.runtime.report.lines import Line, compiled_lines
from tracejit.runtime.report.report import Report
from tracejit.view.drawing import drawings
from tracejit.view.kernels import kernel_table
from tracejit.view.memory import memory_over_time

__all__ = ["Costs", "describe"]

#: Seconds, bytes and share of the whole of a line (file, line), as a profile has them.
Costs = Mapping[tuple[str, int], tuple[float, float, float]]

_SAY = {
    "trace": "What was written down while the function ran on stand-ins for its arguments.",
    "dataflow": "Control flow as data: Switch sends a value one of two ways, Merge takes either.",
    "kernel": "The loops over memory that are made of fused operations, as Python.",
    "llvm": "What is given to LLVM: kernels as functions, and the program that calls them.",
    "optimized": "The same after LLVM's passes.",
    "asm": "What the processor runs; innermost loops are marked, with what an iteration does.",
    "cuda": "The kernels as Python for Numba-CUDA.",
    "ptx": "The kernels as NVIDIA's assembly.",
}
#: Of a longer file the lines around those that became code are shown.
_WHOLE, _AROUND = 400, 12


def describe(
    function: Any,
    args: Sequence[Any] | None,
    kwargs: Mapping[str, Any],
    costs: Costs | None = None,
) -> dict[str, Any]:
    """What the page shows. Without `args` it is the newest compile of a jitted function.

    Raises ValueError where there is none.
    """
    jitted: Any = function if hasattr(function, "report") else jit(function)
    report, lowered, reasons = jitted.report(), None, []
    if args is None and not (_newest(jitted) or report.fallbacks):
        args, kwargs = _like_the_newest(jitted, report)
    if args is None:
        lowered = _newest(jitted)
    else:
        try:
            lowered = jitted.lower(*args, **kwargs)
        except TraceError:
            reasons = all_reasons(jitted, args, kwargs)
    lines = _lines(lowered, report, reasons)
    stages = [] if lowered is None else lowered_stages(lowered)
    page = _Page(function)
    data = {
        "title": report.function,
        "summary": _summary(lowered, lines, report),
        "stages": [page.stage(s) for s in stages if s.changed],
        "marks": [page.mark(x) for x in lines],
        "compiles": [
            {"reason": c.reason, "signature": c.signature, "seconds": c.seconds}
            for c in report.variants
        ],
        "seconds": [[s.name, s.seconds] for s in stages if s.seconds],
        "report": str(report),
    }
    if lowered is not None:
        sizes = {**lowered.traced.specialization.sizes, **lowered.traced.specialization.strides}
        program = lowered.program
        data["memory"] = memory_over_time(lowered.dataflow, program.plan, sizes)
        data["memory"]["text"] = [*memory_use(lowered.dataflow, program.plan, sizes).lines()]
        data["kernels"] = kernel_table(lowered.fused, sizes)
        data["drawings"] = drawings(lowered, page.place)
    if costs:
        data["costs"] = {
            f"{page.file(file)}:{line}": {
                "share": share,
                "text": f"{100 * share:.0f} %  {seconds * 1e3:.2f} ms  {size / 1e6:.1f} MB",
            }
            for (file, line), (seconds, size, share) in costs.items()
        }
    data["places"], data["files"] = page.places, page.files()
    return data


def _like_the_newest(jitted: Any, report: Report) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Arguments like those of the newest call that files have answered. Raises ValueError."""
    cached = getattr(jitted, "_cached", None)
    try:
        if cached is not None and cached.example is not None:
            args, kwargs = cached.example()
            return args, kwargs
    except LookupError as error:
        raise ValueError(f"{report.function}: {error}: give arguments to look at") from None
    if not _takes_nothing(jitted):
        raise ValueError(f"{report.function} has not been called: give arguments to look at")
    return (), {}


def _takes_nothing(function: Any) -> bool:
    try:
        inspect.signature(function).bind()
    except TypeError:
        return False
    return True


def _newest(jitted: Any) -> Lowered | None:
    structures = getattr(jitted, "_structures", {})
    variants = [v for s in list(structures.values()) for v in s.variants]
    if not variants:
        return None
    return Lowered(variants[-1].traced, threads=jitted._options.threads)


def _lines(lowered: Lowered | None, report: Report, reasons: Iterable[Reason]) -> list[Line]:
    lines = [x for x in report.lines if x.kind == "eager"]
    told = {(x.where.file, x.line) for x in lines}
    for r in reasons:
        if (r.where.file, r.where.line) not in told:
            lines.append(Line(r.where, "eager", cause(r.code, r.detail, r.where)))
    if lowered is not None:
        program, traced = lowered.program, lowered.traced
        lines += compiled_lines(traced.graph, traced.notes, program.host_nodes, program.plan.copies)
    return list(dict.fromkeys(lines))


def _summary(lowered: Lowered | None, lines: Iterable[Line], report: Report) -> str:
    if lowered is None:
        number = sum(x.kind == "eager" for x in lines)
        found = "a reason" if number == 1 else f"{number} reasons"
        return f"runs eagerly: {next(iter(report.fallbacks), found)}"
    program = lowered.program
    given = ", ".join(
        f"{v.name}: {v.type}" for v in lowered.traced.graph.inputs[: lowered.traced.given]
    )
    parts = [f"{len(program.kernels)} kernels", f"{len(program.host_nodes)} calls of NumPy inside"]
    eager = sum(x.kind == "eager" for x in lines)
    parts += [f"{eager} reasons to run eagerly"] if eager else []
    return f"({given})  {', '.join(parts)}"


class _Page:
    """Files and places by number: places are pairs of a file's number and a line."""

    def __init__(self, function: Any) -> None:
        self.places: list[tuple[int, int]] = []
        self._places: dict[tuple[str, int], int] = {}
        self._files: dict[str, int] = {}
        try:
            plain = inspect.unwrap(getattr(function, "__func__", function))
            source, first = inspect.getsourcelines(plain)
            file = inspect.getsourcefile(plain) or ""
            self._span = {self.file(file): (first, first + len(source) - 1)}
        except (OSError, TypeError):
            self._span = {}

    def file(self, name: str) -> int:
        return self._files.setdefault(name, len(self._files))

    def place(self, where: Where | tuple[str, int] | None) -> int:
        """The number of a place; -1 for none."""
        if where is None:
            return -1
        file, line = (where.file, where.line) if isinstance(where, Where) else where
        if (file, line) not in self._places:
            self._places[file, line] = len(self.places)
            self.places.append((self.file(file), line))
        return self._places[file, line]

    def mark(self, x: Line) -> dict[str, Any]:
        self.place(x.where)
        found = {
            "file": self.file(x.where.file),
            "line": x.line,
            "kind": x.kind,
            "why": x.why,
        }
        code = x.why.partition(":")[0]
        if x.kind == "eager" and code in CODES:
            found["explain"] = explain(code)
        return found

    def stage(self, s: Stage) -> dict[str, Any]:
        text = s.text.splitlines()
        say = (
            _SAY.get(s.name)
            or next(
                (getattr(p, "function", p).__doc__ or "" for p in PASSES if p.__name__ == s.name),
                "",
            )
            .strip()
            .partition("\n")[0]
        )
        loops = find_loops(text) if s.name == "asm" else []
        return {
            "name": s.name,
            "say": say,
            "seconds": s.seconds,
            "changed": s.changed,
            "graph": s.name in {"trace", *(p.__name__ for p in PASSES)},
            "text": text,
            "at": [self.place(places[0]) if places else -1 for places in s.lines],
            "loops": [{"first": x.first, "last": x.last, "text": str(x)} for x in loops],
        }

    def files(self) -> list[dict[str, Any]]:
        """Each file with the lines that are shown of it; `own` are those of the function."""
        used: dict[int, list[int]] = {}
        for file, line in self.places:
            used.setdefault(file, []).append(line)
        found = []
        for name, k in self._files.items():
            lines = [x.rstrip("\n") for x in linecache.getlines(name)]
            first, last = 1, len(lines)
            if len(lines) > _WHOLE or k in self._span:
                span = [*used.get(k, []), *self._span.get(k, ())] or [1]
                around = 1 if k in self._span else _AROUND
                first, last = max(1, min(span) - around), min(len(lines), max(span) + around)
            found.append(
                {
                    "name": os.path.basename(name),
                    "first": first,
                    "lines": lines[first - 1 : last],
                    "own": self._span.get(k),
                }
            )
        return found
