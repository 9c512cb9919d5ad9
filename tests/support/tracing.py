"""Traces a NumPy function into a graph, evaluates the graph and compares with the plain function.

`tnp` stands for the module numpy inside such functions: its functions that make arrays record nodes
while a trace is active.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tests.support.compare import assert_same
from tracejit.base.originals import import_compiler
from tracejit.errors import TraceError
from tracejit.frontend.capture.values import Capture
from tracejit.frontend.interpreter.interpreter import TraceInterpreter
from tracejit.frontend.numpy.registry import CREATORS, HANDLERS, PRELUDE, call_function
from tracejit.frontend.prelude import intrinsics
from tracejit.frontend.tracing.sizes import ShapeEnv
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import (
    Storage,
    Trace,
    TracedArray,
    TracedScalar,
    Tracer,
    current_trace,
    lift,
)
from tracejit.ir.dims import Dim, symbol
from tracejit.ir.dims import evaluate as evaluate_dim
from tracejit.ir.evaluate import evaluate, type_of
from tracejit.ir.graph import Graph, Value
from tracejit.ir.types import ArrayType

MODES = ("static", "shared", "apart")


class _Numpy:
    """numpy, with the functions that make arrays traced while a trace is active."""

    def __getattr__(self, name: str) -> Any:
        f = getattr(np, name)
        try:
            creates = f in HANDLERS and f in CREATORS or PRELUDE.get(f) in intrinsics.CREATORS
        except TypeError:
            creates = False
        if not creates:
            return f

        def call(*args: Any, **kwargs: Any) -> Any:
            if current_trace() is None:
                return f(*args, **kwargs)
            if f in HANDLERS:
                return HANDLERS[f](*args, **kwargs)
            return call_function(f, args, kwargs)

        return call


tnp: Any = _Numpy()


@dataclasses.dataclass
class Traced:
    """A graph with the tree of its results and what decides whether it holds for other sizes."""

    graph: Graph
    env: ShapeEnv
    arguments: list[tuple[tuple[Dim, ...], tuple[int, ...], tuple[Dim, ...] | None]]
    tree: Any

    def sizes(self, args: Sequence[Any]) -> dict[str, int] | None:
        """The sizes that other arguments give; None where the trace does not hold for them."""
        sizes: dict[str, int] = {}
        for (dims, order, strides), x in zip(self.arguments, args, strict=True):
            shape = getattr(x, "shape", ())
            if len(dims) != len(shape) or _axis_order(x) != order:
                return None
            if (strides is None) != _is_packed(x):
                return None
            for axis, d in enumerate(strides or ()):
                sizes[str(d)] = x.strides[axis] // x.itemsize
            for d, n in zip(dims, shape, strict=True):
                if isinstance(d, int):
                    if d != n:
                        return None
                elif sizes.setdefault(str(d), n) != n or n < 2:
                    return None
        relations = {
            "==": lambda a, b: a == b,
            "!=": lambda a, b: a != b,
            "<": lambda a, b: a < b,
            "<=": lambda a, b: a <= b,
        }
        for a, relation, b in self.env.guards:
            if not relations[relation](evaluate_dim(a, sizes), evaluate_dim(b, sizes)):
                return None
        return sizes

    def run(self, args: Sequence[Any], sizes: dict[str, int]) -> Any:
        """The results by evaluation of the graph."""
        outputs = evaluate(self.graph, args, {s: sizes[s] for s in self.graph.sizes})

        def build(tree: Any) -> Any:
            if isinstance(tree, (list, tuple)):
                return type(tree)(build(t) for t in tree)
            if isinstance(tree, _Output):
                return outputs[tree.index]
            return evaluate_dim(tree.dim, sizes) if isinstance(tree, SymInt) else tree

        return build(self.tree)

    def check_layout(self, expected: Any) -> None:
        """Hold the axis order that each new array is thought to have against NumPy's strides."""

        def compare(tree: Any, value: Any) -> None:
            if isinstance(tree, (list, tuple)):
                for t, v in zip(tree, value, strict=True):
                    compare(t, v)
            elif isinstance(tree, _Output) and tree.order is not None and value.size:
                strides = [abs(value.strides[a]) for a in tree.order if value.shape[a] > 1]
                assert strides == sorted(strides, reverse=True), (
                    f"NumPy's strides {value.strides} do not have the order {tree.order}"
                )

        compare(self.tree, expected)


@dataclasses.dataclass
class _Output:
    index: int
    order: tuple[int, ...] | None


def _axis_order(x: Any) -> tuple[int, ...]:
    """The axes from the largest stride to the smallest; those of size 1 where C order has them."""
    if not isinstance(x, np.ndarray):
        return ()
    axes = [a for a in range(x.ndim) if x.shape[a] > 1]
    order = sorted(axes, key=lambda a: -abs(x.strides[a]))
    for a in reversed(range(x.ndim)):
        if a not in axes:
            order.insert(order.index(a + 1) if a + 1 < x.ndim else len(order), a)
    return tuple(order)


