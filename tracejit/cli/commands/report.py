"""`tracejit report`: what was compiled of a function after a call, and what was not."""

from __future__ import annotations

import argparse
import warnings
from typing import Any

from tracejit.cli.calls import add_call, read_call
from tracejit.cli.output import add_json, print_json
from tracejit.errors import CODES, FallbackWarning, Where
from tracejit.runtime.report.report import Compile, Report

__all__ = ["add", "report_data", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_call(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Call the function, and print its report."""
    call = read_call(options)
    compiled = call.compiled
    with warnings.catch_warnings():
        # The report says it.
        warnings.simplefilter("ignore", FallbackWarning)
        call.run(compiled)
    report = compiled.report()
    if options.json:
        print_json(report_data(report))
    else:
        print(report)
    return 0


def report_data(report: Report) -> dict[str, Any]:
    """A report as lists, dicts, numbers and texts."""
    return {
        "function": report.function,
        "compiles": [_compile(c) for c in report.variants],
        "fallbacks": [
            {
                "code": f.code,
                "meaning": CODES[f.code][0],
                "advice": CODES[f.code][1],
                "reason": f.reason,
                "signature": f.signature,
                **_place(f.where),
            }
            for f in report.fallbacks
        ],
        "lines": [{**_place(x.where), "kind": x.kind, "why": x.why} for x in report.lines],
        "repeated": report.bailouts,
        "raised": dict(report.errors),
        "parts": [{"name": p.name, "report": report_data(p.report)} for p in report.parts],
    }


def _compile(c: Compile) -> dict[str, Any]:
    return {
        "signature": c.signature,
        "reason": c.reason,
        "seconds": c.seconds,
        "stages": dict(c.stages),
        "memory": [] if c.buffers is None else list(c.buffers.lines()),
        "worthwhile": c.worthwhile,
    }


def _place(where: Where | None) -> dict[str, Any]:
    return {} if where is None else {"file": where.file, "line": where.line}
