"""Questions about arrays, on tracers: closeness, equality, parts, shapes and dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from tracejit.errors import TraceError
from tracejit.frontend.numpy.conversion import asarray, operand
from tracejit.frontend.numpy.creation import placeholder
from tracejit.frontend.numpy.number_operators import is_python_number
from tracejit.frontend.numpy.registry import handles
from tracejit.frontend.numpy.selection import as_operand, as_scalar
from tracejit.frontend.numpy.ufuncs import elementwise
from tracejit.frontend.tracing.checks import CONTAINERS
from tracejit.frontend.tracing.text import TracedText
from tracejit.frontend.tracing.tracer import (
    TracedArray,
    here,
    is_number,
    lift,
    user_line,
    wrap,
)

__all__: list[str] = []


@handles(np.isclose)
def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Whether |a - b| <= atol + rtol * |b|, infinities equal to themselves."""
    x, y = (v if is_number(v) else as_operand(v) for v in (a, b))
    if not is_python_number(y):
        y = wrap(here(), operand(y, np.result_type(placeholder(y), 1.0)))
    elif str(lift(y).type) in ("int", "bool"):
        y = wrap(here(), here().emit("py_scalar", (lift(y).value(),), kind="float"))
    distance = elementwise(np.absolute, (elementwise(np.subtract, (x, y)),))
    size = elementwise(np.absolute, (y,))
    limit = elementwise(np.add, (atol, elementwise(np.multiply, (rtol, size))))
    near = elementwise(np.less_equal, (distance, limit))
    near = elementwise(np.bitwise_and, (near, elementwise(np.isfinite, (y,))))
    out = elementwise(np.bitwise_or, (near, elementwise(np.equal, (x, y))))
    if equal_nan:
        both = [elementwise(np.isnan, (v,)) for v in (x, y)]
        out = elementwise(np.bitwise_or, (out, elementwise(np.bitwise_and, both)))
    return out


@handles(np.real_if_close)
def real_if_close(a: Any, tol: Any = 100) -> Any:
    """A real array itself; what becomes of a complex one, its values decide."""
    x = asarray(a)
    if x.dtype.kind == "c":
        raise TraceError("TJ004", "np.real_if_close of complex numbers", user_line())
    return x


def _python_bool(x: Any) -> Any:
    """A NumPy bool as a Python bool."""
    trace = here()
    return wrap(trace, trace.emit("py_scalar", (as_scalar(x).value(),), kind="bool"))


@handles(np.allclose)
def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Whether all elements are close: a Python bool."""
    return _python_bool(np.all(isclose(a, b, rtol, atol, equal_nan)))


@handles(np.array_equal)
def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    """Whether two arrays have one shape and equal elements: a Python bool."""
    try:
        x, y = asarray(a1), asarray(a2)
    except ValueError:
        return False  # lists of unlike lengths
    env = here().env
    if x.ndim != y.ndim or any(
        not env.decide(p, "==", q) for p, q in zip(x.type.shape, y.type.shape, strict=True)
    ):
        return False
    same = elementwise(np.equal, (x, y))
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        both = elementwise(np.bitwise_and, [elementwise(np.isnan, (v,)) for v in (x, y)])
        same = elementwise(np.bitwise_or, (same, both))
    return _python_bool(np.all(asarray(same)))


@handles(np.real)
def real(val: Any) -> Any:
    """The real part: of a Python number a Python number."""
    part: Any = lift(val if is_number(val) else asarray(val))
    return part.real


@handles(np.imag)
def imag(val: Any) -> Any:
    """The imaginary part: of a Python number a Python number."""
    part: Any = lift(val if is_number(val) else asarray(val))
    return part.imag


@handles(np.angle)
def angle(z: Any, deg: Any = False) -> Any:
    """The angle of complex numbers."""
    x = as_operand(z)
    if x.dtype.kind == "c":
        out = elementwise(np.arctan2, (x.imag, x.real))
    else:
        out = elementwise(np.arctan2, (0, x))
    return elementwise(np.multiply, (out, 180 / np.pi)) if deg else out


@handles(np.iscomplexobj)
def iscomplexobj(x: Any) -> bool:
    """Whether the dtype is complex."""
    return bool(np.asarray(placeholder(x if is_number(x) else asarray(x))).dtype.kind == "c")


@handles(np.isrealobj)
def isrealobj(x: Any) -> bool:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


@handles(np.shape)
def shape(a: Any) -> Any:
    """The shape."""
    return () if is_number(a) else asarray(a).shape


@handles(np.ndim)
def ndim(a: Any) -> int:
    """The number of axes."""
    return 0 if is_number(a) else asarray(a).ndim


@handles(np.isscalar)
def isscalar(element: Any) -> bool:
    """Whether it is a number of Python's or NumPy's, or text."""
    if isinstance(element, TracedArray):
        return False
    return is_number(element) or isinstance(element, TracedText) or np.isscalar(element)


@handles(np.iterable)
def iterable(y: Any) -> bool:
    """Whether it can be iterated over."""
    if isinstance(y, TracedArray):
        return y.ndim > 0
    if is_number(y) or y is None:
        return False
    if not isinstance(y, (*CONTAINERS, str, bytes, range, TracedText)):
        raise TraceError("TJ004", f"np.iterable of a {type(y).__name__}", user_line())
    return True


@handles(np.size)
def size(a: Any, axis: Any = None) -> Any:
    """The number of elements, along one axis where it is given."""
    x = asarray(a)
    if isinstance(axis, tuple):
        raise TraceError("TJ004", "np.size along several axes", user_line())
    return x.size if axis is None else x.shape[normalize_axis_index(axis, x.ndim)]


@handles(np.result_type)
def result_type(*arrays_and_dtypes: Any) -> Any:
    """The dtype that NumPy's promotion gives."""
    return np.result_type(*(placeholder(x) for x in arrays_and_dtypes))


@handles(np.can_cast)
def can_cast(from_: Any, to: Any, casting: Any = "safe") -> bool:
    """Whether a dtype can be cast to another."""
    return np.can_cast(
        from_.dtype if isinstance(from_, TracedArray) else placeholder(from_), to, casting
    )
