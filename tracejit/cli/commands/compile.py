"""`tracejit compile`: a shared library of a function, with header, loader and example

tracejit compile pkg.mod:f --args "f64[n, n], f64[n]" -o out/
"""

from __future__ import annotations

import argparse
import contextlib
import inspect
import sys
from typing import Any

from tracejit.cli.arguments import read_sizes
from tracejit.cli.errors import Failure, Usage
from tracejit.cli.gradients import add_grad, with_gradient
from tracejit.cli.output import add_json, print_json
from tracejit.cli.targets import describe, find
from tracejit.codegen.llvm.targets import LEVELS, NATIVE
from tracejit.errors import GraphError, TraceError
from tracejit.export.ahead import compile
from tracejit.export.exported import Exported
from tracejit.export.library.refusals import NotExported
from tracejit.export.library.signatures import read_signature

__all__ = ["add", "run"]

_EXAMPLES = """\
examples:
  tracejit compile pkg.mod:solve --args "f64[n, n], f64[n]" -o out/
  tracejit compile file.py:smooth --args "f64[n], 3" --args "f32[n], 3" --target x86-64-v3
  tracejit compile file.py:loss --args "f64[m], f64[n, m], f64[n]" --grad 0

Sizes by name stand for any size from 2 on; literals are constants of the library. What else may
hold of the sizes is said in the header.
"""


def add(parser: argparse.ArgumentParser) -> None:
    """Declare what the command takes."""
    parser.epilog = _EXAMPLES
    parser.add_argument("function", metavar="MODULE:FUNCTION", help="or path/to/file.py:function")
    parser.add_argument(
        "--args",
        action="append",
        required=True,
        metavar="TYPES",
        help="types and literals of the arguments; given again: a further function of the library",
    )
    parser.add_argument("-o", "--out", default=".", help="the folder (default: this one)")
    parser.add_argument("--name", help="that of the library (default: the function's)")
    parser.add_argument(
        "--target",
        default=NATIVE,
        choices=[NATIVE, *LEVELS],
        help="the processors that it is for (default: such as this one)",
    )
    parser.add_argument("--sizes", default="", help='sizes to trace with, such as "n=8, m=3"')
    parser.add_argument("--cc", help="the compiler of C that links it")
    add_grad(parser)
    add_json(parser)


def run(options: argparse.Namespace) -> int:
    """Make the library, and say what is in it."""
    function, _ = find(options.function)
    sizes = read_sizes(options.sizes)
    try:
        if options.grad is not None:
            function = with_gradient(function, options.grad, _samples(function, options.args[0]))
        made = _made(function, options, sizes)
    except ValueError as error:
        raise Usage(str(error)) from None
    if options.json:
        print_json({"folder": str(made.folder), "functions": made.functions})
        return 0
    for symbol, text in made.functions.items():
        print(f"{symbol}{text}")
    for path in (made.library, made.header, made.loader, made.example):
        print(path)
    return 0


def _samples(function: Any, text: str) -> list[Any]:
    parameters = inspect.signature(getattr(function, "__tracejit__", function))
    return read_signature(text, parameters).samples()[0]


def _made(function: Any, options: argparse.Namespace, sizes: dict[str, int]) -> Exported:
    """The library. Raises Failure where it cannot be made, ValueError for what was asked."""
    target = options.function
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return compile(
                *(function, *options.args),
                out=options.out,
                name=options.name,
                target=options.target,
                sizes=sizes,
                cc=options.cc,
            )
    except NotExported as error:
        raise Failure(f"{target} cannot be in a library: {error}") from None
    except TraceError as error:
        raise Failure(f"{target} cannot be compiled: {error}") from None
    except GraphError as error:
        raise Failure(f"{target}: the compiler failed: {error}") from None
    except OSError as error:
        raise Failure(str(error)) from None
    except ValueError:
        raise
    except Exception as error:
        raise Failure(f"{target}: {describe(error)}") from None
