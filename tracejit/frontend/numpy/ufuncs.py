"""Ufunc calls on tracers: NumPy's promotion, broadcasting and result kinds as explicit nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, is_static_number, operand
from tracejit.frontend.numpy.ufunc_loops import (
    OperatorUfunc,
    complex_formula,
    exponents_with_ufuncs,
    operator_ufunc,
    takes_root,
)
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.memory.layout import broadcast_order
from tracejit.frontend.tracing.memory.storage import laid_out
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import (
    Storage,
    TracedArray,
    Tracer,
    as_array,
    broadcast_dims,
    check_dtype,
    given_dtype,
    here,
    lift,
    user_line,
    wrap,
)
from tracejit.ir.graph import Value
from tracejit.ir.op import OPS
from tracejit.ir.types import ArrayType, PyScalar, dtype_of, shape_of
from tracejit.ops.array.elementwise import UFUNC_OPS, op_of
from tracejit.ops.array.numpy_formulas import FORMULAS, UNIFORM_POWERS

__all__ = [
    "DEFINED",
    "apply",
    "apply_to_arrays",
    "call_ufunc",
    "check_casting",
    "elementwise",
    "operand_dtype",
    "refuse",
    "resolve",
    "root_of_squares",
]

_WEAK: dict[str, Any] = {"int": int, "float": float, "complex": complex, "bool": np.dtype(bool)}
_COMPARISONS = {np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal}


@lru_cache(maxsize=4096)
def resolve(
    ufunc: Any, dtypes: tuple[Any, ...], signature: Any, casting: str = "same_kind"
) -> tuple[np.dtype[Any], ...]:
    slots = (*dtypes, *([None] * ufunc.nout))
    if signature is None:
        return tuple(ufunc.resolve_dtypes(slots, casting=casting))
    return tuple(ufunc.resolve_dtypes(slots, signature=signature, casting=casting))


def check_casting(ufunc: Any, inputs: Sequence[Any], casting: str) -> None:
    """Raise TypeError where a rule stricter than "same_kind" forbids a cast of an operand."""
    operands = [x if is_static_number(x) else lift(x) for x in inputs]
    resolve(ufunc, tuple(operand_dtype(x) for x in operands), None, casting)


def operand_dtype(x: Any) -> Any:
    """What NumPy's promotion sees: a dtype, or a Python type for a weak scalar."""
    if isinstance(x, Tracer):
        t = x.type
        return _WEAK[t.kind] if isinstance(t, PyScalar) else dtype_of(t)
    if isinstance(x, SymInt) or type(x) is int:
        return int
    if type(x) in (float, complex):
        return type(x)
    if isinstance(x, (bool, np.bool_)):
        return _WEAK["bool"]
    if isinstance(x, np.generic):
        return given_dtype(x.dtype)
    raise TraceError("TJ003", f"an operand of type {type(x).__name__}", user_line())


def elementwise(
    ufunc: Any,
    inputs: Sequence[Any],
    dtype: Any = None,
    casting: str = "same_kind",
    spelled: Any = None,
    **attrs: Any,
) -> Tracer:
    """A ufunc with one result on tracers, arrays made in the trace, and numbers.

    Gives an array, or a NumPy scalar where all operands have no axes. `spelled` is the operator
    that the ufunc stands for, if any: NumPy computes those of scalars by themselves. Raises what
    NumPy raises for dtypes without a loop and shapes that do not broadcast.
    """
    op = op_of(ufunc)
    if op is None:
        raise TraceError("TJ002", f"np.{ufunc.__name__}", user_line())
    operands = [x if is_static_number(x) else lift(x) for x in inputs]
    signature = None if dtype is None else (*([None] * ufunc.nin), np.dtype(dtype))
    resolved = resolve(ufunc, tuple(operand_dtype(x) for x in operands), signature, casting)
    for d in resolved:
        check_dtype(d)
    if resolved[0].kind == "c" and not op.takes_complex:
        raise TraceError("TJ002", f"{ufunc.__name__} of complex numbers", user_line())
    if _compares_beyond(ufunc, operands, resolved):
        return _compared_beyond(ufunc, *operands)
    shapes = [shape_of(x.type) for x in operands if isinstance(x, Tracer)]
    shape = broadcast_dims(shapes)
    values = [operand(x, d) for x, d in zip(operands, resolved[: ufunc.nin], strict=True)]
    name = op.name
    if resolved[0].kind == "c" and ufunc in FORMULAS:
        # Real operands, which `dtype` makes complex, are cast before.
        is_cast = not any(np.dtype(operand_dtype(x)).kind == "c" for x in operands)
        given = [wrap(here(), v) for v in values] if is_cast else operands
        name = complex_formula(spelled or ufunc, ufunc, given)
        values = [*values, *values][: OPS[name].arity]  # type: ignore[attr-defined]
    return apply(name, values, shape, operands, **attrs)


