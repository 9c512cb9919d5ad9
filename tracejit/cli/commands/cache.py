"""`tracejit cache`: what lies in the persistent cache, and why a function is compiled anew

tracejit cache ls                                what is there, used last first
tracejit cache why model.py:f --args "f64[100]"  call f once: from which file, or why from none
tracejit cache verify                            read all files; damaged ones are removed
tracejit cache clear                             remove all files
"""

from __future__ import annotations

import argparse

from tracejit.cli.calls import add_call, read_call
from tracejit.cli.errors import Failure, Usage, unknown
from tracejit.cli.output import add_json, print_json
from tracejit.runtime.cache import inspect

__all__ = ["add", "run"]

_WHAT = ("clear", "ls", "verify", "why")


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.add_argument("what", help=", ".join(_WHAT))
    add_call(parser, nargs="?")
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Do it; 1 where a call is not answered from the cache, or files were damaged."""
    if options.what not in _WHAT:
        raise unknown("thing to do with the cache", options.what, _WHAT)
    if (options.what == "why") != (options.target is not None):
        raise Usage("why takes a function, and nothing else does")
    code: int = {"clear": _clear, "ls": _list, "verify": _verify, "why": _why}[options.what](
        options
    )
    return code


def _clear(options: argparse.Namespace) -> int:
    try:
        count = inspect.clear()
    except OSError as e:
        raise Failure(str(e)) from None
    print_json({"removed": count}) if options.json else print(f"{count} files removed")
    return 0


def _list(options: argparse.Namespace) -> int:
    found = inspect.entries()
    if options.json:
        print_json([file._asdict() for file in found])
        return 0
    print(inspect.state())
    for file in found:
        what = f"{file.label}({file.signature})" if file.label else "shared by programs"
        eager = f" runs eagerly: {file.eager}" if file.eager else ""
        old = "" if file.current else ", of another environment"
        print(f"{file.size / 1024:8.1f} kB  {_ago(file.age):>6}  {what}{eager}{old}")
    return 0


def _ago(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _verify(options: argparse.Namespace) -> int:
    whole, damaged = inspect.verify()
    if options.json:
        print_json({"whole": whole, "damaged": damaged})
    else:
        print(f"{whole} files are whole, {len(damaged)} were damaged")
        for path in damaged:
            print(path)
    return 1 if damaged else 0


def _why(options: argparse.Namespace) -> int:
    call = read_call(options)
    args, kwargs = call.copied()
    with call.telling():
        found = inspect.why(call.compiled, args, kwargs)
    if options.json:
        print_json({"warm": found.warm, "reasons": found.lines})
    else:
        print("\n".join([f"{options.target}:", *(f"  {line}" for line in found.lines)]))
    return 0 if found.warm else 1
