"""Functions that depend on something outside, one for each kind of thing that entries check."""

# ruff: noqa: B008 - what is done here must be seen at the next call

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

import tracejit

SCALE = 2.5
COUNT = 3
MODE = "add"
NOTHING = None
WEIGHTS = np.arange(4.0)
UNIT = np.float32(0.5)


def plain(x, y):
    return x + y


def half(x):
    return x * 0.5


def quarter(x):
    return half(half(x))


@tracejit.jit
def compiled_half(x):
    return x * 0.5


def global_constants(x):
    if NOTHING is None and MODE == "add":
        return x * SCALE + COUNT
    return x


def global_array(x):
    return x * WEIGHTS


def global_scalar(x):
    return x * UNIT


def calls_helper(x):
    return quarter(x) + SCALE


def calls_compiled(x):
    return compiled_half(x) + 1


def uses_numpy(x):
    return np.sqrt(x) + len(x.shape)


def constant_default(x, k=3, mode="mul"):
    return x * k if mode == "mul" else x + k


def array_default(x, w=np.arange(4.0)):
    return x * w


def keyword_default(x, *, k=3.0, w=WEIGHTS):
    return x * k + w


def flag(x, mode: Any = None, deep: bool = False):
    if mode is None:
        return -x
    if deep:
        return x * 2
    return x + 1 if mode == "one" else x


def positions(a, b, /, c, *, d):
    return a + 2 * b + 3 * c + 4 * d


def several(*xs, **named):
    total = xs[0] * 2
    for name, value in named.items():
        total = total + value if name == "plus" else total - value
    return total


def first_twice(*xs):
    return xs[0] * 2


def closure(scale: Any) -> tuple[Callable[..., Any], Callable[[Any], None]]:
    """A function with a free variable, and one that sets it."""

    def scaled(x):
        return x * scale

    def change(value: Any) -> None:
        nonlocal scale
        scale = value

    return scaled, change


class Model:
    """Weights, and methods with and without them."""

    factor = 2.0

    def __init__(self, weight: Any) -> None:
        self.weight = weight

    @tracejit.jit
    def doubled(self, x):
        return x + x

    @tracejit.jit
    def weighted(self, x, bias=0.0):
        return x * self.weight + bias

    @tracejit.jit
    def scaled(self, x):
        return x * self.factor


PARAMETERS = {"w": np.arange(4.0), "layers": [1.5, (np.ones(4), 2)]}


def nested(params, x):
    w, (b, k) = params["w"], params["layers"][1]
    return x * w + b * k * params["layers"][0]


def global_containers(x):
    return nested(PARAMETERS, x)


def both(xs, ys):
    return xs[0] + ys[0] * 2


def many_results(x, k=2):
    y = x + 1
    return {"same": [x, y, y], "view": x[1:], "of": (y[::-1], x.T), "k": k, "none": None}


def tail(x):
    return x[1:]


def with_itself(x):
    return x, x + 1


@dataclasses.dataclass
class Layer:
    w: Any
    b: Any = 0.0


@dataclasses.dataclass(slots=True)
class Slim:
    w: Any
    inner: Any


class Pair(NamedTuple):
    w: Any
    b: Any


def layer(p, x):
    return p.w * x + p.b


def deep(p, x):
    return layer(p.inner, x) + p.w


class Base:
    table = np.arange(4.0)
    rate = 3.0

    def act(self, x):
        return x * 0.5

    @property
    def shifted(self):
        return self.shift + 1.0

    @staticmethod
    def double(x):
        return x * 2

    @classmethod
    def rated(cls, x):
        return x * cls.rate


class Derived(Base):
    def __init__(self, shift: Any) -> None:
        self.shift = shift

    def act(self, x):
        return super().act(x) + 1

    @tracejit.jit
    def run(self, x):
        return self.rated(self.double(self.act(x))) * self.table + self.shifted * self.rate
