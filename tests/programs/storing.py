"""Functions that store into their arguments and into arrays from outside."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

TABLE = np.arange(6.0)
STATE: dict[str, Any] = {"w": np.arange(4.0), "layers": [np.ones(3), np.zeros((2, 2))]}
NUMBER = np.array(3.0)


@dataclasses.dataclass
class Model:
    w: Any
    b: Any


def step(u, v):
    """A step of the heat equation from one array to the other."""
    v[1:-1, 1:-1] = 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:])
    v[0] = v[-1] = 0.0


def smooth(x):
    """In place, and NumPy reads all of it before it stores."""
    x[1:-1] = (x[:-2] + x[2:]) / 2
    x[::-1] = x * 2
    return x


def eliminate(a):
    a[1:] -= a[1:, :1] / a[0, 0] * a[0]
    return a[1:, 1:]


def swap_rows(a):
    a[0], a[1] = a[1].copy(), a[0].copy()


def swap_views(a):
    a[0], a[1] = a[1], a[0]


def exchange(a, b):
    a[...], b[...] = b.copy(), a.copy()


def through_views(a):
    row = a[1]
    corner = a.T[1:, ::-1][0]
    row[:] = 7.0
    corner += row[0]
    return row, corner, a


def parts(z):
    z.real[:] = 1.0
    z.imag[0] = z.real[1] + 4.0
    return z.imag


def fill(a, value):
    a[...] = value


def fresh_and_old(a):
    before = a.copy()
    same = a * 1
    a += 1
    return before, same, a, a - before


def out_argument(x, y):
    np.add(x, 1.0, out=y)
    np.multiply(y, x, out=x)
    return np.subtract(x, y, out=y)


def number(x, y):
    y[()] = x.sum()
    y += 1.0
    return y


def at(x, k, value):
    x[k] = value
    x[k - 1] += value
    return x[k]


def nothing_new(x):
    x[1] = x[1]
    x[:] = x
    return x


def narrowed(i, f):
    i[:] = f
    i[0] = 2.75


def unread(x, y):
    x[:] = 5.0
    return y


def constants(x):
    x[:] = 1.0
    x[::2] = 0.0


def update(state, x):
    state["w"][1:] = x[1:]
    state["w"] -= x[0]
    for layer in state["layers"]:
        layer *= x[1]
    return state["w"][:2]


def train(model, x):
    model.w[1:3] = x[:2]
    model.w -= x[0]
    model.b[...] = model.w.sum()


def descend(parameters, gradients):
    for k in range(len(parameters)):
        parameters[k] -= 0.5 * gradients[k]


def outside(x):
    TABLE[1:3] = x[:2] * 2
    STATE["w"][0] = TABLE[1]
    STATE["w"] += 1.0
    STATE["layers"][1][:, 0] = x[0]
    NUMBER[...] = x[1]
    return TABLE[2:]


class Walker:
    def __init__(self) -> None:
        self.at = np.zeros(3)

    def walk(self, x):
        self.at[0] += x[0]
        self.at *= x[1]
        return self.at[:1]


def closure() -> tuple[Callable[[Any], Any], Any]:
    kept = np.arange(4.0)

    def keep(x):
        kept[1:] = x[:3]
        return kept

    return keep, kept


def add_to(x, y):
    x += y
    return x
