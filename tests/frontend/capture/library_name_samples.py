"""Functions over names of libraries, builtins, a helper of a module and a method."""

import collections
import enum
import math
import operator

import numpy as np
import numpy.linalg as la
from numpy import cos


class Model:
    def act(self, x):
        return x + 1


MODEL = Model()


def scale(x):
    return x * 2


def of_ufunc(x):
    return np.sin(x)


def of_import(x):
    return cos(x)


def of_math(x):
    return math.sqrt(x[0]) * 2


def of_math_constant(x):
    return math.sqrt(3) * x


def of_solve(x):
    return np.linalg.solve(np.eye(3) * 2, x)


def of_alias(x):
    return la.norm(x)


def of_helper(x):
    return scale(x)


def of_len(x):
    return x * len(x)


def of_sum(x):
    return sum(x)


def of_operator(x):
    return operator.add(x, 1)


def of_method(x):
    return MODEL.act(x)


def of_constant(x):
    return x * np.pi


def of_constant_too(x):
    return x + np.pi


def of_fft(x):
    return np.fft.fft(x)


def of_method_of_ufunc(x):
    return np.add.reduce(x)


def of_class(x):
    return x.astype(np.float32)


def of_two(x):
    return np.sum(np.where(x > 1, x, 0))


def of_stream(x):
    return np.random.default_rng(0).normal(size=3) + x


def of_hasattr(x):
    return x * 2 if hasattr(np, "added_later") else x


def of_getattr(x):
    return x * getattr(math, "added_later", 5.0)


def of_counter(x):
    return x + collections.Counter("hello").total()


def of_inherited(x):
    counts = collections.Counter("hello")
    return x + len(list(counts.keys()))


def of_indices(x):
    total = 0
    for i, j in np.ndindex(2, 3):
        total += i * j
    return x + total


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


def of_enum(x):
    return x + Side(2).value
