"""Which functions of NumPy are traced from NumPy's own source; all others are called.

A function is in the table once its results are those of the direct call for all forms of operands
that the tests know (`tests/frontend/numpy/surface`), and the trace is not slower. Some are left out
for what NumPy does in them:

    "asarray_chkfinite astype fft.fftfreq fft.fftshift fft.ifftshift fft.rfftfreq insert require "
    "resize vander".split()
- `lstsq` gives residuals or none, as values decide.

Those of `np.linalg` and `np.fft` are compiled, behind a few lines of Python: the loops are called
(`ops/host/loops.py`).
"""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["FOLLOWED", "NAMES", "UNTRACED", "VERSIONS", "function_named", "untraced_functions"]

#: The versions of NumPy whose source passes the tests, by how they begin.
VERSIONS = ("2.2.", "2.3.", "2.4.", "2.5.")
#: Functions whose source is not traced in some of them.
UNTRACED: dict[str, tuple[str, ...]] = {}
#: Their names in numpy.
NAMES = tuple("insert".split())


def function_named(name: str) -> Any:
    """The function of NumPy of a dotted name."""
    module, _, last = name.rpartition(".")
    return getattr(getattr(np, module) if module else np, last)


def _is_traced(name: str) -> bool:
    """Whether the source in the NumPy installed is one that passes the tests."""
    return np.__version__.startswith(VERSIONS) and not np.__version__.startswith(
        UNTRACED.get(name, ())
    )


FOLLOWED: frozenset[Any] = frozenset(function_named(n) for n in NAMES if _is_traced(n))


def untraced_functions() -> tuple[str, ...]:
    """Returns the names in numpy of the functions that the NumPy installed has to be called for."""
    return tuple(name for name in NAMES if function_named(name) not in FOLLOWED)
