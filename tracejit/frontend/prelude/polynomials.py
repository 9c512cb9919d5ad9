"""Polynomials by their coefficients, the highest power first."""

from __future__ import annotations

from typing import Any

import numpy as np

from tracejit.frontend.prelude.intrinsics import refuse, require, specialised

__all__ = ["FUNCTIONS", "coefficients"]

#: Powers of polynomials up to this one are products in the program.
_HIGHEST = 16


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


# Objects -----------------------------------------------------------------------------------------


def coefficients(c_or_r: Any, r: Any = False) -> Any:
    """Those of `np.poly1d(c_or_r, r)`, in the memory given; the first must not be zero."""
    c = np.atleast_1d(np.poly(c_or_r) if r else c_or_r)
    if c.ndim > 1:
        raise ValueError("Polynomial must be 1d only.")
    if len(c) == 0:
        return np.zeros(1, c.dtype)
    require(c[0] != 0)
    return c[:]


def product(a1: Any, a2: Any) -> Any:
    """The coefficients of a product; those of a polynomial may have come to begin with zeros."""
    return np.convolve(coefficients(a1), coefficients(a2))


def is_number(x: Any) -> bool:
    """Whether NumPy takes an operand as it is, and not as coefficients."""
    return isinstance(x, (int, float, complex, str, bytes, np.generic))


def coeffs(self: Any) -> Any:
    """The coefficients, the array itself."""
    return self.coeffs


def order(self: Any) -> Any:
    """The highest power."""
    return len(self.coeffs) - 1


def roots(self: Any) -> Any:
    """The numbers for which it is zero."""
    return np.roots(self.coeffs)


def value(self: Any, val: Any) -> Any:
    """The values at numbers."""
    return np.polyval(self.coeffs, val)


def negative(self: Any) -> Any:
    """The polynomial with the other sign."""
    return np.poly1d(-self.coeffs)


def positive(self: Any) -> Any:
    """The polynomial itself."""
    return self


def multiply(self: Any, other: Any) -> Any:
    """The product with a number, a polynomial or what one can be made of."""
    if is_number(other):
        return np.poly1d(self.coeffs * other)
    return np.poly1d(product(self.coeffs, np.poly1d(other).coeffs))


def rmultiply(self: Any, other: Any) -> Any:
    """The product of a number with it."""
    return np.poly1d(other * self.coeffs) if is_number(other) else multiply(self, other)


def add(self: Any, other: Any) -> Any:
    """The sum with what a polynomial can be made of."""
    return np.poly1d(np.polyadd(self.coeffs, np.poly1d(other).coeffs))


def subtract(self: Any, other: Any) -> Any:
    """The difference from what a polynomial can be made of."""
    return np.poly1d(np.polysub(self.coeffs, np.poly1d(other).coeffs))


def rsubtract(self: Any, other: Any) -> Any:
    """The difference the other way round."""
    return np.poly1d(np.polysub(np.poly1d(other).coeffs, self.coeffs))


def divide(self: Any, other: Any) -> Any:
    """The quotient by a number."""
    if not is_number(other):
        refuse("a quotient of polynomials")
    return np.poly1d(self.coeffs / other)


def power(self: Any, val: Any) -> Any:
    """The product of several of it."""
    if type(val) is not int or not 0 <= specialised(val) <= _HIGHEST:
        refuse("a power of a polynomial by no small natural number")
    return np.poly1d(powers(self.coeffs, specialised(val)))


def powers(c: Any, n: int) -> Any:
    """The coefficients of the product of `n` of one polynomial."""
    return product(c, powers(c, n - 1)) if n else np.array([1])


def item(self: Any, val: Any) -> Any:
    """The coefficient of a power."""
    place = self.order - val
    if val > self.order or val < 0:
        return self.coeffs.dtype.type(0)
    return self.coeffs[place]


def store_item(self: Any, key: Any, val: Any) -> Any:
    """Let the coefficient of a power be a number."""
    if key < 0:
        raise ValueError("Does not support negative powers.")
    if key > self.order:
        refuse("a coefficient of a higher power than a polynomial has")
    self.coeffs[self.order - key] = val


def integ(self: Any, m: Any = 1, k: Any = 0) -> Any:
    """The integral, `m` times, each with a constant of integration."""
    return np.poly1d(np.polyint(self.coeffs, m=m, k=k))


def deriv(self: Any, m: Any = 1) -> Any:
    """The derivative, `m` times."""
    return np.poly1d(np.polyder(self.coeffs, m=m))


#: Method of `np.poly1d` -> the one that is traced in its place.
METHODS: dict[str, Any] = {
    "__add__": add,
    "__call__": value,
    "__getitem__": item,
    "__len__": order,
    "__mul__": multiply,
    "__neg__": negative,
    "__pos__": positive,
    "__pow__": power,
    "__radd__": add,
    "__rmul__": rmultiply,
    "__rsub__": rsubtract,
    "__setitem__": store_item,
    "__sub__": subtract,
    "__truediv__": divide,
    "deriv": deriv,
    "integ": integ,
}
#: Function of NumPy -> the one that is traced in its place.
FUNCTIONS: dict[Any, Any] = {
    getattr(np, f.__name__): f for f in (polyval, polyadd, polysub, polyder, polyint, polydiv, poly)
}
FUNCTIONS |= {getattr(np.poly1d, name): f for name, f in METHODS.items()}
FUNCTIONS |= {getattr(np.poly1d, f.__name__).fget: f for f in (coeffs, order, roots)}
