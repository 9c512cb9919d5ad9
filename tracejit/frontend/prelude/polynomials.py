"""Polynomials by their coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import refuse

__all__ = ["FUNCTIONS"]


def require_arrays(*polynomials: Any) -> None:
    """Give up a call with objects that stand for polynomials: it gives such an object, too."""
    if any(type(p) is np.poly1d for p in polynomials):
        refuse("a function of polynomials with np.poly1d")


def polyval(p: Any, x: Any) -> Any:
    """The values at numbers, by Horner's scheme."""
    require_arrays(x)
    p, x = np.asarray(p), np.asanyarray(x)
    y = np.zeros_like(x)
    for coefficient in p:
        y = y * x + coefficient
    return y


def aligned(a1: Any, a2: Any) -> Any:
    """Both as arrays, the shorter one with zeros for its highest powers."""
    require_arrays(a1, a2)
    a1, a2 = np.atleast_1d(a1), np.atleast_1d(a2)
    more = len(a2) - len(a1)
    if more > 0:
        a1 = np.concatenate((np.zeros(more, a1.dtype), a1))
    elif more < 0:
        a2 = np.concatenate((np.zeros(-more, a2.dtype), a2))
    return a1, a2


def polyadd(a1: Any, a2: Any) -> Any:
    """The sum."""
    a1, a2 = aligned(a1, a2)
    return a1 + a2


def polysub(a1: Any, a2: Any) -> Any:
    """The difference."""
    a1, a2 = aligned(a1, a2)
    return a1 - a2


def polyder(p: Any, m: Any = 1) -> Any:
    """The derivative, `m` times."""
    require_arrays(p)
    m = int(m)
    if m < 0:
        raise ValueError("Order of derivative must be positive (see polyint)")
    p = np.asarray(p)
    degree = len(p) - 1
    return polyder(p[:-1] * np.arange(degree, 0, -1), m - 1) if m else p


def polyint(p: Any, m: Any = 1, k: Any = None) -> Any:
    """The integral, `m` times, each with a constant of integration."""
    require_arrays(p)
    m = int(m)
    if m < 0:
        raise ValueError("Order of integral must be positive (see polyder)")
    k = np.zeros(m) if k is None else np.atleast_1d(k)
    if len(k) == 1 and m > 1:
        k = k[0] * np.ones(m)
    if len(k) < m:
        raise ValueError("k must be a scalar or a rank-1 array of length 1 or >m.")
    p = np.asarray(p)
    if m == 0:
        return p
    return polyint(np.concatenate((p / np.arange(len(p), 0, -1), k[:1])), m - 1, k[1:])


def polydiv(u: Any, v: Any) -> Any:
    """The quotient and the remainder."""
    require_arrays(u, v)
    u, v = np.atleast_1d(u) + 0.0, np.atleast_1d(v) + 0.0
    dtype = (u[0] + v[0]).dtype
    steps, n = max(len(u) - len(v) + 1, 0), len(v)
    scale = 1.0 / v[0]
    q, r = np.zeros(max(steps, 1), dtype), u.astype(dtype)
    for k in range(steps):
        q[k] = scale * r[k]
        r[k : k + n] -= q[k] * v
    while len(r) > 1 and np.allclose(r[0], 0, rtol=1e-14):
        r = r[1:]
    return q, r


def poly(seq_of_zeros: Any) -> Any:
    """The polynomial with some roots: the product of the differences with them."""
    zeros = np.asarray(seq_of_zeros)
    if zeros.ndim != 1 or zeros.dtype.kind not in "biuf":
        refuse("np.poly of a matrix, or of complex numbers")
    if len(zeros) == 0:
        return 1.0
    zeros = zeros.astype(np.mintypecode(zeros.dtype.char))
    n = len(zeros)
    a = np.zeros(n + 1, zeros.dtype)
    a[0] = 1
    for k in range(n):
        a[1 : k + 2] -= zeros[k] * a[: k + 1]
    return a


#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    getattr(np, f.__name__): f for f in (polyval, polyadd, polysub, polyder, polyint, polydiv, poly)
}
