"""A loop that was traced before, inside another, begins with what it carried then.

The trace before knew more, so that what was carried then is needed now; whatever cannot be told is
left out, and found as in a first trace.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

from tracejit.frontend.control.kinds import (
    MISSING,
    kinds_of,
    kinds_of_both,
    of_kind,
    parts_of,
    same_constant,
)
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
    merged_of,
)
from tracejit.frontend.control.loop_parts import parts_in
from tracejit.frontend.control.regions import Side
from tracejit.frontend.control.unions import is_number
from tracejit.frontend.control.weak_carried import Weak
from tracejit.frontend.control.widening import unlike
from tracejit.frontend.tracing.carried_sizes import CarriedSizes
from tracejit.frontend.tracing.contents import contents_of
from tracejit.frontend.tracing.fixpoints import Fixpoint
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.pytree import is_constant
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift
from tracejit.frontend.tracing.weak_scalar import WeakScalar, becomes
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import attr_key
from tracejit.ir.types import ArrayType

__all__ = ["carries_too_much", "fixpoint_of", "forget", "kind_at_start", "recall", "require_alike"]


def kind_at_start(x: Any) -> Hashable:
    """The type of a number or array, a number itself where it is known; None for others."""
    if isinstance(x, (bool, int, float, complex)):
        return type(x), attr_key(x)
    if isinstance(x, WeakScalar):
        return "weak", x.later
    return x.type if isinstance(x, Tracer) else None


def require_alike(loop: Any) -> None:
    """Raise Unlike where a loop is known to begin with another type than its iterations leave, and
    where it has been asked which of the two a number is.
    """
    if loop.nested.unlike is not None:
        name, kind, error = loop.nested.unlike
        if name in loop.at_head and name in loop.start and kind_at_start(loop.start[name]) == kind:
            raise Unlike(error.code, error.detail, error.where)
    for name, x in loop.weak:
        if x.asked:
            cell = loop.names.cells[name]
            loop.parent.asked[id(cell)] = cell
            error = unlike(loop.start[name], x.strong)
            loop.nested.differs(name, kind_at_start(loop.start[name]), error)
            raise error


def fixpoint_of(loop: Any) -> Fixpoint:
    """What a loop that has settled carries."""
    parts = {key: list(carries) for key, carries in loop.parts.items()}
    names, objects = dict(loop.carries), dict(loop.objects)
    memory = list(loop.storages), set(loop.left_out), dict(loop.clobbered)
    return Fixpoint(names, *memory, objects, parts, loop.grown.places)


def recall(loop: Any) -> bool:
    """Let a loop carry what it is known to need; whether anything is known."""
    found = loop.nested.fixpoint
    if found is None or any(carry is not SAME for carry in loop.carries.values()):
        return False
    grown, parent, interpreter = loop.grown, loop.parent, loop.interpreter
    symbols = grown.recall(found.sizes)

    def again(carry: LoopCarried, x: Any) -> LoopCarried:
        return _recalled(interpreter, carry, x, grown, symbols)

    loop.carries = {n: again(carry, loop.first(n)) for n, carry in found.carries.items()}
    loop.storages = [c for c in found.storages if c.trace.encloses(parent)]
    loop.left_out = {c for c in found.left_out if c.trace.encloses(parent)}
    loop.clobbered = {c: None for c in found.clobbered if c.trace.encloses(parent)}
    for key, x in found.objects.items():
        made, now = interpreter.owner_of(x), parts_in(contents_of(x))
        lives = made is None or made.encloses(parent)
        if lives and len(now) == len(found.parts[key]):
            loop.objects[key] = x
            loop.parts[key] = list(map(again, found.parts[key], now))
    return True


def forget(loop: Any) -> None:
    """Let a loop carry nothing, as before its first trace."""
    loop.carries = dict.fromkeys(loop.carries, SAME)
    loop.storages, loop.left_out, loop.clobbered = [], set(), {}
    loop.objects, loop.parts = {}, {}
    loop.grown.recall({})


def carries_too_much(loop: Any, side: Side) -> bool:
    """Whether an iteration leaves as it is what an earlier trace has seen changed."""
    if any(side.states[c][2] == version for c, version in loop.versions.items()):
        return True
    return any(
        side.names[n] is x and not (isinstance(x, TracedArray) and x.storage.written)
        for n, x in loop.heads.items()
        if n in loop.at_head and not isinstance(loop.carries[n], Same)
    )


def _recalled(
    interpreter: Interpreter,
    carry: LoopCarried,
    start: Any,
    sizes: CarriedSizes,
    symbols: Mapping[str, str],
) -> LoopCarried:
    """The carry for an object that begins as `start`, like that of another trace of the loop.

    `symbols` are the new names of the sizes that it carried. SAME for what cannot be told now.
    """
    if isinstance(carry, Weak) and becomes(start, carry.types[0]):
        return carry
    if isinstance(carry, (_Number, Weak)):
        fits = start is MISSING or (is_number(start) and lift(start).type == carry.types[0])
        return _Number(carry.types[0]) if fits else SAME
    if isinstance(carry, _Array):
        return _recalled_array(carry, start, sizes, symbols)
    if isinstance(carry, _Fixed):
        fits = is_constant(carry.value) if start is MISSING else same_constant(start, carry.value)
        return carry if fits else SAME
    children: list[Any]
    if isinstance(carry, _Parts):
        found = None if start is MISSING else parts_of(start)
        if found is None or found[:2] != (carry.cls, carry.keys):
            return SAME
        children = found[2]
        if len(children) != len(carry.children):
            return SAME
        pairs = zip(carry.children, children, strict=True)
        parts = [_recalled(interpreter, c, x, sizes, symbols) for c, x in pairs]
        return _Parts(carry.cls, carry.keys, parts)
    if isinstance(carry, _Union) and start is not MISSING:
        if kinds_of_both(kinds_of(start), carry.kinds) != list(carry.kinds):
            return SAME
        inner: list[LoopCarried] = []
        for kind, c in zip(carry.kinds, carry.inner, strict=True):
            if c is None:
                inner.append(SAME)
            else:
                before = of_kind(interpreter, start, kind)
                inner.append(_recalled(interpreter, c, before, sizes, symbols))
                if isinstance(inner[-1], Same) and not isinstance(c, Same):
                    return SAME
        return _Union(interpreter, carry.kinds, inner)
    return SAME


def _recalled_array(
    carry: _Array, start: Any, sizes: CarriedSizes, symbols: Mapping[str, str]
) -> LoopCarried:
    t, array = carry.types[0], None if start is MISSING else merged_of(start)
    assert isinstance(t, ArrayType)
    if start is not MISSING:
        first = None if array is None else array.type
        if first is None or (first.dtype, first.ndim) != (t.dtype, t.ndim):
            return SAME
        grown: dict[Dim, Dim] = {symbol(old): symbol(new) for old, new in symbols.items()}
        shape = tuple(grown.get(d, e) for d, e in zip(t.shape, first.shape, strict=True))
        t = ArrayType(t.dtype, shape, first.order)
    elif not sizes.parent.env.is_known(*t.shape):
        return SAME
    if carry.start is not None and not isinstance(start, TracedArray):
        return SAME
    out = _Array(t, carry.shared, None if carry.start is None else start, sizes)
    out.outer = {c: None for c in carry.outer if c.trace.encloses(sizes.parent)}
    return out
