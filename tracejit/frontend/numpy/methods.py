"""Attributes and methods of traced arrays and scalars, by the NumPy functions they mean."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from tracejit.errors import TraceError
from tracejit.frontend.numpy.array_objects import Flags, strides_of
from tracejit.frontend.numpy.conversion import asarray, astype, cast_value
from tracejit.frontend.numpy.memory_orders import copied, in_order_of, laid_out_as
from tracejit.frontend.numpy.registry import HANDLERS, bound_to, call_function
from tracejit.frontend.numpy.selection import as_scalar, sort_in_place
from tracejit.frontend.numpy.sequences import is_sequence
from tracejit.frontend.numpy.shape import whole_view
from tracejit.frontend.numpy.stores import TracedFlat
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.dispatch import DISPATCH
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    TracedScalar,
    Tracer,
    here,
    user_line,
    wrap,
)
from tracejit.ir.types import NpScalar, PyScalar, dtype_of

__all__ = ["array_attribute", "method_signature", "scalar_attribute"]

_METHODS: dict[str, Any] = {
    name: getattr(np, name)
    for name in (
        "sum prod max min any all mean var std argmax argmin cumsum cumprod round transpose "
        "repeat squeeze swapaxes take diagonal dot argsort ravel nonzero "
        "put"
    ).split()
}


def _reshape(x: TracedArray, *shape: Any, order: str = "C", copy: Any = None) -> Any:
    if not shape:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    new = shape[0] if len(shape) == 1 else shape
    return call_function(np.reshape, (x, new), {"order": order, "copy": copy})


def _transpose(x: TracedArray, *axes: Any) -> Any:
    given = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
    return HANDLERS[np.transpose](x, given)


def _astype(
    x: Any,
    dtype: Any,
    order: Any = "K",
    casting: str = "unsafe",
    subok: bool = True,
    copy: Any = True,
) -> Any:
    if casting != "unsafe":
        raise TraceError("TJ004", f"ndarray.astype with casting={casting!r}", user_line())
    order = order or "K"
    d = np.dtype(dtype)
    if isinstance(x, TracedScalar):
        return wrap(here(), cast_value(x.value(), d))
    if x.dtype != d:
        new = astype(x, d)
        return copied(new, order, x)
    return copied(x, order) if copy else laid_out_as(x, order)


def _copy(x: Any, order: str = "C") -> Any:
    """A new storage with the same value."""
    if isinstance(x, TracedScalar):
        return x
    return copied(x, order or "C")


def _item(x: Any, *args: Any) -> Any:
    trace = here()
    if isinstance(x, TracedArray):
        if any(isinstance(k, (tuple, list, TracedArray)) for k in args):
            raise TraceError("TJ004", "item() at a tuple or an array", user_line())
        if args:
            x = x[args] if len(args) > 1 else x.reshape(-1)[args[0]]
        else:
            size = x.type.size
            if not trace.env.expect(size, "==", 1):
                raise ValueError("can only convert an array of size 1 to a Python scalar")
            x = wrap(trace, trace.emit("element", (x.reshape(()).value(),)))
    elif args and args != (0,):
        raise TraceError("TJ004", f"item{args} of a scalar", user_line())
    kind = {"b": "bool", "i": "int", "u": "int", "f": "float", "c": "complex"}
    d = dtype_of(x.type)
    if d == np.uint64:
        raise TraceError("TJ004", "item() of uint64", user_line())
    return wrap(trace, trace.emit("py_scalar", (x.value(),), kind=kind[d.kind]))


def _fill(x: TracedArray, value: Any, /) -> None:
    if is_sequence(value) or isinstance(value, TracedArray) and value.ndim:
        raise TraceError("TJ004", "fill() with a sequence", user_line())
    x[...] = value


def _flatten(x: TracedArray, order: str = "C") -> Any:
    return _copy(call_function(np.ravel, (x,), {"order": order}))


def _conj(x: Any) -> Any:
    return elementwise(np.conjugate, (x,)) if x.dtype.kind == "c" else x


def _clip(x: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The function wants both bounds, the method does not."""
    return call_function(np.clip, (x, min, max, out), kwargs)


def _trace(
    x: Any, offset: Any = 0, axis1: Any = 0, axis2: Any = 1, dtype: Any = None, out: Any = None
) -> Any:
    """The sum along a diagonal."""
    diagonal = call_function(np.diagonal, (x, offset, axis1, axis2), {})
    return call_function(np.sum, (diagonal, -1, dtype, out), {})


def _seen_as(x: TracedArray, dtype: Any = np.ndarray, type: Any = np.ndarray) -> Any:
    """`x.view()`: another array over the same elements."""
    if type is not np.ndarray or dtype is not np.ndarray and np.dtype(dtype) != x.dtype:
        raise TraceError("TJ004", "ndarray.view", user_line())
    return whole_view(x)


_EXTRA: dict[str, Callable[..., Any]] = {
    "clip": _clip,
    "reshape": _reshape,
    "transpose": _transpose,
    "astype": _astype,
    "copy": _copy,
    "item": _item,
    "fill": _fill,
    "flatten": _flatten,
    "conj": _conj,
    "conjugate": _conj,
    "sort": sort_in_place,
    "trace": _trace,
    "view": _seen_as,
}


