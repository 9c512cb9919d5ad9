"""Questions about elements, their closeness and equality, and what follows from the answers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import refuse

__all__ = ["FUNCTIONS"]


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Whether all elements are close."""
    return bool(np.all(isclose(a, b, rtol=rtol, atol=atol, equal_nan=equal_nan)))


def angle(z: Any, deg: Any = False) -> Any:
    """The angle of complex numbers."""
    z = np.asanyarray(z)
    found = np.arctan2(z.imag, z.real) if z.dtype.kind == "c" else np.arctan2(0, z)
    if deg:
        found *= 180 / math.pi
    return found


def array_equal(a1: Any, a2: Any, equal_nan: Any = False) -> Any:
    """Whether two arrays have one shape and equal elements."""
    try:
        x, y = np.asarray(a1), np.asarray(a2)
    except ValueError:
        return False
    if x.shape != y.shape:
        return False
    same = x == y
    if equal_nan and x.dtype.kind in "fc" and y.dtype.kind in "fc":
        same = same | (np.isnan(x) & np.isnan(y))
    return bool(same.all())


def array_equiv(a1: Any, a2: Any) -> Any:
    """Whether two arrays have shapes that fit, and equal elements."""
    try:
        x, y = np.asarray(a1), np.asarray(a2)
    except ValueError:
        return False
    for m, n in zip(x.shape[::-1], y.shape[::-1], strict=False):
        if m not in (1, n) and n != 1:
            return False
    return bool((x == y).all())


def fix(x: Any, out: Any = None) -> Any:
    """Values rounded towards zero."""
    if np.asanyarray(x).dtype.kind not in "biuf":
        refuse("np.fix of such values")
    return np.trunc(x, out=out)


def infinite(x: Any, out: Any, is_positive: bool) -> Any:
    """Where numbers are infinities of a sign."""
    is_infinite = np.isinf(x)
    dtype = np.asanyarray(x).dtype
    if dtype.kind == "c":
        why = "because it would be ambiguous."
        raise TypeError(f"This operation is not supported for {dtype} values {why}")
    sign = np.signbit(x)
    return np.logical_and(is_infinite, ~sign if is_positive else sign, out)


def iscomplex(x: Any) -> Any:
    """Where imaginary parts are not 0."""
    x = np.asanyarray(x)
    return x.imag != 0 if x.dtype.kind == "c" else np.zeros(x.shape, bool)[()]


def iscomplexobj(x: Any) -> Any:
    """Whether the dtype is complex."""
    return np.asarray(x).dtype.kind == "c"


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08, equal_nan: Any = False) -> Any:
    """Where |a - b| <= atol + rtol |b|, or both are one infinity, or NaN if `equal_nan`."""
    x, y, atol, rtol = (number_or_array(v) for v in (a, b, atol, rtol))
    if hasattr(y, "dtype"):
        y = np.asanyarray(y, dtype=np.result_type(y, 1.0))
    elif isinstance(y, int):
        y = float(y)
    is_close = np.less_equal(abs(x - y), atol + rtol * abs(y)) & np.isfinite(y) | (x == y)
    if equal_nan:
        is_close = is_close | np.isnan(x) & np.isnan(y)
    return is_close[()]


def number_or_array(x: Any) -> Any:
    """A number of Python's itself, else an array."""
    if isinstance(x, (int, float, complex)):
        return x
    x = np.asanyarray(x)
    if x.dtype.kind not in "biufc":
        refuse("np.isclose of other than numbers")
    return x


def isfortran(a: Any) -> Any:
    """Whether an array lies in Fortran order and not in C order."""
    return a.flags.fnc


def isneginf(x: Any, out: Any = None) -> Any:
    """Where numbers are minus infinity."""
    return infinite(x, out, False)


def isposinf(x: Any, out: Any = None) -> Any:
    """Where numbers are infinity."""
    return infinite(x, out, True)


def isreal(x: Any) -> Any:
    """Where imaginary parts are 0."""
    return np.imag(x) == 0


def isrealobj(x: Any) -> Any:
    """Whether the dtype is not complex."""
    return not iscomplexobj(x)


def nan_to_num(
    x: Any, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    """Finite numbers in place of NaN and infinities."""
    x = np.array(x, copy=copy)
    if x.dtype.kind in "fc":
        info = np.finfo(x.dtype)
        high = info.max if posinf is None else posinf
        low = info.min if neginf is None else neginf
        for part in (x.real, x.imag) if x.dtype.kind == "c" else (x,):
            is_nan, is_infinite, sign = np.isnan(part), np.isinf(part), np.signbit(part)
            np.copyto(part, nan, where=is_nan)
            np.copyto(part, high, where=is_infinite & ~sign)
            np.copyto(part, low, where=is_infinite & sign)
    return x if x.ndim else x[()]


def real_if_close(a: Any, tol: Any = 100) -> Any:
    """A real array itself; what becomes of a complex one, its elements decide."""
    a = np.asanyarray(a)
    if a.dtype.kind == "c":
        refuse("np.real_if_close of complex numbers")
    return a


def sort_complex(a: Any) -> Any:
    """The elements in ascending order, as complex numbers."""
    found = np.array(a, copy=True)
    found.sort()
    if found.dtype.kind == "c":
        return found
    return found.astype("F" if found.dtype.char in "bhBH" else "D")


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    getattr(np, f.__name__): f
    for f in (
        *(allclose, angle, array_equal, array_equiv, fix, isclose, iscomplex, iscomplexobj),
        *(isfortran, isneginf, isposinf, isreal, isrealobj, nan_to_num, real_if_close),
        *(sort_complex,),
    )
}
