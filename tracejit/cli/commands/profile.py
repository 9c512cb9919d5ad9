"""`tracejit profile`: where the time of a script's compiled functions goes, by line and kernel

tracejit profile script.py 10 fast              its own arguments behind it
tracejit profile -o trace.json script.py        a Chrome trace, for ui.perfetto.dev
"""

from __future__ import annotations

import argparse
import runpy
import sys
from pathlib import Path

from tracejit.cli.errors import Failure
from tracejit.cli.output import add_json, print_json
from tracejit.profiler import profile

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("-o", "--out", metavar="FILE", help="write a Chrome trace")
    add_json(parser)
    parser.add_argument("script", metavar="SCRIPT")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="of the script")


def run(options: argparse.Namespace) -> int:
    """Run the script as Python would, and print its profile to stderr; the script's exit code."""
    path = Path(options.script)
    if not path.is_file():
        raise Failure(f"there is no file {path}")
    before, code = (sys.argv, sys.path[0]), 0
    sys.argv, sys.path[0] = [options.script, *options.arguments], str(path.resolve().parent)
    found = profile()
    try:
        with found:
            runpy.run_path(str(path), run_name="__main__")
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
        if isinstance(stop.code, str):
            print(stop.code, file=sys.stderr)
    finally:
        sys.argv, sys.path[0] = before
        sys.stdout.flush()
        if not options.json:
            print(found, file=sys.stderr)
    if options.json:
        print_json(found.to_json())
    if options.out:
        try:
            found.save(options.out)
        except OSError as error:
            raise Failure(f"the trace cannot be written: {error}") from None
    return code
