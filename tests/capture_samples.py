# ruff: noqa: B008, B905, C416, C417, UP032
"""Functions that capture must follow or refuse, in a module that pytest does not rewrite."""

from __future__ import annotations

import dataclasses
import enum
import functools
import itertools
import math
import operator
import random
import time
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
LOG: list[Any] = []
SET = {1, 2}
COUNTER = iter([1, 2, 3])
RNG = np.random.default_rng(0)
NOTHING: Any = None
COUNTS = {"calls": 0}


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


class Lazy:
    def __getattr__(self, name):
        return SCALE


LAZY = Lazy()


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


def default_list(x, seen=[1.0, 2.0]):  # noqa: B006
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


# What must never be frozen -----------------------------------------------------------------------


def reads_clock(x):
    return x + time.time()


def draws_number(x):
    return x + random.random()


def draws_array(x):
    return x + np.random.rand(3)


def draws_from_generator(x):
    return x + RNG.normal()


def new_generator(x):
    return x + np.random.default_rng().normal()


def reads_file(x):
    return x + np.fromfile("/dev/zero", count=3)


def opens_file(x):
    return x + len(open("/dev/null").read())


def prints(x):
    print("x")
    return x


def appends_to_global(x):
    LOG.append(x)
    return x


def changes_default(x, seen=[]):  # noqa: B006
    seen.append(1)
    return x + len(seen)


def counts_calls(x):
    COUNTS["calls"] += 1
    return x + COUNTS["calls"]


def sets_attribute(x):
    MODEL.bias = 1.0
    return x


def sets_function_attribute(x):
    counted.offset += 1
    return x


def changes_argument_list(xs):
    xs.append(1.0)
    return xs[0]


def changes_argument_dict(d):
    d["new"] = 1.0
    return d["x"]


def sorts_argument(xs):
    xs.sort()
    return xs[0]


def stores_into_global_array(x):
    WEIGHTS[0] = 1.0
    return x


def adds_in_place_to_global(x):
    LAYERS[0] += x
    return x


def uses_global_statement(x):
    global SCALE
    SCALE = 3.0
    return x


def uses_iterator(x):
    return x + next(COUNTER)


def uses_set(x):
    return x if 1 in SET else -x


def uses_getattr_class(x):
    return x * LAZY.anything


def uses_globals(x):
    return x * globals()["SCALE"]


def uses_eval(x):
    return x * eval("SCALE")


def uses_dict_attribute(x):
    return x * MODEL.__dict__["bias"]


def uses_vars(x):
    return x * vars(MODEL)["bias"]


def identity_of_object(x):
    return x + id(MODEL) % 2


def formats_array(x):
    return f"{x}"


def formats_list(x):
    return f"{[x]}"


def formats_percent(x):
    return "%s" % [x]


def formats_method(x):
    return "{}".format([x])


def formats_shape(x):
    return f"{x.shape[0]:03d} {x.ndim!r}"


def formats_shape_tuple(x):
    return str(x.shape)


def text_of_array(x):
    return str(x) + repr(x)


def contains_array(x):
    return x in [x]


def compares_lists(x):
    return [x] == [x]


def compares_identity(a, b):
    return a is b


def tries(x):
    try:
        return x + 1
    except ValueError:
        return x


def uses_with(x):
    with np.errstate(all="ignore"):
        return x + 1


def generates(x):
    yield x


def uses_generator_function(x):
    return sum(generates(x))


def imports_inside(x):
    import math as m

    return x * m.pi


def defines_class(x):
    class Local:
        pass

    return x


def matches(x):
    match x.ndim:
        case 1:
            return x
    return -x


def branches(x):
    if x.sum() > 0:
        return x
    return -x


def loops_on_value(x):
    while x.sum() > 1:
        x = x / 2
    return x


def vectorizes(x):
    return np.vectorize(lambda v: v + SCALE)(x)


def frompyfunc_with_constant(x):
    return x + np.frompyfunc(lambda v: time.time(), 1, 1)(1.0)


def cached(x):
    return x + cached_value(1)


@functools.lru_cache
def cached_value(k):
    return SCALE * k


def returns_global_list(x):
    return LAYERS


def returns_argument_list(xs):
    return xs


def returns_lambda(x):
    return lambda: x


def fills_cached_property(x):
    return x


def compares_with_none(x):
    return x == None  # noqa: E711


def internal_attribute(x):
    return getattr(x, "value", 7.0)


def internal_view(x):
    return x.view(np.int64)


def min_of_arrays(x):
    return min(x, x + 1)


def sorted_values(x):
    return sorted(x)


def rounds(x):
    return round(x[0])


def domain_error(x):
    return math.sqrt(x[0])


# Python at trace time ----------------------------------------------------------------------------


def unrolled(x):
    total = 0.0
    for i in range(4):
        if i % 2:
            continue
        total = total + x * i
    else:
        total = total + 1
    k = 0
    while k < 3:
        k += 1
        if k == 2:
            break
    return total, k


def comprehensions(x):
    squares = [x**k for k in range(1, 4) if k != 2]
    table = {k: v for k, v in enumerate(squares)}
    pairs = [a + b for (a, b) in zip(squares, squares)]
    nested = [(i, j, c) for i, (j, c) in enumerate(zip("ab", [x, x + 1]))]
    return squares, table, pairs, nested[1][2], {k for k in (1, 2)} == {2, 1}


def unpacking(x):
    (a, [b, *c]), d = (1, (2, 3, 4)), x
    first, *rest = [x, x + 1, x + 2]
    out = {}
    out["k"], (out["m"], e) = a, (b, x)
    return a, b, c, d, first, rest, out, e


