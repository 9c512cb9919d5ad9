"""Processes that this one starts, and that must not outlive it."""

from __future__ import annotations

import ctypes
import signal

__all__ = ["die_with_parent"]

_DIES_WITH_PARENT = 1


def die_with_parent() -> None:
    """In a process of Linux that has just been started: be killed when its parent ends."""
    ctypes.CDLL(None).prctl(_DIES_WITH_PARENT, signal.SIGKILL)
