"""Functions of libraries as modules held them before a program replaced any, by `unittest.mock` for
instance: the compiler, which is imported when it is needed, means those.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["originals"]

#: The modules whose functions the compiler knows.
_MODULES = """builtins bisect cmath collections copy functools heapq itertools math operator random
time numpy numpy.fft numpy.linalg numpy.random scipy.linalg scipy.special""".split()
_HELD = {name: dict(vars(sys.modules[name])) for name in _MODULES if name in sys.modules}


@contextmanager
def originals() -> Iterator[bool]:
    """Within the block modules hold what they held before; whether that is something else."""
    replaced = [
        (vars(sys.modules[module]), name, original, vars(sys.modules[module])[name])
        for module, held in _HELD.items()
        for name, original in held.items()
        if callable(original) and vars(sys.modules[module]).get(name, original) is not original
    ]
    for namespace, name, original, _ in replaced:
        namespace[name] = original
    try:
        yield bool(replaced)
    finally:
        for namespace, name, original, present in replaced:
            if namespace.get(name) is original:
                namespace[name] = present
