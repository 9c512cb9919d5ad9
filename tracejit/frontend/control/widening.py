"""What a loop carries is widened until it holds both what it starts with and what it ends with."""

from __future__ import annotations

from typing import Any

from tracejit.frontend.control.kinds import (
    MISSING,
    kinds_of,
    kinds_of_both,
    machine,
    of_kind,
    parts_of,
    same_constant,
)
from tracejit.frontend.control.loop_aliases import end_labels
from tracejit.frontend.control.loop_carried import (
    SAME,
    LoopCarried,
    Same,
    Unlike,
    _Array,
    _Fixed,
    _Number,
    _Parts,
    _Union,
    arrays_in,
    merged_of,
)
from tracejit.frontend.control.regions import Side
from tracejit.frontend.control.unions import is_absent, is_number, leaves_of
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift
from tracejit.frontend.tracing.union import Union
from tracejit.ir.types import ArrayType, Type

__all__ = ["union_carry", "unlike", "widened"]


def widened(
    interpreter: Interpreter, side: Side, carry: LoopCarried, start: Any, end: Any
) -> LoopCarried:
    """The carry for an object that begins as `start` and is `end` after an iteration.

    Raises Unlike where no carry takes both.
    """
    if isinstance(carry, Same) and same_constant(start, end):
        return carry
    new = _carry(interpreter, side, start, end)
    if new is None:
        raise unlike(start, end)
    return carry if new.like(carry) else new


def unlike(start: Any, end: Any) -> Unlike:
    """The error of a loop that begins with `start` and has `end` after an iteration."""
    return Unlike("TJ011", f"a loop carries {_say(start)}, then {_say(end)}", user_line())


def _carry(interpreter: Interpreter, side: Side, start: Any, end: Any) -> LoopCarried | None:
    if isinstance(start, Union):
        start = start.known()
    if isinstance(end, Union):
        with side.reopened():
            end = end.known()
    if start is not MISSING and same_constant(start, end):
        return SAME
    if is_number(end) and (start is MISSING or is_number(start)):
        t = _type(end, side)
        return _Number(t) if start is MISSING or lift(start).type == t else None
    if start is MISSING and isinstance(end, TracedArray) and not side.region.encloses(end.trace):
        return _Fixed(end)
    with side.reopened():
        is_array = merged_of(end) is not None
    if is_array and (start is MISSING or merged_of(start) is not None):
        return _array_carry(side, start, end)
    if start is MISSING and not isinstance(end, Union) and not _made_in(interpreter, side, end):
        return _Fixed(end)
    if isinstance(start, Union) or isinstance(end, Union) or is_absent(start) != is_absent(end):
        return union_carry(interpreter, side, start, end)
    parts, others = parts_of(end), None if start is MISSING else parts_of(start)
    if parts is None or (start is not MISSING and (others is None or others[:2] != parts[:2])):
        return None
    children = [MISSING] * len(parts[2]) if others is None else others[2]
    if len(children) != len(parts[2]) or not _rebuildable(interpreter, side, end):
        return None
    interpreter.aliases.require_current(end, trace=side.region)
    carries = [_carry(interpreter, side, a, b) for a, b in zip(children, parts[2], strict=True)]
    if any(c is None for c in carries):
        return None
    labels = end_labels(interpreter, side, end)
    return _Parts(parts[0], parts[1], [c for c in carries if c is not None], *labels)


def _rebuildable(interpreter: Interpreter, side: Side, x: Any) -> bool:
    made = interpreter.owner_of(x)
    return isinstance(x, tuple) or (made is not None and side.region.encloses(made))


def _type(x: Any, side: Side) -> Type:
    with side.reopened(containers=False):
        return lift(x).type


def _array_carry(side: Side, start: Any, end: Any) -> LoopCarried | None:
    with side.reopened():
        t = merged_of(end).value().type
    sizes = side.region.carried_sizes
    assert isinstance(t, ArrayType) and sizes is not None
    before, order = None, t.order
    ends = [x.storage for x in arrays_in(end) if not x.storage.carried and x is not start]
    shared = any(not side.region.encloses(c.trace) or c.input is not None for c in ends)
    if start is not MISSING:
        first = merged_of(start).type
        if first.dtype != t.dtype or first.ndim != t.ndim:
            return None
        before, order = first.shape, first.order
    shape = sizes.shape(side.region, before, t.shape)
    if shape is None:
        return None
    t = ArrayType(t.dtype, shape, order)
    caller = isinstance(start, TracedArray) and bool(start.storage.input is not None or start.views)
    with side.reopened():
        stays = caller and any(leaf is start for leaf in leaves_of(end))
    out = _Array(t, shared, start if stays else None, sizes)
    # What a loop or a branch inside leaves may be what any name began the iteration with.
    roots = set().union(*(c.roots() for c in ends))
    out.outer = {
        c: None for c in sorted(roots, key=lambda c: c.version) if not side.region.encloses(c.trace)
    }
    return out


def _made_in(interpreter: Interpreter, side: Side, x: Any) -> bool:
    if isinstance(x, Tracer):
        return side.region.encloses(x.trace)
    if isinstance(x, SymInt) or parts_of(x) is not None:
        return True
    made = interpreter.owner_of(x)
    return made is not None and side.region.encloses(made)


def union_carry(interpreter: Interpreter, side: Side, start: Any, end: Any) -> LoopCarried | None:
    """The carry for what is of one kind at first, and of another one then; None without one."""
    first = kinds_of(start) if start is not MISSING else []
    with side.reopened():
        kinds = kinds_of_both(first, kinds_of(end))
        last = [of_kind(interpreter, end, kind) for kind in kinds]
    if len(kinds) < 2:
        return None
    inner: list[LoopCarried] = []
    for kind, x in zip(kinds, last, strict=True):
        before = of_kind(interpreter, start, kind)
        if machine(kind) is not None:
            carry: LoopCarried | None = SAME
        elif x is MISSING:
            carry = _Fixed(before)
        else:
            carry = _carry(interpreter, side, before, x)
            if isinstance(carry, Same):
                carry = _Fixed(x)
        if carry is None:
            return None
        inner.append(carry)
    return _Union(interpreter, kinds, inner)


def _say(x: Any) -> str:
    if isinstance(x, Tracer):
        return str(x.type)
    if isinstance(x, Union):
        return f"({_say(x.first)} or {_say(x.second)})"
    return repr(x) if is_absent(x) or is_number(x) else f"a {type(x).__name__}"
