"""Traces plain functions through capture, evaluates the graphs, and traces anew where they miss.

`Compiled` is a small dispatcher: what `tracejit.jit` does, with the evaluator for native code.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.support.compare import assert_same
from tracejit.errors import TraceError
from tracejit.frontend.capture.captured import Call
from tracejit.frontend.interpreter.entry import TracedResult, trace_function
from tracejit.frontend.interpreter.results import Given
from tracejit.frontend.tracing.pytree import TreeDef, flatten, unflatten
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.tracer import Storage, Trace, TracedArray, TracedScalar, lift
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.dims import evaluate as evaluate_dim
from tracejit.ir.evaluate import evaluate, type_of
from tracejit.ir.graph import Graph
from tracejit.ir.types import ArrayType
from tracejit.runtime.compile.results import owners_of, write_back

_RELATIONS: dict[str, Callable[[Any, Any], bool]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
}


@dataclasses.dataclass
class _Entry:
    tree: TreeDef
    given: list[Any]
    dims: list[tuple[Dim, ...]]
    graph: Graph
    env: ShapeEnv
    traced: TracedResult

    def sizes(self, values: list[Any]) -> dict[str, int] | None:
        """The size symbols' values, or None where the values do not fit this trace."""
        sizes: dict[str, int] = {}
        if len(values) != len(self.given):
            return None
        for known, x, dims in zip(self.given, values, self.dims, strict=True):
            if type(known) is not type(x):
                return None
            if isinstance(known, (int, str)) and known != x:
                return None
            if not isinstance(x, _TRACED):
                continue
            if getattr(known, "dtype", None) != getattr(x, "dtype", None):
                return None
            if len(dims) != np.ndim(x):
                return None
            for d, n in zip(dims, np.shape(x), strict=True):
                if isinstance(d, int):
                    if d != n:
                        return None
                elif sizes.setdefault(str(d), n) != n or n < 2:
                    return None
        for a, relation, b in self.env.guards:
            if not _RELATIONS[relation](evaluate_dim(a, sizes), evaluate_dim(b, sizes)):
                return None
        return sizes


#: What is an input of the graph.
_TRACED = (np.ndarray, np.generic, float, complex)


class Compiled:
    """A function that runs as evaluated graphs. `traces` counts them; ints are static."""

    def __init__(self, f: Callable[..., Any], symbolic: bool = True) -> None:
        self.f, self.symbolic = f, symbolic
        self.entries: list[_Entry] = []
        self.traces = 0

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = flatten(args, kwargs)
        for entry in self.entries:
            if entry.tree != tree:
                continue
            result = self._run(entry, Call(leaves, (args, kwargs)))
            if result is not None:
                return result[0]
        entry = self._trace(leaves, tree)
        self.entries.insert(0, entry)
        call = Call(leaves, (args, kwargs))
        result = self._run(entry, call)
        assert result is not None, entry.traced.capture.reread(call)
        return result[0]

    def _run(self, entry: _Entry, call: Call) -> list[Any] | None:
        captured = entry.traced.capture.reread(call)
        if isinstance(captured, str):
            return None
        values = [*call.leaves, *captured]
        sizes = entry.sizes(values)
        if sizes is None:
            return None
        inputs = [v for v in values if isinstance(v, _TRACED)]
        outputs = iter(evaluate(entry.graph, inputs, {s: sizes[s] for s in entry.graph.sizes}))
        traced = entry.traced
        parts = [values[x.number] if isinstance(x, Given) else next(outputs) for x in traced.leaves]
        made = unflatten(traced.tree, parts)
        if not traced.stores:
            return [made]
        return [write_back(made, traced.stores, owners_of(traced.stores, values))]

    def _trace(self, leaves: list[Any], tree: TreeDef) -> _Entry:
        self.traces += 1
        env = ShapeEnv()
        trace = Trace("f", env)
        given: list[Any] = []
        dims: list[tuple[Dim, ...]] = []

        def make_leaf(x: Any, name: str) -> Any:
            given.append(x)
            if not isinstance(x, _TRACED):
                dims.append(())
                return x
            t = type_of(x)
            if isinstance(t, ArrayType):
                order = tuple(sorted(range(x.ndim), key=lambda a: -abs(x.strides[a])))
                t = ArrayType(t.dtype, self._dims(x.shape, env), order)
                dims.append(t.shape)
                value = trace.builder.input(t, name)
                return TracedArray(trace, Storage(trace, value, len(given)))
            dims.append(())
            return TracedScalar(trace, trace.builder.input(t, name))

        with trace.active():
            traced = trace_function(self.f, leaves, tree, trace, make_leaf)
            outputs = [lift(x).value() for x in traced.leaves if not isinstance(x, Given)]
        trace.builder.sizes = [s for s in env.intervals if s in env.hints]
        given = [np.empty_like(x) if isinstance(x, np.ndarray) else x for x in given]
        return _Entry(tree, given, dims, trace.builder.build(outputs), env, traced)

    def _dims(self, shape: tuple[int, ...], env: ShapeEnv) -> tuple[Dim, ...]:
        dims: list[Dim] = []
        for n in shape:
            if not self.symbolic or n < 2:
                dims.append(n)
                continue
            name = f"n{n}"
            if name not in env.intervals:
                env.declare(name, n)
            dims.append(symbol(name))
        return tuple(dims)


def follows(
    f: Callable[..., Any], *args: Any, compiled: Compiled | None = None, **kwargs: Any
) -> Compiled:
    """Hold one call of the traced `f` against plain Python; gives the compiled function."""
    compiled = compiled or Compiled(f)
    expected = f(*copy.deepcopy(args), **copy.deepcopy(kwargs))
    assert_same(expected, compiled(*args, **kwargs), "ulp")
    return compiled


def refused(f: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """The code of the TraceError that tracing a call raises."""
    try:
        Compiled(f)(*args, **kwargs)
    except TraceError as e:
        return e.code
    raise AssertionError("the call was traced")
