"""Functions with arguments that NumPy rejects, or that are odd, beside arguments that work."""

from __future__ import annotations

import dataclasses
import decimal
import enum
import fractions
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Case:
    """A function, arguments that it takes, and a list of arguments that end otherwise."""

    f: Callable[..., Any]
    good: tuple[Any, ...]
    bad: tuple[tuple[Any, ...], ...]


def total(x, y):
    return (x + y).sum()


def product(a, b):
    return a @ b


def dotted(a, b):
    return np.dot(a, b)


def column_means(x):
    return x.mean(axis=1)


def moved(x):
    return np.expand_dims(x, 2)


def square_shape(x):
    return x.reshape(3, 3)


def thirds(x):
    return x.reshape(3, -1) * 2


def joined(x, y):
    return np.concatenate([x, y], axis=1)


def stacked(x, y):
    return np.stack((x, y))


def squeezed(x):
    return np.squeeze(x, axis=0)


def third_item(x):
    return x[2] + 1


def item_at(x, i):
    return x[i]


def inner_item(x):
    return x[1, -2]


def picked(x, where):
    return x[where] * 2


def largest(x):
    return x.max()


def largest_position(x):
    return np.argmax(x, axis=0)


def solved(a, b):
    return np.linalg.solve(a, b)


def inverse(a):
    return np.linalg.inv(a)


def factor(a):
    return np.linalg.cholesky(a)


def power(x, y):
    return x**y


def complement(x):
    return ~x


def difference(x):
    return x - x


def contracted(a, b):
    return np.einsum("ij,jk->ik", a, b)


def blank(n):
    return np.zeros(n) + 1


def counted(start, stop, step):
    return np.arange(start, stop, step)


def spaced(n):
    return np.linspace(0, 1, n)


def widened(x, shape):
    return np.broadcast_to(x, shape)


def quotient(a, b):
    return a // b + a / b


def two_faults(x, i):
    first = x[i]
    return first.reshape(4) + np.ones(4)


def late_fault(x, y):
    a = np.exp(x)
    b = a * 2 + 1
    return b.sum() + y[10]


def smoothed(x):
    return np.sort(x)[::2] + np.cumsum(x)[::2]


def shifted(x, n):
    return np.roll(x, n)


def doubled(x, n):
    return np.repeat(x, n)


def cast(x, dtype):
    return x.astype(dtype)


def described(x):
    return np.abs(x) * 2


def distance(x):
    return np.linalg.norm(x, axis=-1)


class Colour(enum.IntEnum):
    RED = 1


def stored(x, y):
    x[0] = 1
    x[1:] = y
    return x


def stored_at(x, k, y):
    x[k] = y
    x[k + 1] += y


def exchanged(a, b):
    a[0], b[0] = b[0] * 2, a[0] * 3
    a[...], b[...] = b.copy(), a.copy()


def divided(x, y):
    x[:1] = 3
    x /= y
    return x


def added(x, y):
    x *= 2
    np.add(x, 1, out=y)
    return y


A = np.arange(12.0).reshape(3, 4)
V = np.arange(5.0)
SPD = np.array([[2.0, 1.0], [1.0, 3.0]])
LOCKED = np.arange(5.0)
LOCKED.flags.writeable = False
ODD_ARRAYS: tuple[tuple[Any, ...], ...] = (
    (None,),
    ("text",),
    ([1.0, -2.0],),
    ([[1, 2], [3, 4]],),
    ([[1, 2], [3]],),
    ({1, 2},),
    (len,),
    (np.array(["a", "b"]),),
    (np.array([1, None]),),
    (np.array([-1, 2**70], dtype=object),),
    (np.array(["2024-01-01"], "datetime64[D]"),),
    (np.array([-3, 4], "timedelta64[s]"),),
    (np.zeros(2, [("a", float), ("b", int)]),),
    (np.ma.masked_array([1.0, -2.0], [False, True]),),
    (np.arange(-3.0, 3.0).astype(">f8"),),
    (np.arange(-3.0, 3.0).astype(np.longdouble),),
    (np.arange(-3.0, 3.0).astype(np.clongdouble),),
    (np.arange(-3, 3).astype(np.longlong),),
    (np.arange(-3.0, 3.0).astype(np.float16),),
    (np.float32(-2),),
    (np.bool_(True),),
    (True,),
    (-3,),
    (-2.5,),
    (3 - 4j,),
    (2**70,),
    (-(2**63),),
    (Colour.RED,),
    (decimal.Decimal("-1.5"),),
    (fractions.Fraction(-1, 2),),
    (b"ab",),
    (bytearray(b"ab"),),
    (range(3),),
    (np.zeros(0),),
    (np.zeros((0, 3), np.int8),),
    (np.array(-5.0),),
    (np.array([np.nan, -np.inf, -0.0]),),
)

