"""Random structured graphs, from a seed: branches and loops nested over scalars and arrays.

Loops count by an int, by a carried size or by a flag, and carry arrays whose sizes change; regions
call the sizes that they are given by other names. Some programs write texts, raise or bail out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.ir import dims
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Attr, Graph, GraphBuilder, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import (
    DTYPES,
    PYBOOL,
    PYINT,
    TOKEN,
    ArrayType,
    NpScalar,
    Type,
    type_substitute,
)

N, M = symbol("n"), symbol("m")
F64 = DTYPES["f64"]
_DEPTH = 3
_RAISE = ("call", "builtins:ValueError", 0, (("operand", 0),), ())


def random_flow(seed: int, *, effects: bool = False) -> tuple[Graph, list[Any]]:
    """A graph over the sizes n and m, and inputs for it. With `effects` it may not have a value."""
    rng = np.random.default_rng(seed)
    maker = _Maker(rng, effects)
    scope = _Scope(GraphBuilder("f", ("n", "m")), ["n", "m"])
    n, m = (int(rng.integers(1, 5)) for _ in range(2))
    inputs: list[Any] = []
    for k, (kind, value) in enumerate(
        [
            (ArrayType(F64, (N,)), rng.standard_normal(n)),
            (ArrayType(F64, (N, M)), rng.standard_normal((n, m))),
            (PYINT, int(rng.integers(-3, 6))),
            (NpScalar(F64), np.float64(rng.standard_normal())),
            (PYBOOL, bool(rng.integers(2))),
        ]
    ):
        scope.values.append(scope.builder.input(kind, f"x{k}"))
        inputs.append(value)
    if effects:
        scope.token = scope.builder.one(OPS["start_token"], ())
    maker.block(scope, 8)
    outputs = [maker.pick(scope.values) for _ in range(int(rng.integers(1, 5)))]
    outputs += [v for v in scope.values[-2:] if v not in outputs]
    if scope.token is not None:
        outputs.append(scope.token)
    return scope.builder.build(outputs), inputs


@dataclass
class _Scope:
    """A region being built: what it can read."""

    builder: GraphBuilder
    sizes: list[str]
    values: list[Value] = field(default_factory=list)
    token: Value | None = None
    depth: int = 0


class _Maker:
    def __init__(self, rng: np.random.Generator, effects: bool) -> None:
        self.rng, self.effects = rng, effects
        self.names = 0

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def fresh(self, stem: str) -> str:
        # The same few names come again in regions that know nothing of each other.
        self.names += 1
        return f"{stem}{self.names % 7}" if self.rng.random() < 0.5 else f"{stem}x{self.names}"

    def size(self, stem: str, taken: Sequence[str]) -> str:
        name = self.fresh(stem)
        while name in taken:
            name = self.fresh(stem)
        return name

    def block(self, scope: _Scope, steps: int) -> None:
        plain: list[Callable[[_Scope], None]] = [
            self.number,
            self.number,
            self.predicate,
            self.scalar,
            self.array,
            self.array,
            self.part,
            self.update,
            self.measure,
            self.bound,
        ]
        if self.effects and scope.token is not None:
            plain += [self.text, self.text, self.check, self.error]
        for _ in range(steps):
            if scope.depth < _DEPTH and self.rng.random() < 0.3:
                self.pick([self.cond, self.loop])(scope)
            else:
                self.pick(plain)(scope)

    # Values ---------------------------------------------------------------------------------------

    def emit(self, scope: _Scope, op: str, inputs: Sequence[Value], **attrs: Attr) -> Value:
        out = scope.builder.one(OPS[op], inputs, **attrs)
        scope.values.append(out)
        return out

    def like(self, scope: _Scope, kind: Type) -> Value:
        """A value of a type, of the latest as a rule."""
        found = [v for v in scope.values if v.type == kind]
        if found:
            return self.pick(found[-3:] if self.rng.random() < 0.5 else found)
        if kind == PYINT:
            return self.literal(scope, int(self.rng.integers(-2, 4)), "int")
        if kind == PYBOOL:
            return self.literal(scope, bool(self.rng.integers(2)), "bool")
        if isinstance(kind, NpScalar):
            return self.literal(scope, float(self.rng.integers(-2, 3)) / 2, "f64")
        assert isinstance(kind, ArrayType)
        filling = self.like(scope, NpScalar(F64))
        return self.emit(scope, "broadcast_to", (filling,), shape=kind.shape)

    def literal(self, scope: _Scope, value: Any, kind: str) -> Value:
        return self.emit(scope, "constant", (), value=value, type=kind)

    def arrays(self, scope: _Scope) -> list[Value]:
        return [v for v in scope.values if isinstance(v.type, ArrayType)]

    def number(self, scope: _Scope) -> None:
        a, b = self.like(scope, PYINT), self.like(scope, PYINT)
        out = self.emit(scope, self.pick(["py_add", "py_subtract", "py_multiply"]), (a, b))
        if self.rng.random() < 0.7:
            self.emit(scope, "py_mod", (out, self.literal(scope, 7, "int")))

    def predicate(self, scope: _Scope) -> None:
        a, b = self.like(scope, PYINT), self.like(scope, PYINT)
        self.emit(scope, self.pick(["py_less", "py_equal"]), (a, b))

    def scalar(self, scope: _Scope) -> None:
        a, b = self.like(scope, NpScalar(F64)), self.like(scope, NpScalar(F64))
        self.emit(scope, self.pick(["add", "subtract", "multiply"]), (a, b))

    def array(self, scope: _Scope) -> None:
        if not self.arrays(scope):
            return
        a = self.pick(self.arrays(scope))
        if self.rng.random() < 0.3:
            self.emit(scope, self.pick(["negative", "absolute", "floor"]), (a,))
        else:
            b = self.like(scope, a.type)
            self.emit(scope, self.pick(["add", "subtract", "maximum"]), (a, b))

    def place(self, scope: _Scope, limit: Dim) -> Dim:
        """A position below `limit`, which is at least 1."""
        at = self.pick([0, 1, *map(symbol, scope.sizes)])
        return dims.mod(at, dims.maximum(limit, 1))

    def part(self, scope: _Scope) -> None:
        """A part of an array whose size may depend on what a loop carries."""
        vectors = [v for v in self.arrays(scope) if v.type.ndim == 1]
        if not vectors:
            return
        v = self.pick(vectors)
        (n,) = v.type.shape
        size = dims.minimum(n, self.pick([1, 2, *map(symbol, scope.sizes)]))
        start = self.pick([0, n - size])
        self.emit(scope, "slice", (v,), start=(start,), size=(size,), step=(1,))

    def update(self, scope: _Scope) -> None:
        arrays = [v for v in self.arrays(scope) if v.type.shape == (N,) or v.type.ndim == 2]
        if not arrays:
            return
        v = self.pick(arrays)
        # Only n and m, whatever they are called here, are known to be at least 1.
        if not all(isinstance(d, dims.Poly) and str(d) in scope.sizes[:2] for d in v.type.shape):
            return
        start = tuple(self.place(scope, d) for d in v.type.shape)
        size = (1,) * len(start)
        step = (1,) * len(start)
        part = self.emit(scope, "slice", (v,), start=start, size=size, step=step)
        new = self.emit(scope, "subtract", (part, self.like(scope, part.type)))
        self.emit(scope, "update_slice", (v, new), start=start, size=size, step=step)

    def measure(self, scope: _Scope) -> None:
        if not self.arrays(scope) or self.rng.random() < 0.5:
            dim = self.pick([symbol(s) for s in scope.sizes]) + int(self.rng.integers(2))
            self.emit(scope, "dim_value", (), dim=dim)
            return
        v = self.pick(self.arrays(scope))
        total = self.emit(scope, "reduce_sum", (v,), axes=tuple(range(v.type.ndim)))
        self.emit(scope, "element", (total,))

    def bound(self, scope: _Scope) -> None:
        """A size from a number, and an array of it."""
        small = self.literal(scope, 3, "int")
        number = self.emit(scope, "py_mod", (self.like(scope, PYINT), small))
        name = self.size("b", [*scope.sizes, *_bound(scope.builder)])
        scope.builder.emit(OPS["bind_size"], (number,), binds=(name,))
        scope.sizes.append(name)
        self.emit(scope, "iota", (), size=symbol(name) + 1, dtype="f64")

    # Effects --------------------------------------------------------------------------------------

    def text(self, scope: _Scope) -> None:
        v = self.like(scope, self.pick([PYINT, NpScalar(F64)]))
        assert scope.token is not None
        text = (("value", 0, "", ()), "\n")
        scope.token = scope.builder.one(OPS["print_text"], (scope.token, v), text=text)

    def rarely(self, scope: _Scope) -> Value:
        """A bool that mostly holds."""
        a, b = (self.literal(scope, int(k), "int") for k in self.rng.integers(-4, 4, 2))
        number = self.emit(scope, "py_add", (self.like(scope, PYINT), a))
        return self.emit(scope, "py_not_equal", (number, b))

    def check(self, scope: _Scope) -> None:
        scope.builder.emit(OPS["check"], (self.rarely(scope),))

    def error(self, scope: _Scope) -> None:
        holds = self.rarely(scope)
        number = self.like(scope, PYINT)
        assert scope.token is not None

        def side(raises: bool) -> Graph:
            inner = GraphBuilder("side")
            token, v = inner.input(TOKEN), inner.input(PYINT)
            if raises:
                token = inner.one(OPS["raise_error"], (token, v), error=_RAISE)
            return inner.build([token])

        regions = (side(False), side(True))
        inputs = (holds, scope.token, number)
        (scope.token,) = scope.builder.emit(
            OPS["cond"], inputs, {"sizes": ((), ())}, regions=regions
        )

    # Regions --------------------------------------------------------------------------------------

    def inside(
        self, scope: _Scope, name: str, carried: Sequence[str], values: Sequence[Type]
    ) -> tuple[_Scope, tuple[Dim, ...]]:
        """A region with inputs of these types, and the sizes it is given after the carried ones."""
        table: dict[str, str] = {}
        for s in scope.sizes:
            renamed = self.rng.random() < 0.5
            taken = [*carried, *table.values(), *scope.sizes]
            table[s] = self.size("r", taken) if renamed or s in carried else s
        sizes = {s: symbol(name) for s, name in table.items()}
        builder = GraphBuilder(name, (*carried, *table.values()))
        inner = _Scope(builder, [*table.values(), *carried], depth=scope.depth + 1)
        for t in values:
            v = builder.input(type_substitute(t, sizes))
            if t == TOKEN:
                inner.token = v
            else:
                inner.values.append(v)
        return inner, tuple(map(symbol, scope.sizes))

    def captured(self, scope: _Scope) -> list[Value]:
        count = int(self.rng.integers(len(scope.values) + 1))
        order = self.rng.permutation(len(scope.values))[:count]
        return [scope.values[k] for k in sorted(order)]

    def cond(self, scope: _Scope) -> None:
        predicate = self.like(scope, PYBOOL)
        captures = self.captured(scope)
        known = [v.type for v in captures] or [PYINT]
        kinds = [self.pick(known) for _ in range(int(self.rng.integers(1, 4)))]
        tokens = [scope.token] if scope.token is not None else []
        regions, sizes = [], []
        for name in ("then", "orelse"):
            types = [v.type for v in (*captures, *tokens)]
            inner, given = self.inside(scope, name, (), types)
            self.block(inner, int(self.rng.integers(0, 5)))
            table = dict(zip(scope.sizes, map(symbol, inner.builder.sizes), strict=True))
            outs = [self.like(inner, type_substitute(t, table)) for t in kinds]
            regions.append(inner.builder.build([*outs, *([inner.token] if tokens else [])]))
            sizes.append(given)
        found = scope.builder.emit(
            OPS["cond"],
            (predicate, *captures, *tokens),
            {"sizes": tuple(sizes)},
            regions=tuple(regions),
        )
        scope.values += found[: len(kinds)]
        if tokens:
            scope.token = found[-1]

    def loop(self, scope: _Scope) -> None:
        """A few iterations: counted by an int or a size, with a flag that may end them before."""
        trips = int(self.rng.integers(0, 4))
        by_size, grows = self.rng.random(2) < 0.5
        states = self.captured(scope)[:4]
        captures = self.captured(scope)
        tokens = [scope.token] if scope.token is not None else []
        flag = self.literal(scope, bool(self.rng.random() < 0.8), "bool")
        counter = self.literal(scope, 0, "int")
        carried: list[str] = []
        starts: list[Dim] = []
        if by_size:
            carried.append(self.size("k", scope.sizes))
            starts.append(0)
        vectors = [v for v in self.arrays(scope) if v.type.ndim == 1]
        growing = self.pick(vectors) if grows and vectors else None
        if growing is not None:
            carried.append(self.size("w", [*scope.sizes, *carried]))
            starts.append(growing.type.shape[0])
        first = [flag, counter, *([growing] if growing is not None else []), *states, *tokens]
        inputs = [*first, *captures]
        regions: list[Graph] = []
        sizes = []
        for name in ("test", "body"):
            inner, given = self.inside(scope, name, carried, [v.type for v in inputs])
            if growing is not None:
                inner.builder.inputs[2].type = ArrayType(F64, (symbol(carried[-1]),))
            sizes.append((*starts, *given))
            limit = self.literal(inner, trips, "int")
            go, count = inner.builder.inputs[:2]
            if name == "test":
                if self.rng.random() < 0.5:
                    self.block(inner, int(self.rng.integers(0, 3)))
                if by_size:
                    count = self.emit(inner, "dim_value", (), dim=symbol(carried[0]))
                below = self.emit(inner, "py_less", (count, limit))
                regions.append(inner.builder.build([self.both(inner, go, below)]))
                continue
            self.block(inner, int(self.rng.integers(1, 6)))
            one = self.literal(inner, 1, "int")
            outs = [self.like(inner, PYBOOL), self.emit(inner, "py_add", (count, one))]
            back: list[Dim] = [symbol(carried[0]) + 1] if by_size else []
            if growing is not None:
                grown = inner.builder.inputs[2]
                if self.rng.random() < 0.5:
                    grown = self.emit(inner, "concatenate", (grown, grown), axis=0)
                else:
                    less = dims.maximum(symbol(carried[-1]) - 1, 0)
                    grown = self.emit(inner, "slice", (grown,), start=(0,), size=(less,), step=(1,))
                outs.append(grown)
                back.append(grown.type.shape[0])
            types = [v.type for v in inner.builder.inputs[len(outs) : len(outs) + len(states)]]
            outs += [self.like(inner, t) for t in types]
            outs += [inner.token] if tokens and inner.token is not None else []
            regions.append(inner.builder.build(outs, (), tuple(back)))
        final = []
        for s in carried:
            final.append(self.size(s[0], [*scope.sizes, *final, *_bound(scope.builder)]))
        found = scope.builder.emit(
            OPS["while_loop"],
            inputs,
            {"carried": len(first), "sizes": tuple(sizes)},
            regions=tuple(regions),
            binds=tuple(final),
        )
        scope.sizes += final
        scope.values += found[: len(first) - len(tokens)]
        if tokens:
            scope.token = found[-1]

    def both(self, scope: _Scope, a: Value, b: Value) -> Value:
        """`a and b`, as a branch."""
        inner = GraphBuilder("both")
        value = inner.input(PYBOOL)
        yes = inner.build([value])
        inner = GraphBuilder("neither")
        inner.input(PYBOOL)
        no = inner.build([inner.one(OPS["constant"], (), value=False, type="bool")])
        (out,) = scope.builder.emit(OPS["cond"], (a, b), {"sizes": ((), ())}, regions=(yes, no))
        return out


def _bound(builder: GraphBuilder) -> list[str]:
    return [s for node in builder.nodes for s in node.binds]
