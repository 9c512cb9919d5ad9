"""The first call of a function in a run of a script."""

from __future__ import annotations

import contextlib
import inspect
import io
import runpy
import shlex
import sys
from collections.abc import Callable, Iterator
from functools import reduce
from pathlib import Path
from types import FrameType
from typing import Any

from tracejit import config
from tracejit.cli.errors import Failure, Usage
from tracejit.cli.targets import describe, file_of

__all__ = ["record"]


class _Reached(BaseException):
    """Ends the script at the call."""

    def __init__(self, frame: FrameType) -> None:
        self.frame = frame


def record(command: str, target: str) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The function of `target` in a run of `command`, a script with its arguments, and the
    arguments of the first call. The script is run, eagerly, as far as that. Raises Usage, Failure.
    """
    try:
        script, *rest = shlex.split(command) or [""]
    except ValueError as error:
        raise Usage(f"--record cannot be read: {command!r}: {error}") from None
    if not Path(script).is_file():
        raise Usage(f"--record: there is no file {script}")
    module, _, path = target.rpartition(":")
    file = file_of(module)

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_qualname == path and _is_file(code.co_filename, file):
            raise _Reached(frame)

    try:
        with _as_script([script, *rest]):
            sys.setprofile(watch)
            with config.eager(), contextlib.redirect_stdout(io.StringIO()):
                runpy.run_path(script, run_name="__main__")
    except _Reached as reached:
        return _called(reached.frame, path)
    except SystemExit:
        pass
    except Exception as error:
        raise Failure(f"--record: {script}: {describe(error)}") from None
    finally:
        sys.setprofile(None)
    raise Failure(f"--record: {script} ends without a call of {path} of {file}")


def _is_file(name: str, file: Path) -> bool:
    return name.endswith(file.name) and Path(name).resolve() == file


@contextlib.contextmanager
def _as_script(arguments: list[str]) -> Iterator[None]:
    """The arguments and the path of modules that a script has."""
    before, path = sys.argv, list(sys.path)
    sys.argv = arguments
    sys.path.insert(0, str(Path(arguments[0]).resolve().parent))
    try:
        yield
    finally:
        sys.argv, sys.path[:] = before, path


def _called(
    frame: FrameType, path: str
) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
    """The function that a frame runs, and its arguments, none of which has been touched yet."""
    if "<locals>" in path:
        raise Usage(f"--record: {path} is a function inside another one")
    scope: Any = frame.f_globals
    first, *rest = path.split(".")
    function: Callable[..., Any] = reduce(getattr, rest, scope[first])
    names, rest_name, keywords_name, values = inspect.getargvalues(frame)
    code = frame.f_code
    given = tuple(values[name] for name in names[: code.co_argcount])
    given += tuple(values[rest_name]) if rest_name else ()
    keywords = {name: values[name] for name in names[code.co_argcount :]}
    keywords |= values[keywords_name] if keywords_name else {}
    return function, given, keywords
