"""The part of a trace that calls a function, with the values that it is to be derived by."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from tracejit.base.lazy_dataclass import dataclass
from tracejit.errors import TraceError, Underivable
from tracejit.frontend.control.kinds import as_machine, parts_of, rebuild
from tracejit.frontend.control.unions import is_number, leaves_of, narrow
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.trace import Trace, here, user_line
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift, wrap
from tracejit.frontend.tracing.union import Union
from tracejit.ir.derivatives import DerivativeBuilder
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Node, Value
from tracejit.ir.regions import copy_node, nested, on_stacks
from tracejit.ir.types import TOKEN, ArrayType, PyScalar, dtype_name, dtype_of
from tracejit.transforms.api.variables import Variables, has_union, variables
from tracejit.transforms.autodiff.segments import Segment

__all__ = [
    "Primal",
    "Variables",
    "as_error",
    "call_primal",
    "fresh_copy",
    "fresh_name",
    "has_union",
    "like",
    "settled",
    "stack_name",
]


def fresh_copy(trace: Trace, x: Tracer) -> Tracer:
    """A copy of a number or an array, as a value that nothing else is."""
    v = x.value()
    t = v.type
    if isinstance(t, ArrayType):
        new = trace.emit("reshape", (v,), shape=t.shape)
    elif isinstance(t, PyScalar):
        new = trace.emit("py_scalar", (v,), kind=t.kind)
    else:
        new = trace.emit("cast", (v,), dtype=dtype_name(t.dtype))  # type: ignore[union-attr]
    if v in trace.unordered:
        trace.unordered.add(new)
    active = getattr(trace.builder, "active", None)
    if active is not None:
        active.add(new)
    out = wrap(trace, new)
    # Nothing is of the class of a module that nobody has imported.
    eager = sys.modules.get("tracejit.frontend.eager.tracers")
    if eager is not None and all(isinstance(v, eager.ConcreteArray) for v in (x, out)):
        cast(Any, out.trace).placeholder(out, x)
    return out


@dataclass
class Primal:
    """A call of a function that has been recorded."""

    trace: Trace
    segment: Segment
    variables: list[Variables]
    #: What the function gives, as it is.
    result: Any
    aux: Any
    #: The same with one number in place of each union between numbers of several kinds.
    settled: Any

    @property
    def values(self) -> list[Value]:
        """The values that it is to be derived by."""
        return [v for x in self.variables for v in x.values]

    def again(self, nodes: Sequence[Node]) -> tuple[Segment, Callable[[Value], Value]]:
        """Record `nodes`, those of the call, once more: in the present trace, a region perhaps.

        Gives what was recorded, and what stands there for a value of the call. Effects are not
        repeated; raises TraceError for branches and loops that have some.
        """
        trace = here()
        start = len(trace.builder.nodes)
        c = DerivativeBuilder(trace.builder, fresh_name(trace))
        table: dict[Value, Value] = {}
        sizes: dict[str, Dim] = {}

        def at(v: Value) -> Value:
            if v not in table and v.type == TOKEN:
                raise TraceError("TJ031", "a derivative of effects is taken twice", user_line())
            return table[v] if v in table else trace.capture(v, self.trace)

        used = {str(n.attrs["stack"]) for n in nested(nodes) if n.op.kind == "stack"}
        stacks = {name: stack_name(trace) for name in sorted(used)}
        for node in nodes:
            if not node.op.pure or node.op.kind == "effect":
                continue  # what was printed, drawn or checked stands
            given = [at(v) for v in node.inputs]
            outs = copy_node(c, on_stacks(node, stacks) if stacks else node, given, sizes)
            table.update(zip(node.outputs, outs, strict=True))
        return Segment(trace.builder, start), at


def call_primal(
    interpreter: Interpreter,
    f: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    places: Sequence[int | str],
    what: str,
    has_aux: bool,
) -> Primal:
    """Call `f` with the arguments at `places`, which have been checked, as variables.

    With `has_aux` it gives a pair (result, auxiliary). Raises TypeError if it does not.
    """
    trace = here()
    copied = functools.partial(fresh_copy, trace)
    chosen = {
        p: variables(interpreter, kwargs[p] if type(p) is str else args[p], copied)  # type: ignore[index]
        for p in places
    }
    start = len(trace.builder.nodes)
    given = [chosen[k].argument if k in chosen else x for k, x in enumerate(args)]
    named = {k: chosen[k].argument if k in chosen else x for k, x in kwargs.items()}
    try:
        result = narrow(interpreter.call(f, *given, **named))
    except Exception:
        # Where values are real, the caller sees what was stored before the exception.
        for x in chosen.values():
            _store_back(trace, start, x)
            x.restore()
        raise
    if here() is not trace:
        raise TraceError("TJ014", "", user_line())
    for x in chosen.values():
        _store_back(trace, start, x)
        x.restore()
    aux = None
    if has_aux:
        if type(result) is not tuple or len(result) != 2:
            raise TypeError(
                f"{what} with has_aux=True takes a function that gives a pair (value, auxiliary)"
            )
        result, aux = result
    one_kind = settled(interpreter, result)
    segment = Segment(trace.builder, start)
    return Primal(trace, segment, list(chosen.values()), result, aux, one_kind)


def settled(
    interpreter: Interpreter, x: Any, number: Callable[[Interpreter, Union], Any] | None = None
) -> Any:
    """`x` in its containers with what `number` makes of each union; by default one NumPy scalar.

    Raises TraceError for a union that is none between numbers.
    """
    if not has_union(x):
        return x
    x = narrow(x)
    if isinstance(x, Union):
        return (number or _as_number)(interpreter, x)
    found = parts_of(x)
    if found is None:
        return x
    cls, keys, children = found
    return rebuild(
        interpreter, cls, keys, [settled(interpreter, part, number) for part in children]
    )


def _as_number(interpreter: Interpreter, x: Union) -> Tracer:
    """A union between numbers as one NumPy scalar; integers among them are constants."""

    from tracejit.frontend.control.branches import lifted

    kinds = list(leaves_of(x))
    dtypes = [dtype_of(lift(k).type) for k in kinds if is_number(k)]
    if len(dtypes) < len(kinds) or not any(d.kind in "fc" for d in dtypes):
        raise TraceError("TJ031", "a result that is of one of several kinds", user_line())
    dtype = np.result_type(*(d for d in dtypes if d.kind in "fc"))

    def as_float(leaf: Any) -> Tracer:
        v = as_machine(leaf)
        if dtype_of(v.type) != dtype:
            v = here().emit("cast", (v,), dtype=dtype_name(dtype))
        return wrap(here(), v)

    out = lifted(interpreter, as_float, x)
    assert isinstance(out, Tracer)
    return out


def _store_back(trace: Trace, start: int, x: Variables) -> None:
    """What the function has stored into its argument is in the caller's array."""
    for old, new in zip(x.given, x.tracers, strict=True):
        if isinstance(new, TracedArray) and new.views:
            what = "an assignment to an attribute of an argument that is derived by"
            raise TraceError("TJ008", what, user_line())
        if not isinstance(new, TracedArray) or not new.storage.written:
            continue
        assert isinstance(old, TracedArray)
        before = old.value()
        if any(before in node.inputs for node in trace.builder.nodes[start:]):
            raise TraceError(
                "TJ005", "an argument that is derived by, and read under another name", user_line()
            )
        old.store(new.value())


def like(x: Tracer, v: Value) -> Tracer:
    """A derivative as what `x` is: a Python number, a NumPy scalar or an array."""
    trace = here()
    t = x.type
    if isinstance(t, PyScalar):
        return wrap(trace, trace.emit("py_scalar", (v,), kind=t.kind))
    return wrap(trace, v)


def fresh_name(trace: Trace) -> Callable[[], str]:
    """Makes names of size symbols for a trace."""
    return lambda: trace.fresh_size()


def stack_name(trace: Trace) -> str:
    """A name of a stack that no other has."""
    return f"r{trace.fresh_size()}"


def as_error(e: Underivable) -> TraceError:
    """What stops a trace for want of a derivative."""
    return TraceError("TJ031", str(e), e.where or user_line())
