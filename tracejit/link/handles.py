"""Native objects that belong to Python objects: freed when nothing can use them any longer.

Where a cycle of garbage is found, all its finalizers and callbacks of weak references run first, in
any order. They may call a function of the cycle, or bring all of it back to life. So whatever they
can reach must not be freed before they have run: neither by a finalizer nor by a weak reference to
something that takes part in garbage collection.
"""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

__all__ = ["Handle", "handle"]

#: What an owner of something native keeps.
Handle: TypeAlias = object


def handle(free: Callable[[], object]) -> Handle:
    """An object with whose last reference `free` is called, and what that holds is given up.

    It takes no part in garbage collection: in a cycle of garbage it dies when its owner is taken
    apart, after all finalizers. When the interpreter ends nothing is freed.
    """
    # An array is what takes weak references without being a Python object of its own class.
    token = np.empty(0)
    assert not gc.is_tracked(token)
    weakref.finalize(token, free).atexit = False
    return token
