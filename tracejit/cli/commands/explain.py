"""`tracejit explain`: what an error code means."""

from __future__ import annotations

import argparse
import textwrap

from tracejit.cli.errors import unknown
from tracejit.cli.explanations import EXPLANATIONS
from tracejit.cli.output import add_json, print_json
from tracejit.errors import CODES

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("codes", metavar="TJ0xx", nargs="*", help="all of them if none is given")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Print what error codes mean, at length; all of them in a line each if none is given."""
    codes = options.codes
    for code in codes:
        if code.upper() not in CODES:
            raise unknown("code", code, CODES)
    if options.json:
        print_json([_data(code.upper()) for code in codes or CODES])
        return 0
    if not codes:
        for code, (what, _) in CODES.items():
            print(f"{code}  {what}")
        print("\n`tracejit explain TJ001` says what to do, with an example.")
        return 0
    print("\n\n".join(_explained(c.upper()) for c in codes))
    return 0


def _data(code: str) -> dict[str, str]:
    (what, advice), (meaning, causes, instead) = CODES[code], EXPLANATIONS[code]
    eager, compiled = causes.strip("\n"), instead.strip("\n")
    return {
        "code": code,
        "what": what,
        "meaning": meaning,
        "advice": advice,
        "eager": eager,
        "compiled": compiled,
    }


def _explained(code: str) -> str:
    what, advice = CODES[code]
    meaning, causes, instead = EXPLANATIONS[code]
    parts = [f"{code}: {what}.", _wrapped(meaning), _wrapped(f"What to do: {advice}.")]
    if causes:
        parts += ["This runs eagerly, with the code:", textwrap.indent(causes.strip("\n"), "    ")]
    if instead:
        parts += ["This compiles:", textwrap.indent(instead.strip("\n"), "    ")]
    return "\n\n".join(parts)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 88)
