# ruff: noqa: B006, B008
"""Functions that capture must follow or refuse, in a module that pytest does not rewrite."""

from __future__ import annotations

import dataclasses
import enum
import functools
import operator
from typing import Any, NamedTuple

import numpy as np
from numpy import exp as exponential

WEIGHTS = np.array([1.0, 2.0, 3.0])
SCALE = 2.0
ZERO = 0.0
NAME = "sum"
TABLE = {"bias": np.array([1.0, 1.0, 1.0]), "power": 2, "nested": {"on": True}}
LAYERS = [np.array([1.0, 0.0, 1.0]), np.array([2.0, 2.0, 2.0])]
ACTIVATION = np.tanh
SCALAR = np.float32(1.5)
PAIR = (1.0, np.array([4.0, 5.0, 6.0]))
NOTHING: Any = None


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


MODE = Mode.FAST


@dataclasses.dataclass
class Config:
    rate: float
    weights: Any
    name: str = "config"

    def scaled(self, x):
        return x * self.rate + self.weights

    @property
    def doubled(self):
        return self.weights * 2


CONFIG = Config(0.5, np.array([1.0, 2.0, 3.0]))


class Point(NamedTuple):
    x: Any
    y: Any

    def length(self):
        return np.sqrt(self.x * self.x + self.y * self.y)


class Base:
    factor = 3.0

    def __init__(self, bias):
        self.bias = bias

    def shift(self, x):
        return x + self.bias


class Model(Base):
    limit = 10.0

    def __init__(self, weights, bias):
        super().__init__(bias)
        self.weights = weights
        self.layers = [weights, weights + 1]
        self.options = {"square": True}
        self.__hidden = 1.0

    def __call__(self, x):
        return self.shift(x * self.weights)

    def shift(self, x):
        return super().shift(x) * self.factor

    @property
    def total(self):
        return self.weights.sum()

    @staticmethod
    def clip(x):
        return np.clip(x, 0, 1)

    @classmethod
    def limited(cls, x):
        return np.minimum(x, cls.limit)

    def hidden(self, x):
        return x * self.__hidden


MODEL = Model(np.array([1.0, 2.0, 3.0]), 0.5)


class Vector:
    def __init__(self, values):
        self.values = values

    def __add__(self, other):
        return Vector(self.values + other.values)

    def __mul__(self, k):
        return Vector(self.values * k * SCALE)

    def __getitem__(self, k):
        return self.values[k]

    def __len__(self):
        return len(self.values)

    def __iter__(self):
        return iter([self.values, self.values * 2])


class Slotted:
    __slots__ = ("a",)

    def __init__(self, a):
        self.a = a


SLOTTED = Slotted(np.array([1.0, 2.0, 3.0]))


# Values from outside -----------------------------------------------------------------------------


def reads_array(x):
    return x * WEIGHTS


def reads_number(x):
    return x * SCALE


def reads_signed_zero(x):
    return np.copysign(x, ZERO)


def reads_text(x):
    return x.sum() if NAME == "sum" else x.mean()


def reads_dict(x):
    return x ** TABLE["power"] + TABLE["bias"]


def reads_nested(x):
    return x + 1 if TABLE["nested"]["on"] else x - 1


def reads_list(x):
    for w in LAYERS:
        x = x + w
    return x


def reads_function(x):
    return ACTIVATION(x)


def reads_scalar(x):
    return x * SCALAR


def reads_tuple(x):
    a, b = PAIR
    return x * a + b


def reads_enum(x):
    return x * 2 if MODE is Mode.FAST else x * 3


def reads_enum_value(x):
    return x, MODE.value


def reads_dataclass(x):
    return CONFIG.scaled(x) + CONFIG.doubled


def reads_object(x):
    return MODEL(x)


def reads_property(x):
    return x * MODEL.total


def reads_class_attribute(x):
    return MODEL.limited(x) + Model.factor


def reads_static_method(x):
    return Model.clip(x) + MODEL.clip(x)


def reads_private(x):
    return MODEL.hidden(x)


def reads_object_list(x):
    for layer in MODEL.layers:
        x = x * layer
    return x if MODEL.options["square"] else -x


def reads_slot(x):
    return x + SLOTTED.a


def reads_optional(x):
    return x if NOTHING is None else x + NOTHING


def reads_missing(x):
    return x * getattr(MODEL, "extra", 1.0)


def has_extra(x):
    return x + 1 if hasattr(MODEL, "extra") else x


def twice(x):
    return x * 2


def calls_helper(x):
    return twice(x) + 1


def imported_function(x):
    return exponential(x)


def default_array(x, w=np.array([1.0, 2.0, 3.0])):
    return x + w


def default_list(x, seen=[1.0, 2.0]):
    return x + len(seen) + seen[0]


def default_keyword(x, *, k=2.0):
    return x * k


def calls_default(x):
    return default_list(x) + default_keyword(x)


def make_closure(k, w):
    def inner(x):
        return x * k + w

    def change(new_k, new_w):
        nonlocal k, w
        k, w = new_k, new_w

    return inner, change


def make_nested(k):
    def outer(x):
        def inner(y):
            return y * k

        return inner(x) + sum(inner(v) for v in [x, x])

    return outer


def counted(x):
    return x + counted.offset


counted.offset = 1.0

partial_product = functools.partial(operator.mul, 3.0)


def reads_partial(x):
    return partial_product(x)


bound_shift = MODEL.shift


def reads_bound_method(x):
    return bound_shift(x)


def wrapped(f):
    @functools.wraps(f)
    def inner(*args, **kwargs):
        return f(*args, **kwargs) * SCALE

    return inner


@wrapped
def decorated(x):
    return x + 1


def reads_decorated(x):
    return decorated(x)


def identity_of_none(x):
    return x + (1 if x is not None else 2)


def second_of_two(pair):
    return pair[1] + 1
