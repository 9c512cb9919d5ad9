"""Gives equal LLVM text the object code that it was given before in this process.

Object code is a function of its text, and many tests compile what others have: a function for
another layout of an argument, or again for a test of its own. What is traced, lowered, written as
text and linked is done anew each time. Tests of LLVM itself, and of threads and memory inside it,
are marked `llvm_anew`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from tracejit.codegen.llvm import engine
from tracejit.runtime.compile import stages

#: Some 100 MB of texts and code; tests that share code stand near each other.
_SIZE = 2048

_emit = engine._emit
_remembered = lru_cache(_SIZE)(engine._emit)


def install() -> None:
    """Remember object code from now on."""
    engine._emit = _remembered
    # Programs have one name, which is part of their text; each is linked in a library of its own.
    stages._COUNT = itertools.repeat(0)  # type: ignore[assignment]


@contextmanager
def llvm_anew() -> Iterator[None]:
    """LLVM compiles everything meanwhile."""
    before, engine._emit = engine._emit, _emit
    try:
        yield
    finally:
        engine._emit = before
