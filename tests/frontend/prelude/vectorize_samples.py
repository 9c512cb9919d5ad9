"""Functions made by `np.vectorize`, and programs that call them; pytest does not rewrite them."""

import math

import numpy as np

SCALE = 2.0
SEEN = []


@np.vectorize
def relu(x):
    return x if x > 0 else 0.0


@np.vectorize
def positive_or_int(x):
    if x > 0:
        return x
    return 0


@np.vectorize
def counted(x):
    SEEN.append(x)
    print("seen", x)
    return x * SCALE


@np.vectorize(cache=True)
def counted_once(x):
    SEEN.append(x)
    return x


@np.vectorize(otypes=[float])
def limited(x):
    if x > 2:
        raise ValueError(f"{x} is too large")
    return x


@np.vectorize
def collatz(n):
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def step(a, b=0.5, *, c=1):
    return a - b if a > b else a * b + c


def horner(p, x):
    total = 0.0
    for coefficient in p:
        total = total * x + coefficient
    return total


def half(v):
    return v / 2


def mixed(v):
    return 3 if v.sum() > 4 else 2.5


class Layer:
    def __init__(self):
        self.act = np.vectorize(self.on)

    def on(self, x):
        return SCALE * x if x > 1 else x


layer = Layer()
#: Name -> a function made by np.vectorize.
MADE = {
    "relu": relu,
    "positive or int": positive_or_int,
    "step": np.vectorize(step),
    "step to float32": np.vectorize(step, otypes="f"),
    "step to int": np.vectorize(step, otypes=[int]),
    "cached": np.vectorize(positive_or_int.pyfunc, cache=True),
    "one excluded": np.vectorize(step, excluded={1, "c"}),
    "two results": np.vectorize(lambda x: (x, x > 0)),
    "of NumPy": np.vectorize(np.floor),
    "of Python": np.vectorize(math.floor),
    "inverse": np.vectorize(lambda x: 1 / x),
    "root": np.vectorize(lambda x: x**0.5),
    "class of the argument": np.vectorize(lambda x: isinstance(x, np.generic)),
    "array of one": np.vectorize(lambda x: np.array([x])),
    "arrays": np.vectorize(lambda x: np.where(x > 0, x, -x)),
    "none": np.vectorize(lambda x: None),
    "no numbers": np.vectorize(str),
    "integers": np.vectorize(int),
}
#: The same, of arrays.
OF_ARRAYS = {
    "convolve": np.vectorize(np.convolve, signature="(n),(m)->(k)"),
    "norm": np.vectorize(lambda v: (v**2).sum(), signature=" (n) -> () "),
    "ends": np.vectorize(lambda v: (v[0], v[-1]), signature="(n)->(),()"),
    "product": np.vectorize(lambda m, v: m @ v, signature="(n,m),(m)->(n)"),
    "scaled": np.vectorize(lambda a, v: a * v, signature="(),(n)->(n)", otypes="f"),
    "mixed": np.vectorize(mixed, signature="(n)->()"),
    "same size": np.vectorize(lambda v: v[:-1], signature="(n)->(n)"),
    "stores": np.vectorize(lambda v: v.fill(0), signature="(n)->(n)"),
    "Fortran": np.vectorize(lambda a: np.zeros((3, 2), order="F") + a, signature="()->(a,b)"),
}


def made_inside(x):
    f = np.vectorize(lambda a, b: a if a > b else b)
    return f(x[:, None], x)


def decorated_inside(x):
    top = x.max()

    @np.vectorize(otypes=[np.float32])
    def clipped(v):
        return v if v < top / 2 else top / 2

    return clipped(x)


def by_horner(x):
    return np.vectorize(horner, excluded={0, "p"})([1.0, 2.0, 3.0], x) + np.vectorize(
        horner, excluded={"p"}
    )(p=[1.0, 2.0], x=x)


def by_attribute(x):
    return layer.act(x) + callable(relu) + isinstance(relu, np.vectorize)


def halved(x):
    return np.vectorize(half)(x)


PROGRAMS = [made_inside, decorated_inside, by_horner, by_attribute, halved]


def given(f, x):
    return f(x) + 1


def called(f, args, kwargs):
    return f(*args, **kwargs)
