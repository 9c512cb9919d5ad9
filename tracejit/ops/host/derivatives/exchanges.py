"""Cotangents go back through exchanges by exchanges: those of the sum of all processes' results.

    y = all_reduce(x, "sum")        x_bar = all_reduce(y_bar, "sum")        "mean" likewise
    y = all_gather(x)               x_bar = reduce_scatter(y_bar, "sum")
    y = reduce_scatter(x, "sum")    x_bar = all_gather(y_bar), joined       "mean": divided
    y = broadcast(x, root)          x_bar = all_reduce(y_bar, "sum") on the root, zero elsewhere

An exchange is linear, and each process's result takes part in what all of them are differentiated
for: the rules are its transposes (so JAX's psum, and torch.distributed.nn).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tracejit.errors import Underivable
from tracejit.ir.derivatives import DerivativeBuilder, NodeAdaptor, tangent_type
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, Type, dtype_name, dtype_of

__all__ = ["exchange_vjp"]


def exchange_vjp(
    c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
) -> list[Value | None]:
    """The cotangents of the operands, of which the first is a token. Raises Underivable."""
    (_, kind), *given = at.attrs["arguments"]
    numbers = [n for _, n in (given[0][1:] if given[0][0] == "list" else given[:1])]
    extra = [value for _, value in given[1:]]
    if (kind, *extra) in (("all_reduce", "sum"), ("all_reduce", "mean")):
        found = _exchanged(c, at, "all_reduce", _whole(c, at, cotangents), *extra)
    elif kind == "broadcast":
        found = _exchanged(c, at, "reduce_to", _whole(c, at, cotangents), *extra)
    elif kind == "all_gather":
        found = [_part(c, at, cotangents[1])]
    elif kind == "reduce_scatter" and extra[0] in ("sum", "mean"):
        found = [_joined(c, at, cotangents[1], extra[0])]
    else:
        what = f"{kind} of {extra[0]!r}" if extra and isinstance(extra[0], str) else kind
        raise Underivable(f"tracejit.dist.{what} has no derivative rule")
    out: list[Value | None] = [None] * len(at.inputs)
    for number, g in zip(numbers, found, strict=True):
        before = out[number + 1]
        out[number + 1] = g if before is None else c.add(before, g)
    return out


def _whole(
    c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
) -> list[Value]:
    """The cotangents of the results behind the token: all processes send all of them."""
    pairs = zip(at.outputs[1:], cotangents[1:], strict=True)
    return [c.zeros(t) if g is None else g for t, g in pairs]


def _exchanged(
    c: DerivativeBuilder, at: NodeAdaptor, kind: str, values: Sequence[Value], *extra: Any
) -> list[Value]:
    """What an exchange of several values gives. Raises Underivable."""
    operands = tuple([("operand", k) for k in range(len(values))])
    types = [_described(v.type) for v in values]
    return _recorded(c, at, kind, values, ("list", *operands), ("list", *operands), types, extra)


def _recorded(
    c: DerivativeBuilder,
    at: NodeAdaptor,
    kind: str,
    values: Sequence[Value],
    argument: Any,
    result: Any,
    types: Sequence[Any],
    extra: Sequence[Any],
) -> list[Value]:
    if c.effects is None:
        raise Underivable("what is exchanged in a loop or a branch has no derivative rule")
    constants = [("constant", x) for x in extra]
    c.effects, *found = c.ops(
        "host_exchange",
        (c.effects, *values),
        function=at.attrs["function"],
        arguments=(("constant", kind), argument, *constants),
        keywords=(),
        result=result,
        types=tuple(types),
    )
    return found


def _one(
    c: DerivativeBuilder, at: NodeAdaptor, kind: str, g: Value, shape: Any, *extra: Any
) -> Value:
    """What an exchange of one value gives: an array of this shape."""
    described = _of_shape(dtype_name(dtype_of(g.type)), shape)
    operand = ("operand", 0)
    (found,) = _recorded(c, at, kind, [g], operand, operand, [described], extra)
    return found


def _part(c: DerivativeBuilder, at: NodeAdaptor, g: Value | None) -> Value:
    """The sum over all processes of this one's part of what they have gathered."""
    assert g is not None and isinstance(g.type, ArrayType)
    part = _one(c, at, "reduce_scatter", g, (1, *g.type.shape[1:]), "sum")
    t = tangent_type(at.inputs[1])
    if isinstance(t, ArrayType):
        return c.op("reshape", part, shape=t.shape)
    return c.op("element", c.op("reshape", part, shape=()))


def _joined(c: DerivativeBuilder, at: NodeAdaptor, g: Value | None, op: str) -> Value:
    """The parts of all processes one after another."""
    whole = at.inputs[1]
    assert g is not None and isinstance(g.type, ArrayType) and isinstance(whole, ArrayType)
    first, part = whole.shape[0], g.type.shape[0]
    if not isinstance(first, int) or not isinstance(part, int) or not part:
        raise Underivable("tracejit.dist.reduce_scatter has no derivative rule for such sizes")
    size = first // part
    found = _one(c, at, "all_gather", g, (size, *g.type.shape))
    found = c.op("reshape", found, shape=whole.shape)
    return found if op == "sum" else c.scale(found, 1 / size)


def _described(t: Type) -> Any:
    t = tangent_type(t)
    if isinstance(t, ArrayType):
        return _of_shape(dtype_name(t.dtype), t.shape)
    return "numpy", dtype_name(dtype_of(t))


def _of_shape(dtype: str, shape: Any) -> Any:
    return "array", dtype, tuple(shape), tuple(range(len(shape)))
