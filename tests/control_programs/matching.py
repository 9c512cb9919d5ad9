"""`match`, and comparisons with None, booleans and classes."""

import dataclasses
from typing import NamedTuple

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("matching")


def commands(x, command):
    match command:
        case ("scale", k):
            return x * k
        case ("shift", k) if k > 0:
            return x + k
        case ["sum" | "total", *rest]:
            y = x.sum() + len(rest)
        case str() as name:
            y = len(name)
        case {"power": k, **others}:
            y = x**k + len(others)
        case None:
            y = 0.0
        case _:
            return -x
    return y


programs.add(
    commands,
    (ramp(4), ("scale", 2.0)),
    (ramp(4), ("shift", 1.5)),
    (ramp(4), ("shift", -1.5)),
    (mixed(9), ("other",)),
    (mixed(9), ["total", 1.0, 2.0]),
    (mixed(9), ("sum",)),
    (mixed(9), "name"),
    (mixed(9), None),
    (mixed(9), {"power": 2, "more": 1.0}),
)


def numbers(k):
    match k:
        case 0:
            y = "none"
        case 1 | 2:
            y = "few"
        case n if n < 0:
            y = "less than none"
        case _:
            y = "many"
    return y


programs.add(numbers, (0,), (1,), (2,), (7,), (-3,))


def tokens(codes):
    stack, top = np.zeros(8), 0
    for c in codes:
        match c:
            case 0:
                stack[top] = 1.5
                top += 1
            case 1 if top >= 2:
                stack[top - 2] += stack[top - 1]
                top -= 1
            case 2 | 3 as k:
                stack[0] *= k
            case _:
                pass
    return stack, top


programs.add(tokens, (whole(9, 0, 4),), (whole(12, 0, 5),), (np.array([0, 0, 1, 7]),))


@dataclasses.dataclass
class Circle:
    radius: float


@dataclasses.dataclass
class Box:
    width: float
    height: float


class Point(NamedTuple):
    x: float
    y: float


def area(shape, scale):
    match shape:
        case Circle(radius=r):
            a = r * r * 3
        case Box(w, h) if w == h:
            a = w * w
        case Box(w, height=h):
            a = w * h
        case Point(x, 0.0):
            a = x
        case Point():
            a = 0.0
        case (float() | int(), b):
            a = b
        case [a, [b, *_]]:
            a = a.sum() + b
        case unknown:
            a = len(unknown)
    return a * scale


programs.add(
    area,
    (Circle(2.0), 2.0),
    (Box(2.0, 3.0), 2.0),
    (Box(3.0, 3.0), 2.0),
    (Point(1.0, 0.0), 2.0),
    (Point(1.0, 2.0), 2.0),
    ((1.0, 2.0), 2.0),
    ([ramp(3), (1.5, 2.0)], 2.0),
    (ramp(5), 2.0),
)


def with_none(x, y):
    a = x == None  # noqa: E711
    b = x != None  # noqa: E711
    return a, b, x[0] == None, len(x) != None, y == None  # noqa: E711


programs.add(with_none, (ramp(3), None), (table(2, 3), 1.0), (table(2, 3).T, "text"))


def with_booleans(x, y):
    p = x[0] > 0
    q = y > 0
    return p is True, q is True, q is False, q is not False, x is None, (q is True) + 1


programs.add(with_booleans, (ramp(3), 1.5), (ramp(3, 1, 2), -1.5))


def by_class(x):
    if type(x) is float:
        return x + 1
    if isinstance(x, (int, np.integer)):
        return x + 2
    if type(x) is np.ndarray and isinstance(x[0], np.floating):
        return type(x[0]).__name__, x.sum()
    return x


programs.add(by_class, (1.5,), (2,), (ramp(4),), (whole(3),))


def either_class(x, y):
    z = x if x > 0 else y
    if isinstance(z, float):
        return z * 2
    return z + 1


programs.add(either_class, (1.5, 2), (-1.5, 2))
