"""Programs around decorated functions, each a generator of what it sees, for `test_decorated.py`.

`jit` is put into this module before it runs: once a decorator that does nothing, once tracejit's.
What a program yields is looked at at once; a function is called for it, and its exception kept.
"""

# ruff: noqa: B023
# What is yielded is called before the loop goes on.

import builtins
import collections
import contextlib
import dataclasses
import enum
import functools
import operator
import sys
import types

import numpy as np

jit = globals().get("jit", lambda f: f)
ME = sys.modules[__name__]
X = np.arange(4.0) + 0.5


# Methods ------------------------------------------------------------------------------------------


class Base:
    k = 2.0

    def __init__(self, w):
        self.w, self.n = w, 0

    @jit
    def times(self, x):
        return x * self.w * self.k

    @property
    @jit
    def more(self):
        return self.w + 1

    @jit
    def count(self, x):
        self.n += 1
        return x + self.n

    @jit
    def __call__(self, x):
        return x - self.w

    @jit
    def __getitem__(self, i):
        return self.w * i

    @jit
    def __add__(self, other):
        return self.w + other

    @jit
    def __bool__(self):
        return self.w > 0

    @jit
    def __init_subclass__(cls, **kwargs):
        cls.tag = cls.__name__

    @jit
    def __class_getitem__(cls, item):
        return cls.k, item


class Derived(Base):
    k = 3.0

    @jit
    def times(self, x):
        return super().times(x) + super(Derived, self).times(x)  # noqa: UP008

    @property
    @jit
    def more(self):
        return super().more * 10


class Further(Derived):
    @jit
    def __new__(cls, w):
        made = super().__new__(cls)
        made.extra = w
        return made

    def times(self, x):
        return super().times(x) - self.extra


def methods():
    for cls in (Base, Derived, Further):
        o = cls(2.0)
        for x in (1.5, X, 2, np.float32(1)):
            yield lambda: (o.times(x), o.times(x), cls.times(o, x), Base.times(o, x))
        o.w = 5.0
        yield o.more, o.times(X)
        cls.k = 9.0
        yield o.times(X)
        o.k = 1.0
        yield o.times(X)
        del o.k
        yield o.times(X), o.count(1.0), o.count(1.0), o.n, o.count(X), o.n
        yield o(1.0), o(X), o[2], o[1.5], o + 1, bool(o), getattr(cls, "tag", None), cls[1]
        yield lambda: o.nothing
    Base.k, Derived.k = 2.0, 3.0


@jit
def use(o, x):
    return o.times(x) + o.more


GLOBAL = Derived(2.0)


@jit
def use_global(x):
    return GLOBAL.times(x) + GLOBAL.more


class Getting:
    def __get__(self, instance, owner):
        return 21.0

    def __set__(self, instance, value):
        pass


def changes_of_classes():
    for o, f in ((Derived(2.0), use), (GLOBAL, lambda o, x: use_global(x))):

        def seen(o=o, f=f):
            return lambda: (f(o, 1.0), f(o, X))

        yield seen()
        for cls in (Derived, Base):
            for name, value in (
                ("times", lambda self, x: 7.0),
                ("times", staticmethod(lambda x: x - 1)),
                ("times", classmethod(lambda cls, x: x * cls.k)),
                ("times", functools.partialmethod(lambda self, k, x: k * x, 5.0)),
                ("more", 11.0),
                ("more", property(lambda self: self.w * 9)),
                ("w", Getting()),
                ("k", X),
            ):
                old = cls.__dict__.get(name)
                setattr(cls, name, value)
                yield seen()
                delattr(cls, name)
                if old is not None:
                    setattr(cls, name, old)
                yield seen()
        o.times = lambda x: 1000.0
        yield seen()
        del o.times
        Derived.__getattribute__ = lambda self, name: (lambda x: 4.0) if name == "times" else 2.0
        yield seen()
        del Derived.__getattribute__
        o.__class__ = Base
        yield seen()
        o.__class__ = Derived
        yield seen()


class Slotted:
    __slots__ = ("a", "b")

    def __init__(self, a):
        self.a = a

    @jit
    def both(self, x):
        return self.a * x + self.b

    @jit
    def keep(self, x):
        self.b = x
        return self.a


@dataclasses.dataclass
class Data:
    a: float = 1.0
    b: list = dataclasses.field(default_factory=list)

    @jit
    def both(self, x):
        return self.a * x + len(self.b)


class Kind(enum.Enum):
    ONE = 1.0
    TWO = 2.0

    @jit
    def times(self, x):
        return self.value * x


class Pair(collections.namedtuple("Pair", "a b")):
    __slots__ = ()

    @jit
    def both(self, x):
        return self.a * x + self.b


