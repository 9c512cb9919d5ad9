"""Ufunc calls on tracers: NumPy's promotion, broadcasting and result kinds as explicit nodes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tracejit.errors import GraphError, TraceError
from tracejit.frontend.numpy.conversion import is_static_number, operand
from tracejit.frontend.numpy.outputs import same_shape
from tracejit.frontend.numpy.sequences import beside_sequence, meets, tried
from tracejit.frontend.numpy.ufunc_loops import (
    complex_formula,
    exponents_with_ufuncs,
    operator_ufunc,
    takes_root,
)
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.layout import broadcast_order
from tracejit.frontend.tracing.sizes import SymInt
from tracejit.frontend.tracing.storage import laid_out
from tracejit.frontend.tracing.tracer import (
    Storage,
    TracedArray,
    TracedScalar,
    Tracer,
    as_array,
    broadcast_dims,
    check_dtype,
    here,
    lift,
    user_line,
    wrap,
)
from tracejit.ir.graph import Value
from tracejit.ir.op import OPS
from tracejit.ir.types import (
    PYCOMPLEX,
    ArrayType,
    NpScalar,
    PyScalar,
    dtype_of,
    shape_of,
)
from tracejit.ops.array.elementwise import UFUNC_OPS
from tracejit.ops.array.numpy_formulas import FORMULAS, UNIFORM_POWERS

__all__ = [
    "binary_operator",
    "call_ufunc",
    "check_casting",
    "elementwise",
    "is_python_number",
    "refuse",
    "resolve",
    "root_of_squares",
    "unary_operator",
]

_WEAK: dict[str, Any] = {"int": int, "float": float, "complex": complex, "bool": np.dtype(bool)}


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
    resolve(ufunc, tuple(_operand_dtype(x) for x in operands), None, casting)


def _operand_dtype(x: Any) -> Any:
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
        return check_dtype(x.dtype)
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
    op = UFUNC_OPS.get(ufunc)
    if op is None:
        raise TraceError("TJ002", f"np.{ufunc.__name__}", user_line())
    operands = [x if is_static_number(x) else lift(x) for x in inputs]
    signature = None if dtype is None else (*([None] * ufunc.nin), np.dtype(dtype))
    resolved = resolve(ufunc, tuple(_operand_dtype(x) for x in operands), signature, casting)
    for d in resolved:
        check_dtype(d)
    shapes = [shape_of(x.type) for x in operands if isinstance(x, Tracer)]
    _check_python_ints(ufunc, operands, resolved)
    shape = broadcast_dims(shapes)
    values = [operand(x, d) for x, d in zip(operands, resolved[: ufunc.nin], strict=True)]
    name = op.name
    if resolved[0].kind == "c" and ufunc in FORMULAS:
        name = complex_formula(spelled or ufunc, ufunc, operands)
        values = [*values, *values][: OPS[name].arity]  # type: ignore[attr-defined]
    return apply(name, values, shape, operands, **attrs)


def _check_python_ints(
    ufunc: Any, operands: list[Any], resolved: tuple[np.dtype[Any], ...]
) -> None:
    """NumPy compares a Python int with any integer array exactly; a cast operand would not."""
    if ufunc.nout == 1 and resolved[-1].kind == "b" and resolved[0].kind in "iu":
        for x, d in zip(operands, resolved, strict=False):
            if type(x) is int and not np.iinfo(d).min <= x <= np.iinfo(d).max:
                raise TraceError("TJ004", f"comparison with {x}, outside {d}", user_line())


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
    order = broadcast_order([x for x in operands if isinstance(x, TracedArray)], len(shape))
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
    rewrite = _DEFINED.get(ufunc)
    if rewrite is not None and dtype is None:
        return rewrite(*inputs)
    if getattr(ufunc, "__name__", "") == "erf" and ufunc not in UFUNC_OPS:
        return _erf(ufunc, inputs[0])
    return elementwise(ufunc, inputs, dtype)


def _erf(ufunc: Any, x: Any) -> Tracer:
    x = lift(x)
    (_, out) = resolve(ufunc, (_operand_dtype(x),), None)
    if out.kind == "c":
        raise TraceError("TJ002", "scipy.special.erf of complex numbers", user_line())
    return apply("erf", [operand(x, check_dtype(out))], shape_of(x.type), (x,))


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


def _positive(x: Any) -> Tracer:
    return elementwise(np.positive, (x,))


def _float_power(x: Any, y: Any) -> Any:
    return power(np.float_power, x, y)


def _float_operand(ufunc: Any, x: Any) -> Tracer:
    """The operand in the dtype of the ufunc's loop."""
    x = lift(x)
    return operand_tracer(x, check_dtype(resolve(ufunc, (_operand_dtype(x),), None)[0]))


