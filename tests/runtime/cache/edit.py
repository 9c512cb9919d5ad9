"""What one thing is that is changed in a program between two processes."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["HEAD", "Edit", "one"]

HEAD = """\
import dataclasses, enum, functools, math
import numpy as np
import tracejit
from tracejit import jit

X = np.linspace(0.5, 2.0, 5)
calls = [lambda f: f(X)]
"""


class Edit(NamedTuple):
    """A program, what is replaced in it, or in a module `{name}_other` that it imports, and what
    the cache says then, where it says something.
    """

    source: str
    old: str
    new: str
    reason: str = ""
    other: str = ""


def one(body: str, old: str, new: str, reason: str = "", before: str = "") -> Edit:
    return Edit(f"{before}\n@jit\ndef f(x):\n    return {body}\n", old, new, reason)
