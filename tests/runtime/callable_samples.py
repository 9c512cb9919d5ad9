"""Callables of every kind, plain and compiled, in a module that no test runner rewrites."""

import functools
import operator
from dataclasses import dataclass

import numpy as np

import tracejit


def scaled(x, k: float = 2.0, *, shift: "float" = 1.0) -> "np.ndarray":
    """`x` scaled and shifted.

    >>> float(scaled(1.0))
    3.0
    """
    return x * k + shift


def other(x, k=0.5, *, shift=1.0):
    return x - k


def make(scale):
    def times(x):
        return x * scale

    return times


def generate(x):
    yield x


async def wait(x):
    return x


@tracejit.jit
def documented(x, k: float = 2.0, *, shift: "float" = 1.0) -> "np.ndarray":
    """`x` scaled and shifted.

    >>> float(documented(1.0))
    3.0
    """
    return x * k + shift


@tracejit.jit
def offset(x):
    return x + offset.by


@tracejit.jit
def counted(x):
    counted.calls += 1
    return x * 2


def wrapped(f):
    @functools.wraps(f)
    def wrapper(*args, **kwargs):
        return f(*args, **kwargs)

    return wrapper


def twice(f):
    @functools.wraps(f)
    def wrapper(x):
        return 2 * f(x)

    return wrapper


class Declared:
    __slots__ = ("w",)

    @property
    def half(self):
        return self.w / 2

    @half.setter
    def half(self, value):
        self.w = value * 2

    def __call__(self, x):
        return x * self.w


class Layer:
    """A layer."""

    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x * self.w

    def method(self, x):
        return x - self.w

    @classmethod
    def of_class(cls, x):
        return x * 4

    @staticmethod
    def static(x):
        return x * 5


class Slotted:
    __slots__ = ("w",)

    def __init__(self, w):
        self.w = w

    def __call__(self, x):
        return x * self.w


@dataclass
class Unhashable:
    w: float

    def __call__(self, x):
        return x * self.w


cubes = functools.lru_cache(lambda x: x**3)

#: Callables, and what they are called with.
CALLABLES = {
    "function": (scaled, (1.5,)),
    "lambda": (lambda x: x + 1, (1.5,)),
    "closure": (make(3.0), (1.5,)),
    "partial": (functools.partial(scaled, k=3.0), (1.5,)),
    "partial of a partial": (
        functools.partial(functools.partial(scaled, k=3.0), shift=0.0),
        (1.5,),
    ),
    "partial of a builtin": (functools.partial(operator.mul, 2.0), (1.5,)),
    "partial of a compiled one": (functools.partial(tracejit.jit(scaled), k=3.0), (1.5,)),
    "lru_cache": (functools.lru_cache(scaled), (1.5,)),
    "cache": (functools.cache(scaled), (1.5,)),
    "singledispatch": (functools.singledispatch(scaled), (1.5,)),
    "wrapper": (wrapped(scaled), (1.5,)),
    "wrapper of a wrapper": (wrapped(wrapped(scaled)), (1.5,)),
    "wrapper of a compiled one": (wrapped(tracejit.jit(scaled)), (1.5,)),
    "other wrapper of a compiled one": (twice(tracejit.jit(scaled)), (1.5,)),
    "bound method": (Layer(3.0).method, (1.5,)),
    "class method": (Layer.of_class, (1.5,)),
    "static method": (Layer.static, (1.5,)),
    "plain method": (Layer.method, (Layer(3.0), 1.5)),
    "object": (Layer(3.0), (1.5,)),
    "object with slots": (Slotted(3.0), (1.5,)),
    "object without hash": (Unhashable(3.0), (1.5,)),
    "ufunc": (np.sqrt, (2.25,)),
    "ufunc of a function": (np.frompyfunc(lambda x: x + 1, 1, 1), (1.5,)),
    "method of a ufunc": (np.add.reduce, (np.arange(3.0),)),
    "numpy function": (np.dot, (np.arange(3.0), np.arange(3.0))),
    "numpy creation": (np.zeros, (3,)),
    "vectorize": (np.vectorize(lambda x: x + 1), (np.arange(3.0),)),
    "builtin": (abs, (-1.5,)),
    "len": (len, (np.arange(3.0),)),
    "operator": (operator.add, (1.5, 2)),
    "itemgetter": (operator.itemgetter(1), (np.arange(3.0),)),
    "attrgetter": (operator.attrgetter("T"), (np.arange(4.0).reshape(2, 2),)),
    "methodcaller": (operator.methodcaller("sum"), (np.arange(3.0),)),
    "method of a list": ([1.5, 2.5].index, (2.5,)),
    "method of an array": (np.arange(3.0).sum, ()),
    "method of a text": ("a".join, (["b", "c"],)),
}


class Model:
    factor = 3.0

    def __init__(self, w):
        self.w = w

    @tracejit.jit
    def method(self, x):
        return x * self.w

    @tracejit.jit
    @classmethod
    def class_inside(cls, x):
        return x * cls.factor

    @classmethod
    @tracejit.jit
    def class_outside(cls, x):
        return x * cls.factor

    @tracejit.jit
    @staticmethod
    def static_inside(x):
        return x * 5

    @staticmethod
    @tracejit.jit
    def static_outside(x):
        return x * 5

    @property
    @tracejit.jit
    def double(self):
        return self.w * 2

    @functools.cached_property
    @tracejit.jit
    def kept(self):
        return self.w * 4

    half = functools.partialmethod(method, 0.5)
    third = tracejit.jit(functools.partialmethod(method, 3.0))
    activation = tracejit.jit(np.tanh)
    scaling = tracejit.jit(functools.partial(scaled, k=3.0))

    @tracejit.jit
    def all(self, x):
        return self.method(self.activation(self.scaling(x))) + self.static_inside(x)


class Wider(Model):
    factor = 7.0

    @tracejit.jit
    def method(self, x):
        return super().method(x) + 1

    @classmethod
    @tracejit.jit
    def class_outside(cls, x):
        return super().class_outside(x) + 1
