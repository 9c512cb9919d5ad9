"""The index of the package: which module has which ops, handlers and calls.

It is made when the package is built, and in a checkout again where a module is newer. Builds run
this file by itself.
"""

from __future__ import annotations

import os
import sys
import time
import zlib
from contextlib import suppress
from functools import cache
from threading import get_ident

__all__ = ["index", "index_is_current", "make_index"]

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
#: A first line with a digest of the modules, then a line for each part of a table: the table, the
#: module, and the names of the keys.
_INDEX = os.path.join(_PACKAGE, "index.txt")
#: Makes the index. An installed package is without it, and has its index as it is.
_MAKER = os.path.join(os.path.dirname(_PACKAGE), "tracejit_index.py")
#: Folders of the modules that have parts of tables.
_FOLDERS = ("ops", *(f"frontend/{x}" for x in ("containers", "numpy", "prelude", "python")))
#: What clocks of files may lag behind the clock of the process, in nanoseconds.
_LAG = 100_000_000


def _modules() -> list[str]:
    """Paths of all modules that have parts of tables, and of their folders."""
    found = [os.path.join(_PACKAGE, folder) for folder in _FOLDERS]
    for path in found:
        if not path.endswith(".py"):
            with os.scandir(path) as entries:
                found += [
                    entry.path
                    for entry in entries
                    if entry.name.endswith(".py") or entry.is_dir() and entry.name != "__pycache__"
                ]
    return found


def _digest() -> str:
    """A digest of all modules that have parts of tables."""
    found = 0
    for path in sorted(_modules()):
        found = zlib.crc32(os.path.relpath(path, _PACKAGE).replace(os.sep, "/").encode(), found)
        if path.endswith(".py"):
            with open(path, "rb") as file:
                found = zlib.crc32(file.read(), found)
    return f"{found:08x}"


def _read_index() -> str:
    """The text of the index; none where there is no file of it."""
    with suppress(FileNotFoundError), open(_INDEX, encoding="utf-8") as file:
        return file.read()
    return ""


def index_is_current() -> bool:
    """Whether the index was made of the modules as they are."""
    return _read_index().startswith(_digest())


def _keep_index(text: str, since: int) -> None:
    """Write the index of the modules as they were at a time, where the folder lets us."""
    with suppress(OSError):
        written = f"{_INDEX}.{os.getpid()}.{get_ident()}"
        with open(written, "w", encoding="utf-8") as file:
            file.write(text)
        os.utime(written, ns=(since, since))
        os.replace(written, _INDEX)


def make_index() -> str:
    """The index of a checkout, made by a process of its own where it is not that of the modules.

    Raises ImportError where that fails.
    """
    import subprocess

    since = time.time_ns() - _LAG
    digest, text = _digest(), _read_index()
    if not text.startswith(digest):
        if not os.path.basename(sys.executable or "").startswith(("python", "pypy")):
            raise ImportError(f"the index of tracejit's modules is old: run python {_MAKER}")
        # What this process imports lies behind what a Python has from its start: a file beside the
        # program may have the name of a module of Python's own.
        command = [sys.executable, _MAKER, *sys.path]
        environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
        done = subprocess.run(command, capture_output=True, encoding="utf-8", env=environment)
        if done.returncode:
            raise ImportError(f"the index of tracejit's modules cannot be made:\n{done.stderr}")
        text = f"{digest}\n{done.stdout}"
    _keep_index(text, since)
    return text


@cache
def index() -> dict[str, list[tuple[str, str]]]:
    """Of each table the places of its parts, each with the names of the keys."""
    text = ""
    if not os.path.exists(_MAKER):
        text = _read_index()
        if not text:
            raise ImportError(f"tracejit is not whole: {_INDEX} is not there")
    elif getattr(sys.modules.get("__main__"), "__file__", None) != _MAKER:
        with suppress(FileNotFoundError):
            made = os.stat(_INDEX).st_mtime_ns
            if all(os.stat(path).st_mtime_ns < made for path in _modules()):
                text = _read_index()
        text = text or make_index()
    rows: dict[str, list[tuple[str, str]]] = {}
    for line in text.splitlines()[1:]:
        table, place, names = line.split(" ", 2)
        rows.setdefault(table, []).append((place, names))
    return rows
