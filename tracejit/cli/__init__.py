"""The command line: `tracejit COMMAND ...`, also `python -m tracejit`.

Exit codes: 0, 1 for a failure, 2 for wrong usage. Errors go to stderr in one or a few lines; a
traceback is a defect. A command is a module of `commands/` by its name, which is imported when it
is asked for: `add(parser)` says what it takes, `run(options)` gives its exit code, the first line
of its documentation is its summary.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import importlib.abc
import importlib.util
import os
import pkgutil
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from tracejit import __version__
from tracejit.base.late import imported
from tracejit.cli import commands
from tracejit.cli.errors import Failure, Usage, unknown

__all__ = ["main", "names", "parser"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; the exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        name = next(iter(arguments), "")
        if name and not name.startswith("-"):
            options = parser(name).parse_args(arguments[1:])
            options.argv = arguments
            code: int = _module(name).run(options)
        else:
            _overview().parse_args(arguments)
            raise Usage("a command is missing (tracejit --help lists them)")
        sys.stdout.flush()
        return code
    except SystemExit as stop:  # argparse, after --help or --version
        return stop.code if isinstance(stop.code, int) else 2
    except Usage as error:
        print(f"tracejit: {error}", file=sys.stderr)
        return 2
    except Failure as error:
        print(f"tracejit: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("tracejit: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader, such as `head`, has had enough; nothing more may be written at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


class _Parser(argparse.ArgumentParser):
    """One whose errors are those of the command line: one line."""

    def error(self, message: str) -> NoReturn:
        raise Usage(f"{message} ({self.prog} --help says what it takes)")


def parser(name: str) -> argparse.ArgumentParser:
    """What the command takes. Raises Usage where there is no such command."""
    if name not in names():
        raise unknown("command", name, names())
    module = _module(name)
    found = _Parser(
        prog=f"tracejit {name}",
        description=_described(module.__doc__ or ""),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    module.add(found)
    return found


def _overview() -> argparse.ArgumentParser:
    """The parser of `tracejit` without a command."""
    lines = [f"  {name:<10} {_summary(name)}" for name in names()]
    found = _Parser(
        prog="tracejit",
        usage="tracejit [--help] [--version] COMMAND ...",
        description="Look at what the compiler makes of NumPy functions.",
        epilog="commands:\n" + "\n".join(lines) + "\n\n`tracejit COMMAND --help` says more.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    found.add_argument("--version", action="version", version=f"tracejit {__version__}")
    return found


def names() -> list[str]:
    """The commands there are."""
    return sorted(module.name for module in pkgutil.iter_modules(commands.__path__))


def _module(name: str) -> Any:
    return imported(f"{commands.__name__}.{name}")


def _summary(name: str) -> str:
    """The first line of a command's documentation, read without running its imports."""
    spec = importlib.util.find_spec(f"{commands.__name__}.{name}")
    assert spec is not None and isinstance(spec.loader, importlib.abc.InspectLoader)
    tree = ast.parse(spec.loader.get_source(spec.name) or "")
    return _described(ast.get_docstring(tree) or "").splitlines()[0]


def _described(text: str) -> str:
    """Documentation such as "`tracejit show`: a function ..." without the name of the command."""
    return text.partition(": ")[2].strip()
