"""Functions whose intermediate values a backward pass computes again: `remat`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tracejit.errors import TraceError
from tracejit.frontend.control.kinds import parts_of
from tracejit.frontend.control.merges import PhiBuilder
from tracejit.frontend.control.regions import Names, Side, close_region, entered
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import Trace, here
from tracejit.frontend.tracing.tracer import TracedArray, Tracer
from tracejit.frontend.tracing.union import Union, Unreachable
from tracejit.ir.dims import free_symbols
from tracejit.ir.graph import Node, Value, symbols
from tracejit.ir.regions import nested
from tracejit.ir.types import NONE, ArrayType, NpScalar, PyScalar, type_sizes
from tracejit.ops.array.creation import BindSize
from tracejit.ops.control.effects import Check
from tracejit.transforms.api.function import Decorated

__all__ = ["Rematerialised", "has_effects"]

#: Ops with effects that may run again on the same operands.
_REPEATABLE = (BindSize, Check)


def has_effects(nodes: Sequence[Node]) -> bool:
    """Whether nodes do what must not be done twice."""
    return any(not n.op.pure and not isinstance(n.op, _REPEATABLE) for n in nested(nodes))


class Rematerialised(Decorated):
    """A function that is the node `remat` where it is called in a trace."""

    transform = "remat"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def record(
        self,
        interpreter: Interpreter,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        trace = here()
        if getattr(trace.builder, "active", None) is not None:
            # Real values: each operation is computed as it is met, and the tape keeps it.
            return interpreter.call(function, *args, **kwargs)
        region = Trace(self.function_name, trace.env, trace)
        why = "it raises an exception"
        try:
            with entered(region, Names((), ())) as side:
                side.outcome = interpreter.call(function, *args, **kwargs)
            why = _obstacle(interpreter, side)
        except TraceError:
            raise
        except (Exception, Unreachable):
            pass
        if why:
            trace.note("kept", why)
            return interpreter.call(function, *args, **kwargs)
        return _emit(interpreter, trace, side)

    @property
    def function_name(self) -> str:
        """A name for the region."""
        name = getattr(self.function, "__name__", "")
        return name if name.isidentifier() else "function"


def _obstacle(interpreter: Interpreter, side: Side) -> str:
    """Why a call cannot be a node of its own, or ""."""
    region = side.region
    if side.changed:
        return "it changes a container or an object that was made outside"
    if side.clobbered:
        return "it stores into an array from outside, under another name"
    if has_effects(region.builder.nodes):
        return "it prints, raises, or draws random numbers"
    kinds = (ArrayType, NpScalar, PyScalar)
    if not all(isinstance(v.type, kinds) or v.type == NONE for v in region.captures):
        return "it reads what an outer backward pass keeps"
    bound = {s for n in region.builder.nodes for s in n.binds}
    return _unfit(interpreter, region, side.outcome, bound)


def _unfit(interpreter: Interpreter, region: Trace, x: Any, bound: set[str]) -> str:
    """Why a result cannot leave the region, or ""."""
    if isinstance(x, Tracer):
        types = (x.type, x.storage.value.type) if isinstance(x, TracedArray) else (x.type,)
        own = not bound.isdisjoint(set().union(*map(type_sizes, types)))
        return "it gives an array whose size is known only at run time" if own else ""
    if isinstance(x, SymInt):
        own = not bound.isdisjoint(free_symbols(x.dim))
        return "it gives a size that is known only at run time" if own else ""
    if isinstance(x, Union):
        children = [x.predicate, x.first, x.second]
    else:
        parts = parts_of(x)
        if parts is None:
            made = interpreter.owner_of(x)
            inside = made is not None and region.encloses(made)
            return f"it gives a {type(x).__name__} that it has made" if inside else ""
        children = parts[2]
    return next(filter(None, (_unfit(interpreter, region, v, bound) for v in children)), "")


def _emit(interpreter: Interpreter, trace: Trace, side: Side) -> Any:
    """Record the node of a call that has been traced; its result."""
    region = side.region
    phis = PhiBuilder(interpreter, trace, None, [side])
    recipe = phis.export(side.outcome, 0)
    storages = {storage: phis.operand(value) for storage, value in side.stored.items()}
    (outputs,) = phis.complete()
    captures: list[Value] = list(region.captures)
    graph = close_region(region, (), (), captures, outputs)
    attrs = {"sizes": (symbols(graph.sizes),)}
    outs = trace.emit_all("remat", captures, attrs, regions=(graph,))
    for inner, outer in zip(outputs, outs, strict=True):
        if inner not in trace.unordered:
            trace.unordered.discard(outer)
    for storage, k in storages.items():
        storage.store(trace, outs[k])
    return recipe(outs)