def _part(x: Any, name: str) -> Any:
    trace = here()
    if x.dtype.kind == "c":
        if isinstance(x, TracedArray):
            return x.view(name)
        return wrap(trace, trace.emit(name, (x.value(),)))
    if name == "real":
        return x
    if isinstance(x, TracedScalar):
        return wrap(trace, trace.constant(x.dtype.type(0).item(), NpScalar(x.dtype)))
    # NumPy's zeros cannot be stored into.
    zeros = in_order_of(HANDLERS[np.zeros_like](x, order="C"), x)
    return zeros.view("reshape", shape=zeros.type.shape, writeable=False)


def _bound(x: Tracer, name: str) -> Any:
    if name in _EXTRA:
        return lambda *args, **kwargs: _call(name, x, args, kwargs)
    function = _METHODS.get(name)
    if function is None or function not in HANDLERS:
        return None

    def run(*args: Any, **kwargs: Any) -> Any:
        _check_arguments(name, (x, *args), kwargs)
        return call_function(function, (x, *args), kwargs)

    return run


def _call(name: str, x: Tracer, args: Any, kwargs: Any) -> Any:
    """A method that is no function of NumPy."""
    _check_arguments(name, (x, *args), kwargs)
    bound = bound_to(_EXTRA[name], f"ndarray.{name}", (x, *args), kwargs)
    return _EXTRA[name](*bound.args, **bound.kwargs)


@cache
def method_signature(name: str) -> inspect.Signature:
    """The signature of a method of arrays: NumPy's own, which it says since 2.4."""
    method = getattr(np.ndarray, name)
    if not method.__text_signature__:
        from tracejit.frontend.numpy.method_forms import METHOD_FORMS

        method = METHOD_FORMS[name]
    return inspect.signature(method)


def _check_arguments(name: str, args: Any, kwargs: Any) -> None:
    """Leave it to NumPy to refuse arguments that its method does not take."""
    try:
        method_signature(name).bind(*args, **kwargs)
    except TypeError as e:
        raise TraceError("TJ004", f"ndarray.{name}: {e}", user_line()) from None


def array_attribute(x: TracedArray, name: str) -> Any:
    """`x.name`. Raises AttributeError as ndarray does, TraceError for what is not known here."""
    if not hasattr(np.ndarray, name):
        return _unknown(name, np.ndarray)
    if name == "T":
        return HANDLERS[np.transpose](x)
    if name == "mT":
        return HANDLERS[np.swapaxes](x, -1, -2)
    if name in ("real", "imag"):
        return _part(x, name)
    if name == "flat":
        return TracedFlat(x)
    if name == "flags":
        return Flags(x)
    if name == "strides":
        return strides_of(x)
    bound = _bound(x, name)
    if bound is not None:
        return bound
    return _unknown(name, np.ndarray)


def scalar_attribute(x: TracedScalar, name: str) -> Any:
    """`x.name` of a NumPy scalar or a Python number."""
    if isinstance(x.type, PyScalar):
        return _number_attribute(x, x.type.kind, name)
    if name in ("real", "imag"):
        return _part(x, name)
    if name == "is_integer" and x.dtype.kind in "fiu":
        number = _item(x) if x.dtype.kind == "f" else None
        return lambda: True if number is None else number.is_integer()
    if name == "dtype":
        return dtype_of(x.type)
    if name in ("shape", "ndim", "size", "T"):
        return {"shape": (), "ndim": 0, "size": 1, "T": x}[name]
    if name in ("itemsize", "nbytes"):
        return dtype_of(x.type).itemsize
    if name in ("astype", "item", "copy", "conj", "conjugate"):
        return lambda *args, **kwargs: _call(name, x, args, kwargs)
    if hasattr(np.generic, name) and name in _METHODS | _EXTRA:
        method = getattr(asarray(x), name)
        return lambda *args, **kwargs: as_scalar(method(*args, **kwargs))
    return _unknown(name, x.dtype.type)


def _number_attribute(x: TracedScalar, kind: str, name: str) -> Any:
    """`x.name` of a Python number."""

    def of_op(op: str) -> Any:
        trace = here()
        return wrap(trace, trace.emit(op, (x.value(),)))

    of_ints = kind in ("bool", "int")
    if name in ("real", "imag") or (name == "numerator" and of_ints):
        return of_op("py_imag" if name == "imag" else "py_real")
    if name == "denominator" and of_ints:
        return 1
    if name == "conjugate" or (name == "is_integer" and kind == "float"):
        return lambda: of_op(f"py_{name}")
    if name in ("bit_length", "bit_count") and of_ints:
        return lambda: of_op(f"py_{name}")
    return _unknown(name, _CLASSES[kind])


_CLASSES = {"bool": bool, "int": int, "float": float, "complex": complex}


def _unknown(name: str, cls: type) -> Any:
    if hasattr(cls, name) and not name.startswith("__"):
        raise TraceError("TJ002", f"{cls.__name__}.{name}", user_line())
    numpy = f"{cls.__module__}." * (cls.__module__ == "numpy")
    raise AttributeError(f"'{numpy}{cls.__name__}' object has no attribute '{name}'")


DISPATCH.array_attribute = array_attribute

DISPATCH.scalar_attribute = scalar_attribute
