"""Functions of NumPy and SciPy without an op: which there are, and what becomes of them."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Hashable, Iterator
from typing import Any

import tracejit.frontend.interpreter.entry  # noqa: F401 - fills registries
from tracejit.frontend.host.functions import spelled
from tracejit.frontend.numpy.registry import HANDLERS, PRELUDE
from tracejit.ir.op import OPS
from tracejit.ops.array.elementwise import UFUNC_OPS, ImportedUfunc
from tracejit.ops.host.derivatives.registry import RULES
from tracejit.ops.host.registered import host_path

__all__ = ["fate", "host_functions"]

#: Where users find functions.
_MODULES = (
    "numpy",
    "numpy.linalg",
    "numpy.fft",
    "scipy.fft",
    "scipy.linalg",
    "scipy.ndimage",
    "scipy.signal",
    "scipy.spatial.distance",
    "scipy.special",
    "scipy.stats",
)


def host_functions() -> dict[str, list[str]]:
    """The functions that are called while the program runs, by module."""
    out = {}
    for name in _MODULES:
        module = importlib.import_module(name)
        known = {n: getattr(module, n) for n in module.__all__}
        out[name] = sorted(n for n, f in known.items() if fate(f)[0] == "host")
    return out


def fate(function: Any) -> tuple[str, str]:
    """What becomes of calls of a function: ("ops" | "traced" | "host" | "eager", what that means).

    Of a host call it is also said whether it has a derivative.
    """
    hashed = isinstance(function, Hashable)
    if hashed and (function in HANDLERS or function in UFUNC_OPS):
        return "ops", "becomes ops of the graph"
    if hashed and function in PRELUDE:
        return "traced", "is traced from the prelude, which has it in NumPy's simpler functions"
    path = None if isinstance(function, type) else host_path(function)
    if path is not None and spelled(path) in _meanings():
        return "ops", "becomes ops of the graph"
    if path is None:
        return "eager", "is not known to be pure: a function that calls it runs eagerly"
    by = ", ".join(_derivative(path))
    what = f"with derivatives by {by}" if by else "without a derivative"
    return "host", f"is called while the program runs, {what}"


def _meanings() -> set[str]:
    """The functions of other libraries than NumPy that are the meaning of an op."""
    given = {op: inspect.getattr_static(op, "numpy") for op in OPS.values()}
    return {x.path(op) for op, x in given.items() if isinstance(x, ImportedUfunc)}


def _derivative(path: str) -> Iterator[str]:
    """The parameters by which there is a rule."""
    for known, rule in RULES.items():
        if spelled(known) == spelled(path):
            yield from rule.parameters
