"""Sources are parsed again without telling again what Python warns of in them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["without_warnings"]

#: What stands in a text that Python may warn of: an escape, `is`, a literal that is called or has
#: an index, an assertion of a tuple, a number before a word, a block that `finally` leaves.
_SUSPECT = re.compile(r"\\|\bis\b|[\"'\])}]\s*[\[(]|\bassert\s*\(|\d[a-zA-Z]|\bfinally\b")


@contextmanager
def without_warnings(text: str) -> Iterator[None]:
    """Inside, what Python warns of in a text is not told again: it was when that was compiled.

    The filters stay as they are where there is nothing that Python may warn of.
    """
    if _SUSPECT.search(text) is None:
        yield
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        yield
