"""Small functions and classes that test how a compiled function behaves as a Python object."""

import dataclasses
from typing import NamedTuple

import numpy as np

import tracejit


@tracejit.jit
def scaled_sum(x: np.ndarray, scale: float = 2.0, *, offset: float = 0.0) -> np.floating:
    """Sum of `x`, scaled and moved."""
    return (x * scale + offset).sum()


@tracejit.jit()
def with_parentheses(x):
    return x + 1


@tracejit.jit(strict=True)
def strict_add(x, y):
    return x + y


def add(x, y):
    return x + y


def collected(*arrays, **named):
    total = 0.0
    for array in arrays:
        total = total + array
    return {name: total * value for name, value in named.items()}


def with_default_array(x, y=np.arange(3.0)):  # noqa: B008 - a default array is the point
    return x * y


# State outside -----------------------------------------------------------------------------------

OFFSET = 1.0
WEIGHTS = np.arange(3.0)
SETTINGS = {"gain": 2.0}
SEEN: list[str] = []


def uses_globals(x):
    return x * WEIGHTS + OFFSET


def uses_dictionary(x):
    return x * SETTINGS["gain"]


def helper(x):
    return x + 1


def uses_helper(x):
    return helper(x) * 2


def make_closure():
    factor = np.array([1.0, 2.0])
    number = 3.0

    def scaled(x):
        return x * factor + number

    def change(value):
        nonlocal number
        number = value
        factor[0] = value

    return scaled, change


def notes_types(x):
    SEEN.append(type(x).__name__)
    return x + 1


def prints_sum(x):
    print("sum", x.sum())
    return x * 2


class Model:
    """A class whose methods are compiled."""

    shared = np.ones(2)

    def __init__(self, weight):
        self.weight = weight
        self.calls = 0

    @tracejit.jit
    def predict(self, x):
        """Weighted input."""
        return x * self.weight

    @tracejit.jit
    def count(self, x):
        self.calls += 1
        return x + self.calls

    @staticmethod
    @tracejit.jit
    def doubled(x):
        return x * 2

    @classmethod
    @tracejit.jit
    def with_shared(cls, x):
        return x + cls.shared

    @property
    @tracejit.jit
    def twice(self):
        return self.weight * 2


# Containers --------------------------------------------------------------------------------------


@dataclasses.dataclass
class State:
    position: np.ndarray
    velocity: np.ndarray
    time: float = 0.0


@dataclasses.dataclass(frozen=True)
class Frozen:
    values: tuple[np.ndarray, ...]
    name: str


class Limits(NamedTuple):
    low: np.ndarray
    high: float


def moved(state, dt):
    return State(state.position + dt * state.velocity, state.velocity, state.time + dt)


def rename(frozen):
    total = frozen.values[0] + frozen.values[1]
    return Frozen((total, frozen.values[0]), frozen.name)


def limited(x, limits):
    return Limits(np.maximum(x, limits.low), limits.high * 2)


def nested(tree):
    return {
        "sum": tree["a"][0] + tree["a"][1]["b"],
        "list": [tree["c"], (tree["c"] * 2, None, "text", 3)],
        "empty": [],
    }


def several(x):
    return x.sum(), x + 1, x.shape, x.dtype, len(x), None, float("inf")


def same_thing_twice(x):
    y = x * 2
    return y, y, x, x[1:], y[1:]


def two_equal_results(x):
    return x + 1, x + 1


def reduced(x, how):
    return {"sum": x.sum, "max": x.max}[how]()


def as_dtype(x, dtype):
    return x.astype(dtype) + np.zeros(1, dtype)


def applied(g, x):
    return g(x) + 1


def powers_and_shapes(x, n):
    return x**n, np.arange(n), x[: n % 3], n * 2


def signed_zero(x, a):
    return np.copysign(x, a), a * 2, x * a


def kinds(x):
    return x + x, x * 2


def overflowing(n):
    return n * n * n


def conditional(x, flag=True, axis=None):
    return x.sum(axis=axis) if flag else x


def branches_on_value(x):
    if x[0] > 0:
        return x
    return -x


def tries(x):
    try:
        y = x + 1
    except* ValueError:
        y = x
    return y


def unknown_call(x):
    return np.frompyfunc(abs, 1, 1)(x).astype(float) + 1


def stores(x):
    x[0] = 99
    x += 1
    return x.sum()


def counts_up(n):
    while n > 0:
        yield n
        n -= 1


async def waits(x):
    return x + 1


def divided(x):
    return 1 / x


def chain(x, y):
    return np.sin(x) * y + np.sqrt(np.abs(x))


inner = tracejit.jit(helper)


def calls_compiled(x):
    return inner(x) * inner(x * 2)


def with_numpy_error_state(x):
    with np.errstate(all="raise"):
        return 1 / x
