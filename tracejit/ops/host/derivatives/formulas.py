"""Derivatives of host calls that equal a formula over ops: those of the formula's own nodes.

    @formula(["scipy.linalg._basic:inv"], "a")
    def _inv(at): return [at.c.op("inv", at.x("a"))]

A formula records the results of the call, given its operands, as other nodes do; the call's
tangents are pushed through those nodes, and its cotangents pulled back. The values of the call stay
the function's own. `at.x` is an operand, `at.held` one that the formula takes for a constant,
and `at.y` a result of the call, held as well: a formula may be right to first order about the
results alone, as a step of Newton's method is at a root, or a product with factors that are held.
What the derivative computes is then a function of the operands and of the results, whose own
derivatives are those of the call again.

What a formula needs of its own values is computed where the derivative is, and only what is needed;
where its results are those of one node, they are the call's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from tracejit.ir.derivatives import (
    DerivativeBuilder,
    Into,
    NodeAdaptor,
    NoTangent,
    Zeroed,
    differentiable,
)
from tracejit.ir.dims import Dim, prod
from tracejit.ir.graph import GraphBuilder, Node, Value
from tracejit.ir.types import DTYPES, ArrayType, NpScalar, PyScalar, Type, dtype_of, shape_of
from tracejit.ops.host.derivatives.registry import (
    RULES,
    HostAdaptor,
    Jvp,
    Rule,
    Vjp,
    as_array,
    flat,
    linear,
    matched,
    rule,
    sum_of,
)

__all__ = ["FormulaAdaptor", "formula", "linear_by", "moved", "movers", "solver", "transposed"]

#: A call -> its results, None for those without a formula.
Formula: TypeAlias = Callable[["FormulaAdaptor"], Sequence[Value | None]]


def _has_operand(given: Any) -> bool:
    if given[0] in ("tuple", "list"):
        return any(_has_operand(part) for part in given[1:])
    return bool(given[0] == "operand")


def _seen(t: Type) -> Type:
    """The type of an operand as rules see it: a Python number is a NumPy scalar."""
    return NpScalar(t.dtype) if isinstance(t, PyScalar) else t


class _Inside(NodeAdaptor):
    """The call's node where its formula is recorded: its values are inputs there."""

    def __init__(self, at: NodeAdaptor, c: DerivativeBuilder) -> None:
        super().__init__(at.node, at.attrs, at.inputs, at.outputs, lambda v: v, c, at.wanted)
        self.operands = [c.builder.input(_seen(t)) for t in at.inputs]
        self.held = [c.builder.input(_seen(t)) for t in at.inputs]
        self.results = [c.builder.input(_seen(t)) for t in at.outputs]

    def x(self, k: int) -> Value:
        return self.operands[k]

    def y(self, k: int = 0) -> Value:
        return self.results[k]


class FormulaAdaptor(HostAdaptor):
    """A call whose formula is being recorded."""

    call: _Inside

    def x(self, name: str) -> Value:
        """The operand of a parameter; of a sequence its parts along a new first axis."""
        given = self.given.get(name)
        if given is not None and given[0] in ("tuple", "list") and _has_operand(given):
            return self._stacked(name, given, self.call.operands)
        return super().x(name)

    def _stacked(self, name: str, given: Any, operands: Sequence[Value]) -> Value:
        match given:
            case ("operand", int(k)):
                return operands[k]
            case ("tuple" | "list", *parts) if parts:
                c = self.c
                named = enumerate(parts)
                found = [as_array(c, self._stacked(f"{name}.{k}", p, operands)) for k, p in named]
                dtype = np.result_type(*(dtype_of(v.type) for v in found))
                rows = [c.reshape(v, (1, *shape_of(v.type))) for v in found]
                return c.op("concatenate", *(c.cast(r, dtype) for r in rows), axis=0)
            case ("constant", value):
                return self.c.constant(np.asarray(value))
        raise self.underivable(f"has no derivative rule for such a {name}")

    def held(self, name: str) -> Value:
        """The operand of a parameter, which has no derivative here."""
        given = self.given.get(name)
        if given is not None and given[0] in ("tuple", "list") and _has_operand(given):
            return self._stacked(name, given, self.call.held)
        return self.call.held[self.places[name]] if name in self.places else self.x(name)

    def y(self, k: int = 0) -> Value:
        """Result k of the call, which has no derivative here."""
        return self.call.y(k)

    def given_as(self, name: str) -> bool:
        """Whether a parameter has an argument other than None."""
        return bool(self.given.get(name, ("constant", None)) != ("constant", None))


