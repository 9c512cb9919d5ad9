"""Numbers that begin as Python's before a loop and are NumPy's after an iteration."""

import math

import numpy as np


def total(a, n):
    s = 0.0
    for i in range(n):
        s += a[i]
    return s, type(s) is float


def product(a, n):
    p = 1
    for i in range(n):
        p = a[i] * p
    return p


def difference(a, n):
    s = 0
    for i in range(n):
        s = s - a[i]
    return s


def largest(a, n):
    m = -1
    for i in range(n):
        if a[i] > m:
            m = a[i]
    return m


def quotient(a, n):
    q = 0.0
    for i in range(n):
        q = a[i] / q
    return q


def nested(a, n):
    s = 0.0
    for i in range(n):
        t = 0.0
        for j in range(n):
            t += a[j] * 0.5
        s += t * a[i]
    return s


def nested_from_outside(a, n):
    s = 0.0
    for i in range(n):
        for j in range(i):
            s += a[j]
    return s


def tested(a, n):
    s, k = 0.0, 0
    while s < 100 and k < n:
        s += a[k]
        k += 1
    return s


def asked_isinstance(a, n):
    s, kinds = 0.0, 0
    for i in range(n):
        kinds += isinstance(s, np.floating)
        s += a[i]
    return s, kinds


def asked_type(a, n):
    s, kinds = 0.0, 0
    for i in range(n):
        if type(s) is float:
            kinds += 1
        s += a[i]
    return s, kinds


def asked_dtype(a, n):
    s, x = 0.0, np.zeros(3, np.float32)
    for i in range(n):
        x = x + 1
        y = x * s
        s += a[i]
    return s, y.dtype if n else None


def asked_by_python_number(a, n):
    s, t = 0.0, 0.0
    for i in range(n):
        t = s + 1.0
        s += a[i]
    return s, t, type(t) is float


def asked_by_power(a, n):
    s = 2
    for i in range(n):
        s = s**2 + a[i] * 0
    return s


def asked_by_modulo(a, n):
    s = 7
    for i in range(n):
        s = s % 3 + a[i]
    return s


def asked_by_negation(a, n):
    s = 1.0
    for i in range(n):
        s = -s + a[i]
    return s


def asked_by_ufunc(a, n):
    s = 0.5
    for i in range(n):
        s = np.add(s, a[i])
    return s


def asked_by_math(a, n):
    s = 0.5
    for i in range(n):
        s = math.sqrt(abs(s)) + a[i]
    return s


def asked_by_max(a, n):
    s = -1.0
    for i in range(n):
        s = max(s, a[i])
    return s, type(s) is float


def asked_by_another_name(a, n):
    s, before = 0.0, None
    for i in range(n):
        before = s
        s += a[i]
    return s, before, type(before) is float


def asked_by_list(a, n):
    s, last = 0.0, [0.0]
    for i in range(n):
        last[0] = s
        s += a[i]
    return s, last


def asked_by_return(a, n):
    s = 0.0
    for i in range(n):
        if a[i] < 0:
            return s
        s += a[i]
    return s


def asked_by_print(a, n):
    s = 0.0
    for i in range(n):
        print(repr(s))
        s += a[i]
    return s


def asked_by_index(a, n):
    k = 0
    for _ in range(n):
        k = np.int64(a[k]) * 0 + 1
    return k


def asked_by_condition(a, n):
    s = 0.0
    for i in range(n):
        if s:
            s += 1
        s += a[i]
    return s


def swapped(a, n):
    s, t = 0.0, 1.0
    for i in range(n):
        s, t = t + a[i], s + a[i]
    return s, t


def doubled(a, n):
    s = 1.0
    for i in range(n):
        s = s + s + a[i]
    return s


def precise(a, n):
    s = 0.1
    for i in range(n):
        s = s + a[i]
    return s


def huge(a, n):
    s = 2**40
    for i in range(n):
        s = s + a[i]
    return s


def negative_zero(a, n):
    s = -0.0
    for i in range(n):
        s = s + a[i] * -0.0
    return s


def beside_numpys(a, n):
    s = 0.0
    for i in range(n):
        s = np.float64(2.0) * s + a[i]
    return s


def beside_arrays(a, n):
    s, y = 0.0, np.zeros(3)
    for i in range(n):
        y = y * s + 1.0
        s += a[i]
    return s, y


def left_in_the_first_iteration(a, n):
    s = 0.0
    for i in range(n):
        if a[i] > 10:
            break
        s += a[i]
    return s


def unchanged_on_one_side(a, n):
    s = 0.0
    for i in range(n):
        if a[i] > 1:
            s += a[i]
    return s


SAMPLES = [f for f in list(globals().values()) if getattr(f, "__module__", "") == __name__]
