"""Collectives in traced programs: nodes whose results have types that their operands decide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tracejit.dist.bucket_plan import planned
from tracejit.dist.transport.group import operand
from tracejit.errors import TraceError
from tracejit.frontend.host.calls import CallOperands, record_as, refuse_opaque
from tracejit.frontend.host.infer_by_example import Example
from tracejit.frontend.tracing.interpreter import Interpreter
from tracejit.frontend.tracing.tracer import user_line
from tracejit.ir.dims import prod
from tracejit.ir.types import ArrayType, NpScalar, Type, dtype_name, dtype_of
from tracejit.ops.host.exchange import EXCHANGED
from tracejit.ops.host.functions import KINDS

__all__ = ["record_buckets", "record_exchange"]


def record_exchange(interpreter: Interpreter, kind: str, args: Sequence[Any], size: int) -> Any:
    """What `kind` gives for traced arguments, among `size` processes. Raises TraceError."""
    operands = CallOperands()
    refused = TraceError("TJ002", f"tracejit.dist.{kind}", user_line())
    with refuse_opaque(refused):
        attrs = operands.call(EXCHANGED, (kind, *args), {})
        given = [_types(a, operands, refused) for a in attrs["arguments"][1:]]
        found = _RESULTS[kind](given, args, size, refused)
        return record_as(interpreter, attrs, operands, found, refused.where, "host_exchange")


def record_buckets(
    interpreter: Interpreter, leaves: Sequence[Any], bucket: int, compressor: int
) -> Any:
    """The means of traced values, started by bucket and waited for. Raises TraceError."""
    refused = TraceError("TJ002", "tracejit.dist.data_parallel", user_line())
    with refuse_opaque(refused):
        lifted = CallOperands()
        types = [_types(lifted.template(x), lifted, refused)[0] for x in leaves]
        plan = planned([(dtype_of(t), _bytes(t)) for t in types], bucket)
        handles = []
        for j, numbers in enumerate(plan):
            args = [leaves[k] for k in numbers], compressor, j
            handles.append(_recorded(interpreter, "start", _A_NUMBER, refused, *args))
        out: list[Any] = [None] * len(leaves)
        for numbers, handle in zip(plan, handles, strict=True):
            found = _list_of([types[k] for k in numbers], "mean")
            means = _recorded(interpreter, "wait", found, refused, handle)
            for k, mean in zip(numbers, means, strict=True):
                out[k] = mean
        return interpreter.allocate(out)


def _recorded(
    interpreter: Interpreter, kind: str, found: Example, refused: TraceError, *args: Any
) -> Any:
    operands = CallOperands()
    attrs = operands.call(EXCHANGED, (kind, *args), {})
    return record_as(interpreter, attrs, operands, found, refused.where, "host_exchange")


def _bytes(t: Type) -> int:
    """The bytes of a value; none where its size is not known, so that one bucket has it all."""
    size = prod(t.shape) if isinstance(t, ArrayType) else 1
    return size * dtype_of(t).itemsize if isinstance(size, int) else 0


def _types(template: Any, operands: CallOperands, refused: TraceError) -> list[Type]:
    """The types of the operands that an argument is made of."""
    match template:
        case ("operand", number):
            return [operands.values[number].type]
        case ("list", *parts):
            return [t for part in parts for t in _types(part, operands, refused)]
        case ("constant", str()) | ("constant", int()):
            return []
    # A number that is known while tracing, and may be another one elsewhere.
    raise refused


def _described(t: Type, op: str = "") -> Any:
    dtype = dtype_of(t)
    if op:
        dtype = operand(np.zeros(0, dtype), op).dtype
    if isinstance(t, ArrayType):
        return "array", dtype_name(dtype), tuple(t.shape), tuple(range(t.ndim))
    return (
        ("numpy", dtype_name(dtype))
        if isinstance(t, NpScalar)
        else ("python", KINDS[type(dtype.type().item())])
    )


def _list_of(types: Sequence[Type], op: str = "") -> Example:
    template = ("list", *(("operand", k) for k in range(len(types))))
    return Example(template, tuple([_described(t, op) for t in types]))


def _all_reduce(given: Any, args: Any, size: int, refused: TraceError) -> Example:
    return _list_of(given[0], args[1])


def _gradient(given: Any, args: Any, size: int, refused: TraceError) -> Example:
    """Arrays like the parameters, or rows of them, as many as there will be, with their values."""
    template: list[Any] = []
    described: list[Any] = []
    unknown = 0
    for kind, t in zip(args[1], given[-1], strict=True):
        at = len(described)
        if kind == "d":
            template.append(("operand", at))
            described.append(_described(t))
            continue
        name, shape = dtype_name(dtype_of(t)), t.shape
        template.append(("tuple", ("operand", at), ("operand", at + 1)))
        described.append(("array", "i64", (None,), (0,)))
        described.append(("array", name, ((unknown,), *shape[1:]), tuple(range(len(shape)))))
        unknown += 1
    return Example(("list", *template), tuple(described))


def _broadcast(given: Any, args: Any, size: int, refused: TraceError) -> Example:
    return _list_of(given[0])


def _rows(given: Any, args: Any, size: int, refused: TraceError) -> Example:
    ((rows,), (values,)) = given
    first = ("array", dtype_name(dtype_of(rows)), (None,), (0,))
    rest = tuple(values.shape[1:])
    name = dtype_name(dtype_of(values))
    second = ("array", name, ((0,), *rest), tuple(range(values.ndim)))
    return Example(("tuple", ("operand", 0), ("operand", 1)), (first, second))


def _all_gather(given: Any, args: Any, size: int, refused: TraceError) -> Example:
    (t,) = given[0]
    shape = (size, *t.shape) if isinstance(t, ArrayType) else (size,)
    name = dtype_name(dtype_of(t))
    return Example(("operand", 0), (("array", name, shape, tuple(range(len(shape)))),))


def _reduce_scatter(given: Any, args: Any, size: int, refused: TraceError) -> Example:
    (t,) = given[0]
    if not isinstance(t, ArrayType) or not t.ndim:
        raise refused
    _, name, (whole, *rest), order = _described(t, args[1])
    if isinstance(whole, int) and whole % size:
        raise refused
    first = whole // size if isinstance(whole, int) else None
    return Example(("operand", 0), (("array", name, (first, *rest), order),))


def _barrier(given: Any, args: Any, size: int, refused: TraceError) -> Example:
    return Example(("operand", 0), (("python", KINDS[int]),))


#: What a start gives.
_A_NUMBER = Example(("operand", 0), (("python", KINDS[int]),))
_RESULTS: Any = {
    "all_reduce": _all_reduce,
    "broadcast": _broadcast,
    "gradient": _gradient,
    "rows": _rows,
    "all_gather": _all_gather,
    "reduce_scatter": _reduce_scatter,
    "barrier": _barrier,
}