class _Recorded:
    """The nodes of a call's formula, and their values where the derivative is computed."""

    def __init__(self, at: HostAdaptor, make: Any) -> None:
        self.at, self.c = at, at.c
        #: The results that do not change with the operands.
        self.constant: set[int] = set()
        builder = GraphBuilder("formula")
        c = DerivativeBuilder(builder, at.c.fresh)
        self.inside = _Inside(at.call, c)
        pairs = zip(self._made(make, c), at.call.outputs, strict=False)
        #: The results, in the types of the call's.
        self.results = [None if v is None else matched(c, v, _seen(t)) for v, t in pairs]
        self.nodes = builder.nodes
        self.producers = {v: node for node in self.nodes for v in node.outputs}
        self.values: dict[Value, Value] = {}

    def _made(self, make: Any, c: DerivativeBuilder) -> Sequence[Value | None]:
        found: Sequence[Value | None] = make(FormulaAdaptor(c, self.inside))
        return found

    def primal(self, wanted: Value) -> Value:
        """A value of the formula."""
        waiting = [wanted]
        while waiting:
            v = waiting[-1]
            if v in self.values:
                waiting.pop()
                continue
            node = self.producers.get(v)
            if node is None:
                self.values[v] = self._input(v)
            elif all(o in self.results for o in node.outputs):
                for o in node.outputs:
                    self.values[o] = self._same(self.results.index(o), o.type)
            elif missing := [x for x in node.inputs if x not in self.values]:
                waiting += missing
            else:
                inputs = [self.values[x] for x in node.inputs]
                found = self.c.builder.emit(
                    node.op, inputs, node.attrs, regions=node.regions, binds=node.binds
                )
                self.values.update(zip(node.outputs, found, strict=True))
        return self.values[wanted]

    def _input(self, v: Value) -> Value:
        inside = self.inside
        for values in (inside.operands, inside.held):
            if v in values:
                return self.at.call.x(values.index(v))
        return self.at.call.y(inside.results.index(v))

    def _same(self, k: int, t: Type) -> Value:
        return self.c.laid_out(self.at.call.y(k), t)

    def node_adaptor(self, node: Node, wanted: Iterable[bool]) -> NodeAdaptor:
        types = [v.type for v in node.inputs], [v.type for v in node.outputs]
        return NodeAdaptor(node, node.attrs, *types, self.primal, self.c, tuple(wanted))

    def unknown(self, reason: str) -> Exception:
        return self.at.underivable(f"has no derivative rule here: {reason}")

    # Derivatives ----------------------------------------------------------------------------------

    def push(self, given: Mapping[str, Value]) -> list[Value | NoTangent | None]:
        """The tangents of the results for those of the operands, by parameters."""
        tangents: dict[Value, Value | NoTangent] = {}
        for name, tangent in given.items():
            tangents[self.inside.operands[self.at.places[name]]] = tangent
        for node in self.nodes:
            found: list[Value | None] = []
            for v in node.inputs:
                t = tangents.get(v)
                if isinstance(t, NoTangent):
                    raise self.unknown(t.reason)
                found.append(t)
            if node.op.constant or all(t is None for t in found):
                continue
            at = self.node_adaptor(node, [t is not None for t in found])
            for v, made in zip(node.outputs, node.op.jvp(self.c, at, found), strict=True):
                if made is not None and differentiable(v.type):
                    tangents[v] = made
        return [None if v is None else tangents.get(v) for v in self.results]

    def pull(self, given: Sequence[Value | None]) -> dict[str, Value | None]:
        """The cotangents of the operands, by parameters, for those of the results."""
        c, sums = self.c, dict[Value, Value]()

        def add(v: Value, g: Value | Into | Zeroed) -> None:
            have = sums.get(v)
            if isinstance(g, Zeroed):
                g = g.made(c)
            if isinstance(g, Into):
                whole = c.zeros(v.type) if have is None else have
                sums[v] = g.add(c, whole, g.value)
            else:
                sums[v] = g if have is None else c.add(have, g)

        for k, g in enumerate(given):
            if g is None:
                continue
            v = self.results[k] if k < len(self.results) else None
            if v is None and k in self.constant:
                continue
            if v is None:
                raise self.at.underivable(f"has no derivative rule for its result {k}")
            add(v, g)
        places = {k: name for name, k in self.at.places.items()}
        wanted = [k for k in places if self.at.call.wanted[k]]
        active = {self.inside.operands[k] for k in wanted}
        for node in self.nodes:
            if not node.op.constant and any(v in active for v in node.inputs):
                active |= {v for v in node.outputs if differentiable(v.type)}
        for node in reversed(self.nodes):
            found = [sums.pop(v, None) for v in node.outputs]
            flags = [v in active for v in node.inputs]
            if all(g is None for g in found) or node.op.constant or not any(flags):
                continue
            pulled = node.op.vjp(c, self.node_adaptor(node, flags), found)
            for v, made, flag in zip(node.inputs, pulled, flags, strict=True):
                if made is not None and flag:
                    add(v, made)
        return {places[k]: sums.get(self.inside.operands[k]) for k in wanted}


