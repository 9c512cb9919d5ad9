"""Chooses what a new variant assumes, and drives its compile: retry with constants, why, dump."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit import config
from tracejit.errors import TraceError
from tracejit.frontend import control
from tracejit.frontend.containers import flatten
from tracejit.runtime.binding import Form, Places
from tracejit.runtime.compile import Lowered, Traced, trace_call
from tracejit.runtime.publish import compile_and_publish
from tracejit.runtime.signature import History, Specialization, leaf_key, rank_key, specialize
from tracejit.runtime.variant import Variant

__all__ = ["lower_call", "specialize_call"]

assert control  # the explicit forms look for it to know that something may be traced


def _trace(
    self: Any, structure: Any, history: History, leaves: Any, tree: Any
) -> tuple[Traced, Specialization]:
    """Trace with numbers traced; where the trace needs their values, once more with constants."""

    def attempt(scalars_static: bool) -> tuple[Traced, Specialization]:
        chosen = specialize(leaves, history, scalars_static=scalars_static)
        return trace_call(self.__tracejit__, chosen, leaves, tree, self._captured), chosen

    if structure.scalars_static:
        return attempt(True)
    try:
        return attempt(False)
    except TraceError as e:
        numbers = any(isinstance(x, (int, float, complex, np.generic)) for x in leaves)
        if e.code not in ("TJ001", "TJ015") or not numbers:
            raise
    result = attempt(True)
    structure.scalars_static = True
    return result


def _reason(self: Any, structure: Any, leaves: Any, tree: Any) -> str:
    """Why this call needs a compile of its own."""
    if not self._report.compiles:
        return "first call"
    stale = [v.stale for v in structure.variants if v.stale]
    if stale:
        return str(stale[-1])
    if structure.variants:
        if structure.scalars_static:
            return "new value of a number that the trace needs"
        return "new size made symbolic, or a guard that no longer holds"
    known = [k[1] for k, s in self._structures.items() if s.variants and k[0] == tree]
    return _what_is_new(known, tuple(leaf_key(x) for x in leaves))


def _what_is_new(known: list[tuple[Any, ...]], key: tuple[Any, ...]) -> str:
    """How the keys of a call's leaves differ from those of the nearest call that was compiled."""
    if not known:
        return "new structure of the arguments, or a new constant among them"

    def distance(other: tuple[Any, ...]) -> int:
        pairs = [(a, b) for a, b in zip(other, key, strict=True) if a != b]
        return sum(1 + (_kind(a) != _kind(b)) for a, b in pairs)

    nearest = min(known, key=distance)
    changed = [(a, b) for a, b in zip(nearest, key, strict=True) if a != b]
    return _difference(*changed[0]) if changed else "new arguments"


def _kind(key: Any) -> str:
    """What a leaf's key stands for: an array, "scalar" or "static", or a Python number's type."""
    if isinstance(key, str):
        return key
    return "array" if isinstance(key[1], tuple) else str(key[0])


def _difference(old: Any, new: Any) -> str:
    """How one leaf's key differs from another's; keys are those that `leaf_key` makes."""
    if _kind(old) != _kind(new):
        return "new kind of argument"
    if _kind(new) == "static":
        return "new constant"
    if _kind(new) == "scalar":
        return f"new dtype {new[1]}"
    if old[0] != new[0]:
        return f"new dtype {new[0]}"
    if len(old[1]) != len(new[1]):
        return "new number of axes"
    return "a size that is 0 or 1" if old[1] != new[1] else "new memory layout"


def specialize_call(
    self: Any, structure: Any, leaves: Any, tree: Any, form: Form, places: Places
) -> tuple[Variant, str, str]:
    """A variant for this call, the reason for it and its signature as text.

    Calls of this form are answered natively from now on, if they can be.
    Raises TraceError where the call must run eagerly, GraphError where the compiler cannot go on.
    """
    history = self._histories.setdefault(rank_key(leaves), History())
    reason = _reason(self, structure, leaves, tree)
    traced, chosen = _trace(self, structure, history, leaves, tree)
    lowered = Lowered(traced)
    variant = compile_and_publish(self, lowered, tree, form, places)
    directory = config.dump_dir()
    if directory is not None:
        from tracejit.runtime.dump import dump_compile

        dump_compile(directory, lowered, reason, chosen.text)
    return variant, reason, chosen.text


def lower_call(self: Any, args: Any, kwargs: Any) -> Lowered:
    """The stages of a compile for these arguments, as a first call would make it.

    Raises TraceError where the call cannot be traced, TypeError where the arguments do not bind.
    """
    bound = self._signature.bind(*args, **kwargs)
    leaves, tree = flatten(bound.args, bound.kwargs)
    for x in leaves:
        leaf_key(x)

    class _Fresh:
        scalars_static = False

    traced, _ = _trace(self, _Fresh(), History(), leaves, tree)
    return Lowered(traced)