def objects():
    o = Slotted(2.0)
    yield lambda: o.both(1.0)
    o.b = 3.0
    yield o.both(1.0), o.both(X)
    o.a = X
    yield o.both(1.0), o.keep(5.0), o.b
    del o.b
    yield lambda: o.both(1.0)
    d = Data()
    yield d.both(2.0)
    d.b.append(1)
    d.a = X
    yield d.both(2.0)
    yield Kind.ONE.times(2.0), Kind.TWO.times(2.0), Kind.ONE.times(X)
    yield Pair(1.0, 2.0).both(2.0), Pair(1.0, 2.0).both(X), Pair(X, 1).both(2)


# Names --------------------------------------------------------------------------------------------


def counter():
    total = 0.0

    @jit
    def add(x):
        nonlocal total
        total += x
        return total

    return add, lambda: total


def closures():
    add, total = counter()
    for x in (1.0, 2.0, 1, np.float32(2), X):
        yield add(x), total()
    fs = [jit(lambda x: x * k) for k in range(4)]
    yield [f(2.0) for f in fs]
    yield [jit(lambda x, k=k: x * k)(2.0) for k in range(4)]

    @jit
    def later(x):
        return x + late  # noqa: F821

    yield lambda: later(1.0)
    for late in (5.0, X, "a", 2):  # noqa: B007
        yield lambda: later(1.0)
    del late
    yield lambda: later(1.0)


def helper(x):
    return x + 1


@jit
def use_helper(x):
    return helper(x) * 2


@jit
def set_global(x):
    global GIVEN
    GIVEN = GIVEN + x
    return GIVEN * 2


@jit
def read_global(x):
    return x * GIVEN


@jit
def use_builtins(x):
    return abs(x) * 2


def names():
    original = helper
    for new in (helper, lambda x: x - 1, np.negative, abs, float, functools.partial(min, 3.0)):
        ME.helper = new
        yield lambda: (use_helper(1.5), use_helper(1.5))
        yield lambda: use_helper(X)
    ME.helper = original
    code = helper.__code__
    helper.__code__ = (lambda x: x * 100).__code__
    yield use_helper(1.5), use_helper(X)
    helper.__code__ = code
    yield use_helper(1.5)
    ME.GIVEN = 1.0
    yield read_global(2.0), set_global(1.0), ME.GIVEN, read_global(2.0), set_global(X)
    for value in (3, np.float32(3), X):
        ME.GIVEN = value
        yield read_global(2.0)
    del ME.GIVEN
    yield lambda: read_global(2.0)
    yield use_builtins(-1.0), use_builtins(-X)
    ME.abs = lambda x: 5.0
    yield use_builtins(-1.0), use_builtins(-X)
    ME.abs = builtins.abs
    yield use_builtins(-1.0)
    del ME.abs
    yield use_builtins(-1.0)


# Arguments ----------------------------------------------------------------------------------------


@jit
def kept(x, found=[]):  # noqa: B006
    found.append(x)
    return sum(found)


@jit
def read(x, found=[1.0, 2.0]):  # noqa: B006
    return x * found[0] + len(found)


@jit
def stored(x, buffer=np.zeros(3)):  # noqa: B008
    buffer[0] += x
    return buffer


@jit
def mixed(a, *args, b=1.0, **kwargs):
    return a, args, b, kwargs


@jit
def placed(a, b=2.0, /, c=3.0, *, d=4.0):
    return a * 1000 + b * 100 + c * 10 + d


def arguments():
    for _ in range(3):
        yield kept(1.5), read(2.0), stored(1.0), stored(2)
    first = inner(read).__defaults__[0]
    for change in (lambda: first.append(4.0), lambda: first.__setitem__(0, 9.0)):
        change()
        yield read(2.0)
    yield stored(0.0) is stored(0.0)
    yield mixed(1.0), mixed(1.0, 2.0, 3), mixed(1, c=X, b=X), mixed(1.0, 2.0, z=3, y=4)
    yield lambda: mixed()
    yield lambda: mixed(1, a=2)
    yield placed(1.0), placed(1, 2, 3, d=5), placed(1, c=2), placed(1.0, d=2.0, c=1.0)
    yield from (
        lambda: placed(a=1),
        lambda: placed(1, b=2),
        lambda: placed(1, 2, 3, 4),
        lambda: placed(1, 2, 3, c=3),
        lambda: placed(1, e=3),
    )


@jit
def factorial(n):
    return 1 if n <= 1 else n * factorial(n - 1)


@jit
def even(n):
    return True if n == 0 else odd(n - 1)


@jit
def odd(n):
    return False if n == 0 else even(n - 1)


@jit
def halves(x):
    if x.size <= 1:
        return x.sum()
    middle = x.size // 2
    return halves(x[:middle]) - halves(x[middle:])


