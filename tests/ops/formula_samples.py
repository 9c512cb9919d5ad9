"""Functions whose rounding NumPy chooses by its loops: powers and complex arithmetic."""

import numpy as np


def by_operator(a, p):
    return a**p


def by_ufunc(a, p):
    return np.power(a, p)


def in_place(a, p):
    a = np.copy(a)
    a **= p
    return a


def into(a, p):
    out = np.empty(a.shape, np.complex128)
    np.power(a, p, out=out)
    return out


def by_float_power(a, p):
    return np.float_power(a, p)


def half(a):
    return a**0.5, np.power(a, 0.5), a ** np.float64(0.5), pow(a, 0.5)


def two(a):
    return a**2, np.power(a, 2), a**2.0, np.power(a, 2.0), a ** np.float32(2)


def one(a):
    return a**1, np.power(a, 1.0), a**1.0, a ** np.float16(1)


def none(a):
    return a**0, np.power(a, 0.0), a**0.0


def inverse(a):
    return a**-1.0, np.power(a, -1.0)


def inverse_int(a):
    return a**-1, np.power(a, -1)


POWERS = (by_operator, by_ufunc, by_float_power)
STORED_POWERS = (in_place, into)
LITERAL_POWERS = (half, two, one, none, inverse, inverse_int)


def products(x, y):
    return x * y, np.multiply(x, y), y * x


def squares(x, y):
    return x * x, np.square(x), x**2


def sizes(x, y):
    return abs(x), np.abs(x), np.absolute(y)


def quotients(x, y):
    return x / y, np.divide(y, x), np.reciprocal(x), 1 / x


def in_place_products(x, y):
    z = np.copy(x)
    z *= y
    w = np.array(z)
    np.multiply(w, w, w)
    return z, w


def running(x, y):
    return np.cumprod(x), np.prod(y)


def in_a_sum(x, y):
    return x * y + x, x * x - y * y, abs(x * y - 1)


def stored_into(x, y):
    z = np.zeros_like(x * y)
    z[...] = x * y
    z[1:] = x[1:] * y[1:]
    return z


COMPLEX = (products, squares, sizes, quotients)
COMPLEX_ARRAYS = (*COMPLEX, in_place_products, running, in_a_sum, stored_into)


def julia(c, limit):
    z = np.full(c.shape, 0.3 + 0.1j) + c
    for _ in range(limit):
        z = z * z + c
    return z


def iterate(z, c, limit):
    n = 0
    while n < limit:
        z = z * z + c
        n += 1
    return z
