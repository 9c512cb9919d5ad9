"""Calls of functions with rules of their own, traced: the function and its rules, each in a region.

The regions are on values that stand for the floats among the arguments, so that derivatives by
these, and by nothing else, are those of the rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.regions import Names, close_region, entered
from tracejit.frontend.control.unions import narrow
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.pytree import LEAF, Static, TreeDef, flatten_state, unflatten
from tracejit.frontend.tracing.trace import Trace, here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift, wrap
from tracejit.ir.derivatives import DerivativeBuilder, differentiable, tangent_type
from tracejit.ir.graph import Value, symbols
from tracejit.ir.types import TOKEN, PyScalar, Type, dtype_of, type_sizes
from tracejit.transforms.api.primal import fresh_name, like
from tracejit.transforms.api.products import direction, matching, with_zeros
from tracejit.transforms.api.remat import has_effects

__all__ = ["Call", "Result", "around_floats", "cotangents_of"]


class Result:
    """What a function gives: tracers among other leaves, in containers."""

    def __init__(self, x: Any) -> None:
        self.leaves, self.tree = flatten_state(narrow(x))
        self.tracers: list[Tracer] = [x for x in self.leaves if isinstance(x, Tracer)]
        self.values = [x.value() for x in self.tracers]

    @property
    def floats(self) -> list[int]:
        """The numbers of the tracers that have derivatives."""
        return [k for k, v in enumerate(self.values) if differentiable(v.type)]

    def rebuilt(self, interpreter: Interpreter, tracers: Sequence[Any]) -> Any:
        """The containers around other tracers."""
        found = iter(tracers)
        leaves = [next(found) if isinstance(x, Tracer) else x for x in self.leaves]
        return unflatten(self.tree, leaves, interpreter.allocate)

    def directions(self, interpreter: Interpreter, tracers: Sequence[Any]) -> Any:
        """The containers around the cotangents of the tracers, and 0 for all that is none."""
        found = iter(tracers)
        leaves = [next(found) if isinstance(x, Tracer) else 0 for x in self.leaves]
        return unflatten(around_floats(self.tree), leaves, interpreter.allocate)


def around_floats(tree: TreeDef) -> TreeDef:
    """A tree with 0 in the place of what is no leaf, as tangents and cotangents have it."""

    def zeros(node: Any) -> Any:
        if not isinstance(node, tuple):
            return node if node is LEAF else Static(0)
        cls, keys, children = node
        return cls, keys, tuple(map(zeros, children))

    return TreeDef(zeros(tree.root), tree.count)


def cotangents_of(found: Any, args: Sequence[Any], name: str) -> Iterator[tuple[Tracer, Any, str]]:
    """The floats of the arguments in order, each with the cotangent that a backward rule gives
    (None for zero), and what to call that.

    Raises TypeError for what is not a tuple of one entry for each argument, and of its structure.
    """
    found = narrow(found)
    if not isinstance(found, (tuple, list)) or len(found) != len(args):
        raise TypeError(
            f"custom_vjp: the backward rule of {name} gives a tuple of cotangents, one for each "
            f"of the {len(args)} arguments"
        )
    for k, (entry, given) in enumerate(zip(found, args, strict=True)):
        what = f"custom_vjp: the cotangent of argument {k} that the rule of {name} gives"
        for x, g in _parts(entry, given, what):
            yield x, g, what


def _parts(entry: Any, given: Any, what: str) -> list[tuple[Tracer, Any]]:
    """The floats of an argument, each with what an entry for the argument has in its place."""
    leaves, tree = flatten_state(given)
    if not any(isinstance(x, Tracer) and differentiable(x.type) for x in leaves):
        return []
    found = with_zeros(entry, tree, len(leaves), what)
    return [
        (x, g)
        for x, g in zip(leaves, found, strict=True)
        if isinstance(x, Tracer) and differentiable(x.type)
    ]


class Call:
    """One call of a function with rules, as it is traced."""

    def __init__(
        self, interpreter: Interpreter, transform: str, name: str, args: tuple[Any, ...]
    ) -> None:
        self.interpreter, self.args = interpreter, args
        #: What messages call the kind of rule, and the function.
        self.transform, self.name = transform, name
        self.trace = here()
        self.leaves, self.tree = flatten_state(args)
        #: The numbers of the leaves that have derivatives.
        self.places = [
            k for k, x in enumerate(self.leaves) if isinstance(x, Tracer) and differentiable(x.type)
        ]
        self.given: list[Tracer] = [self.leaves[k] for k in self.places]
        self.operands = [x.value() for x in self.given]
        self.regions: list[tuple[Trace, list[Value], list[Value]]] = []
        #: Memory in regions that stands for arguments' memory.
        self.placeholders: dict[Storage, Storage] = {}

    # Regions --------------------------------------------------------------------------------------

    def region(
        self, more: Sequence[Type], run: Callable[[list[Tracer], list[Tracer]], Sequence[Value]]
    ) -> None:
        """Trace `run(floats, others)`, which gives the outputs of a region.

        `floats` stand for the operands, `others` for inputs of the types `more`.
        """
        region = Trace(self.name, self.trace.env, self.trace)
        types = [*(v.type for v in self.operands), *more]
        inputs = [region.builder.input(t) for t in types]
        count = len(self.operands)
        with entered(region, Names((), ())) as side:
            tracers = [wrap(region, v) for v in inputs]
            for x, v, given in zip(tracers, self.operands, self.given, strict=False):
                if isinstance(x, TracedArray) and isinstance(given, TracedArray):
                    self.placeholders[x.storage] = given.storage
                    x.storage.order = None if v in self.trace.unordered else x.type.order
            outputs = list(run(tracers[:count], tracers[count:]))
        self._check(region, tracers, bool(side.changed or side.stored or side.clobbered), outputs)
        self.regions.append((region, inputs, outputs))

    def _check(
        self, region: Trace, tracers: Sequence[Tracer], changes: bool, outputs: Sequence[Value]
    ) -> None:
        """Raise TraceError for what a function with rules must not do."""
        name = self.name
        if has_effects(region.builder.nodes):
            what = f"{name}, or its rule, prints, raises or draws random numbers"
            raise TraceError("TJ031", what, user_line())
        written = any(isinstance(x, TracedArray) and x.storage.written for x in tracers)
        if changes or written or any(v.type == TOKEN for v in region.captures):
            what = f"{name}, or its rule, changes what it is given, or something outside it"
            raise TraceError("TJ031", what, user_line())
        bound = {s for n in region.builder.nodes for s in n.binds}
        if any(bound & type_sizes(v.type) for v in outputs):
            what = f"{name}, or its rule, gives an array whose size is known only at run time"
            raise TraceError("TJ031", what, user_line())

    def arguments(self, floats: Sequence[Any]) -> tuple[Any, ...]:
        """The arguments with other floats."""
        leaves = list(self.leaves)
        for k, x in zip(self.places, floats, strict=True):
            leaves[k] = x
        out: tuple[Any, ...] = unflatten(self.tree, leaves, self.interpreter.allocate)
        return out

    def primal(self, function: Callable[..., Any]) -> Result:
        """Trace the function itself."""
        found: list[Result] = []

        def run(floats: list[Tracer], others: list[Tracer]) -> Sequence[Value]:
            found.append(Result(self.interpreter.call(function, *self.arguments(floats))))
            return found[0].values

        self.region((), run)
        return found[0]

    def forward(self, rule: Callable[..., Any], result: Result) -> Result:
        """Trace the forward rule; its residuals."""
        found: list[Result] = []

        def run(floats: list[Tracer], others: list[Tracer]) -> Sequence[Value]:
            out, residuals = self._pair(
                self.interpreter.call(rule, *self.arguments(floats)), "forward rule", "residuals"
            )
            found.append(Result(residuals))
            return [*self._results(out, result, "forward rule"), *found[0].values]

        self.region((), run)
        return found[0]

    def backward(
        self, rule: Callable[..., Any], result: Result, residuals: Result
    ) -> tuple[int, ...]:
        """Trace the backward rule; the numbers of the operands that it gives cotangents of."""
        wrt: list[int] = []
        count = len(residuals.values)
        types = [v.type for v in residuals.values]
        types += [tangent_type(result.values[k].type) for k in result.floats]

        def run(floats: list[Tracer], others: list[Tracer]) -> Sequence[Value]:
            given = residuals.rebuilt(self.interpreter, others[:count])
            cotangent = self._directions(result, others[count:])
            return self._cotangents(self.interpreter.call(rule, given, cotangent), wrt)

        self.region(types, run)
        return tuple(wrt)

    def _cotangents(self, found: Any, wrt: list[int]) -> list[Value]:
        out = []
        for k, (x, g, what) in enumerate(cotangents_of(found, self.args, self.name)):
            if g is not None:
                out.append(self._direction(g, x.type, what))
                wrt.append(k)
        return out

    def tangents(self, rule: Callable[..., Any], result: Result) -> tuple[int, ...]:
        """Trace a rule for tangents; the numbers of the results that it gives tangents of."""
        wrt = tuple(result.floats)

        def run(floats: list[Tracer], others: list[Tracer]) -> Sequence[Value]:
            given = [like(x, d.value()) for x, d in zip(self.given, others, strict=True)]
            leaves: list[Any] = [0] * len(self.leaves)
            for k, d in zip(self.places, given, strict=True):
                leaves[k] = d
            directions = unflatten(around_floats(self.tree), leaves, self.interpreter.allocate)
            out, tangent = self._pair(
                self.interpreter.call(rule, self.arguments(floats), directions), "rule", "tangent"
            )
            what = f"custom_jvp: the tangent that the rule of {self.name} gives"
            leaves = matching(tangent, result.tree, len(result.leaves), what)
            pairs = zip(result.leaves, leaves, strict=True)
            found = [g for x, g in pairs if isinstance(x, Tracer)]
            return [
                *self._results(out, result, "rule"),
                *(self._direction(found[k], result.values[k].type, what) for k in wrt),
            ]

        self.region([tangent_type(v.type) for v in self.operands], run)
        return wrt

    # What rules give ------------------------------------------------------------------------------

    def _pair(self, x: Any, what: str, second: str) -> tuple[Any, Any]:
        x = narrow(x)
        if not isinstance(x, (tuple, list)) or len(x) != 2:
            raise TypeError(
                f"{self.transform}: the {what} of {self.name} gives a pair (result, {second})"
            )
        first, other = x
        return first, other

    def _results(self, out: Any, result: Result, rule: str) -> list[Value]:
        """The results of a rule as those of the function. Raises TypeError where they differ."""
        what = f"{self.transform}: the result that the {rule} of {self.name} gives"
        leaves = matching(out, result.tree, len(result.leaves), what)
        values: list[Value] = []
        for x, y in zip(result.leaves, leaves, strict=True):
            if isinstance(x, Tracer):
                values.append(self._fitted(y, result.values[len(values)].type, what))
        return values

    def _fitted(self, x: Any, t: Type, what: str) -> Value:
        v = lift(x).value()
        if v.type == t:
            return v
        if dtype_of(v.type) != dtype_of(t):
            raise TypeError(f"{what} is {v.type}, and that of the function {t}")
        v = direction(x, t, what)
        return here().emit("py_scalar", (v,), kind=t.kind) if isinstance(t, PyScalar) else v

    def _direction(self, x: Any, t: Type, what: str) -> Value:
        c = DerivativeBuilder(here().builder, fresh_name(here()))
        return c.laid_out(direction(x, t, what), tangent_type(t))

    def _directions(self, result: Result, given: Sequence[Tracer]) -> Any:
        """The cotangent of a result; 0 for what is no float."""
        tracers: list[Any] = [0] * len(result.values)
        for k, x in zip(result.floats, given, strict=True):
            tracers[k] = like(result.tracers[k], x.value())
        return result.directions(self.interpreter, tracers)

    # The node -------------------------------------------------------------------------------------

    def emit(self, result: Result, rule: str, wrt: tuple[int, ...]) -> Any:
        """Record the node; the call's result."""
        trace, count = self.trace, len(self.operands)
        captures = list(dict.fromkeys(v for region, _, _ in self.regions for v in region.captures))
        graphs = []
        for region, inputs, outputs in self.regions:
            graph = close_region(region, inputs, (), captures, outputs)
            # The operands of the node come first: what stands for the floats, and the captures.
            own = len(inputs)
            ordered = (*inputs[:count], *graph.inputs[own:], *inputs[count:])
            graphs.append(replace(graph, inputs=ordered))
        attrs = {
            "rule": rule,
            "args": count,
            "wrt": wrt,
            "function": self.name,
            "sizes": tuple(symbols(g.sizes) for g in graphs),
        }
        outs = trace.emit_all("custom", (*self.operands, *captures), attrs, regions=tuple(graphs))
        return result.rebuilt(self.interpreter, self._wrapped(result, outs))

    def _wrapped(self, result: Result, outs: Sequence[Value]) -> list[Tracer]:
        """The results of the node. One that was the memory of an argument is a copy of it, which
        is right as long as nothing is stored into either.
        """
        trace, out = self.trace, []
        made: dict[Storage, Storage] = dict(self.placeholders)
        for x, inner, v in zip(result.tracers, result.values, outs, strict=True):
            if inner not in trace.unordered:
                trace.unordered.discard(v)
            if not isinstance(x, TracedArray):
                out.append(wrap(trace, v))
                continue
            root = x.storage.root
            source = root if root.trace.encloses(trace) else made.get(root)
            storage = Storage(trace, v) if source is None else Storage(trace, v, -1, source)
            made.setdefault(root, storage)
            out.append(wrap(trace, v, storage))
        return out
