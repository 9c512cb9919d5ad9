"""Functions of one real result with branches and loops on values, and where to differentiate them.

`at(*calls)` notes the arguments of calls that together take every path, away from the kinks. The
functions are smooth around them. `PROGRAMS` has all, by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

PROGRAMS: dict[str, Program] = {}


@dataclass
class Program:
    """A function, and the arguments of some calls."""

    function: Callable[..., Any]
    calls: list[tuple[Any, ...]]
    #: The code of the reason why it runs eagerly, if it does.
    eager: str = ""
    #: Whether second derivatives are checked too.
    second: bool = True
    #: How far derivatives may be from differences, relative to the largest.
    tolerance: float = 1e-6


def at(*calls: tuple[Any, ...], **options: Any) -> Any:
    """Register a function as a program."""

    def note(f: Callable[..., Any]) -> Callable[..., Any]:
        assert f.__name__ not in PROGRAMS
        PROGRAMS[f.__name__] = Program(f, list(calls), **options)
        return f

    return note


def v(*shape: int, seed: int = 0, low: float = 0.2, high: float = 1.8) -> Any:
    """Numbers between two bounds, in no order, that lie apart."""
    count = int(np.prod(shape))
    order = np.random.default_rng((seed, count)).permutation(count)
    return (low + (high - low) * (order + 0.37) / count).reshape(shape)


def signed(*shape: int, seed: int = 0) -> Any:
    """Numbers of both signs."""
    return v(*shape, seed=seed, low=-1.3, high=1.2)


I = np.int64  # noqa: E741 - a count that is known at run time


# Branches -----------------------------------------------------------------------------------------


@at((0.7,), (-1.2,), (3.4,))
def if_elif_else(x):
    if x < 0:
        y = x * x * x
    elif x < 2:
        y = np.sin(x) + x
    else:
        y = np.exp(-x)
    return y * x


@at((0.7, 2.0), (-1.2, 1.5), (3.4, 0.4))
def early_return(x, y):
    if x < 0:
        return x * y
    z = x**2 + y
    if z > 4:
        return np.sqrt(z) * y
    return z * z


@at((v(4), 0.5), (v(4), -0.5))
def branch_gives_an_array(x, t):
    y = np.sin(x) if t > 0 else x * x * t
    return (y * x).sum()


@at((signed(5), 0.3), (signed(5), -0.3))
def one_side_only(x, t):
    y = x * 2.0
    if t > 0:
        y = y * y + t
    return (y * x).sum()


@at((1.3, 0.4), (0.4, 1.3), (-1.3, -0.4), (-0.4, -1.3))
def nested_branches(x, y):
    if x > 0:
        if x > y:
            r = x * x * y
        else:
            r = np.cos(x) * y
    else:
        r = x / y if x > y else y / x
    return r + x * y


@at((1.3, 0.4), (-1.3, 0.4), (1.3, -0.4))
def and_or_not(x, y):
    if x > 0 and y > 0:
        return x * y * y
    if not x > 0 or y > 1:
        return x * x - y
    return np.exp(x) * y


@at((0.4,), (1.4,), (2.4,))
def chained_comparison(x):
    scale = 3.0 if 1 < x < 2 else x
    return scale * x * x


@at((v(4), 0.5), (v(4), -0.5))
def branch_that_gives_what_it_was_given(x, t):
    a, b = x * 2, x * x
    if t > 0:
        a, b = b, a
    return (a * a * np.arange(4.0) + b).sum()


@at((0.5, 2.0), (-0.5, 2.0))
def a_constant_on_one_side(x, y):
    r = x * y if x > 0 else 1.0
    return r * y


# for ----------------------------------------------------------------------------------------------


@at((v(5),), (v(1),), (v(0),))
def sum_of_elements(x):
    s = 0.0
    for a in x:
        s = s + a * a * a
    return s


@at((0.9, I(5)), (0.9, I(0)), (1.1, I(1)))
def power_by_products(x, n):
    p = 1.0
    for _ in range(n):
        p = p * x
    return p


@at((v(4), v(4, seed=1), I(3)), (v(4), v(4, seed=1), I(0)))
def scan_of_arrays(x, w, n):
    h = x
    for _ in range(n):
        h = np.tanh(w * h + x)
    return (h * h).sum()


@at((v(5), v(5, seed=1)))
def zip_and_enumerate(x, y):
    s = 0.0
    for i, (a, b) in enumerate(zip(x, y, strict=True)):
        s += a * b * (i + 1) + np.sin(a)
    return s


@at((v(6), I(2)), (v(6), I(6)), (v(6), I(0)))
def range_with_steps(x, n):
    s = 1.0
    for i in range(n - 1, -1, -2):
        s = s * x[i] + x[i - 1]
    return s


@at((v(5), 1.5), (v(5), 100.0), (v(5), -1.0))
def break_on_a_value(x, limit):
    s = 0.0
    for a in x:
        s += a * a
        if s > limit:
            break
    return s * s


@at((signed(6),), (v(6),), (-v(6),))
def continue_on_a_value(x):
    s = 1.0
    for a in x:
        if a < 0:
            continue
        s = s * (1 + a * a)
    return s


@at((v(6), 1.0), (v(6), 9.0))
def else_of_a_loop(x, limit):
    s = 1.0
    for a in x:
        s = s * a
        if a > limit:
            break
    else:
        s = s + x[0] ** 3
    return s


@at((v(6), 1.2), (v(6), 7.0), (v(6), 0.0))
def return_in_a_loop(x, limit):
    s = 0.1
    for i in range(len(x)):
        s = s + s * x[i]
        if s > limit:
            return s * x[i] * x[0]
    return np.sqrt(s)


@at((v(3, 4),))
def nested_loops(x):
    s = 0.0
    for i in range(x.shape[0]):
        row = 1.0
        for j in range(x.shape[1]):
            row = row * x[i, j]
        s = s + row * row
    return s


@at((v(5),))
def triangular_loops(x):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            s = s + x[i] * x[j] * np.sin(x[i] - x[j])
    return s


@at((v(3, 3), v(3, 3, seed=2)))
def three_loops(a, b):
    s = 0.0
    for i in range(3):
        for j in range(3):
            c = 0.0
            for k in range(3):
                c += a[i, k] * b[k, j]
            s += c * c
    return s


@at((v(6), np.array([2, 0, 3, 1])))
def dynamic_inner_counts(x, counts):
    s, p = 0.0, 0
    for n in counts:
        q = 1.0
        for _ in range(n):
            q = q * x[p] + 0.5
            p += 1
        s = s + q * q
    return s


@at((v(5), np.array([3, 1, 3, 0])))
def index_array(x, places):
    s = 0.0
    for k in places:
        s = s * x[k] + x[k]
    return s


@at((v(6), I(4)))
def a_value_from_before_the_loop(x, n):
    scale = np.exp(x[0])
    y = x * x
    s = 0.0
    for i in range(n):
        s += scale * y[i]
    return s * scale + y.sum()


@at((signed(5),))
def loop_with_branch_of_arrays(x):
    h = np.zeros(3)
    for a in x:
        if a > 0:
            h = h * a + 1.0
        else:
            h = np.sin(h) - a
    return (h * np.arange(3.0)).sum()


@at((v(4), I(3)))
def gradient_flows_through_an_int(x, n):
    # The integers have no derivative, what they index has.
    k = 0
    s = 1.0
    for i in range(n):
        k = (k * 3 + i) % 4
        s = s * x[k] + float(k) * x[0]
    return s


@at((v(3), I(4)))
def arrays_change_places(x, n):
    a, b = x * 1.0, x * x
    for _ in range(n):
        a, b = b, a * b
    return (a * np.arange(1.0, 4.0) + b).sum()


@at((v(3), I(5)), (v(3), I(1)))
def three_terms_recurrence(x, n):
    a, b, c = x, x * x, np.sin(x)
    for _ in range(n):
        a, b, c = b, c, 0.5 * a * c
    return (a + 2 * b + 3 * c).sum()


# while --------------------------------------------------------------------------------------------


@at((50.0,), (0.4,), (3.3,))
def while_on_the_value(x):
    y = x
    while y > 1.0:
        y = y / 2 + 0.1 * np.sin(y)
    return y * y * x


@at((2.0,), (9.0,))
def newton_square_root(a):
    x = a
    while abs(x * x - a) > 1e-12:
        x = 0.5 * (x + a / x)
    return x * x * x


@at((0.3, 0.8), (0.9, 2.0))
def while_true_break(x, y):
    n = 0
    while True:
        y = y * x + 0.1
        n += 1
        if y < 0.4 or n > 20:
            break
    return y * n


@at((v(4), 2.0), (v(4), 0.1))
def while_of_an_array(x, limit):
    y = x
    while (y * y).sum() > limit:
        y = y * 0.7 + 0.01 * x
    return (y * x).sum()


@at((v(6), 1.7), (v(6), 90.0))
def nested_while(x, limit):
    s, i = 0.0, 0
    while i < len(x):
        t = x[i]
        while t < limit:
            t = t * t + 1.0
        s = s + t * x[i]
        i += 1
    return s / limit


@at((1.3, 2.0), (0.2, 1.1))
def adaptive_steps(k, end):
    t, y, h = 0.0, 1.0, 0.3
    while t < end:
        step = min(h, end - t)
        full = y - step * k * y * y
        half = y - 0.5 * step * k * y * y
        half = half - 0.5 * step * k * half * half
        if abs(full - half) > 0.01:
            h = 0.5 * h
            continue
        y, t = 2 * half - full, t + step
        h = 1.1 * h
    return y


@at((v(2), I(3)))
def explicit_forms(x, n):
    return _fixed_steps(x, n)


def _fixed_steps(x, n):
    out = x
    k = 0
    while k < n:
        out = out * np.cos(out) + x
        k += 1
    return out.sum()


# Calls --------------------------------------------------------------------------------------------


def _square_or_cube(x):
    if x > 1:
        return x * x
    return x * x * x


@at((v(4),))
def helper_with_returns(x):
    s = 0.0
    for a in x:
        s += _square_or_cube(a) * a
    return s


def _fold(x, n):
    return x[0] if n == 0 else _fold(x, n - 1) * x[n] + 0.5


@at((v(4),))
def recursion(x):
    return _fold(x, 3)


_WEIGHTS = v(4, seed=9)
_SCALE = 1.5


@at((v(4),))
def captured_arrays(x):
    return (np.sin(x * _WEIGHTS) * _SCALE).sum() * _WEIGHTS[0]


def _scaled_by(factor):
    return lambda x: x * factor * x


@at((v(4), 0.7))
def closures(x, t):
    f = _scaled_by(t * t)
    return f(x).sum() + f(t)


@dataclass
class Body:
    """Where it is, how fast it moves, its mass."""

    place: Any
    speed: Any
    mass: Any


@at((Body(v(3), v(3, seed=1), 2.0), 0.1))
def a_dataclass(body, dt):
    for _ in range(3):
        force = -body.place / np.sqrt((body.place**2).sum()) ** 3
        speed = body.speed + dt * force / body.mass
        body = Body(body.place + dt * speed, speed, body.mass)
    return (body.place * body.speed).sum() * body.mass


@at(({"w": v(2, 3), "b": v(2)}, [v(3, seed=3), v(3, seed=4)]))
def dicts_and_lists(p, xs):
    s = 0.0
    for x in xs:
        s = s + np.tanh(p["w"] @ x + p["b"]).sum()
    return s


@at(((v(3), (v(3, seed=1), 0.4)),))
def nested_tuples(p):
    x, (y, t) = p
    return (x * y * t).sum() + t


@at((3, v(4), 2), (2, v(4), 2))
def integers_beside_floats(n, x, k):
    return (x**n).sum() * x[k] / n


@at((signed(5),))
def complex_between(x):
    z = np.exp(1j * x) * x
    w = z[0]
    for a in z:
        w = w * a.conjugate() + a
    return abs(w) ** 2


@at((0.7, v(3)), (0.3, v(3)))
def complex_number_in_a_loop(c, x):
    z, n = 0j, 0
    while abs(z) < 2 and n < 6:
        z = z * z + complex(c, x[n % 3])
        n += 1
    return z.real * n + z.imag**2


@at((v(4) + 1j * signed(4), I(3)), second=False)
def complex_argument(z, n):
    w = z
    for _ in range(n):
        w = w * z + 1j
    return (w * w.conj()).real.sum()


@at((v(5).astype(np.float32), I(3)), tolerance=1e-3)
def single_precision(x, n):
    h = x
    for _ in range(n):
        h = np.sin(h) * x + h
    return (h * h).sum()


@at((v(5).astype(np.float32), 0.7), tolerance=1e-3)
def mixed_precision(x, t):
    s = 0.0
    for a in x:
        if a > t:
            s = s + a * t
    return s * t
