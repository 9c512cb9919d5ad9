"""`tracejit view`: one page with source, stages, machine code and memory, linked by lines

tracejit view model.py:f --args "f64[100, 3]"        writes f.html
tracejit view model.py:f model.py:g --args "f64[100]"      two side by side
tracejit view dump/f-4711-000                        a compile that TRACEJIT_DUMP has left
"""

from __future__ import annotations

import argparse
import warnings
from copy import copy
from pathlib import Path

from tracejit.cli.calls import Call, add_call, read_call
from tracejit.cli.errors import Failure
from tracejit.errors import FallbackWarning
from tracejit.view.page import view, view_both, view_dump

__all__ = ["add", "run"]


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    add_call(parser)
    parser.add_argument("other", nargs="?", metavar="OTHER", help="another, for side by side")
    parser.add_argument("-o", "--out", metavar="FILE", help="the page (default: its name.html)")
    parser.add_argument("--open", action="store_true", help="ask a browser to show it")


def run(options: argparse.Namespace) -> int:
    """Write the page, and print its path."""
    if Path(options.target).is_dir():
        try:
            page = view_dump(options.target)
        except ValueError as error:
            raise Failure(str(error)) from None
    elif options.other:
        other = copy(options)
        other.target = options.other
        first, second = read_call(options), read_call(other)
        page = view_both((_called(first), first.args), (_called(second), second.args))
    else:
        call = read_call(options)
        page = view(_called(call), call.args, call.kwargs)
    name = "_".join(page.title.replace("<", "").replace(">", "").split()) or "page"
    try:
        path = page.save(options.out or f"{name.rpartition('.')[2]}.html")
    except OSError as error:
        raise Failure(f"the page cannot be written: {error}") from None
    print(path)
    if options.open:
        page.open()
    return 0


def _called(call: Call) -> object:
    """The function after a call: its report says what was compiled, and why."""
    with warnings.catch_warnings():
        # The page says it.
        warnings.simplefilter("ignore", FallbackWarning)
        call.run(call.compiled)
    return call.compiled
