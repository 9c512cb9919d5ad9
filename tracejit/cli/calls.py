"""A function and what it is called with, as a command line says them."""

from __future__ import annotations

import argparse
import contextlib
import copy
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MethodType
from typing import Any

import numpy as np

from tracejit.api import jit
from tracejit.cli.arguments import evaluate_text, natural, parse_args
from tracejit.cli.errors import Failure, Usage, unknown
from tracejit.cli.recording import record
from tracejit.cli.targets import describe, find
from tracejit.errors import FallbackError, GraphError, TraceError

__all__ = ["CALLS", "Call", "add_call", "read_call"]

#: What the help of a command says of calls.
CALLS = """\
arguments:
  --args "f64[1000, 3], 2, axis=0"      types, literals, keywords
  --args "f64[n, n], f64[n], n"         sizes by name: --sizes n=50, or 100 each
  --args "f32[4, 5] @ (1, 0,)"          the axes from the outermost in memory
  --args "np.eye(3), lambda x: x + 1"   expressions, with the names of the function's module
  --args data.npz                       arrays by the parameters' names; or x.npy,y.npy by place
  --record "script.py 10"               those of the first call in a run of a script
  --self "Net(rng)" --setup "rng = np.random.default_rng(0)"    of a method

Arrays of a type are filled with random numbers (--seed).
"""


