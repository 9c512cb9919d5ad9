"""How many frames of Python a call stands for, which its limit of recursion counts."""

from __future__ import annotations

import functools
import sys
from types import CodeType

__all__ = ["frames_of"]

#: Code that has a frame of its own within a function, and functions that call others.
_WITHIN = ("<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>")
_CALLING = frozenset(
    "all any filter list map max min reduce set sorted sum tuple accumulate".split()
)


@functools.cache
def frames_of(code: CodeType) -> int:
    """The frames that a call of a function has at most where it calls another one.

    Generators and comprehensions have some of their own, and before 3.12 functions of C count that
    call the program's.
    """
    inner = [c for c in code.co_consts if isinstance(c, CodeType) and c.co_name in _WITHIN]
    through_c = sys.version_info < (3, 12) and (
        code.co_name.startswith("__") or not _CALLING.isdisjoint(code.co_names)
    )
    return 1 + 2 * through_c + max((1 + frames_of(c) for c in inner), default=0)
