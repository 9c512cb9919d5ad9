"""A function and what it is called with, as a command line says them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tracejit.cli.arguments import parse_args
from tracejit.cli.targets import find

__all__ = ["Call", "add_call", "read_call"]


@dataclass(frozen=True)
class Call:
    """A call: the function as it was found (decorated or not), and its arguments."""

    target: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def add_call(parser: argparse.ArgumentParser) -> None:
    """The arguments that name a function and say what it is called with."""
    parser.add_argument("target", metavar="MODULE:FUNCTION", help="or path/to/file.py:function")
    parser.add_argument("--args", default="", help="types or values of the arguments")


def read_call(options: argparse.Namespace) -> Call:
    """The call that options of `add_call` describe. Raises Usage, Failure."""
    values = parse_args(options.args)
    return Call(options.target, find(options.target), tuple(values), {})