class _Held(_Inside):
    """The call's node where its tangents are recorded: they are the inputs, its values are held."""

    def x(self, k: int) -> Value:
        return self.held[k]


class _Tangents(_Recorded):
    """The nodes of a call's tangents, which are linear in those of its operands.

    Of what is not linear only the values are asked for.
    """

    def _made(self, make: Any, c: DerivativeBuilder) -> Sequence[Value | None]:
        self.inside = _Held(self.at.call, c)
        named = HostAdaptor(c, self.inside)
        given = {n: self.inside.operands[k] for n, k in named.places.items() if named.wanted(n)}
        found = make(named, given)
        self.constant = {k for k, v in enumerate(found) if v is None}
        return [None if isinstance(v, NoTangent) else v for v in found]

    def _input(self, v: Value) -> Value:
        assert v not in self.inside.operands, f"the tangents of {self.at.path} are not linear"
        return super()._input(v)

    def _same(self, k: int, t: Type) -> Value:
        raise AssertionError(f"the tangents of {self.at.path} are not linear")


def transposed(jvp: Jvp) -> Vjp:
    """The cotangents of operands: those of the results pulled back through the tangents' nodes."""
    return lambda at, cotangents: _Tangents(at, jvp).pull(cotangents)


def solver(
    paths: Sequence[str],
    parameter: str,
    back: Callable[[HostAdaptor, Value], Value],
    *others: str,
    jvp: Jvp,
) -> None:
    """Functions linear in a parameter, whose jvp calls them again with another value for it.

    `back(at, cotangent)` is the cotangent of that parameter; the jvp is transposed for others.
    """

    def vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
        if any(at.wanted(name) for name in others):
            return transposed(jvp)(at, cotangents)
        (g,) = cotangents
        assert g is not None
        return {parameter: matched(at.c, back(at, g), at.type(parameter))}

    rule(paths, *others, parameter, jvp=jvp, vjp=vjp)


