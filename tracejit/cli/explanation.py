"""How a code is explained at length."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["Explanation"]


class Explanation(NamedTuple):
    """`meaning` in full; `causes` and `instead` are programs, '' where none is short enough."""

    meaning: str
    causes: str = ""
    instead: str = ""