def _compares_beyond(ufunc: Any, operands: list[Any], resolved: tuple[np.dtype[Any], ...]) -> bool:
    """Whether integers are compared with a Python int that their dtype has not."""
    return (
        ufunc in _COMPARISONS
        and resolved[0].kind in "iu"
        and any(
            type(x) is int and not np.iinfo(d).min <= x <= np.iinfo(d).max
            for x, d in zip(operands, resolved, strict=False)
        )
    )


def _compared_beyond(ufunc: Any, a: Any, b: Any) -> Tracer:
    """NumPy compares exactly, which a cast operand would not: all results are the same."""
    known, other, signs = (a, b, -1) if type(a) is int else (b, a, 1)
    same = ufunc(0, signs if known > 0 else -signs)
    return elementwise(np.equal if same else np.not_equal, (other, other))


def root_of_squares(x: Any) -> Tracer:
    """`np.sqrt(x)` of a float that is a sum of squares: where that is 0, so is the derivative."""
    v = lift(x).value()
    return apply("root_of_squares", [v], shape_of(v.type), (x,))


def apply(
    op: str, values: Sequence[Value], shape: tuple[Any, ...], operands: Sequence[Any], **attrs: Any
) -> Tracer:
    """An elementwise op on values broadcast to `shape`; a NumPy scalar where that is ().

    `operands` are what the values were made of: the memory order of the result follows theirs.
    """
    if shape == ():
        trace = here()
        scalars = [_as_scalar(v) for v in values]
        return wrap(trace, trace.emit(op, scalars, **attrs))
    return apply_to_arrays(op, values, shape, operands, **attrs)


def apply_to_arrays(
    op: str, values: Sequence[Value], shape: tuple[Any, ...], operands: Sequence[Any], **attrs: Any
) -> TracedArray:
    """`apply` with an array as the result also where it has no axes."""
    trace = here()
    given = [x for x in operands if isinstance(x, TracedArray)]
    order = broadcast_order(given, len(shape))
    if 1 in shape and len(shape) > 1:
        from tracejit.frontend.tracing.memory.geometry import runs_in_fortran_order

        if runs_in_fortran_order(given, values, shape):
            order = (*reversed(range(len(shape))),)
    arrays = [as_array(wrap(trace, v), shape, order) for v in values]
    value = trace.emit(op, arrays, **attrs)
    assert isinstance(value.type, ArrayType)
    if order is not None and value.type.order != order:
        # A view that repeats elements has a say about its value's memory, but none in NumPy.
        value = laid_out(trace, value, order)
    out = TracedArray(trace, Storage(trace, value))
    if len(shape) > 1:
        out.storage.order = order
    return out


def _as_scalar(v: Value) -> Value:
    trace = here()
    return trace.emit("element", (v,)) if isinstance(v.type, ArrayType) else v


