"""Programs that draw from streams of random numbers that they have not made."""

from __future__ import annotations

import random
from dataclasses import dataclass
from random import gauss
from typing import Any

import numpy as np
from numpy.random import default_rng, normal, standard_normal

RNG = np.random.default_rng(7)
STATE = np.random.RandomState(7)
PYTHON = random.Random(7)
DRAW = RNG.uniform


# Streams that are arguments ----------------------------------------------------------------------


def in_a_loop(stream, n):
    inside = 0
    for _ in range(n):
        x = stream.uniform()
        y = stream.uniform()
        if x * x + y * y < 1:
            inside += 1
    return inside


def of_a_branch(stream, x):
    if x > 0:
        return stream.normal(x, 2.0)
    return x


def arrays(stream, n):
    return (
        stream.normal(size=n),
        stream.uniform(-1.0, 2.0, (2, n)),
        stream.standard_normal(n),
        stream.exponential(0.5, size=3),
        stream.poisson(3.0, n),
        stream.binomial(10, 0.3),
        stream.gamma(2.0, size=n),
        stream.beta(np.linspace(1, 2, n), 2.0),
    )


def choices(stream, x, p):
    return (
        stream.choice(x),
        stream.choice(len(x), size=3, replace=False),
        stream.choice(x, p=p),
        stream.choice(["a", "b"]) if len(x) > 100 else stream.choice([1.5, 2.5, 3.5]),
        stream.permutation(x),
        stream.permutation(len(x)),
        stream.permutation(range(len(x))),
        stream.multivariate_normal([0.0, 1.0], np.eye(2)),
    )


def choices_of_places(stream, n, k, p):
    x = np.arange(n) * 1.5
    total = 0.0
    for _ in range(20):
        total += stream.choice([0.0, 1.0, 5.0], p=[0.25, 0.25, 0.5]) + stream.choice(x)
    return (
        total,
        stream.choice(n),
        stream.choice(n, k),
        stream.choice(x, size=(k, 2)),
        stream.choice(n, replace=False),
        stream.choice(n, size=k, replace=False),
        x[stream.choice(len(x), k, replace=False)],
        stream.choice(len(p), p=p),
        stream.choice(len(p), size=k, p=p),
        stream.choice(p, (k, 2), p=p),
    )


def shuffles(stream, x, rows):
    stream.shuffle(x)
    stream.shuffle(rows)
    stream.shuffle(x[1:])
    cards = list(range(10))
    stream.shuffle(cards)
    mine = np.arange(6)
    stream.shuffle(mine)
    return cards, mine, x.sum()


def sizes_of_the_data(stream, x):
    few = x[x > 0]
    return stream.normal(size=len(few)), stream.normal(few), stream.permutation(few)


def of_generators(rng, n):
    return (
        rng.integers(10),
        rng.integers(-5, 5, size=n),
        rng.integers(0, 255, size=4, endpoint=True, dtype=np.uint8),
        rng.random(n),
        rng.random(dtype=np.float32),
        rng.permuted(np.arange(6.0).reshape(2, 3), axis=1),
        rng.standard_exponential(n),
    )


def of_random_states(state, n):
    return (
        state.rand(),
        state.rand(n, 2),
        state.randn(n),
        state.randn(),
        state.randint(10),
        state.randint(3, 8, size=n),
        state.random_sample(n),
    )


def seeded(stream, seed, stops):
    x = stream.random() if isinstance(stream, random.Random) else stream.normal()
    stream.seed(seed)
    if stops:
        raise ValueError(stops)
    return x, stream.uniform(0.0, 2.0)


def seeds_a_module(seed):
    np.random.seed(seed)
    random.seed(-seed)
    return np.random.normal(), random.gauss(0.0, 1.0), random.random()


def of_python(r, n):
    s = 0.0
    for _ in range(n):
        s += r.gauss(0, 1) + r.random()
    cards = [1, 2, 3, 4, 5]
    r.shuffle(cards)
    return (
        s,
        cards,
        r.randint(1, 6),
        r.randrange(3, 30, 3),
        r.uniform(-1.0, 1.0),
        r.choice(range(n + 1)),
        r.choice([2.5, 3.5]),
        r.sample(range(100), 3),
        r.choices([1, 2, 3], weights=[1, 2, 3], k=4),
        r.expovariate(2.0),
        r.triangular(0, 1, 0.5),
        r.normalvariate(0.0, 1.0),
        r.getrandbits(20),
    )


def of_a_list(rngs):
    s = 0.0
    for rng in rngs:
        s += rng.random()
    return s


def two(a, b):
    return a.random() - b.random() + a.random()


def given_back(rng):
    return rng.random(), rng


def given_to_default_rng(rng):
    return default_rng(rng).random()


def raises_after_a_draw(stream, x):
    y = stream.uniform()
    if x > 0:
        raise ValueError("too large")
    return y


def bails_out(stream, x, k):
    first = stream.normal(size=3)
    stream.uniform()
    return first + x[k[0]]


def wrong_arguments(stream, x):
    stream.uniform()
    return stream.normal(0.0, x)