def swaps_with_key(x):
    items, i = [10, 20, 30], 0
    items[i], i = 5, 1
    i, items[i] = 2, 7
    return items, i, x


def containers(x):
    xs = [x]
    xs.append(x + 1)
    xs.extend([x + 2])
    xs[0] = x * 2
    xs += [x]
    del xs[1]
    d = {"a": 1}
    d["b"] = x
    d.update(c=x + 1)
    d["a"] += 5
    d.setdefault("z", 0)
    popped = d.pop("c")
    xs.insert(0, x)
    xs.reverse()
    return xs, d, popped, len(xs), sorted(d), list(d.items())[0]


def local_store(x):
    y = np.zeros(3)
    y[0] = 1.0
    y[1:] = x[1:]
    y += x
    y[2] *= 2
    z = y[::-1]
    z[0] = 9.0
    return y


def chained(x):
    calls = []

    def seen(v):
        calls.append(v)
        return v

    first = seen(1) < seen(2) < seen(3)
    second = seen(3) < seen(2) < seen(9)
    third = seen(0) or seen("") or seen(5)
    fourth = seen(1) and seen(0) and seen(7)
    return x, calls, first, second, third, fourth, not seen(0)


def order_of_evaluation(x):
    log = []

    def note(tag, value):
        log.append(tag)
        return value

    items = [0, 0, 0]
    items[note("key", 1)] = note("value", 5)
    items[note("key2", 1)] += note("value2", 2)
    result = note("f", max)(note("a", 1), *note("b", [2, 3]), **note("c", {}))
    d = {note("k1", 1): note("v1", 2), note("k2", 3): note("v2", 4)}
    a = b = note("once", [])
    a.append(1)
    return x, log, items, result, d, b


def functions_inside(x, /, *more, k=1, **named):
    def add(a, b=x, *, c=k):
        return a + b + c

    double = lambda v: v * 2  # noqa: E731
    named.setdefault("extra", 1.0)
    return add(x), add(1, c=2), double(x), sum(more), named["extra"], sorted(named)


def recursive(x, n=3):
    return x if n == 0 else recursive(x + n, n - 1)


def mapped(x):
    a = list(map(lambda v: v * SCALE, [x, x + 1]))
    b = [v for v in filter(lambda k: k > 1, [1, 2, 3])]
    c = functools.reduce(lambda p, q: p + q * SCALE, [x, x, x])
    d = sorted([3, 1, 2], key=lambda v: -v * SCALE)
    e = list(itertools.accumulate([x, x], operator.add))
    f = [p + q for p, q in itertools.product([1, 2], [3, 4])]
    g = max([1, 5, 2], key=lambda v: abs(v - SCALE))
    return a, b, c, d, e, f, g, any(v > 1 for v in [1, 2]), all([])


def sizes(x):
    n = x.shape[0]
    half = n // 2
    return (
        x / n,
        len(x),
        x[:half].sum() / max(half, 1),
        np.zeros(n) + math.sqrt(n),
        math.prod(x.shape),
        n if n > 2 else -n,
        isinstance(n, int),
        np.arange(n) * 1.0,
        np.float64(n) * 2,
        np.float64(2.0) * n,
        [0] * n,
    )


def conversions(x, i, f32):
    s = x.sum()
    return (
        float(s),
        float(i[0]),
        int(i[1]),
        bool(i[0]),
        np.float32(s),
        np.int16(i[0]),
        np.float64(f32),
        complex(s),
        float(f32[0]),
        math.isnan(s),
        math.atan(float(s)),
        np.float64(x).dtype.name,
        type(s) is np.float64,
        isinstance(x, np.ndarray),
        isinstance(s, float),
        isinstance(s, (int, np.integer)),
        hasattr(x, "value"),
        callable(x),
    )


def builds_objects(x):
    c = Config(2.0, x)
    c.rate = 3.0
    p = Point(x, y=x + 1)
    m = Model(x, 1.0)
    m.weights = m.weights * 2
    v = Vector(x) + Vector(x) * 2
    changed = dataclasses.replace(c, rate=1.0) if False else c
    a, b = v
    return c, p, p.length(), m(x), m.total, v[0], len(v), a, b, changed.doubled, p._replace(x=1.0)


def calls_numpy_on_constants(x):
    steps = np.cumsum([1.0, 2.0, 3.0])
    steps[0] = 5.0
    return x + steps, np.sqrt(2.0), np.pi, np.array([1.0, 2.0, 3.0]) @ x, np.finfo(np.float32).eps


def asserts_and_raises(x):
    assert x.ndim == 1, "one axis"
    if len(x) == 0:
        raise ValueError("empty")
    return x


def slices(x):
    return x[1:], x[..., None], x[::-1], x[np.array([0, 2])], x[(slice(None), None)], x[-1]


def walrus(x):
    if (n := len(x)) > 2:
        return x * n, [m := k for k in range(3)], m
    return x


def tuple_result(x):
    return x, None, "text", 3, 2.5, True, (x,), [x, [x]], {"k": x, 2: None}


def takes_tree(tree, flag):
    a, (b, c) = tree["pair"]
    return {"sum": a + b * c, "flag": flag, "k": tree["config"].scaled(a), "p": tree["point"].x + 1}


two = (lambda x: x + 1, lambda x: x * SCALE)
same_line = [lambda x: x - 1, lambda x: x - 1]
# fmt: off
several = {"a": lambda x: x + WEIGHTS, "b": lambda x, k=2: x * k}; other = lambda x: x + WEIGHTS  # noqa: E702, E731
# fmt: on


class Outer:
    class Inner:
        def method(self, x):
            return x + self.__private()

        def __private(self):
            return SCALE


INNER = Outer.Inner()


def reads_inner(x):
    return INNER.method(x)
