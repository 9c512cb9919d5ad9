"""Calls of functions without an op become `host_call` nodes, whose types calls on examples find."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from tracejit.errors import TraceError, Where
from tracejit.frontend.host.functions import spelled_call, takes_keywords
from tracejit.frontend.host.infer_by_example import (
    Example,
    Undecided,
    infer_by_example,
    real_values,
)
from tracejit.frontend.host.loop_operands import as_loops_take
from tracejit.frontend.tracing.concrete_trace import ConcreteTrace
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.memory.layout import joint_order
from tracejit.frontend.tracing.memory.storage import effect_token, laid_out, set_effect_token
from tracejit.frontend.tracing.pytree import is_namedtuple
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.trace import here, is_several_axes
from tracejit.frontend.tracing.tracer import TracedArray, Tracer, lift, number_of, wrap
from tracejit.ir.dims import Dim
from tracejit.ir.graph import Value
from tracejit.ir.types import NpScalar, PyScalar, dtype_name
from tracejit.ops.control.templates import class_path
from tracejit.ops.host.functions import find_function
from tracejit.ops.host.registered import host_path

__all__ = [
    "CallOperands",
    "as_called",
    "host_call",
    "is_hosted",
    "record",
    "record_as",
    "refuse_opaque",
]

_CLASSES = (bool, int, float, complex)


def is_hosted(f: Any) -> bool:
    """Whether `f` may be called by the program while it runs."""
    return host_path(f) is not None


def host_call(
    interpreter: Interpreter,
    f: Any,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    refused: TraceError,
    method: str = "__call__",
) -> Any:
    """`f(*args, **kwargs)` when the program runs. Raises `refused` where that cannot be."""
    path = host_path(f, method)
    kwargs = {k: x for k, x in kwargs.items() if x is not None or k != "out"}
    if path is None or not takes_keywords(kwargs):
        raise refused
    operands = CallOperands()
    args, kwargs, back = as_loops_take(path, args, kwargs)
    with refuse_opaque(refused):
        attrs = operands.call(path, args, kwargs)
        if not isinstance(here(), ConcreteTrace):
            interpreter.capture.tell_arrays_apart(operands.arrays)
        return back(record(interpreter, attrs, operands, _harmless(path), refused.where))


def as_called(path: str, *args: Any) -> Any:
    """What the function of a path gives for arguments, called when the program runs: no lists."""
    operands = CallOperands()
    attrs = operands.call(path, args, {})
    return record(None, attrs, operands, find_function(path), None)


def _harmless(path: str) -> Callable[..., Any]:
    """The function of a path as it may be called on operands of any values.

    LAPACK interchanges the rows that it is told to, without a look at how many there are.
    """
    function = find_function(path)
    if path != "scipy.linalg._decomp_lu:lu_solve":
        return function

    def within(lu_and_piv: Any, *args: Any, **kwargs: Any) -> Any:
        lu, piv = lu_and_piv
        return function((lu, np.clip(piv, 0, max(np.shape(lu)[-1] - 1, 0))), *args, **kwargs)

    return within


@contextmanager
def refuse_opaque(refused: TraceError) -> Iterator[None]:
    """Raise `refused`, with the reason, where a call cannot be one of a program's."""
    try:
        yield
    except (_Opaque, Undecided) as e:
        why = f"{refused.detail}: {e}" if e.args else refused.detail
        raise TraceError(refused.code, why, refused.where) from None


class _Opaque(Exception):
    """An argument of which a graph knows nothing."""


class CallOperands:
    """The operands of a call; `dims` are the sizes among them, by number."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        #: What the values are of: a copy of an array has its value, and is another operand.
        self.arrays: list[Any] = []
        self.dims: dict[int, Dim] = {}

    def call(self, path: str, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The attributes of a call of a function. Raises TraceError for an argument unknown."""
        return {
            "function": path,
            "arguments": tuple([self.template(x) for x in args]),
            "keywords": tuple([(k, self.template(x)) for k, x in kwargs.items()]),
        }

    def _number(self, value: Value, array: Any = None) -> Any:
        for k, (v, x) in enumerate(zip(self.values, self.arrays, strict=True)):
            if v is value and x is array:
                return "operand", k
        self.values.append(value)
        self.arrays.append(array)
        return "operand", len(self.values) - 1

    def template(self, x: Any) -> Any:
        """An argument as a template over the operands. Raises _Opaque."""
        cls = type(x)
        if isinstance(x, Tracer):
            if not isinstance(x.type, (NpScalar, PyScalar)) and not isinstance(x, TracedArray):
                raise _Opaque
            if isinstance(x, TracedArray):
                return self._number(_as_copied(x), x)
            return self._number(x.value())
        if isinstance(x, SymInt):
            found = self._number(number_of(here(), x.dim).value())
            self.dims[found[1]] = x.dim
            return found
        if x is None or cls in (*_CLASSES, str):
            return "constant", x
        if cls in (tuple, list):
            return cls.__name__, *map(self.template, x)
        if cls is dict and all(type(k) is str for k in x):
            return "dict", *((("constant", k), self.template(v)) for k, v in x.items())
        if cls in (slice, range):
            parts = tuple([self.template(p) for p in (x.start, x.stop, x.step)])
            return "call", f"builtins:{cls.__name__}", 0, parts, ()
        if cls is np.ndarray and isinstance(here(), ConcreteTrace):
            return self._number(lift(x).value())
        return _constant(x)