CASES = [
    Case(
        total,
        (V, V),
        (
            (V, np.ones(4)),
            (A, np.ones((3, 3))),
            (A, np.ones(3)),
            (V,),
            (V, V, V),
            (V, "a"),
            (V, None),
            (V, [1, 2]),
            (np.uint8([1, 2]), 300),
            (np.int8([1, 2]), -200),
            (np.uint8([1, 2]), -1),
        ),
    ),
    Case(
        product,
        (A, A.T),
        ((A, A), (A, 2.0), (A, np.float64(2)), (np.array(1.0), A), (A, V), (V, A), (A, None)),
    ),
    Case(dotted, (A, A.T), ((A, A), (A, V), (V, np.ones(4)))),
    Case(column_means, (A,), ((V,), (np.array(1.0),), (1.0,), (np.zeros((3, 0)),))),
    Case(moved, (A,), ((V,), (1.0,), (np.zeros(()),))),
    Case(square_shape, (np.ones(9),), ((V,), (A,), (np.zeros(0),), (np.array(1.0),))),
    Case(thirds, (A,), ((V,), (np.zeros(0),), (np.ones(1),))),
    Case(joined, (A, A), ((A, A.T), (V, V), (A, V), (A, 1.0), (A, np.ones((3, 0))))),
    Case(stacked, (A, A), ((A, A.T), (V, np.ones(4)), (A, 1.0))),
    Case(squeezed, (A[:1],), ((A,), (np.array(1.0),), (V,))),
    Case(third_item, (V,), ((np.ones(2),), (np.ones(0),), (np.array(1.0),), (1.0,), ([1],))),
    Case(
        item_at,
        (V, 2),
        (
            (V, 5),
            (V, -6),
            (V, 1.0),
            (V, np.float64(1)),
            (V, "a"),
            (V, None),
            (V, np.int64(7)),
            (V, np.array(9)),
            (V, 2**40),
            (V, 2**70),
            (V, (0, 0)),
            (V, True),
            (V, slice(1, 3)),
            (V, slice(None, None, 0)),
            (V, slice(0.5, None)),
            (V, ...),
        ),
    ),
    Case(inner_item, (A,), ((V,), (np.ones((1, 4)),), (np.ones((3, 1)),), (np.ones((0, 0)),))),
    Case(
        picked,
        (V, np.array([0, 4, -5])),
        (
            (V, np.array([0, 5])),
            (V, np.array([-6])),
            (V, np.array([0.0, 1.0])),
            (V, np.array([True, False])),
            (V, np.array([], float)),
            (V, np.array([], int)),
            (V, np.array([200], np.uint8)),
            (V, np.array([2**63], np.uint64)),
            (V, [1, 7]),
            (np.zeros(0), np.array([0])),
            (np.zeros((0, 2)), np.array([], int)),
        ),
    ),
    Case(largest, (V,), ((np.zeros(0),), (np.zeros((3, 0), int),), (np.array([np.nan, 1]),))),
    Case(largest_position, (A,), ((np.zeros((0, 3)),), (np.zeros((3, 0)),), (np.array(1.0),))),
    Case(
        solved,
        (SPD, np.ones(2)),
        (
            (np.zeros((2, 2)), np.ones(2)),
            (np.ones((2, 3)), np.ones(2)),
            (SPD, np.ones(3)),
            (SPD, 1.0),
            (V, V),
            (SPD.astype(bool), np.ones(2)),
            (SPD.astype(np.float16), np.ones(2)),
            (np.full((2, 2), np.nan), np.ones(2)),
            (np.zeros((0, 0)), np.zeros(0)),
        ),
    ),
    Case(
        inverse,
        (SPD,),
        ((np.ones((2, 2)),), (A,), (V,), (np.zeros((0, 0)),), (np.zeros((3, 0, 0)),), (1.0,)),
    ),
    Case(factor, (SPD,), ((-SPD,), (A,), (V,), (np.zeros((2, 2)),), (np.full((1, 1), np.nan),))),
    Case(
        power,
        (V, 2),
        (
            (np.arange(3), -1),
            (np.arange(3), np.array([1, -1, 2])),
            (np.int64(2), -1),
            (0, -1),
            (0.0, -1.0),
            (-8.0, 0.5),
            (np.float64(-8), 0.5),
            (10.0, 400.0),
            (2, 100),
            (np.array([True, False]), np.array([True, True])),
        ),
    ),
    Case(complement, (np.arange(3),), ((V,), (1.5,), (True,), (np.bool_(True),), (1j * V,))),
    Case(difference, (V,), ((np.array([True, False]),), (True,), (np.bool_(True),))),
    Case(contracted, (A, A.T), ((A, A), (V, A), (A,), (A, 1.0))),
    Case(
        blank,
        (3,),
        (
            (-1,),
            (2.0,),
            ("a",),
            ((2, -1),),
            (2**62,),
            (2**70,),
            ((2**40, 2**40),),
            (None,),
            (True,),
        ),
    ),
    Case(counted, (0, 5, 2), ((0, 5, 0), (0, 5, -1), (0, np.nan, 1), (5, 0, 1), (0.0, 1.0, 0.0))),
    Case(spaced, (4,), ((-1,), (0,), (1,), (2.5,), (None,))),
    Case(widened, (V, (2, 5)), ((V, (5, 2)), (V, (-1, 5)), (V, ()), (A, (4,)), (V, (0, 5)))),
    Case(
        quotient,
        (7.0, 2.0),
        (
            (1.0, 0.0),
            (1, 0),
            (1, 0.0),
            (True, False),
            (np.float64(1), 0.0),
            (np.int64(1), 0),
            (np.array([1, -(2**63)]), np.array([0, -1])),
            (V, 0),
            (np.int8([-128]), np.int8([-1])),
            (1j, 0.0),
        ),
    ),
    Case(
        two_faults,
        (np.ones((3, 4)), 0),
        ((np.ones((3, 5)), 9), (np.ones((3, 5)), 0), (np.ones((3, 4)), np.int64(9))),
    ),
    Case(late_fault, (V, np.arange(11.0)), ((V, V), (V, V[:0]), (V, 1.0), (V, A))),
    Case(smoothed, (V,), ((A,), (np.array([np.nan, 1.0, -np.nan]),), (np.zeros(0),), (1.0,))),
    Case(shifted, (V, 2), ((V, 2.5), (V, "a"), (V, 2**70), (V, -7), (np.zeros(0), 3))),
    Case(doubled, (V, 2), ((V, -1), (V, 2.0), (V, 0), (V, [1, 2]), (V, [0, 1, 2, 0, 1]))),
    Case(
        cast,
        (V, np.float32),
        ((V, "nonsense"), (V, "f8"), (V, None), (V, object), (V, "S3"), (1.0, int), (V, "M8[s]")),
    ),
    Case(
        stored,
        (V, V[1:]),
        (
            (V, V),
            (V, V[:0]),
            (V[:0], V),
            (V, 1j),
            (V, A),
            (V, "a"),
            (V, None),
            (2.0, V),
            (LOCKED, V[1:]),
        ),
    ),
    Case(
        stored_at,
        (V, 2, 1.0),
        ((V, -1, 2.0), (V, len(V) - 1, 2.0), (V, 99, 2), (V, 1.5, 2.0), (V, "a", 2), (V, 2**70, 1)),
    ),
    Case(exchanged, (A, A + 1), ((A, A[:1]), (A[:1], A), (A, V), (V, A), (A[:0], A[:0]), (A, 2.0))),
    Case(
        divided,
        (V, V + 1),
        ((V, A), (V, V[1:]), (np.arange(3), 2.0), (V, 1j), (V, "a"), (LOCKED, V), (V[:0], 0.0)),
    ),
    Case(added, (V, V + 1), ((V, V[1:]), (V, A), (V, np.arange(len(V))), (V, LOCKED), (V, 2.0))),
    Case(described, (V,), ODD_ARRAYS),
    Case(distance, (A,), ODD_ARRAYS),
]
