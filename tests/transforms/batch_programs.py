"""Programs of one lane, with the operands of some lanes: control flow, stores, effects, draws."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.special

import tracejit


@dataclass(frozen=True)
class Program:
    """A function, the operands of each lane, and which of them are batched in tests."""

    function: Callable[..., Any]
    lanes: tuple[tuple[Any, ...], ...]
    #: The subsets of operands that are batched; () stands for all.
    subsets: tuple[tuple[bool, ...], ...] = ()
    #: Whether the batched graph has a loop over lanes when all operands are batched.
    apart: bool | None = None


PROGRAMS: list[Program] = []
V = np.array([[0.5, -1.5, 2.25, 3.0], [1.0, 0.0, -4.0, 0.125], [-0.5, 6.0, 1.5, -2.0]])
M = np.stack([V[[0, 1, 2]] + k for k in range(3)])
#: A program makes Python ints of them: ints as operands would be constants.
INTS = tuple(np.array([3, 0, 7]))


def lanes(*columns: Any) -> tuple[tuple[Any, ...], ...]:
    """Lanes from one column of operands after another."""
    return tuple(zip(*columns, strict=True))


def program(
    *columns: Any, subsets: tuple[tuple[bool, ...], ...] = (), apart: bool | None = None
) -> Callable[[Any], Any]:
    """Decorator: a program whose lanes take their operands from these columns."""

    def note(f: Callable[..., Any]) -> Callable[..., Any]:
        PROGRAMS.append(Program(f, lanes(*columns), subsets, apart))
        return f

    return note


BOTH = ((True, True), (True, False), (False, True))


@program(V, apart=False)
def arithmetic(x):
    y = np.sqrt(np.abs(x)) + x.sum()
    return y * 2, x[1], x[::-1].cumsum(), float(x[0]) / 3


@program(V, V[::-1], subsets=BOTH, apart=False)
def for_loop(x, y):
    total = np.zeros_like(x)
    for i in range(len(x)):
        total[i] = (x[i] * y).sum()
        total = total + y
    return total


@program(V, apart=True)
def branch(x):
    if x[0] > 0:
        y = x * 2
        n = 1
    else:
        y = x - 1
        n = 2
    return y, n


@program(V, INTS, subsets=BOTH)
def branch_of_a_number(x, n):
    n = int(n)
    if n > 2:
        return x * n
    return x - 1


@program(V, apart=True)
def while_of_data(x):
    s = x.sum()
    k = 0
    while abs(s) > 0.1:
        s = s / 2
        k += 1
    return s, k


@program(V, INTS, subsets=BOTH)
def while_of_a_number(x, n):
    n = int(n)
    k = 0
    while k < n:
        x = x + k
        k += 1
    return x, k


@program(INTS)
def zero_trips(n):
    n = int(n)
    s = 0.0
    for i in range(n):
        s += i
    return s


@program(V, apart=True)
def leaves_early(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            break
        if x[i] == 0:
            continue
        total += x[i]
    return total


@program(M, INTS, subsets=BOTH)
def nested_loops(a, n):
    n = int(n)
    s = a * 1
    for i in range(a.shape[0]):
        for j in range(i, a.shape[1]):
            if n > 1:
                s[i, j] = s[i, j] + s[i, :j].sum()
            else:
                s[i, j] = 0
    return s.T


@program(V, np.array([0, 3, -2]), subsets=BOTH, apart=False)
def reads_and_writes(x, i):
    y = x * 1
    y[i] = 5.0
    y[[0, 1]] = y[[i, 2]]
    return y, x[i], y[::2]


@program(M, apart=False)
def linear_algebra(a):
    b = a @ a.T + 10 * np.eye(3)
    return np.linalg.solve(b, a[:, 0]), np.linalg.inv(b), a @ a[0], np.linalg.det(b)


@program(V)
def masks(x):
    y = x[x > 0]
    return y.sum(), len(y)


@program(V)
def host_calls(x):
    return np.median(x) + 1, np.unwrap(x)


@program(V, np.array([0.3, 0.2, 0.9]))
def python_numbers(x, p):
    q = float(p)
    r = int(q * 10)
    return q**0.5 + math.exp(q), r // 3, r % 3 == 0, x * q, math.erfc(q)


@program(np.array([3, 5, 2**62]))
def overflowing_ints(n):
    return int(n) * 4 + 1


@program(np.array([3, 5, 0]))
def dividing_by_zero(n):
    return 7 / int(n)


@program(M, apart=True)
def shrinking(a):
    n = 0
    x = a[0]
    while len(x) > 1 and x[0] < 100:
        x = x[1:] * 2 + a[1, : len(x) - 1]
        n += 1
    return x.sum(), n


@program(M, apart=False)
def shrinking_alike(a):
    x = a[0]
    while len(x) > 1:
        x = x[1:] * 2 + a[1, : len(x) - 1]
    return x


@program(V)
def collatz(x):
    n = int(abs(x[2]) * 4) + 1
    steps = 0
    while n != 1:
        if n % 2:
            n = 3 * n + 1
        else:
            n //= 2
        steps += 1
    return steps


@program(V)
def stores_into_its_argument(x):
    for i in range(1, len(x)):
        if x[i] < x[i - 1]:
            x[i] = x[i - 1]
    return x.sum()


@program(V, INTS, subsets=BOTH)
def mixed(x, n):
    n = int(n)
    y = np.exp(x)
    k = 0
    while y.sum() > 1:
        y = y / 2
        k += 1
    z = np.sort(y) + k
    if n > 1:
        z = z[::-1]
    return z, y @ x


@program(M[:, :, :3], apart=False)
def stacked_calls(a):
    u, s, v = np.linalg.svd(a)
    w = np.linalg.eigvalsh(a + a.T)
    q, r = np.linalg.qr(a)
    sign, log = np.linalg.slogdet(a)
    return (u * s) @ v, s, w, q @ r, sign, log, np.linalg.pinv(a), np.linalg.matrix_rank(a)


@program(M, V, subsets=BOTH)
def transforms(a, x):
    y = np.fft.fft(x) + np.fft.fft(a, axis=0) + np.fft.fft(x, None, -1, "ortho")
    y = y + np.fft.fft2(a, norm="forward") + np.fft.hfft(a, 4, 1, "ortho")
    return y, np.fft.irfft(x, 6), np.fft.fft(a, 5, 1), np.fft.fft2(a), np.fft.rfft(a, axis=-2)


@program(M, apart=False)
def rematerialised(a):
    return tracejit.remat(lambda b: np.exp(b @ b.T) + a[0, 0])(a * 0.1)


@program(np.abs(V) + 0.1, np.array([0.5, 2.0, 3.0]), subsets=BOTH, apart=False)
def special_functions(x, p):
    return scipy.special.rgamma(x), scipy.special.gammainc(p, x), scipy.special.y0(p)


# Effects: in each lane those of a Python loop over the batch --------------------------------------


def prints(x, k):
    print("lane", k, x[0])
    y = np.exp(x)
    if x[0] > 0:
        print("positive", x.max())
    for i in range(int(k)):
        print(i, end=" ")
    print()
    return y + k


def prints_the_same(x):
    print("hello")
    return x + 1


def raises(x, k):
    print("before", k)
    if x[0] < 0:
        raise ValueError(f"negative {x[0]}")
    return np.sqrt(x[0]) + k


def draws(x):
    y = np.random.normal(size=3)
    return y + x[0], np.random.randint(10)


def draws_from_its_own(x, k):
    rng = np.random.default_rng(int(k))
    a = rng.normal(size=2)
    return a + x[0], rng.integers(100)


EFFECTS = [
    Program(prints, lanes(V, INTS), BOTH),
    Program(prints_the_same, lanes(V)),
    Program(raises, lanes(V, INTS), BOTH),
    Program(draws, lanes(V)),
    Program(draws_from_its_own, lanes(V, INTS), BOTH),
]


# Gradients of one lane by both operands -----------------------------------------------------------

W = (np.arange(16.0).reshape(4, 4) / 17 - 0.4) * np.array([0.7, 1.4, 2.1])[:, None, None]


def recurrence(w, x):
    s = x
    for _ in range(5):
        s = np.tanh(w @ s)
    return s.sum()


def loop_with_branches(w, x):
    s = x[0] * 0
    for i in range(len(x)):
        if x[i] > 0:
            s = s + np.sin(w[i, i] * x[i])
        elif x[i] < -1:
            s = s * w[0, i]
    return s


def trips_by_data(w, x):
    s = x.sum() + w.sum()
    while np.abs(s) > 0.5:
        s = s * 0.7 * np.cos(w[0, 0])
    return s * x[1]


def same_way_in_all_lanes(w, x):
    s = x
    for i in range(4):
        if i % 2:
            s = np.sin(s) * w[0]
        else:
            s = s @ w
        for j in range(i):
            s = s * w[j] + x
    return s.sum()


def stored_elements(w, x):
    y = np.zeros(4)
    for i in range(1, 4):
        y[i] = y[i - 1] * x[i] + w[i, 0]
    return (y**2).sum()


def products(w, x):
    return (np.cumprod(x + 3) * w[0]).sum()


def computed_again(w, x):
    return tracejit.remat(lambda v: np.sin(w @ v).prod())(x)


#: Where lanes go the same way, their stacks are one stack of batches.
GRADIENTS = [
    Program(recurrence, lanes(W, V), BOTH, False),
    Program(loop_with_branches, lanes(W, V), BOTH, True),
    Program(trips_by_data, lanes(W, V), BOTH, True),
    Program(same_way_in_all_lanes, lanes(W, V), BOTH, False),
    Program(stored_elements, lanes(W, V), BOTH, False),
    Program(products, lanes(W, V), BOTH, False),
    Program(computed_again, lanes(W, V), BOTH, False),
]


# By vmap ------------------------------------------------------------------------------------------


def sum_of_some(x):
    s = 0.0
    for i in range(len(x)):
        if x[i] > 1:
            s += x[i]
    return s


SKIPPED = ("overflowing_ints", "dividing_by_zero")
MAPPED = [
    Program(sum_of_some, lanes(V)),
    *(p for p in PROGRAMS if p.function.__name__ not in SKIPPED),
]
