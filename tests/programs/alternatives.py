"""Functions whose result differs in kind with a condition that is known at run time."""

from __future__ import annotations

import numpy as np


def nothing(x, p):
    if p > 0:
        return None
    return x


def nothing_after_all(x, p):
    if p > 0:
        return x * 2


def itself(x, p):
    if p > 0:
        return x + 1
    return x


def number_kinds(x, p):
    if p > 0:
        return 1
    return 2.5


def number_or_scalar(x, p):
    return 3 if p > 0 else x[0]


def scalar_or_array(x, p):
    return x.sum() if p > 0 else x


def text(x, p):
    if p > 1:
        return "large"
    if p > 0:
        return True
    return x


def shapes(x, p):
    if p > 0:
        return x[1:]
    return x[:2], p


def dtypes(x, p):
    return x.astype("f4") if p > 0 else (x * 2).astype(int)


def containers(x, p):
    if p > 0:
        return [x, 1]
    if p > -1:
        return {"x": x, "p": p}
    return (x,)


def parts(x, p):
    y = x * 2
    first = None if p > 0 else y
    return first, y, (y[1:] if p > -1 else "none"), [first]


def views(x, p):
    y = x * 2
    z = y[::-1] if p > 0 else y
    return z, y


def chosen_argument(x, y, p):
    return x if p > 0 else y


def chosen_view(x, y, p):
    if p > 0:
        return x[1:]
    return y


def stored(x, p):
    if p > 0:
        x[0] = 5.0
        return None
    x += 1
    return x


def stored_into_one(x, y, p):
    if p > 0:
        x[1] = y[0]
        return x
    y[1] = x[0]
    return y, 1


def late(x, p):
    total = None
    for v in x:
        if v > p:
            total = v
            break
    return total


def late_view(x, p):
    for k in range(2):
        if x[k] > p:
            return x[k:]
    return None


def never(x, p):
    while p < 10:
        p = p + 1
        if p == 3:
            return x
    return p


def same_twice(x, p):
    y = x + 1 if p > 0 else None
    return y, y


def nested(x, p):
    if p > 0:
        if p > 1:
            return x
        return x[0]
    if p > -1:
        return [x]
    return np.float32(p)
