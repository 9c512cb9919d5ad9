"""Functions of an array that repeats its rows and of one in Fortran order."""

from __future__ import annotations

import numpy as np


def copy(a, b):
    return a.copy("K"), np.array(a), a.astype(np.float32), np.round(a, 1)


def like(a, b):
    return np.zeros_like(a), np.full_like(a, 2), np.ones_like(b)


def along(a, b):
    return np.sort(a, axis=0), np.roll(a, 1, axis=0), np.roll(b, 1, axis=0), np.cumsum(a, axis=0)


def elementwise(a, b):
    return a * 2, a * b, b + a, np.where(a > b, a, b)


def repeated(a, b):
    c = np.asfortranarray(b.T[None])
    return np.repeat(b, 2, axis=0), b.repeat(2, 1), np.repeat(c, 2, axis=0), c.repeat(3, 0) * 2


def stored(a, b):
    new = a.copy("K")
    new[0] = 7
    return new, new * b, np.median(new, axis=1)


SAMPLES = (copy, like, along, elementwise, repeated, stored)
