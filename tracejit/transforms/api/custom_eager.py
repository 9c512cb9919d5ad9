"""Rules of the program's own where values are concrete: they are called when they are needed.

A call is recorded on the tape as one node, from the arguments and from what the function gave to
the same values again. A derivative does not pass to what the function gave, but through the rule.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from tracejit.errors import Underivable
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import Storage
from tracejit.frontend.tracing.pytree import flatten_state, unflatten
from tracejit.frontend.tracing.trace import Trace, here
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift, wrap
from tracejit.ir.derivatives import (
    DerivativeBuilder,
    Into,
    NodeAdaptor,
    NoTangent,
    differentiable,
    tangent_type,
)
from tracejit.ir.graph import Attrs, Graph, Value
from tracejit.ir.op import Op
from tracejit.ir.types import Type
from tracejit.transforms.api.custom_trace import Result, around_floats, cotangents_of
from tracejit.transforms.api.primal import fresh_copy, fresh_name, like, stack_name
from tracejit.transforms.api.products import direction, matching
from tracejit.transforms.api.rules import CustomRules, may_follow, within
from tracejit.transforms.autodiff.custom_rules import require_linear
from tracejit.transforms.autodiff.reverse import Pullback
from tracejit.transforms.autodiff.segments import Segment

__all__ = ["record_eagerly"]


def record_eagerly(
    interpreter: Interpreter,
    rules: CustomRules,
    function: Callable[..., Any],
    args: tuple[Any, ...],
) -> Any:
    """The result of a call of a function with rules, on the tape of a run."""
    trace = here()
    leaves, tree = flatten_state(args)
    active: set[Value] = trace.builder.active  # type: ignore[attr-defined]
    floats = [x for x in leaves if isinstance(x, Tracer) and differentiable(x.type)]
    if not active:
        return interpreter.call(function, *args)
    fresh = {id(x): fresh_copy(trace, x) for x in floats}
    given = unflatten(tree, [fresh.get(id(x), x) for x in leaves], interpreter.allocate)
    call = _Recorded(interpreter, rules, args, given, [fresh[id(x)] for x in floats])
    return call.run(function, [x.storage for x in floats if isinstance(x, TracedArray)])


class _Recorded(Op):
    """The op of one call: its operands are the floats among the arguments, the results as the
    function gave them, and what the function has read beside its arguments.
    """

    name: ClassVar[str] = "custom_call"

    def __init__(
        self,
        interpreter: Interpreter,
        rules: CustomRules,
        args: tuple[Any, ...],
        given: tuple[Any, ...],
        floats: Sequence[Tracer],
    ) -> None:
        self.interpreter, self.rules, self.args, self.given = interpreter, rules, args, given
        self.floats = list(floats)
        #: In how many rules of its own the call is made: deep inside there is no rule.
        self.has_rule = may_follow(rules.owner)
        self.residuals: Any = None
        self.result: Result

    def run(self, function: Callable[..., Any], storages: Sequence[Storage]) -> Any:
        """Call the function, and record the node; the result."""
        trace = here()
        values = [x.value() for x in self.floats]
        start = len(trace.builder.nodes)
        self.result = Result(self._called(function))
        read = self._read(trace, start, values)
        inputs = (*values, *self.result.values, *read)
        if any(isinstance(x, TracedArray) and x.storage.written for x in self.floats):
            raise Underivable(f"{self.rules.name}, which stores into what it is given")
        outs = trace.builder.emit(self, inputs)
        placeholders = [x.storage for x in self.floats if isinstance(x, TracedArray)]
        sources = dict(zip(placeholders, storages, strict=True))
        tracers = []
        for x, v in zip(self.result.tracers, outs, strict=True):
            source = sources.get(x.storage.root) if isinstance(x, TracedArray) else None
            tracers.append(
                wrap(trace, v, None if source is None else Storage(trace, v, -1, source))
            )
        return self.result.rebuilt(self.interpreter, tracers)

    def _called(self, function: Callable[..., Any]) -> Any:
        if not self.has_rule or self.rules.forward is None:
            return self.interpreter.call(function, *self.given)
        with within(self.rules.owner):
            out = self.interpreter.call(self.rules.forward, *self.given)
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            name = self.rules.name
            raise TypeError(
                f"custom_vjp: the forward rule of {name} gives a pair (result, residuals)"
            )
        result, self.residuals = out
        return result

    def _read(self, trace: Trace, start: int, given: Sequence[Value]) -> list[Value]:
        """What the call has read that depends on what is differentiated, its arguments aside."""
        active = trace.builder.active  # type: ignore[attr-defined]
        own = set(given)
        found: dict[Value, None] = {}
        for node in trace.builder.nodes[start:]:
            found |= dict.fromkeys(v for v in node.inputs if v in active and v not in own)
            own.update(node.outputs)
        return [*found, *(v for v in self.result.values if v in active and v not in own)]

    # As an op -------------------------------------------------------------------------------------

    def infer(
        self,
        inputs: Sequence[Type],
        attrs: Attrs,
        regions: tuple[Graph, ...],
        binds: tuple[str, ...],
    ) -> tuple[Type, ...]:
        first = len(self.floats)
        return tuple(inputs[first : first + len(self.result.values)])

    def evaluate(self, inputs: Sequence[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
        first = len(self.floats)
        return tuple(inputs[first : first + len(self.result.values)])

    def _refusal(self, reads_more: bool) -> str:
        """Why there is no derivative; empty if there is one."""
        name = self.rules.name
        if reads_more:
            return (
                f"{name} has a derivative of its own, which says nothing of a value that {name} "
                "reads and is not given as an argument"
            )
        if not self.has_rule:
            return f"the rule of {name} calls it: its higher derivatives are not formed"
        return ""

    def pushed(self, inputs: tuple[Value, ...]) -> Sequence[Value]:
        count = len(self.floats)
        return (*inputs[:count], *inputs[count + len(self.result.values) :])

    def jvp(
        self, c: DerivativeBuilder, at: NodeAdaptor, tangents: Sequence[Value | None]
    ) -> Sequence[Value | NoTangent | None]:
        count = len(self.floats)
        more = tangents[count + len(self.result.values) :]
        if refusal := self._refusal(any(t is not None for t in more)):
            return [NoTangent(refusal)] * len(self.result.values)
        given = [
            c.zeros(x.type) if t is None else t
            for x, t in zip(self.floats, tangents[:count], strict=True)
        ]
        if self.rules.jvp is not None:
            return self._tangents(given)
        zeros = [c.zeros(v.type) for v in self.result.values if differentiable(v.type)]
        spread = self._spread(zeros)
        found = self._transposed(zeros, lambda: self._cotangents(c, spread), given)
        return self._spread(found)

    def vjp(
        self, c: DerivativeBuilder, at: NodeAdaptor, cotangents: Sequence[Value | None]
    ) -> Sequence[Value | Into | None]:
        count = len(self.floats)
        if refusal := self._refusal(any(at.wanted[count + len(self.result.values) :])):
            raise Underivable(refusal)
        rest: list[Value | None] = [None] * (len(at.inputs) - count)
        if self.rules.jvp is None:
            return [*self._cotangents(c, cotangents), *rest]
        zeros = [c.zeros(x.type) for x in self.floats]
        return [*self._transposed(zeros, lambda: self._tangents(zeros), cotangents), *rest]

    def _spread(self, floats: Sequence[Value | None]) -> list[Value | None]:
        """Values for the floats among the results, with None for the other results."""
        found = iter(floats)
        return [next(found) if differentiable(v.type) else None for v in self.result.values]

    def _transposed(
        self,
        zeros: Sequence[Value],
        rule: Callable[[], Sequence[Value | None]],
        given: Sequence[Value | None],
    ) -> list[Value | None]:
        """What a rule that is linear in `zeros` gives is pulled back from what is given for it."""
        trace = here()
        # What the rule computes of them is recorded.
        trace.builder.active.update(zeros)  # type: ignore[attr-defined]
        start = len(trace.builder.nodes)
        pairs = [(x, g) for x, g in zip(rule(), given, strict=True) if x is not None]
        segment = Segment(trace.builder, start)
        pull = Pullback(segment, list(zeros), fresh_name(trace), stack_name(trace))
        pull.may_have_effects = False
        found = pull.pull([x for x, _ in pairs], [g for _, g in pairs])
        nodes = trace.builder.nodes[start:]
        require_linear(self.rules.name, nodes, zeros, [g for g in found if g is not None])
        return found

    def _tangents(self, given: Sequence[Value]) -> list[Value | None]:
        """The tangents of the results by the rule, for those of the arguments."""
        what = f"custom_jvp: the tangent that the rule of {self.rules.name} gives"
        leaves, tree = flatten_state(self.given)
        pairs = zip(self.floats, given, strict=True)
        table = {id(x): like(x, v) for x, v in pairs}
        found = [table.get(id(x), 0) for x in leaves]
        directions = unflatten(around_floats(tree), found, self.interpreter.allocate)
        with within(self.rules.owner):
            out = self.interpreter.call(self.rules.jvp, self.given, directions)
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            name = self.rules.name
            raise TypeError(f"custom_jvp: the rule of {name} gives a pair (result, tangent)")
        result = self.result
        found = matching(out[1], result.tree, len(result.leaves), what)
        entries = [g for x, g in zip(result.leaves, found, strict=True) if isinstance(x, Tracer)]
        return [
            _fitted(g, v.type, what) if differentiable(v.type) else None
            for g, v in zip(entries, result.values, strict=True)
        ]

    def _cotangents(
        self, c: DerivativeBuilder, given: Sequence[Value | None]
    ) -> list[Value | None]:
        """The cotangents of the arguments by the rule, for those of the results."""
        result, name = self.result, self.rules.name
        tracers: list[Any] = [
            like(x, c.zeros(v.type) if g is None else g) if differentiable(v.type) else 0
            for x, v, g in zip(result.tracers, result.values, given, strict=True)
        ]
        with within(self.rules.owner):
            cotangent = result.directions(self.interpreter, tracers)
            found = self.interpreter.call(self.rules.backward, self.residuals, cotangent)
        return [
            None if g is None else _fitted(g, x.type, what)
            for x, g, what in cotangents_of(found, self.given, name)
        ]


def _fitted(x: Any, t: Type, what: str) -> Value:
    trace = here()
    c = DerivativeBuilder(trace.builder, fresh_name(trace))
    return c.laid_out(direction(lift(x), t, what), tangent_type(t))
