# ruff: noqa: B023, B905, C400, E711, F842, PIE800, UP031
"""Classes, callables and library calls for capture, in a module that pytest does not rewrite."""

from __future__ import annotations

import collections
import copy
import dataclasses
import functools
import itertools
import math
import operator
import types
from typing import Any

import numpy as np
from numpy.linalg import norm

import tracejit

ARRAY = np.array([1.0, 2.0, 3.0])
K = 3
CYCLE: list[Any] = [ARRAY]
CYCLE.append(CYCLE)
NAMESPACE = types.SimpleNamespace(w=ARRAY, inner=types.SimpleNamespace(k=K))


class Special:
    shared = [1.0, 2.0]
    table = {"a": ARRAY}
    activation = np.tanh

    def __init__(self, values):
        self.stored = values

    @property
    def stored(self):
        return self._stored

    @stored.setter
    def stored(self, values):
        self._stored = values * K

    def __eq__(self, other):
        return self._stored is None or other is not None

    __hash__ = object.__hash__

    def __contains__(self, k):
        return k == K

    def __call__(self, *args, **named):
        return self._stored + sum(args) + named.get("z", 0)

    def __neg__(self):
        return -self._stored

    def __iadd__(self, other):
        self._stored = self._stored + other
        return self

    def __getitem__(self, k):
        return self._stored[k]

    def __setitem__(self, k, value):
        self._stored = self._stored * value

    def __bool__(self):
        return K > 2


SPECIAL = Special(ARRAY)


@dataclasses.dataclass(frozen=True)
class Frozen:
    a: Any
    b: list[Any] = dataclasses.field(default_factory=lambda: [K])
    c: float = 2.0


@dataclasses.dataclass
class Derived:
    x: Any
    y: Any = None

    def __post_init__(self):
        self.y = self.x * K


FROZEN = Frozen(ARRAY)


@tracejit.jit
def compiled_helper(x):
    return x * K


class Compiled:
    def __init__(self, k):
        self.k = k

    @tracejit.jit
    def scaled(self, x):
        return x * self.k

    @staticmethod
    @tracejit.jit
    def doubled(x):
        return x * 2


COMPILED = Compiled(2.0)


def class_contents(x):
    return Special.shared[0] + SPECIAL.table["a"] + x + SPECIAL.activation(0.5)


def special_methods(x):
    c = Special(x)
    c.stored = x + 1
    c += x
    c[0] = 2.0
    return c.stored, -c, c(1, 2, z=x), c[0], 3 in c, c.__class__ is Special, type(c) is Special


def equal_objects(x):
    return x, Special(x) == Special(x), isinstance(Special(x), Special)


def dataclasses_inside(x):
    a, b = Frozen(x), Frozen(a=x, b=[x], c=3.0)
    c = Derived(x)
    d = dataclasses.replace(b, a=x + 1)
    return a, c, d.a + d.c


def frozen_from_outside(x):
    return FROZEN.a + x * FROZEN.b[0]


def namespace(x):
    return NAMESPACE.w * x + NAMESPACE.inner.k, getattr(NAMESPACE, "absent", 1.0)


def cyclic_list(x):
    return x + CYCLE[1][1][0]


def ufunc_forms(x):
    y = np.empty(3)
    np.add(x, 1, y)
    z = np.empty(3)
    np.multiply(x, 2, out=z)
    return y, z, np.add.reduce(x, 0), np.add.reduce([1, 2, 3]), np.add([x[0], 1.0], x[:2])


def numpy_forms(x):
    return (
        norm(x),
        np.linalg.norm(x - ARRAY),
        x.astype(np.float32).dtype.type(3),
        np.full(3, x[0]),
        np.array([x[0], x[1] * 2, 3.0]),
        np.sum([x, x]),
        np.max([1.0, 2.0]),
        np.concatenate([x, [1.0]]),
        x @ np.diag(ARRAY),
        np.outer(x, x)[..., 0],
        np.where(x > 0, x, K),
    )


def compiled_callee(x):
    return compiled_helper(x) + compiled_helper(1.0)


def compiled_methods(x):
    model = Compiled(x)
    return model.scaled(x), Compiled.doubled(x), COMPILED.scaled(x)


