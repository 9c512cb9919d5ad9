"""Derivatives of a host call: by the rule of its function."""

from __future__ import annotations

from collections.abc import Sequence

from tracejit.ir.derivatives import DerivativeBuilder, Into, NodeAdaptor, NoTangent
from tracejit.ir.graph import Value
from tracejit.ops.host.derivatives.formulas import transposed
from tracejit.ops.host.derivatives.registry import RULES, HostAdaptor, Rule

__all__ = ["call_jvp", "call_vjp"]


def call_jvp(
    c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
) -> Sequence[Value | NoTangent | None]:
    """By the rule of the function. Raises Underivable where there is none."""
    named, found = _find(c, at, [t is not None for t in tangents])
    given = {name: tangents[k] for name, k in named.places.items()}
    known = {name: t for name, t in given.items() if t is not None}
    out = list(found.jvp(named, known))
    nothing = NoTangent(f"{named.path} has a derivative rule for its first results alone")
    return [*out, *([nothing] * (len(at.outputs) - len(out)))]


def call_vjp(
    c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
) -> Sequence[Value | Into | None]:
    """By the rule of the function. Raises Underivable where there is none."""
    named, found = _find(c, at, at.wanted)
    out: list[Value | Into | None] = [None] * len(at.inputs)
    total: dict[int, Value] = {}
    if any(g is not None for g in cotangents):
        vjp = found.vjp or transposed(found.jvp)
        for name, g in vjp(named, cotangents).items():
            k = named.places.get(name)
            if g is not None and k is not None:
                total[k] = c.add(total[k], g) if k in total else g
    for k, g in total.items():
        out[k] = g
    return out


def _find(
    c: DerivativeBuilder, call: NodeAdaptor, active: Sequence[bool]
) -> tuple[HostAdaptor, Rule]:
    at = HostAdaptor(c, call)
    found = RULES.get(at.path)
    if found is None:
        raise at.underivable("has no derivative rule")
    for k, is_active in enumerate(active):
        names = [name for name, place in at.places.items() if place == k]
        unknown = [n for n in names if n.partition(".")[0] not in found.parameters]
        if is_active and (unknown or not names):
            raise at.underivable(f"has no derivative rule by {', '.join(unknown) or 'an argument'}")
    return at, found