def _as_copied(x: TracedArray) -> Value:
    """The value of `x`, laid out as NumPy's copy of it."""
    trace, value = here(), x.value()
    order = joint_order(x) or x.type.order
    same = order == x.type.order and value not in trace.unordered
    return value if same else laid_out(trace, value, order)


def _constant(x: Any) -> Any:
    """A NumPy scalar, a dtype or the class of a number as a template. Raises _Opaque."""
    try:
        if isinstance(x, np.generic):
            dtype_name(x.dtype)
            return "call", class_path(type(x)), 0, (("constant", x.item()),), ()
        if isinstance(x, np.dtype):
            return "call", "numpy:dtype", 0, (("constant", dtype_name(x) and x.str),), ()
    except TypeError as e:
        raise _Opaque(str(e)) from None
    if isinstance(x, type) and (x in _CLASSES or issubclass(x, np.generic)):
        return "class", class_path(x)
    raise _Opaque(f"an argument of class {type(x).__name__}")


def record(
    interpreter: Interpreter | None,
    attrs: dict[str, Any],
    operands: CallOperands,
    placeholder: Callable[..., Any],
    where: Where | None,
    effect: str = "",
) -> Any:
    """Record a call with these attributes; what it gives.

    `placeholder` tells, while tracing, what the function gives. A call with an `effect`, the name
    of its op, stays in its place among all others.
    """
    trace = here()
    values = operands.values
    types = [v.type for v in values]
    real, is_exact = real_values(trace, values), isinstance(trace, ConcreteTrace)
    found = infer_by_example(placeholder, attrs, types, operands.dims, real, trace.env, is_exact)
    return record_as(interpreter, attrs, operands, found, where, effect)


def record_as(
    interpreter: Interpreter | None,
    attrs: dict[str, Any],
    operands: CallOperands,
    found: Example,
    where: Where | None,
    effect: str = "",
) -> Any:
    """The same for a call of which it is known what it gives."""
    trace, values = here(), operands.values
    _require_plain(found.result)
    attrs = {**attrs, "result": found.result, "types": found.types}
    unknown = [d for t in found.types if t[0] == "array" for d in t[2] if d is None]
    binds = tuple([trace.fresh_size() for _ in unknown])
    if effect:
        token, *outputs = trace.emit_all(effect, (effect_token(trace), *values), attrs, binds=binds)
        set_effect_token(trace, token)
    else:
        outputs = list(trace.emit_all("host_call", values, attrs, binds=binds))
    for v, t in zip(outputs, found.types, strict=False):
        if is_several_axes(v.type) and not t[3]:
            trace.unordered.add(v)
    trace.note("host", spelled_call(attrs), where)
    leaves = [wrap(trace, v) for v in outputs[: len(found.types)]]
    return _rebuilt(interpreter, found.result, leaves)


def _require_plain(result: Any) -> None:
    """Raise Undecided for an object that is more than its parts."""
    match result:
        case ("call", path, _, args, _):
            cls: Any = find_function(path)
            if not is_namedtuple(cls):
                raise Undecided(f"it gives a {cls.__name__}")
            for part in args:
                _require_plain(part)
        case ("tuple" | "list", *parts):
            for part in parts:
                _require_plain(part)


def _rebuilt(interpreter: Interpreter | None, result: Any, leaves: Sequence[Any]) -> Any:
    match result:
        case ("operand", k):
            return leaves[k]
        case ("call", path, _, args, _):
            cls: Any = find_function(path)
            return cls(*(_rebuilt(interpreter, a, leaves) for a in args))
        case ("tuple", *parts):
            return tuple([_rebuilt(interpreter, p, leaves) for p in parts])
        case ("list", *parts) if interpreter is not None:
            return interpreter.allocate([_rebuilt(interpreter, p, leaves) for p in parts])
    return result[1]
