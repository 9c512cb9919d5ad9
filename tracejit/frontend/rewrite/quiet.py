"""Sources are parsed again without telling again what Python warns of in them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["without_warnings"]


@contextmanager
def without_warnings(file: str) -> Iterator[None]:
    """Inside, a compile of `file` does not warn: Python did when the file was imported.

    The filters are put in front without a call of `warnings`, which would forget what was told.
    """
    filters: Any = warnings.filters
    # The parser calls a file's module by its path.
    name = file.removesuffix(".py") or "<unknown>"
    own = [("ignore", None, of, name, 0) for of in (SyntaxWarning, DeprecationWarning)]
    filters[:0] = own
    try:
        yield
    finally:
        for item in own:
            if item in filters:
                filters.remove(item)
