"""Stores to places that data tell, where no order of the iterations shows in the result.

    o[p] = o[p] + v     an atomic addition, of integers alone: these wrap around
    o[p] = o[p] | v     of truths: the iterations that decide store, and all of these the same
    o[p] = c            all store the same, where c is that of every iteration

Such stores need no sort: the iterations run side by side. Floats keep their order: sums of them are
rounded, and of two zeros or two NaNs the extreme is the one that came first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tracejit.codegen.accesses import accessed
from tracejit.codegen.cuda.structure import checks_index, names_in, needed
from tracejit.codegen.llvm.lanes import bits, is_integer
from tracejit.ir.kernel import Call, Const, Expr, For, If, Let, Load, ScanLoop, Stmt, Store, Var
from tracejit.passes.loops.updates import DTYPES_UPDATED, UPDATES

__all__ = ["ATOMICS", "side_by_side", "update_by"]

#: What updates an element at once. A `Store` of a call of such a function updates by the argument.
#: Only plans have them, and kernels of loops: of nothing else is it known that no order shows.
ATOMICS = frozenset(f"atomic_{kind}" for kind in UPDATES.values())
#: Functions whose low bits come of low bits alone: in a wider type they are the same.
_OF_LOW_BITS = frozenset(UPDATES) - {"minimum", "maximum"}
#: Functions of truths, and the truth of the other operand that decides: it is the new value.
_OF_TRUTHS = {
    **dict.fromkeys(("add", "maximum", "bitwise_or", "logical_or"), True),
    **dict.fromkeys(("multiply", "minimum", "bitwise_and", "logical_and"), False),
}


def side_by_side(
    body: Sequence[Stmt], dtypes: Mapping[str, str]
) -> tuple[list[For], tuple[Stmt, ...]] | None:
    """Loops in order as independent ones, and what an iteration does then; None for others.

    `dtypes` are those of buffers.
    """
    loops: list[For] = []
    while len(body) == 1 and isinstance(loop := body[0], ScanLoop) and not loop.carries:
        loops.append(For(loop.var, loop.size, loop.body))
        body = loop.body
    if not loops or not body or not isinstance(store := body[-1], Store):
        return None
    lets = [s for s in body[:-1] if isinstance(s, Let)]
    if len(lets) + 1 != len(body):
        return None
    # An iteration that fails must not leave the stores of others.
    if any(map(checks_index, (store.expr, *(s.expr for s in lets)))):
        return None
    found = [_update(store, {s.name: s.expr for s in lets}, dtypes[store.buffer])]
    if not names_in(_with_needed(lets, Let("", "", store.expr))) & {x.var for x in loops}:
        found.append(store)
    for last in found:
        # What else is read of the elements, a place or a value, may be before or after an update.
        if last is not None and store.buffer not in accessed(made := _with_needed(lets, last))[0]:
            return loops, made
    return None


def _with_needed(lets: Sequence[Let], s: Stmt) -> tuple[Stmt, ...]:
    return *needed(lets, [s]), s


def _update(store: Store, lets: Mapping[str, Expr], dtype: str) -> Stmt | None:
    """What updates an element in one step; None where that depends on the order."""

    def value(e: Expr) -> Expr:
        """What has the same low bits, without names and casts around it."""
        while True:
            if isinstance(e, Var) and e.name in lets:
                e = lets[e.name]
            elif isinstance(e, Call) and e.fn == "cast" and has_low_bits(e, *e.args):
                (e,) = e.args
            else:
                return e

    def has_low_bits(*operands: Expr) -> bool:
        kinds = [e.dtype for e in operands]
        return all(is_integer(k) and bits(k) >= bits(dtype) for k in kinds)

    step = value(store.expr)
    if not isinstance(step, Call) or len(step.args) != 2:
        return None
    old = Load(store.buffer, store.index, dtype)
    places = [k for k, e in enumerate(step.args) if value(e) == old]
    if len(places) != 1 or (step.fn == "subtract" and places != [0]):
        return None
    other = step.args[1 - places[0]]
    if {dtype, *(e.dtype for e in step.args)} == {"b1"} and step.fn in _OF_TRUTHS:
        decides = _OF_TRUTHS[step.fn]
        condition = other if decides else Call("logical_not", (other,), "b1")
        return If(condition, (replace(store, expr=Const(decides, "b1")),), ())
    if dtype not in DTYPES_UPDATED or step.fn not in UPDATES or not has_low_bits(*step.args):
        return None
    if step.fn not in _OF_LOW_BITS and any(e.dtype != dtype for e in step.args):
        return None
    if other.dtype != dtype:
        other = Call("cast", (other,), dtype)
    return replace(store, expr=update_by(step.fn, other))


def update_by(fn: str, other: Expr) -> Call:
    """What a `Store` has that applies a function to the old element and another value."""
    if fn == "subtract":
        other = Call("subtract", (Const(0, other.dtype), other), other.dtype)
    return Call(f"atomic_{UPDATES[fn]}", (other,), other.dtype)
