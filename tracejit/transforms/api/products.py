"""Products of a function's Jacobian: with a tangent (`jvp`), and of a cotangent with it (`vjp`)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tracejit.errors import TraceError, Underivable
from tracejit.frontend.control.unions import narrow
from tracejit.frontend.eager.arguments import in_containers
from tracejit.frontend.python.trees import fitted, flattened, rebuilt
from tracejit.frontend.tracing.concrete_trace import ConcreteTrace, LostGradient, concrete_trace
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.storage import set_effect_token
from tracejit.frontend.tracing.pytree import LEAF, Static, TreeDef, flatten_state
from tracejit.frontend.tracing.trace import here, user_line
from tracejit.frontend.tracing.traceable import Traceable
from tracejit.frontend.tracing.tracer import Tracer, lift
from tracejit.ir.derivatives import DerivativeBuilder, differentiable, tangent_type
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import ArrayType, Type, dtype_of, shape_of
from tracejit.transforms.api.arguments import require_no_tangent
from tracejit.transforms.api.function import Transformed, argument_name, float_places, require_tree
from tracejit.transforms.api.primal import (
    Primal,
    as_error,
    call_primal,
    fresh_name,
    like,
    stack_name,
)
from tracejit.transforms.autodiff.forward import push_forward
from tracejit.transforms.autodiff.reverse import Pullback

__all__ = [
    "Jvp",
    "JvpOfAny",
    "Pulled",
    "Vjp",
    "direction",
    "matching",
    "results_of",
    "tangent_of",
    "with_zeros",
]


def direction(x: Any, t: Type, what: str) -> Value:
    """A tangent or a cotangent of a value of type `t`, given by the user, as a value.

    Raises TypeError where it has another shape, or a dtype that is not converted safely.
    """
    trace = here()
    v = lift(x).value()
    c = DerivativeBuilder(trace.builder, fresh_name(trace))
    v = c.number(v)
    want = tangent_type(t)
    have_kind, kind = dtype_of(v.type).kind, dtype_of(want).kind
    fits = have_kind in "biuf" or have_kind == kind
    if not fits or not _same_shape(shape_of(v.type), shape_of(want)):
        raise TypeError(f"{what} is {v.type}, for a value of type {t}")
    v = c.cast(v, dtype_of(want))
    if isinstance(v.type, ArrayType) and not isinstance(want, ArrayType):
        v = c.shaped(v, want)
    elif isinstance(want, ArrayType):
        v = c.shaped(v, want) if not isinstance(v.type, ArrayType) else v
        v = c.laid_out(v, want)
    return v


def _same_shape(a: tuple[Dim, ...], b: tuple[Dim, ...]) -> bool:
    env = here().env
    return len(a) == len(b) and all(
        x == y or env.expect(x, "==", y) for x, y in zip(a, b, strict=True)
    )


def matching(x: Any, tree: TreeDef, count: int, what: str) -> list[Any]:
    """The leaves of a container of the structure `tree`. Raises TypeError for another one."""
    leaves, given = flatten_state(narrow(x))
    if len(leaves) != count or not _alike(given.root, tree.root):
        raise TypeError(f"{what} has another structure than what it belongs to")
    return leaves


def with_zeros(x: Any, tree: TreeDef, count: int, what: str) -> list[Any]:
    """As `matching`, of what has None for zeros of all that is in its place."""
    leaves, given = flatten_state(narrow(x))
    out = _spread(given.root, tree.root, iter(leaves), what)
    if out is None or len(out) != count:
        raise TypeError(f"{what} has another structure than what it belongs to")
    return out


def _spread(given: Any, node: Any, leaves: Iterator[Any], what: str) -> list[Any] | None:
    """The leaves of a tangent for those of a tree; None where the two do not fit."""
    if isinstance(given, Static) and given.value is None:
        return [None] * count_leaves(node)
    if isinstance(given, tuple) and isinstance(node, tuple):
        if given[0] is not node[0] or given[1] != node[1] or len(given[2]) != len(node[2]):
            return None
        parts = [_spread(a, b, leaves, what) for a, b in zip(given[2], node[2], strict=True)]
        return None if None in parts else [x for part in parts for x in part or ()]
    if given is LEAF and not isinstance(node, tuple):
        found = next(leaves)
        if node is not LEAF:
            require_no_tangent(found, what)
        return [found] if node is LEAF else []
    return [] if given == node else None


def count_leaves(node: Any) -> int:
    """The number of leaves below a node of a tree."""
    if isinstance(node, tuple):
        return sum(map(count_leaves, node[2]))
    return int(isinstance(node, str))


def _alike(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):
        keys = a[0] is b[0] and a[1] == b[1] and len(a[2]) == len(b[2])
        return keys and all(map(_alike, a[2], b[2]))
    return bool(a == b)


class Jvp(Transformed):
    """(primals, tangents) -> (result, its tangent); with `has_aux` the auxiliary result too."""

    transform = "jvp"

    def __init__(self, function: Callable[..., Any], has_aux: bool = False) -> None:
        super().__init__(function)
        self.has_aux = has_aux

    __signature__ = None  # type: ignore[assignment]

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        primals, tangents = args
        if len(tangents) != len(primals):
            raise TypeError(f"jvp: {len(primals)} arguments, and {len(tangents)} tangents")
        places = float_places(self.transform, function, primals)
        for k in set(range(len(primals))).difference(places):
            name = argument_name(function, k)
            require_no_tangent(tangents[k], f"jvp: the tangent of {name}, which has no derivative,")
        primal = call_primal(
            interpreter, function, primals, {}, places, self.transform, self.has_aux
        )
        leaves, structure = flattened(primal.settled, interpreter, values=True)
        own = require_tree(function, primal.result, structure, self.transform)
        trace, nodes = primal.trace, primal.segment.nodes
        # Tangents given by the caller are computed before the call.
        primal.segment.replace([])
        table: dict[Value, Value] = {}
        for place, x in zip(places, primal.variables, strict=True):
            found = x.directions(tangents[place], "a tangent")
            for v, leaf in zip(x.values, found, strict=True):
                if leaf is not None:
                    table[v] = direction(leaf, v.type, "a tangent")
        c = DerivativeBuilder(trace.builder, fresh_name(trace))
        push_forward(c, nodes, table)
        result, aux = primal.result, primal.aux
        floats = results_of(leaves)
        for k, y in floats.items():
            leaves[k] = like(y, tangent_of(c, y.value(), table))
        leaves = [x if k in floats or k in own else 0 for k, x in enumerate(leaves)]
        tangent = rebuilt(structure, leaves, interpreter)
        return (result, tangent, aux) if self.has_aux else (result, tangent)


class JvpOfAny(Traceable):
    """(function, primals, tangents) -> what the `jvp` of the function gives."""

    __name__ = __qualname__ = "jvp"

    def __init__(self, has_aux: bool) -> None:
        self.has_aux = has_aux

    def __call__(self, function: Callable[..., Any], primals: Any, tangents: Any) -> Any:
        return Jvp(function, self.has_aux)(primals, tangents)

    def traced_call(
        self, interpreter: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        function, primals, tangents = args
        return interpreter.call(
            interpreter.allocate(Jvp(function, self.has_aux)), primals, tangents
        )


def results_of(leaves: Sequence[Any]) -> dict[int, Tracer]:
    """The results that have derivatives, by their places among the leaves."""
    lifted = enumerate(map(lift, leaves))
    return {k: x for k, x in lifted if differentiable(x.type)}


def tangent_of(c: DerivativeBuilder, v: Value, table: dict[Value, Value]) -> Value:
    """The tangent of a value, laid out as it is. Raises Underivable where it is not known."""
    if v in c.unknown:
        raise Underivable(c.unknown[v])
    found = table.get(v)
    return c.zeros(v.type) if found is None else c.laid_out(found, tangent_type(v.type))


def _plain(trace: ConcreteTrace, x: Any) -> Any:
    """What a cotangent is in a run, for a pullback of another one."""
    if not isinstance(x, Tracer):
        return x
    if trace.is_active(x.value()):
        raise LostGradient("a pullback of a run that has ended")
    return trace.concrete(x.value())


class Vjp(Transformed):
    """The arguments -> (result, the function that pulls a cotangent of it back)."""

    transform = "vjp"

    def __init__(self, function: Callable[..., Any], has_aux: bool = False) -> None:
        super().__init__(function)
        self.has_aux = has_aux

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        places = float_places(self.transform, function, args)
        primal = call_primal(
            interpreter, function, args, kwargs, places, self.transform, self.has_aux
        )
        result, aux = primal.result, primal.aux
        pulled = interpreter.allocate(Pulled(interpreter, function, primal, places, len(args)))
        require_tree(function, result, pulled.structure, self.transform)
        return (result, pulled, aux) if self.has_aux else (result, pulled)


class Pulled(Traceable):
    """The function that takes a cotangent of a result to those of the arguments, a tuple.

    The cotangent of an argument without derivative is None. It may be called any number of times,
    in the trace that it was made in and in the regions of that; after an eager run, anywhere.
    """

    __name__ = __qualname__ = "pullback"

    def __init__(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        primal: Primal,
        places: Sequence[int | str],
        count: int,
    ) -> None:
        #: What was called.
        self.function = function
        self.primal, self.places, self.count = primal, tuple(places), count
        leaves, self.structure = flattened(primal.settled, interpreter, values=True)
        #: The results that have derivatives, by their places among the leaves.
        self.results = results_of(leaves)
        self.values = [x.value() for x in self.results.values()]
        self.calls = 0
        #: The nodes as they were recorded, for further calls.
        self.nodes = primal.segment.nodes

    def __call__(self, cotangent: Any) -> Any:
        from tracejit.transforms.api.eager import pull_eagerly

        return pull_eagerly(self.primal.trace, self.traced_call, cotangent)

    def traced_call(
        self, interpreter: Interpreter, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        (cotangent,) = args
        present, made_in = concrete_trace(), self.primal.trace
        ended = isinstance(made_in, ConcreteTrace) and made_in.ended
        if present is not None and present is not made_in and ended:
            return self(in_containers(functools.partial(_plain, present), cotangent))
        if not made_in.encloses(here()):
            raise TraceError("TJ031", "a pullback is called outside its function", user_line())
        leaves = fitted(self.structure, narrow(cotangent), interpreter)
        if leaves is None:
            raise TypeError("a cotangent has another structure than what it belongs to")
        directions = [
            None if leaves[k] is None else direction(leaves[k], x.type, "a cotangent")
            for k, x in self.results.items()
        ]
        found = iter(self.pull(directions))
        parts = {
            place: x.rebuilt(interpreter, [like(leaf, next(found)) for leaf in x.given])
            for place, x in zip(self.places, self.primal.variables, strict=True)
        }
        return tuple(parts.get(k) for k in range(self.count))

    def pull(self, cotangents: Sequence[Value | None]) -> list[Value]:
        """The cotangents of all that the call is derived by, for those of `results`."""
        trace, primal = here(), self.primal
        segment, values, wrt = primal.segment, self.values, primal.values
        if trace is not primal.trace or self.calls and any(n.regions for n in self.nodes):
            # What a pass has kept for its end is gone after it.
            segment, at = primal.again(self.nodes)
            values, wrt = [at(v) for v in values], [at(v) for v in wrt]
        self.calls += trace is primal.trace
        pull = Pullback(segment, wrt, fresh_name(trace), stack_name(trace))
        try:
            found = pull.run(values, cotangents)
            if pull.effects is not None:
                set_effect_token(trace, pull.effects)
            return found
        except LostGradient:
            raise
        except Underivable as e:
            raise as_error(e) from None

    def push(self, tangents: Sequence[Value | None]) -> list[Value]:
        """The tangents of `results`, for those of what the call is derived by."""
        segment, at = self.primal.again(self.nodes)
        nodes = segment.nodes
        segment.replace([])
        pairs = zip(self.primal.values, tangents, strict=True)
        table = {at(v): t for v, t in pairs if t is not None}
        c = DerivativeBuilder(here().builder, fresh_name(here()))
        push_forward(c, nodes, table)
        return [tangent_of(c, at(v), table) for v in self.values]
