"""Polynomials, and programs that compute with them; pytest does not rewrite them."""

import numpy as np


def beginning_with_zero():
    p = np.poly1d([1.0, 2.0, 3.0])
    p.coeffs[0] = 0.0
    return p


P = np.poly1d([1.0, -2.0, 3.0])
Q = np.poly1d([2, 4], variable="t")
POLYNOMIALS = [
    *(P, Q, np.poly1d([0.0]), np.poly1d([0]), np.poly1d([-0.0]), np.poly1d([1j, 2])),
    *(np.poly1d([np.nan, 1]), np.poly1d(np.array([1, 2], "f4")), beginning_with_zero()),
]


def called(x):
    return [p(x) for p in POLYNOMIALS]


def computed(x):
    found = P * Q, 2 * P, P * 2.5, P + Q, 1 + P, P - Q, 1 - P, -P, +P, P / 2, P**3, Q**0, P * [1, 2]
    return [p(x) for p in found]


def taken_apart(x):
    a = P.order, P.o, len(P), P.roots, P.r, P.coeffs, P.c, P.variable, P[0], P[1], P[9], P[-1]
    return a, [c * x for c in P], sum(P), isinstance(P, np.poly1d), P.deriv(2).coeffs


def integrated(x):
    return P.deriv()(x) + P.integ()(x) + P.integ(2, [1, 2])(x) + P.integ(k=3)(x)


def of_values(x):
    p = np.poly1d(x)
    q = np.poly1d(p)
    q[1] = x[0]
    return p(2.0), (p * p).coeffs, p.deriv()(x), np.poly1d(x[:2], True).coeffs, q.coeffs


def fitted(x):
    return np.poly1d(np.polyfit(x, x**2, 1))(x + 1)


def recurrence(x):
    a, b = np.poly1d([1.0]), np.poly1d([1.0, 0.0])
    for _ in range(4):
        a, b = b, 2 * np.poly1d([1.0, 0.0]) * b - a
    return b(x), b.coeffs


PROGRAMS = [called, computed, taken_apart, integrated, of_values, fitted, recurrence]


def smooth(x):
    p = np.poly1d(x)
    q = np.poly1d([1.0, -2.0, 3.0])
    return (q * q)(x).sum() + (p**2 - 2 * p)(0.3) + p.deriv()(0.7) + p.integ()(1.1)


def cancelling(x):
    return (np.poly1d(x) - np.poly1d([x[0], 2.0, 1.0])).coeffs


def stored(p, x):
    p[1] = x[0]
    return p(x)


def given(p, x):
    return p(x) + p.order


def composed(x):
    return P(Q)(x)


def times_array(x):
    return x * P


def added_by_function(x):
    return np.polyadd(P, x)(x)


def assigned(x):
    p = np.poly1d([1.0, 2.0])
    p.coeffs = x
    return p(x)


def scaled_in_place(x):
    p = np.poly1d([1.0, 2.0])
    p.coeffs *= 2
    return p(x)


def deleted(x):
    p = np.poly1d([1.0, 2.0])
    del p.coeffs
    return p(x)


def printed(x):
    return str(P), x


def are_one(objects, x):
    return objects[0] is objects[1], objects[1](x)


def of_row(c):
    return np.poly1d(c)(np.array([0.7, -1.3, 2.1]))


def of_one_coefficient(x):
    p = np.poly1d(x[:1])
    p[0] = 9.0
    return p(x), p.coeffs
