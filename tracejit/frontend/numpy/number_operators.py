"""Python's operators on tracers: arrays and NumPy's numbers, or Python's own numbers."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from tracejit.errors import GraphError, TraceError
from tracejit.frontend.numpy.outputs import same_shape
from tracejit.frontend.numpy.sequences import EXAMPLES, beside_sequence, meets, tried
from tracejit.frontend.numpy.ufuncs import _divmod, elementwise, power
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.symint import SymInt
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    here,
    lift,
    user_line,
    wrap,
)
from tracejit.frontend.tracing.weak_scalar import beside
from tracejit.ir.types import PYCOMPLEX, NpScalar, dtype_of, shape_of

__all__ = ["binary_operator", "is_python_number", "unary_operator"]

#: Operator -> the op of Python's numbers, and the ufunc.
_OPERATORS: dict[Any, tuple[str, Any]] = {
    operator.add: ("py_add", np.add),
    operator.sub: ("py_subtract", np.subtract),
    operator.mul: ("py_multiply", np.multiply),
    operator.truediv: ("py_truediv", np.divide),
    operator.floordiv: ("py_floordiv", np.floor_divide),
    operator.mod: ("py_mod", np.remainder),
    operator.pow: ("py_power", np.power),
    operator.lt: ("py_less", np.less),
    operator.le: ("py_less_equal", np.less_equal),
    operator.eq: ("py_equal", np.equal),
    operator.ne: ("py_not_equal", np.not_equal),
    operator.gt: ("py_greater", np.greater),
    operator.ge: ("py_greater_equal", np.greater_equal),
    operator.and_: ("py_bit_and", np.bitwise_and),
    operator.or_: ("py_bit_or", np.bitwise_or),
    operator.xor: ("py_bit_xor", np.bitwise_xor),
    operator.lshift: ("py_lshift", np.left_shift),
    operator.rshift: ("py_rshift", np.right_shift),
    operator.neg: ("py_negative", np.negative),
    operator.pos: ("", np.positive),
    operator.abs: ("py_abs", np.absolute),
    operator.invert: ("py_invert", np.invert),
}


def is_python_number(x: Any) -> bool:
    """Whether `x` is a Python number, traced or not, or a size."""
    return type(x) in (bool, int, float, complex, SymInt) or (
        isinstance(x, TracedScalar) and x.is_python
    )


def binary_operator(f: Any, x: Any, y: Any) -> Any:
    """`f(x, y)` for an operator function where at least one operand is a tracer."""
    x, y = beside(f, x, y)
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
    return elementwise(_OPERATORS[f][1], (x, y), spelled=f)


#: The operators of Python's complex: it is asked first, and takes np.float64 for a Python float.
_OF_COMPLEX = frozenset(getattr(operator, name) for name in "add sub mul truediv pow eq ne".split())


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
    if f not in _OPERATORS:
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
        return wrap(trace, trace.emit(_OPERATORS[f][0], (lift(x).value(), lift(y).value())))
    except GraphError:
        f(EXAMPLES[_kind(x)], EXAMPLES[_kind(y)])
        text = f"{f.__name__} of a {_kind(x)} and a {_kind(y)}"
        raise TraceError("TJ004", text, user_line()) from None


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
        if f not in _OPERATORS:
            raise TraceError("TJ008", f"{f.__name__} of a Python number", user_line())
        return wrap(here(), here().emit(_OPERATORS[f][0], (x.value(),)))
    return elementwise(_OPERATORS[f][1], (x,), spelled=f)


def _install() -> None:
    """Give tracers Python's operators."""
    names = "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
    binary = {name: getattr(operator, f"__{name}__") for name in names} | {"divmod": divmod}

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