def recursion():
    for n in (0, 1, 5, 12, 20.0, 25):
        yield lambda: factorial(n)
    yield [(even(n), odd(n)) for n in (0, 1, 5, 10)]
    yield [halves(np.arange(n) * 1.0) for n in (1, 2, 7, 8)]
    original = factorial
    ME.factorial = lambda n: 1000
    yield original(5)
    ME.factorial = original
    yield factorial(5)


# Functions as arguments ---------------------------------------------------------------------------


@jit
def apply(f, *args, **kwargs):
    return f(*args, **kwargs)


def inner(f):
    return getattr(f, "__wrapped__", f)


def scaled(x, k=1.0, *, shift=0.0):
    return x * 2 + k + shift


def callbacks():
    for f in (
        np.negative,
        abs,
        float,
        len,
        operator.neg,
        lambda x: x - 1,
        functools.partial(operator.mul, 2.0),
        Base(2.0).times,
        Base(3.0).times,
        Base(2.0),
        Derived,
        jit(scaled),
        3,
        None,
    ):
        yield lambda: apply(f, 1.5)
        yield lambda: apply(f, X)
        yield lambda: apply(f, 1.5)
    for k in range(60):
        yield apply(lambda x: x * k, 2.0)
    o = Base(2.0)
    bound = o.times
    yield apply(bound, 1.0)
    o.w = 7.0
    yield apply(bound, 1.0)


def changes_of_callbacks():
    for wrap in (lambda f: f, jit):
        f = types.FunctionType(scaled.__code__, vars(ME), "f", (1.0,))
        f.__kwdefaults__ = {"shift": 0.0}
        g = wrap(f)
        yield apply(g, 1.0), apply(g, X)
        for on in (f, g):
            on.__defaults__ = (10.0,)
            yield apply(g, 1.0), apply(g, X)
            on.__kwdefaults__ = {"shift": X}
            yield apply(g, 1.0), apply(g, X)
            on.__kwdefaults__["shift"] = 200.0
            yield apply(g, 1.0)
            on.__kwdefaults__ = None
            yield lambda: apply(g, 1.0)
            on.__kwdefaults__ = {"shift": 0.0}
        f.__code__ = helper.__code__
        f.__defaults__ = None
        yield apply(g, 1.0), apply(g, X)

        partial = functools.partial(scaled, k=3.0)
        g = wrap(partial)
        yield apply(g, 1.0), apply(g, X)
        for k in (7.0, X, 2):
            partial.keywords["k"] = k
            yield apply(g, 1.0)
        partial.keywords["other"] = 1
        yield lambda: apply(g, 1.0)
        partial.__setstate__((operator.add, (5.0,), {}, None))
        yield apply(g, 1.0), apply(g, X)

        o = Base(2.0)
        g = wrap(o)
        yield apply(g, 1.0)
        o.w = 5.0
        yield apply(g, 1.0), apply(g, X)
        original = Base.__call__
        Base.__call__ = lambda self, x: 77.0
        yield apply(g, 1.0)
        Base.__call__ = original
        o.__class__ = Derived
        yield apply(g, 1.0)


def from_c():
    f, g = jit(lambda x: x * 2 + 1), jit(lambda a, b: a - b)
    yield list(map(f, [1.0, 2.0])), sorted([3.0, 1.0], key=f), functools.reduce(g, [1.0, 2.0, 3.0])
    yield np.vectorize(f)(X), np.frompyfunc(f, 1, 1)(X), np.apply_along_axis(f, 0, X)
    yield max([1, -3], key=jit(abs)), np.fromiter(map(f, X), float)


# What runs eagerly --------------------------------------------------------------------------------


@functools.singledispatch
def general(x):
    return x * 2.0


@general.register
def _(x: int):
    return x + 100


@jit
def use_general(x):
    return general(x) + 1


@jit
@functools.lru_cache
def fibonacci(n):
    return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)


@contextlib.contextmanager
def entered(log):
    log.append("in")
    yield 5.0
    log.append("out")


@jit
def inside(x, log):
    with entered(log) as v:
        return x * v


@jit
def generated(x):
    for i in range(3):
        yield x * i


def run_eagerly():
    compiled = jit(general)
    yield [f(x) for f in (use_general, compiled) for x in (1.0, 1, X, 1, np.float32(1))]
    compiled.register(complex, lambda x: 5.0)
    yield use_general(1j), compiled(1j)
    yield fibonacci(50), fibonacci.cache_info().misses
    for x in (2.0, X):
        log = []
        yield inside(x, log), log, list(generated(x))


PROGRAMS = (
    methods,
    changes_of_classes,
    objects,
    closures,
    names,
    arguments,
    recursion,
    callbacks,
    changes_of_callbacks,
    from_c,
    run_eagerly,
)