def decorated_inside(x):
    def scaled(k):
        def decorator(f):
            @functools.wraps(f)
            def inner(*args):
                return f(*args) * k

            return inner

        return decorator

    @scaled(2.0)
    @scaled(K)
    def plus_one(v):
        """Add one."""
        return v + 1

    return plus_one(x), plus_one.__name__, plus_one.__doc__


def array_by_scalar_type(x):
    y = np.zeros(3)
    z = np.float64(y)
    z[0] = 5.0
    return y, np.float32(x), np.float64(x.reshape(3, 1)[1])


def explicit_branch(x):
    return tracejit.cond(
        x.sum() > 0, lambda v: {"a": v * K, "b": [v]}, lambda v: {"a": v - K, "b": [v + 1]}, x
    )


def explicit_loop(x):
    return tracejit.while_loop(lambda s: s[0] < 5, lambda s: (s[0] + 1, s[1] * 2.0), (0, x))


def several_kinds_of_functions(x):
    functions = []
    for i in range(3):
        functions.append(lambda v, i=i: v * i)
    late = [lambda v: v * i for i in range(2)]
    return (
        [f(x) for f in functions],
        [f(x) for f in late],
        [f(x) for f in (lambda v: v + 1, np.sin, abs, operator.neg)],
        (lambda *a, k=K: sum(a) * k)(x, x),
        functools.partial(operator.sub, x)(1.0),
    )


def keyword_arguments(x, *args, **named):
    return x + sum(args) + sum(named.values()), list(named), named


def generators(x):
    return (
        sum(v for v in [x, x * 2]),
        list(v for row in [[1], [2]] for v in row),
        max(v for v in [1]),
    )


def text(x):
    return "".join(str(i) for i in range(3)), "%d-%s" % (K, "a"), "a,b".split(","), f"{K:03d}", x


def sets(x):
    s = {1, 2}
    s.add(K)
    s |= {4}
    return x, sorted(s | frozenset([1])), K in s, len(s - {1})


def iterators(x):
    it = iter([1, 2, 3])
    first, second = next(it), next(it)
    chained = list(itertools.chain([1], (2,)))
    return first, second, list(it), next(it, None), chained, list(zip(*[(1, 2), (3, 4)])), x


def displays(x):
    return [*range(3), *"ab"], {**{"a": 1}, "b": x}, (*[1], 2), all(a > 0 for a in (1, 2))


def comparisons(x):
    return (
        x.shape == (3,),
        (1, 2) < (1, K),
        [1] == [1],
        "a" in "abc",
        2 in (1, 2),
        None in [None],
        x.dtype == np.float64,
        np.float64 is x.dtype.type,
        K != None,
        Special == Special,
    )


def annotations(x: np.ndarray) -> np.ndarray:
    y: np.ndarray = x * 2
    z: int
    return y


def power_operators(x):
    return x**K, K**x, -x, +x, abs(x), x // 2, x % 2, divmod(x, 2.0), pow(x, 2)


# Refused -----------------------------------------------------------------------------------------


def object_as_condition(x):
    return x if SPECIAL else -x


def appends_to_class(x):
    Special.shared.append(1)
    return x


def returns_class_list(x):
    return Special.shared


def now(x):
    return x + np.datetime64("now").astype(float)


def branch_changes_a_list(x):
    out = []
    return tracejit.cond(x.sum() > 0, lambda v: (out.append(v), v)[1], lambda v: v, x)


def ordered_dict(x):
    d = collections.OrderedDict()
    d["a"] = x
    return d["a"]


def copied(x):
    return copy.copy(x)


def returns_builtin(x):
    return x, hash


def returns_new_object(x):
    return Special(x)


def returns_replaced(x):
    return dataclasses.replace(FROZEN, a=x)


def identity_of_arrays(x):
    return x if x is ARRAY else -x


def math_of_array_element(x):
    return math.remainder(x[0], 2.0)


def patched_method(x):
    SPECIAL.activation = np.sin
    return x


def bound_append(x):
    APPEND(x)
    return x


def bound_count(x):
    return x + COUNT(1)


LIST = [1, 2]
APPEND = LIST.append
COUNT = LIST.count