def call_ufunc(
    ufunc: Any, inputs: Sequence[Any], dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """A ufunc call by its op, or by NumPy's definition in terms of other ufuncs."""
    if casting == "unsafe" and dtype is not None:
        return elementwise(ufunc, inputs, dtype, casting)
    if ufunc is np.power:
        return power(np.power, *inputs, **({} if dtype is None else {"dtype": np.dtype(dtype)}))
    rewrite = DEFINED.get(ufunc)
    if rewrite is not None and dtype is None:
        return rewrite(*inputs)
    return elementwise(ufunc, inputs, dtype)


def _logical(ufunc: Any) -> Callable[..., Any]:
    """Logical ufuncs test their operands against zero, whatever the dtype."""

    def run(*inputs: Any) -> Tracer:
        tests = []
        for x in inputs:
            x = lift(x)
            d = dtype_of(x.type)
            tests.append(x if d.kind == "b" else elementwise(np.not_equal, (x, d.type(0))))
        return elementwise(ufunc, tests)

    return run


def _divmod(x: Any, y: Any) -> tuple[Any, Any]:
    return elementwise(np.floor_divide, (x, y)), elementwise(np.remainder, (x, y))


def _float_power(x: Any, y: Any) -> Any:
    return power(np.float_power, x, y)


def _float_operand(ufunc: Any, x: Any) -> Tracer:
    """The operand in the dtype of the ufunc's loop."""
    x = lift(x)
    return operand_tracer(x, check_dtype(resolve(ufunc, (operand_dtype(x),), None)[0]))


def _fabs(x: Any) -> Tracer:
    return elementwise(np.absolute, (_float_operand(np.fabs, x),))


def _modf(x: Any) -> tuple[Any, Any]:
    v = _float_operand(np.modf, x)
    return _part("modf_fraction", v), elementwise(np.trunc, (v,))


def _frexp(x: Any) -> tuple[Any, Any]:
    v = _float_operand(np.frexp, x)
    return _part("frexp_mantissa", v), _part("frexp_exponent", v)


def _part(op: str, v: Tracer) -> Tracer:
    return apply(op, [v.value()], shape_of(v.type), (v,))


def operand_tracer(x: Any, dtype: np.dtype[Any]) -> Tracer:
    """`operand` as a tracer: an array of that dtype is itself, and lies as it does."""
    if isinstance(x, TracedArray) and x.dtype == dtype:
        return x
    return wrap(here(), operand(x, dtype))


#: Ufuncs without an op -> their NumPy definition in terms of others.
DEFINED: dict[Any, Callable[..., Any]] = {
    np.logical_and: _logical(np.logical_and),
    np.logical_or: _logical(np.logical_or),
    np.logical_xor: _logical(np.logical_xor),
    np.logical_not: _logical(np.logical_not),
    np.divmod: _divmod,
    np.float_power: _float_power,
    np.fabs: _fabs,
    np.modf: _modf,
    np.frexp: _frexp,
    np.degrees: lambda x: elementwise(np.rad2deg, (x,)),
    np.radians: lambda x: elementwise(np.deg2rad, (x,)),
}


def power(spelled: Any, x: Any, y: Any, **how: Any) -> Any:
    """`spelled(x, y)` for np.power, np.float_power or operator.pow; `how` may have a dtype."""
    ufunc = np.power if spelled is operator.pow else spelled
    if spelled is operator.pow and isinstance(x, TracedArray):
        if is_static_number(y):
            found = operator_ufunc(x.dtype, y)
            ufunc = found.ufunc
            if ufunc.nin == 1:
                return _power_of(found, x)
        elif x.dtype.kind == "b" and exponents_with_ufuncs(x.dtype, y):
            # The dtype depends on the exponent's value: bool ** 2 is int8, bool ** 3 is int64.
            raise TraceError("TJ001", "the exponent of a boolean array", user_line())
    operands = [v if is_static_number(v) else lift(v) for v in (x, y)]
    signature = (None, None, how["dtype"]) if how else None
    dtypes = resolve(ufunc, tuple(map(operand_dtype, operands)), signature)
    loop = check_dtype(dtypes[0])
    others: dict[float, OperatorUfunc] = {}
    if spelled is operator.pow and isinstance(x, TracedArray) and isinstance(y, Tracer | SymInt):
        others = exponents_with_ufuncs(x.dtype, y)
        _require_same_results(others, dtypes[-1], x)
    if loop.kind == "f" and loop == dtypes[1]:
        return _real_power(spelled, operands, loop, **how)
    if ufunc is np.float_power:
        return elementwise(np.power, [operand_tracer(v, loop) for v in operands])
    counts = isinstance(y, (int, np.integer)) and not isinstance(y, bool) and y >= 0
    if loop.kind == "i" and not is_static_number(y):
        if dtype_of(operands[1].type).kind not in "ub":
            _require_counts(operand_tracer(operands[1], loop))
        counts = True
    if counts:
        how["nonneg"] = True
    out = elementwise(np.power, (x, y), **how)
    # Some exponents that the run may bring have a ufunc of their own.
    for value, found in others.items():
        taken = operand(DISPATCH.binary_operator(operator.eq, lift(y), value), np.dtype(bool))
        values = [taken, _power_of(found, x).value(), out.value()]
        out = apply("select", values, shape_of(out.type), (x,))
    return out


def _require_same_results(
    others: dict[float, OperatorUfunc], dtype: np.dtype[Any], x: TracedArray
) -> None:
    """Raise TraceError where the exponent's value decides about the dtype or the kind of result."""
    for value, found in others.items():
        given = resolve(found.ufunc, (found.dtype,), None)[-1]
        if given != dtype or found.gives_array and not x.ndim:
            raise TraceError("TJ001", f"an exponent, whether it is {value}", user_line())


def _power_of(found: OperatorUfunc, x: TracedArray) -> Tracer:
    """`x` to the power for which NumPy takes a ufunc of one operand."""
    base: Any = operand_tracer(x, found.dtype)
    if found.ufunc.__name__ == "_ones_like":
        out = np.ones_like(base)[()]
    else:
        out = elementwise(found.ufunc, (base,))
    return asarray(out) if found.gives_array else out


def _require_counts(y: Any) -> None:
    """Leave a run to NumPy in which an exponent of integers is negative."""
    trace = here()
    natural = elementwise(np.greater_equal, (y, 0)).value()
    if isinstance(natural.type, ArrayType):
        every = trace.emit("reduce_all", (natural,), axes=tuple(range(natural.type.ndim)))
        natural = trace.emit("element", (every,))
    trace.emit_all("check", (natural,), {})


def _real_power(spelled: Any, operands: list[Any], loop: np.dtype[Any], **how: Any) -> Tracer:
    """A power in a loop of floats, which may take other functions for some exponents."""
    x, y = operands
    uniform = takes_root(spelled, x, y, loop, **how)
    numbers = [operand(v, loop) for v in operands]
    name = "power"
    if uniform and not is_static_number(y):
        name = "uniform_power"
    elif uniform and float(y) in UNIFORM_POWERS:
        name = UFUNC_OPS[UNIFORM_POWERS[float(y)]].name
        del numbers[1]
    shape = broadcast_dims([shape_of(v.type) for v in operands if isinstance(v, Tracer)])
    out = apply(name, numbers, shape, operands)
    if uniform is None:
        # NumPy gives the root of -0.0 or -infinity, or the power, as its buffers happen to lie.
        x, y = (wrap(here(), v) for v in numbers)
        double = elementwise(np.add, (x, x))
        of_two = elementwise(np.logical_and, (np.equal(double, x), np.signbit(x)))
        refuse(elementwise(np.logical_and, (of_two, elementwise(np.equal, (y, 0.5)))))
    return out


def refuse(condition: Any) -> None:
    """Leave the call to Python where the condition holds of any element."""
    trace = here()
    fine = np.logical_not(np.any(condition))
    trace.emit_all("check", (fine.value(),), {})
