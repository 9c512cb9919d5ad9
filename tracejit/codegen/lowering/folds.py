"""Reductions of complex elements whose parts are combined together: from left to right.

A product takes both parts of both factors, and extremes compare by the real parts, then by the
imaginary ones: what is carried is a pair. The first NaN stays, as in NumPy.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias, cast

from tracejit.codegen.lowering.complex_extremes import ExtremePosition
from tracejit.codegen.lowering.index_maps import Lowering
from tracejit.codegen.lowering.updates import nest
from tracejit.ir.dims import Dim, floordiv, symbol
from tracejit.ir.graph import Value
from tracejit.ir.kernel import Call, Carry, Const, Expr, IndexValue, ScanLoop, Stmt, Var
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, dtype_name
from tracejit.ops.array.complex_elements import COMPLEX_RULES, is_nan
from tracejit.ops.array.elementwise import Elementwise, parts_dtype
from tracejit.ops.array.reduction import ArgExtreme, Reduction

__all__ = ["lower_arg_fold", "lower_fold"]

#: How elements are combined -> the op of two elements, and the parts of what it begins with.
_FOLDS: dict[str, tuple[str, tuple[float, float]]] = {
    "prod": ("multiply", (1.0, 0.0)),
    "min": ("minimum", (math.inf, math.inf)),
    "max": ("maximum", (-math.inf, -math.inf)),
}
#: The same for positions of extremes: where the former of two stays.
_POSITIONS = {
    "argmin": ("less_equal", (math.inf, math.inf)),
    "argmax": ("greater_equal", (-math.inf, -math.inf)),
}


#: What is carried: the parts of an element, and its position where that is wanted.
_State: TypeAlias = tuple[Expr, ...]
_Combine: TypeAlias = Callable[[_State, _State], _State]
#: So many elements are combined with each other before what is carried is, where the order of
#: combining does not matter: one waits for the other.
_AT_ONCE = 8
#: Along an axis of so many elements, positions of extremes are searched in blocks.
_LONG = 64


def lower_fold(low: Lowering, v: Value) -> list[Stmt]:
    """A reduction over axes: products in C order of the elements, extremes in that of memory.

    NumPy's extremes are: of several NaN the first one stays.
    """
    node = low.producer[v]
    op, t = node.op, node.inputs[0].type
    assert isinstance(op, Reduction) and isinstance(t, ArrayType)
    name, start = _FOLDS[op.combine]
    rule = cast("Elementwise", OPS[name])
    dtype = dtype_name(t.dtype)

    def combine(old: _State, x: _State) -> _State:
        found = rule.scalar(((old[0], old[1]), (x[0], x[1])), [dtype] * 2, dtype)
        assert isinstance(found, tuple)
        return found

    starts = tuple(Const(value, parts_dtype(dtype)) for value in start)
    axes: tuple[int, ...] = node.attrs["axes"]
    if op.combine == "prod":
        return _folded(low, v, axes, starts, combine, 1)
    return _folded(low, v, tuple(a for a in t.order if a in axes), starts, combine, _AT_ONCE)


def lower_arg_fold(low: Lowering, v: Value) -> list[Stmt]:
    """The position of an extreme along an axis: the first of equal ones, and the first NaN."""
    node = low.producer[v]
    op, t = node.op, node.inputs[0].type
    assert isinstance(op, ArgExtreme) and isinstance(t, ArrayType)
    axis, part = node.attrs["axis"], parts_dtype(dtype_name(t.dtype))
    size = t.shape[axis]
    last = axis == t.ndim - 1 == t.order[-1]
    if last and not (isinstance(size, int) and size < _LONG):
        return _by_blocks(low, v, op.combine.removeprefix("arg"), part)
    name, start = _POSITIONS[op.combine]

    def combine(old: _State, x: _State) -> _State:
        held, new = (old[0], old[1]), (x[0], x[1])
        in_order = COMPLEX_RULES[name](part, (held, new))
        assert not isinstance(in_order, tuple)
        stays = low.let(Call("logical_or", (in_order, is_nan(part, held)), "b1"))
        pairs = zip(old, x, strict=True)
        return tuple(Call("select", (stays, a, b), a.dtype) for a, b in pairs)

    starts = (*(Const(value, part) for value in start), Const(0, "i64"))
    return _folded(low, v, (axis,), starts, combine, _AT_ONCE)


def _by_blocks(low: Lowering, v: Value, kind: str, part: str) -> list[Stmt]:
    """The positions of extremes along the last axis, where it has many elements, all neighbours."""
    (x,) = low.producer[v].inputs
    t = x.type
    assert isinstance(t, ArrayType)
    outer = low.nested()
    names = [low.loop_var() for _ in t.shape[:-1]]
    row = tuple(symbol(n) for n in names)

    def at(position: Dim) -> tuple[Expr, Expr]:
        element = low.element(x, (*row, position))
        assert isinstance(element, tuple)
        return element

    low.store(v, row, ExtremePosition(low, kind, part, at, t.shape[-1]).emit())
    body, low.scope = low.scope.body, outer
    return nest(list(zip(names, t.shape[:-1], strict=True)), body, vector=False)


def _folded(
    low: Lowering,
    v: Value,
    axes: tuple[int, ...],
    starts: _State,
    combine: _Combine,
    at_once: int,
) -> list[Stmt]:
    """Loops over the axes, one in the other, that carry what is combined.

    A third part, which alone is stored then, is the position along the innermost axis.
    """
    node = low.producer[v]
    t = node.inputs[0].type
    assert isinstance(t, ArrayType)
    outer = low.nested()
    names = [low.loop_var() for _ in range(t.ndim)]
    index: list[Dim] = [symbol(n) for n in names]
    kept = [a for a in range(t.ndim) if a not in axes]
    lanes = bool(kept) and kept[-1] == t.ndim - 1

    def state(position: Dim | None) -> _State:
        place = list(index)
        if position is not None:
            place[axes[-1]] = position
        x = low.element(node.inputs[0], tuple(place))
        assert isinstance(x, tuple)
        counted = () if len(starts) == 2 else (IndexValue(position or 0),)
        return (*x, *counted)

    if axes:
        held = [tuple(Var(low.name("c"), s.dtype) for s in starts) for _ in axes[:-1]]
        begin = held[-1] if held else starts
        size = t.shape[axes[-1]]
        body, following = _line(low, state, size, begin, combine, 1 if lanes else at_once)
        for k in reversed(range(len(held))):
            carries = _carries(held[k], held[k - 1] if k else starts, following)
            body = [ScanLoop(names[axes[k]], t.shape[axes[k]], tuple(body), carries)]
            following = held[k]
        low.scope.body += body
    else:
        following = combine(starts, state(None))
    low.store(
        v,
        tuple(symbol(names[a]) for a in kept),
        (following[0], following[1]) if len(following) == 2 else following[-1],
    )
    body = low.scope.body
    low.scope = outer
    return nest([(names[a], t.shape[a]) for a in kept], body, vector=lanes)


def _line(
    low: Lowering,
    state: Callable[[Dim], _State],
    size: Dim,
    begin: _State,
    combine: _Combine,
    at_once: int,
) -> tuple[list[Stmt], _State]:
    """Loops over the elements of the innermost axis, and what they carry at last."""
    loops: list[Stmt] = []
    whole = floordiv(size, at_once)
    for count, start, step in ((whole, 0, at_once), (size - whole * at_once, whole * at_once, 1)):
        if count == 0:
            continue
        held = tuple(Var(low.name("c"), s.dtype) for s in begin)
        var = low.loop_var()
        outer = low.nested()
        found = [state(symbol(var) * step + start + k) for k in range(step)]
        while len(found) > 1:
            pairs = zip(found[::2], found[1::2], strict=True)
            found = [tuple(low.let(e) for e in combine(a, b)) for a, b in pairs]
        following = tuple(low.let(e) for e in combine(held, found[0]))
        body = low.scope.body
        low.scope = outer
        loops.append(ScanLoop(var, count, tuple(body), _carries(held, begin, following)))
        begin = held
    return loops, begin


def _carries(held: _State, begin: _State, following: _State) -> tuple[Carry, ...]:
    found = []
    for var, start, new in zip(held, begin, following, strict=True):
        assert isinstance(var, Var)
        found.append(Carry(var.name, var.dtype, start, new))
    return tuple(found)