def with_a_callee(stream, n):
    return sum([of_a_branch(stream, x - 1.0) for x in range(n)])


# Draws that are native ---------------------------------------------------------------------------


def native_of_generators(rng, n, low, high, a, b):
    x, i, s = np.arange(n), 0, 0.0
    while i < 50:
        s += rng.random() + rng.standard_normal() + rng.normal(a, b) + rng.uniform(a, a + b)
        s += rng.exponential(b) + rng.standard_exponential() + rng.lognormal(a, b)
        s += rng.laplace(a, b) + rng.logistic(a, b) + rng.gumbel(a, b) + rng.rayleigh(b)
        s += rng.standard_gamma(b) + rng.gamma(b, scale=2.0) + rng.beta(b, 2) + rng.chisquare(b)
        s += rng.standard_t(b) + rng.weibull(b) + rng.pareto(b) + rng.poisson(b)
        s += float(rng.integers(high))
        s += float(rng.integers(low, high))
        s += float(rng.integers(low, high, endpoint=True))
        i += 1
    rng.shuffle(x)
    return (
        s,
        x,
        rng.random(n),
        rng.random((n, 3)),
        rng.standard_normal(size=n),
        rng.normal(size=(2, n)),
        rng.normal(1, 2, n),
        rng.uniform(size=n),
        rng.exponential(size=n),
        rng.poisson(30.0, size=n),
        rng.integers(low, high, n),
        rng.integers(2**40, size=n),
        rng.integers(-(2**62), 2**62, size=n),
        rng.permutation(n),
        rng.permutation(x),
        rng.permutation(x.reshape(-1, 2)),
    )


def native_of_states(state, n, low, high, a, b):
    x, i, s = np.arange(n), 0, 0.0
    while i < 50:
        s += state.random_sample() + state.rand() + state.standard_normal() + state.randn()
        s += state.normal(a, b) + state.uniform(a, a + b) + state.uniform(a + b, a)
        s += state.exponential(b) + state.laplace(a, b) + state.logistic(a, b) + state.gumbel(a, b)
        s += float(state.randint(high))
        s += float(state.randint(low, high))
        i += 1
    state.shuffle(x)
    return (
        s,
        x,
        state.random_sample(n),
        state.rand(n, 3),
        state.randn(n),
        state.randn(2, n),
        state.standard_normal(n),
        state.normal(1.0, 2.0, size=n),
        state.exponential(2, size=n),
        state.randint(low, high, size=n),
        state.randint(2**40, size=n),
        state.permutation(n),
        state.permutation(x),
        state.permutation(x.reshape(-1, 2)),
    )


def native_of_python(r, n, low, high, a, b):
    s, i, j = 0.0, 0, 0
    numbers = np.zeros(n)
    for k in range(n):
        numbers[k] = r.random()
        s += r.uniform(a, b) + r.uniform(-1, 1) + r.gauss(0, 1) + r.gauss(a, b)
        i ^= r.randint(low, high)
        i ^= r.randrange(low, high)
        j ^= r.randrange(high)
        j ^= r.randint(0, 1) + r.randint(3, 3)
    return numbers, s, i, j


# Streams that are global -------------------------------------------------------------------------


def of_globals(n):
    return RNG.normal(size=n), STATE.normal(), PYTHON.random(), DRAW(1.0, 2.0)


def of_modules(n):
    return (
        np.random.normal(size=n),
        normal(1.0, 2.0),
        standard_normal(3),
        np.random.ranf(),
        random.random(),
        gauss(0, 1),
        random.randint(1, 6),
        np.random.choice([1.0, 2.0], p=[0.25, 0.75]),
        np.random.permutation(range(n)),
    )


def seeds_of_modules(n):
    random.seed(n)
    np.random.seed(n)
    return random.random(), np.random.rand()


# Streams of objects ------------------------------------------------------------------------------


class Walker:
    def __init__(self, stream):
        self.stream, self.x, self.path = stream, np.zeros(2), []

    def step(self, scale):
        self.x = self.x + self.stream.normal(0.0, scale, size=2)
        self.path.append(self.x)
        return self.x

    def jump(self):
        if self.stream.uniform() < 0.5:
            return False
        self.x = self.x + self.stream.uniform(-1.0, 1.0)
        return True

    def replace(self, other):
        value = self.stream.uniform()
        self.stream = other
        return value + self.stream.uniform()


@dataclass
class Pair:
    first: Walker
    second: Walker
    stream: Any

    def both(self):
        a = self.first.step(1.0)
        b = self.second.step(2.0)
        return a - b + self.stream.uniform()


def native_of_a_generator_made_inside(seed, n, low, high, a, b):
    """The same draws, from a stream that nobody else has."""
    return native_of_generators(np.random.default_rng(seed), n, low, high, a, b)


def interleaved(seed, n):
    """Two generators, one of which is drawn from under conditions."""
    first, second = np.random.default_rng(seed), np.random.default_rng(3)
    total = 0.0
    for k in range(n):
        total += first.random() * second.normal() if k % 3 else second.random()
        if first.random() > 0.7:
            total += second.integers(0, 9)
    return total, first.random(), second.integers(0, 5, size=3)