def _fabs(x: Any) -> Tracer:
    return elementwise(np.absolute, (_float_operand(np.fabs, x),))


def _modf(x: Any) -> tuple[Any, Any]:
    v = _float_operand(np.modf, x)
    whole = elementwise(np.trunc, (v,))
    # Infinities have no fraction: inf - inf would be NaN.
    rest = elementwise(np.subtract, (v, whole))
    infinite = elementwise(np.isinf, (v,))
    values = [infinite.value(), operand(0.0, dtype_of(v.type)), rest.value()]
    part = apply("select", values, shape_of(v.type), (v,))
    return elementwise(np.copysign, (part, v)), whole


def operand_tracer(x: Any, dtype: np.dtype[Any]) -> Tracer:
    """`operand` as a tracer."""
    trace = here()
    return wrap(trace, operand(x, dtype))


_DEFINED: dict[Any, Callable[..., Any]] = {
    np.logical_and: _logical(np.logical_and),
    np.logical_or: _logical(np.logical_or),
    np.logical_xor: _logical(np.logical_xor),
    np.logical_not: _logical(np.logical_not),
    np.divmod: _divmod,
    np.float_power: _float_power,
    np.fabs: _fabs,
    np.modf: _modf,
    np.degrees: lambda x: elementwise(np.rad2deg, (x,)),
    np.radians: lambda x: elementwise(np.deg2rad, (x,)),
}


def power(spelled: Any, x: Any, y: Any, **how: Any) -> Any:
    """`spelled(x, y)` for np.power, np.float_power or operator.pow; `how` may have a dtype."""
    ufunc = np.power if spelled is operator.pow else spelled
    if spelled is operator.pow and isinstance(x, TracedArray):
        if is_static_number(y):
            ufunc = operator_ufunc(x.dtype, y)
            if ufunc.nin == 1:
                return elementwise(ufunc, (x,))
        elif x.dtype.kind == "b" and exponents_with_ufuncs(x.dtype, y):
            # The dtype depends on the exponent's value: bool ** 2 is int8, bool ** 3 is int64.
            raise TraceError("TJ001", "the exponent of a boolean array", user_line())
    operands = [v if is_static_number(v) else lift(v) for v in (x, y)]
    signature = (None, None, how["dtype"]) if how else None
    dtypes = resolve(ufunc, tuple(map(_operand_dtype, operands)), signature)
    loop = check_dtype(dtypes[0])
    if loop.kind == "f" and loop == dtypes[1]:
        return _real_power(spelled, operands, loop, **how)
    if ufunc is np.float_power:
        return elementwise(np.power, [operand_tracer(v, loop) for v in operands])
    counts = isinstance(y, (int, np.integer)) and not isinstance(y, bool) and y >= 0
    if counts:
        how["nonneg"] = True
    out = elementwise(np.power, (x, y), **how)
    if spelled is operator.pow and isinstance(x, TracedArray) and isinstance(y, Tracer | SymInt):
        # Some exponents that the run may bring have a ufunc of their own.
        for value, other in exponents_with_ufuncs(x.dtype, y).items():
            taken = operand(binary_operator(operator.eq, lift(y), value), np.dtype(bool))
            values = [taken, elementwise(other, (x,)).value(), out.value()]
            out = apply("select", values, shape_of(out.type), (x,))
    return out


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


