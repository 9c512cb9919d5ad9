"""What MODULE:FUNCTION and path/to/file.py:FUNCTION name."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import sys
import sysconfig
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from tracejit.cli.errors import Failure, Usage
from tracejit.errors import PACKAGE

__all__ = ["describe", "file_of", "find"]


#: Where Python and its packages are.
_LIBRARIES = ("stdlib", "platstdlib", "purelib", "platlib")


def describe(error: BaseException) -> str:
    """An exception of the user's code in one or two lines."""
    frames = traceback.extract_tb(error.__traceback__)
    # Where the user's code is, no line of a library is shown.
    libraries = (PACKAGE, "<frozen", *map(sysconfig.get_path, _LIBRARIES))
    own = [f for f in frames if not f.filename.startswith(libraries)]
    place = f'\n    File "{own[-1].filename}", line {own[-1].lineno}: {own[-1].line}' if own else ""
    return f"{type(error).__name__}: {error}{place}"


def find(target: str) -> tuple[Any, dict[str, Any]]:
    """What "pkg.mod:name.name" or "file.py:name" names, and all names of its module.

    Raises Usage, Failure.
    """
    module_name, path = _split(target)
    with contextlib.redirect_stdout(sys.stderr):
        module = _module(module_name)
    found: Any = module
    for name in path.split("."):
        if not hasattr(found, name):
            known = (
                [n for n in vars(found) if not n.startswith("_")]
                if hasattr(found, "__dict__")
                else []
            )
            near = difflib.get_close_matches(name, known, n=1)
            raise Usage(
                f"{module_name} has no {path}" + (f"; did you mean {near[0]}?" if near else "")
            )
        found = getattr(found, name)
    if not callable(found):
        raise Usage(f"{target} is not a function but of type {type(found).__name__}")
    return found, vars(module)


def file_of(module: str) -> Path:
    """The file of a module, which is not imported. Raises Usage."""
    if module.endswith(".py") or "/" in module:
        return Path(module).resolve()
    _look_here()
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError):
        spec = None
    if spec is None or spec.origin is None:
        raise Usage(f"cannot import {module}")
    return Path(spec.origin).resolve()


def _split(target: str) -> tuple[str, str]:
    module_name, colon, path = target.rpartition(":")
    if not colon or not module_name or not path:
        raise Usage(f"{target!r} is not MODULE:FUNCTION or path/to/file.py:FUNCTION")
    return module_name, path


def _look_here() -> None:
    """Modules of the working folder can be imported, as by `python -m`."""
    if "" not in sys.path:
        sys.path.insert(0, "")


def _module(name: str) -> ModuleType:
    _look_here()
    try:
        if name.endswith(".py") or "/" in name:
            return _module_of_file(Path(name))
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        # It is not there itself, or what it imports is not.
        kind = Usage if error.name and f"{name}.".startswith(f"{error.name}.") else Failure
        raise kind(f"cannot import {name}: {error}") from None
    except (Failure, Usage):
        raise
    except SystemExit as stop:
        raise Failure(f"cannot import {name}: it ends the process ({stop.code})") from None
    except Exception as error:
        raise Failure(f"cannot import {name}: {describe(error)}") from None


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Usage(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Failure(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # As for a script: its neighbours can be imported, and it is found by its name.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