def _is_packed(x: Any) -> bool:
    """Whether its strides follow from its axis order."""
    return not isinstance(x, np.ndarray) or x.flags.c_contiguous or x.flags.f_contiguous


def _input_strides(x: np.ndarray, env: ShapeEnv) -> tuple[Dim, ...] | None:
    if _is_packed(x):
        return None
    names = [f"stride{len(env.intervals)}_{axis}" for axis in range(x.ndim)]
    for name, step in zip(names, x.strides, strict=True):
        env.declare(name, step // x.itemsize, None)
    return tuple(map(symbol, names))


def _input_dims(shape: tuple[int, ...], mode: str, env: ShapeEnv) -> tuple[Dim, ...]:
    dims: list[Dim] = []
    for n in shape:
        if mode == "static" or n < 2:
            dims.append(n)
            continue
        name = f"n{n}" if mode == "shared" else f"d{len(env.intervals)}"
        if name not in env.intervals:
            env.declare(name, n)
        dims.append(symbol(name))
    return tuple(dims)


def trace_call(f: Callable[..., Any], args: Sequence[Any], mode: str = "static") -> Traced:
    """The graph of `f(*args)`: sizes are constants ("static"), or symbols, equal ones sharing one
    ("shared") or each with its own ("apart").
    """
    env = ShapeEnv()
    trace = Trace("f", env)
    arguments = []
    tracers: list[Tracer] = []
    for k, x in enumerate(args):
        t = type_of(x)
        if isinstance(t, ArrayType):
            t = ArrayType(t.dtype, _input_dims(x.shape, mode, env), _axis_order(x))
            value = trace.builder.input(t, f"x{k}")
            strides = _input_strides(x, env)
            tracers.append(TracedArray(trace, Storage(trace, value, k, strides=strides)))
            arguments.append((t.shape, t.order, strides))
        else:
            value = trace.builder.input(t, f"x{k}")
            tracers.append(TracedScalar(trace, value))
            arguments.append(((), (), None))
    trace.builder.sizes = [s for s in env.intervals if not s.startswith("stride")]
    outputs: list[Value] = []

    def take(tree: Any) -> Any:
        if isinstance(tree, (list, tuple)):
            return type(tree)(take(t) for t in tree)
        if isinstance(tree, Tracer):
            outputs.append(tree.value())
            new = isinstance(tree, TracedArray) and tree.storage.input is None and not tree.views
            return _Output(len(outputs) - 1, tree.storage.order if new else None)
        return tree

    import_compiler()
    TraceInterpreter(Capture(trace, lambda x, _: lift(x), None), "tests")
    with trace.active():
        tree = take(f(*tracers))
    return Traced(trace.builder.build(outputs), env, arguments, tree)


def check(
    f: Callable[..., Any],
    *calls: Sequence[Any],
    parity: Any = "exact",
    modes: Sequence[str] = MODES,
    **tolerance: Any,
) -> None:
    """Trace `f` on the first arguments; hold its graph against NumPy on those and on the others.

    Arguments whose sizes do not meet the guards are traced anew, as the compiler would.
    """
    for mode in modes:
        traced = trace_call(f, calls[0], mode)
        for args in calls:
            sizes = traced.sizes(args)
            if sizes is None:
                traced = trace_call(f, args, mode)
                sizes = traced.sizes(args)
                assert sizes is not None, f"the guards {traced.env.guards} fail for their own sizes"
            # The graph changes no argument, the function may.
            actual = traced.run(args, sizes)
            with np.errstate(all="ignore"):
                expected = f(*args)
            assert_same(_plain(expected), actual, parity, where=f"{mode} result", **tolerance)
            traced.check_layout(expected)


def _plain(tree: Any) -> Any:
    return type(tree)(_plain(t) for t in tree) if isinstance(tree, (list, tuple)) else tree


def refused(f: Callable[..., Any], *args: Any) -> str:
    """The code of the TraceError that tracing `f(*args)` raises."""
    try:
        trace_call(f, args)
    except TraceError as e:
        return e.code
    raise AssertionError("the call was traced")


def wave(*shape: int, dtype: Any = np.float64) -> np.ndarray:
    """Numbers of both signs with ties, in no order."""
    n = int(np.prod(shape))
    x = (np.arange(n) * 7919) % 23 - 11
    if np.dtype(dtype).kind in "fc":
        x = x / 4
    if np.dtype(dtype).kind == "c":
        x = x + 1j * ((np.arange(n) * 31) % 7)
    return np.asarray(x).astype(dtype).reshape(shape)
