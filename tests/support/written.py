"""Functions from source that a test writes, which the compiler can read as it reads a file's."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any

__all__ = ["written"]


def written(source: str, name: str, **given: Any) -> Callable[..., Any]:
    """The function `f` of `source`, whose file is called `name`; `given` are its globals."""
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    found = dict(given)
    exec(compile(source, name, "exec"), found)
    function: Callable[..., Any] = found["f"]
    return function