_PY_OPS: dict[Any, str] = {
    operator.add: "py_add",
    operator.sub: "py_subtract",
    operator.mul: "py_multiply",
    operator.truediv: "py_truediv",
    operator.floordiv: "py_floordiv",
    operator.mod: "py_mod",
    operator.pow: "py_power",
    operator.lt: "py_less",
    operator.le: "py_less_equal",
    operator.eq: "py_equal",
    operator.ne: "py_not_equal",
    operator.gt: "py_greater",
    operator.ge: "py_greater_equal",
    operator.neg: "py_negative",
    operator.abs: "py_abs",
    operator.and_: "py_bit_and",
    operator.or_: "py_bit_or",
    operator.xor: "py_bit_xor",
    operator.lshift: "py_lshift",
    operator.rshift: "py_rshift",
    operator.invert: "py_invert",
}

_UFUNC_OPERATORS: dict[Any, Any] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
    operator.neg: np.negative,
    operator.pos: np.positive,
    operator.abs: np.absolute,
    operator.invert: np.invert,
}


def is_python_number(x: Any) -> bool:
    """Whether `x` is a Python number, traced or not, or a size."""
    return type(x) in (bool, int, float, complex, SymInt) or (
        isinstance(x, TracedScalar) and x.is_python
    )


def binary_operator(f: Any, x: Any, y: Any) -> Any:
    """`f(x, y)` for an operator function where at least one operand is a tracer."""
    for v, other in ((x, y), (y, x)):
        if not _acceptable(v):
            known = isinstance(other, Tracer) and meets(other, v)
            return beside_sequence(f, x, y) if known else NotImplemented
    if f is operator.matmul and not any(isinstance(v, (TracedArray, np.ndarray)) for v in (x, y)):
        tried(f, x, y)
    if f in _OF_COMPLEX and _is_python_complex(x) and _is_float64(y):
        y = wrap(here(), here().emit("py_scalar", (lift(y).value(),), kind="float"))
    if is_python_number(x) and is_python_number(y):
        return _python_operator(f, x, y)
    if f is operator.matmul:
        return DISPATCH.function(np.matmul, (x, y), {})
    if f is operator.pow:
        return power(f, x, y)
    if f is divmod:
        return _divmod(x, y)
    return elementwise(_UFUNC_OPERATORS[f], (x, y), spelled=f)


#: The operators of Python's complex: it is asked first, and takes np.float64 for a Python float.
_OF_COMPLEX = frozenset(
    (
        operator.add,
        operator.sub,
        operator.mul,
        operator.truediv,
        operator.pow,
        operator.eq,
        operator.ne,
    )
)


def _is_python_complex(x: Any) -> bool:
    return type(x) is complex or isinstance(x, TracedScalar) and x.type == PYCOMPLEX


def _is_float64(x: Any) -> bool:
    return (
        type(x) is np.float64
        or isinstance(x, TracedScalar)
        and x.type == NpScalar(np.dtype(np.float64))
    )


def _python_operator(f: Any, x: Any, y: Any) -> Any:
    """An operator on Python numbers. Raises what Python raises for their kinds."""
    trace = here()
    if f is divmod:
        return _python_operator(operator.floordiv, x, y), _python_operator(operator.mod, x, y)
    if f not in _PY_OPS:
        raise TraceError("TJ008", f"{f.__name__} of Python numbers", user_line())
    if f is operator.pow and _kind(x) in ("int", "bool") and _kind(y) in ("int", "bool"):
        if type(y) not in (int, bool) or y >= 64:
            return wrap(trace, trace.emit("py_int_power", (lift(x).value(), lift(y).value())))
        if y >= 0:
            return wrap(trace, trace.emit("py_power", (lift(x).value(),), exponent=int(y)))
        x, y = wrap(trace, trace.emit("py_scalar", (lift(x).value(),), kind="float")), float(y)
    if f is operator.pow and _kind(x) == "complex" and type(y) is int and 1 <= y <= 100:
        return wrap(trace, trace.emit("py_complex_power", (lift(x).value(),), exponent=y))
    try:
        return wrap(trace, trace.emit(_PY_OPS[f], (lift(x).value(), lift(y).value())))
    except GraphError:
        f(_EXAMPLES[_kind(x)], _EXAMPLES[_kind(y)])
        text = f"{f.__name__} of a {_kind(x)} and a {_kind(y)}"
        raise TraceError("TJ004", text, user_line()) from None


