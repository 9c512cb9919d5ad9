"""Bars for work whose output others read: shown to who watches, and to nobody else."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TypeVar

from tracejit.monitor.displays import in_notebook
from tracejit.monitor.live import progress

__all__ = ["bar"]

T = TypeVar("T")


def bar(iterable: Iterable[T], total: int | None = None, *, name: str = "") -> Iterable[T]:
    """`progress` on a terminal and in a notebook; in logs and pipes the iterable as it is."""
    if in_notebook() or (sys.stderr is not None and sys.stderr.isatty()):
        return progress(iterable, total, name=name)
    return iterable