@dataclass
class Call:
    """A call: the function as it was found (decorated or not), and its arguments.

    Methods are functions here; what they belong to is the first argument.
    """

    target: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    #: The function, decorated.
    compiled: Any = field(init=False)

    def __post_init__(self) -> None:
        decorated = hasattr(self.function, "lower")
        self.compiled = self.function if decorated else jit(self.function)

    @property
    def plain(self) -> Callable[..., Any]:
        """The function without its decorator."""
        found: Callable[..., Any] = getattr(self.function, "__tracejit__", self.function)
        return found

    def copied(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Arguments of their own, which a call may change. Raises Failure."""
        try:
            return copy.deepcopy((self.args, self.kwargs))
        except Exception as error:
            raise Failure(f"{self.target}: arguments cannot be copied: {error}") from None

    def run(self, function: Callable[..., Any]) -> Any:
        """What `function` gives for copies of the arguments. Raises Failure where it raises."""
        return self.run_on(function, self.copied())

    def run_on(
        self, function: Callable[..., Any], given: tuple[tuple[Any, ...], dict[str, Any]]
    ) -> Any:
        """What `function` gives for these arguments; what it prints goes to stderr. Raises Failure
        where it raises.
        """
        args, kwargs = given
        with self.telling():
            return function(*args, **kwargs)

    @contextlib.contextmanager
    def telling(self) -> Iterator[None]:
        """What the function prints goes to stderr. Raises Failure where it raises, ends the process
        or cannot be traced.
        """
        try:
            with contextlib.redirect_stdout(sys.stderr):
                yield
        except (TraceError, FallbackError) as error:
            raise Failure(f"{self.target} runs eagerly\n{error}") from None
        except GraphError as error:
            raise Failure(f"{self.target}: the compiler failed: {error}") from None
        except SystemExit as stop:
            raise Failure(f"{self.target} ends the process ({stop.code})") from None
        except Exception as error:
            raise Failure(f"{self.target}: {describe(error)}") from None


def add_call(parser: argparse.ArgumentParser, nargs: str | None = None) -> None:
    """The arguments that name a function and say what it is called with."""
    named = "or path/to/file.py:function"
    parser.add_argument("target", metavar="MODULE:FUNCTION", nargs=nargs, help=named)
    parser.add_argument("--args", help="types or values of the arguments, or a file of them")
    parser.add_argument("--sizes", default="", help='sizes of types in --args, such as "n=8, m=3"')
    parser.add_argument("--seed", type=natural, default=0, help="of random numbers (default: 0)")
    parser.add_argument("--self", metavar="EXPR", help="the object whose method it is")
    parser.add_argument("--setup", metavar="CODE", default="", help="run before expressions")
    parser.add_argument("--record", metavar="SCRIPT", help="take the first call in a run of it")
    parser.epilog = f"{parser.epilog}\n{CALLS}" if parser.epilog else CALLS


def read_call(options: argparse.Namespace) -> Call:
    """The call that options of `add_call` describe. Raises Usage, Failure."""
    target = options.target
    if options.record is not None:
        if options.args is not None or options.self is not None:
            raise Usage("--record gives the arguments: neither --args nor --self goes with it")
        return Call(target, *record(options.record, target))
    found: Any
    found, names = find(target)
    names = _names(names, options.setup)
    before: tuple[Any, ...] = ()
    if options.self is not None:
        before = (evaluate_text(options.self, names, "--self"),)
        if isinstance(found, type):  # an object that is called itself
            if not callable(before[0]):
                raise Usage(f"{target} has no __call__: name the method")
            found = type(before[0]).__call__
    elif isinstance(found, MethodType):
        found, before = found.__func__, (found.__self__,)
    args, kwargs = _arguments(options, found, names, len(before))
    args = (*before, *args)
    try:
        inspect.signature(found).bind(*args, **kwargs)
    except TypeError as error:
        is_method = options.self is None and next(iter(_parameters(found)), "") == "self"
        hint = " (--self gives the object whose method it is)" if is_method else ""
        raise Usage(f"{target}: {error}{hint}") from None
    except ValueError:  # of a function of C, which does not say what it takes
        pass
    return Call(target, found, args, kwargs)


def _names(module: Mapping[str, Any], setup: str) -> dict[str, Any]:
    """The names of expressions: of the module, and those that the setup makes."""
    names = {"np": np, **module}
    try:
        exec(compile(setup, "<--setup>", "exec"), names)
    except (Exception, SystemExit) as error:
        raise Usage(f"--setup: {type(error).__name__}: {error}") from None
    return names


def _arguments(
    options: argparse.Namespace, function: Any, names: Mapping[str, Any], bound: int
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    text = options.args or ""
    files = [part.strip() for part in text.split(",")]
    if all(file.endswith((".npz", ".npy")) for file in files):
        if options.sizes:
            raise Usage("--sizes goes with types, not with files")
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for file in files:
            found = _load(file)
            if isinstance(found, dict):
                kwargs |= _by_name(found, file, function, bound)
            else:
                args.append(found)
        return tuple(args), kwargs
    args, kwargs = parse_args(text, options.sizes, options.seed, names)
    return tuple(args), kwargs


def _load(file: str) -> Any:
    """The array of an .npy file, or those of an .npz file by name."""
    try:
        found = np.load(Path(file), allow_pickle=False)
        if isinstance(found, np.ndarray):
            return found
        with found:
            # A number that was saved comes back as an array of no dimensions.
            return {name: x if x.ndim else x.item() for name, x in found.items()}
    except FileNotFoundError:
        raise Usage(f"there is no file {file}") from None
    except OSError as error:
        raise Failure(f"cannot read {file}: {error.strerror or error}") from None
    except Exception:  # a broken file may be found out by zipfile, struct or NumPy
        raise Failure(f"{file} is no file of numbers that NumPy has saved") from None


def _by_name(values: dict[str, Any], file: str, function: Any, bound: int) -> dict[str, Any]:
    """Values by the names of parameters; arr_0, arr_1 are the first ones."""
    parameters = _parameters(function)
    named = list(parameters)[bound:]
    out = {}
    for name, value in values.items():
        number = name.removeprefix("arr_")
        if name not in named and number != name and number.isdigit() and int(number) < len(named):
            name = named[int(number)]
        elif name not in named and not any(p.kind is p.VAR_KEYWORD for p in parameters.values()):
            raise Usage(f"{file}: {unknown('parameter', name, named)}")
        out[name] = value
    return out


def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    """Its parameters; none of a function of C that does not say what it takes."""
    try:
        return inspect.signature(function).parameters
    except ValueError:
        return {}
