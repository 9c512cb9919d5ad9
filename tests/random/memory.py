"""Random structured graphs over a few arrays that are stored into, handed on and swapped.

With `objects` every array keeps its name and there is one version of it at a time, as in NumPy
programs that only store: nothing may have to be copied then. With `checks` some programs bail out.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tracejit.ops  # noqa: F401 - fills the registry
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.graph import Graph, GraphBuilder, Value
from tracejit.ir.op import OPS
from tracejit.ir.types import DTYPES, PYBOOL, PYINT, ArrayType

N = symbol("n")
F64 = DTYPES["f64"]
VECTOR = ArrayType(F64, (N,))
LENGTH = 9


def random_memory(
    seed: int, *, objects: bool = False, checks: bool = False
) -> tuple[Graph, list[Any], list[int]]:
    """A graph, inputs, and the numbers of the inputs that it writes."""
    rng = np.random.default_rng(seed)
    maker = _Maker(rng, objects, checks)
    builder = GraphBuilder("f", ("n",))
    count = int(rng.integers(2, 5))
    arrays = [builder.input(VECTOR, f"x{k}") for k in range(count)]
    trip = builder.input(PYINT, "trip")
    flags = [builder.input(PYBOOL, f"p{k}") for k in range(2)]
    inputs = [rng.standard_normal(LENGTH) for _ in range(count)]
    local = [k for k in range(count) if rng.random() < 0.4]
    state = list(arrays)
    for k in local:
        state[k] = builder.one(OPS["negative"], (arrays[k],))
    state = maker.block(builder, state, trip, flags, 4, 0)
    written = [k for k in range(count) if k not in local and rng.random() < 0.7]
    if objects:
        written = [k for k in range(count) if k not in local]
    results = [state[k] for k in local]
    if not objects and rng.random() < 0.5:
        results.append(maker.pick(state))
    finals = [state[k] if objects else maker.pick(state) for k in written]
    texts = ["fresh" for _ in results] + [f"write {k}" for k in written]
    arguments = [*inputs, int(rng.integers(0, 4)), *(bool(rng.integers(2)) for _ in flags)]
    return builder.build([*results, *finals], tuple(texts)), arguments, written


class _Maker:
    def __init__(self, rng: np.random.Generator, objects: bool, checks: bool) -> None:
        self.rng, self.objects, self.checks = rng, objects, checks

    def pick(self, items: Sequence[Any]) -> Any:
        return items[int(self.rng.integers(len(items)))]

    def block(
        self,
        builder: GraphBuilder,
        state: Sequence[Value],
        trip: Value,
        flags: Sequence[Value],
        steps: int,
        depth: int,
    ) -> list[Value]:
        """The arrays after some statements."""
        now = list(state)
        for _ in range(steps):
            if self.checks and self.rng.random() < 0.1:
                builder.emit(OPS["check"], (self.pick(flags),))
            kind = self.rng.random()
            if kind < 0.25 and depth < 3:
                now = self.loop(builder, now, trip, flags, depth)
            elif kind < 0.4 and depth < 3:
                now = self.cond(builder, now, trip, flags, depth)
            elif kind < 0.75 or self.objects:
                k = int(self.rng.integers(len(now)))
                now[k] = self.store(builder, now, k)
            elif kind < 0.85:
                a, b = self.pick(now), self.pick(now)
                op = self.pick(["add", "subtract", "maximum"])
                now[int(self.rng.integers(len(now)))] = builder.one(OPS[op], (a, b))
            elif kind < 0.95:
                now = [now[int(k)] for k in self.rng.permutation(len(now))]
            else:
                now[int(self.rng.integers(len(now)))] = self.pick(now)
        return now

    def store(self, builder: GraphBuilder, now: Sequence[Value], k: int) -> Value:
        """`x[a:b] = y[c:d] - x[a:b]`, or one element."""
        target = now[k]
        if self.rng.random() < 0.3:
            place: tuple[Dim, ...] = (int(self.rng.integers(LENGTH)),)
            v = builder.one(OPS["read_item"], (self.pick(now),), at=place)
            half = builder.one(OPS["constant"], (), value=0.5, type="f64")
            v = builder.one(OPS["multiply"], (v, half))
            where = int(self.rng.integers(LENGTH))
            return builder.one(OPS["write_item"], (target, v), at=(where,))
        size = N - 2 if self.rng.random() < 0.7 else 3

        def part(x: Value) -> Value:
            start = (int(self.rng.integers(3)),)
            return builder.one(OPS["slice"], (x,), start=start, size=(size,), step=(1,))

        new = builder.one(OPS["subtract"], (part(self.pick(now)), part(self.pick(now))))
        start = (int(self.rng.integers(3)),)
        attrs = {"start": start, "size": (size,), "step": (1,)}
        return builder.one(OPS["update_slice"], (target, new), **attrs)

    def cond(
        self,
        builder: GraphBuilder,
        now: Sequence[Value],
        trip: Value,
        flags: Sequence[Value],
        depth: int,
    ) -> list[Value]:
        regions = []
        for name in ("then", "orelse"):
            inner = GraphBuilder(name, ("n",))
            state = [inner.input(VECTOR) for _ in now]
            count = inner.input(PYINT)
            given = [inner.input(PYBOOL) for _ in flags]
            steps = int(self.rng.integers(0, 4))
            regions.append(inner.build(self.block(inner, state, count, given, steps, depth + 1)))
        inputs = (self.pick(flags), *now, trip, *flags)
        attrs = {"sizes": ((N,), (N,))}
        return list(builder.emit(OPS["cond"], inputs, attrs, regions=tuple(regions)))

    def loop(
        self,
        builder: GraphBuilder,
        now: Sequence[Value],
        trip: Value,
        flags: Sequence[Value],
        depth: int,
    ) -> list[Value]:
        """Some iterations; a bool is turned in each, so that branches alternate."""
        zero = builder.one(OPS["constant"], (), value=0, type="int")
        first = [zero, *now, flags[0]]
        regions = []
        for name in ("test", "body"):
            inner = GraphBuilder(name, ("n",))
            k = inner.input(PYINT)
            state = [inner.input(VECTOR) for _ in now]
            turn = inner.input(PYBOOL)
            count = inner.input(PYINT)
            other = inner.input(PYBOOL)
            if name == "test":
                regions.append(inner.build([inner.one(OPS["py_less"], (k, count))]))
                continue
            one = inner.one(OPS["constant"], (), value=1, type="int")
            following = inner.one(OPS["py_add"], (k, one))
            steps = int(self.rng.integers(1, 5))
            state = self.block(inner, state, count, [turn, other], steps, depth + 1)
            turned = inner.one(OPS["py_not"], (turn,))
            regions.append(inner.build([following, *state, turned]))
        found = builder.emit(
            OPS["while_loop"],
            (*first, trip, flags[1]),
            {"carried": len(first), "sizes": ((N,), (N,))},
            regions=tuple(regions),
        )
        return list(found[1:-1])