_EXAMPLES: dict[str, Any] = {"bool": True, "int": 1, "float": 1.0, "complex": 1j}


def _kind(x: Any) -> str:
    """The kind of a Python number, traced or not."""
    return str(x.type) if isinstance(x, TracedScalar) else str(lift(x).type)


def _acceptable(x: Any) -> bool:
    return isinstance(x, (Tracer, bool, int, float, complex, np.generic, np.ndarray, SymInt))


def _check_stored(f: Any, x: TracedArray, y: Any, result: Tracer) -> None:
    """Raise what NumPy raises where `x f= y` cannot store its result, which is never broadcast."""
    have, want = shape_of(result.type), x.type.shape
    if f is operator.matmul:
        if not x.ndim or len(shape_of(lift(y).type)) < 2:
            raise ValueError("@= requires at least one and two dimensions")
        while len(have) > len(want) and here().env.is_one(have[0]):
            have = have[1:]
    if not same_shape(have, want):
        raise ValueError(f"the result of shape {have} does not fit the operand of shape {want}")
    if not np.can_cast(dtype_of(result.type), x.dtype, "same_kind"):
        raise TypeError(f"Cannot cast output from {dtype_of(result.type)} to {x.dtype}")


def unary_operator(f: Any, x: Any) -> Any:
    """`f(x)` for an operator function on a tracer."""
    if isinstance(x, TracedScalar) and x.is_python:
        if f is operator.pos:
            return x
        if f not in _PY_OPS:
            raise TraceError("TJ008", f"{f.__name__} of a Python number", user_line())
        return wrap(here(), _emit_current(_PY_OPS[f], x.value()))
    return elementwise(_UFUNC_OPERATORS[f], (x,), spelled=f)


def _emit_current(op: str, *values: Value) -> Value:
    trace = here()
    return trace.emit(op, values)


def _install() -> None:
    """Give tracers Python's operators."""
    binary = {
        "add": operator.add,
        "sub": operator.sub,
        "mul": operator.mul,
        "truediv": operator.truediv,
        "floordiv": operator.floordiv,
        "mod": operator.mod,
        "pow": operator.pow,
        "matmul": operator.matmul,
        "and": operator.and_,
        "or": operator.or_,
        "xor": operator.xor,
        "lshift": operator.lshift,
        "rshift": operator.rshift,
        "divmod": divmod,
    }

    def forward(f: Any) -> Any:
        return lambda self, other: binary_operator(f, self, other)

    def backward(f: Any) -> Any:
        return lambda self, other: binary_operator(f, other, self)

    def in_place(f: Any) -> Any:
        def run(self: Tracer, other: Any) -> Any:
            result = binary_operator(f, self, other)
            if not isinstance(self, TracedArray) or result is NotImplemented:
                return result
            _check_stored(f, self, other, result)
            self[...] = result
            return self

        return run

    for name, f in binary.items():
        setattr(Tracer, f"__{name}__", forward(f))
        setattr(Tracer, f"__r{name}__", backward(f))
        if f is not divmod:
            setattr(Tracer, f"__i{name}__", in_place(f))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(Tracer, f"__{name}__", forward(getattr(operator, name)))
    for name in ("neg", "pos", "abs", "invert"):
        f = getattr(operator, name)
        setattr(Tracer, f"__{name}__", lambda self, f=f: unary_operator(f, self))


_install()


DISPATCH.binary_operator = binary_operator