def formula(paths: Sequence[str], *parameters: str) -> Callable[[Formula], Formula]:
    """Decorator: the formula of functions, with derivatives by some of their parameters."""

    def add(make: Formula) -> Formula:
        def jvp(
            at: HostAdaptor, tangents: Mapping[str, Value]
        ) -> Sequence[Value | NoTangent | None]:
            return _Recorded(at, make).push(tangents)

        def vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
            return _Recorded(at, make).pull(cotangents)

        rule(paths, *parameters, jvp=jvp, vjp=vjp)
        return make

    return add


def linear_by(
    paths: Sequence[str],
    parameter: str,
    transposed: Callable[[HostAdaptor, Value], Value],
    *others: str,
    **required: Any,
) -> Callable[[Formula], Formula]:
    """Decorator: functions that are linear in a parameter, and have a formula for others.

    In the formula that parameter is held; it may call the function again, of another value for it.
    """

    def add(make: Formula) -> Formula:
        for path in paths:
            formula([path], *others)(make)
            by_others = RULES[path]
            linear([path], parameter, transposed, **required)
            _enter_both(path, parameter, RULES[path], by_others)
        return make

    return add


def _enter_both(path: str, parameter: str, by_one: Rule, by_others: Rule) -> None:
    def jvp(at: HostAdaptor, tangents: Mapping[str, Value]) -> Sequence[Value | NoTangent | None]:
        one = {name: t for name, t in tangents.items() if name == parameter}
        rest = {name: t for name, t in tangents.items() if name != parameter}
        found = [r.jvp(at, t)[0] for r, t in ((by_one, one), (by_others, rest)) if t]
        return (sum_of(at.c, *(t for t in found if isinstance(t, Value))),)

    def vjp(at: HostAdaptor, cotangents: Sequence[Value | None]) -> Mapping[str, Value | None]:
        out: dict[str, Value | None] = {}
        if any(at.wanted(name) for name in at.places if name != parameter):
            out |= (by_others.vjp or transposed(by_others.jvp))(at, cotangents)
        if at.wanted(parameter):
            # One operand may be given for several parameters: its cotangents add up.
            assert by_one.vjp is not None
            found = by_one.vjp(at, cotangents)[parameter]
            out[parameter] = sum_of(at.c, out.get(parameter), found)
        return out

    rule([path], parameter, *by_others.parameters, jvp=jvp, vjp=vjp)


# Functions that move elements --------------------------------------------------------------------


def movers(paths: Sequence[str], *parameters: str) -> None:
    """Functions whose results are elements of their operands, and zeros.

    Where each element comes from is what the function gives for their numbers, counted from 1.
    """
    formula(paths, *parameters)(lambda at: moved(at, *parameters))


def moved(at: FormulaAdaptor, *parameters: str, **operands: Value) -> list[Value]:
    """What a call gives that moves elements, of these operands in place of its own."""
    c, wide = at.c, DTYPES["i64"]
    parts: list[Value] = []
    numbers: dict[str, Value] = {}
    start: Dim = 1
    dtype = dtype_of(at.call.outputs[0])
    for name in at.places:
        if name.partition(".")[0] not in parameters:
            continue
        v = operands[name] if name in operands else at.x(name)
        count = prod(shape_of(v.type))
        number = c.op("iota", size=count, dtype="i64")
        number = c.add(number, c.shaped(c.size(start, wide), number.type))
        numbers[name] = matched(c, number, _in_dtype(v.type, wide))
        parts.append(c.cast(flat(c, v), dtype))
        start = start + count
    source = c.op("concatenate", c.full(ArrayType(dtype, (1,)), 0), *parts, axis=0)
    places = at.applied(numbers, "i64", parameters)
    return [c.op("gather", source, as_array(c, p)) for p in places]


def _in_dtype(t: Type, dtype: np.dtype[Any]) -> Type:
    return ArrayType(dtype, t.shape) if isinstance(t, ArrayType) else NpScalar(dtype)
