"""`tracejit check`: every reason for which a function would run eagerly, with what to do

tracejit check model.py:f --args "f64[100, 3], 2"
"""

from __future__ import annotations

import argparse

from tracejit.cli.calls import add_call, read_call
from tracejit.cli.output import add_json, print_json
from tracejit.inspect.reasons import Reason, all_reasons

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_call(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print the reasons, those first that block most; 1 where there is one."""
    call = read_call(options)
    with call.telling():
        reasons = all_reasons(call.plain, call.args, call.kwargs)
    if options.json:
        print_json([_data(r) for r in reasons])
    elif reasons:
        for r in reasons:
            need = "statement needs" if r.blocks == 1 else "statements need"
            blocked = f" ({r.blocks} {need} it)" if r.blocks else ""
            print(f"{r}{blocked}")
            source = r.where.source()
            if source:
                print(f"    {source}")
            print(f"    What to do: {r.advice} (tracejit explain {r.code})")
        count = len(reasons)
        print(f"{options.target} runs eagerly: {count} {'reason' if count == 1 else 'reasons'}")
    else:
        print(f"{options.target} is compiled whole")
    return 1 if reasons else 0


def _data(r: Reason) -> dict[str, object]:
    return {
        "code": r.code,
        "detail": r.detail,
        "file": r.where.file,
        "line": r.where.line,
        "advice": r.advice,
        "blocks": r.blocks,
    }
