"""What MODULE:FUNCTION and path/to/file.py:FUNCTION name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from tracejit.cli.errors import Failure, Usage

__all__ = ["describe", "find"]


def describe(error: BaseException) -> str:
    """An exception of the user's code in one or two lines."""
    frames = traceback.extract_tb(error.__traceback__)
    inner = str(Path(__file__).resolve().parent.parent)
    own = [f for f in frames if not f.filename.startswith((inner, "<frozen"))]
    place = f'\n    File "{own[-1].filename}", line {own[-1].lineno}: {own[-1].line}' if own else ""
    return f"{type(error).__name__}: {error}{place}"


def find(target: str) -> Any:
    """The object that "pkg.mod:name.name" or "file.py:name" names."""
    module_name, colon, path = target.rpartition(":")
    if not colon or not module_name or not path:
        raise Usage(f"{target!r} is not MODULE:FUNCTION or path/to/file.py:FUNCTION")
    found: Any = _module(module_name)
    for name in path.split("."):
        if not hasattr(found, name):
            raise Failure(f"{module_name} has no {path}")
        found = getattr(found, name)
    if not callable(found):
        raise Failure(f"{target} is not a function but of type {type(found).__name__}")
    return found


def _module(name: str) -> ModuleType:
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        if name.endswith(".py") or "/" in name:
            return _module_of_file(Path(name))
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise Failure(f"cannot import {name}: {error}") from None
    except Exception as error:
        raise Failure(f"cannot import {name}: {describe(error)}") from None


def _module_of_file(path: Path) -> ModuleType:
    if not path.is_file():
        raise Failure(f"there is no file {path}")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise Failure(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    # As for a script: its neighbours can be imported, and it is found by its name.
    sys.path.insert(0, str(path.resolve().parent))
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module
