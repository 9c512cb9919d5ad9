"""`try`, `with` and generators, which may run eagerly but never wrongly."""

import contextlib

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp

programs = Programs("eager_constructs")

TRY = "an exception inside may be caught by the function itself"
WITH = "leaving a `with` block runs Python code"


def caught(x, i):
    try:
        y = x[i]
    except IndexError:
        y = -1.0
    return y * 2


programs.add(caught, (ramp(4), 2), (ramp(4), 9), (mixed(12), -12), (mixed(12), 12), eager=TRY)


def raised_and_caught(x):
    s = 0.0
    for v in x:
        try:
            if v < 0:
                raise ValueError(v)
            s += v
        except ValueError as e:
            s -= e.args[0]
        else:
            s += 1
        finally:
            s *= 2
    return s


programs.add(raised_and_caught, (ramp(4),), (mixed(9),), eager=TRY)


def finally_runs(x, log):
    try:
        if x[0] > 0:
            return x[0]
        log[0] = 1.0
    finally:
        log[1] += 1.0
    return -1.0


programs.add(
    finally_runs,
    (ramp(4), np.zeros(2)),
    (ramp(4, 1, 2), np.zeros(2)),
    (ramp(9), np.ones(3)),
    eager=TRY,
)


def suppressed(x):
    y = 0.0
    with contextlib.suppress(ZeroDivisionError):
        y = 1 / x
    return y


programs.add(suppressed, (2.0,), (0.0,), (4.0,), eager=WITH)


def squares(x):
    for v in x:
        if v > 0:
            yield v * v


def from_generator(x):
    s = 0.0
    for v in squares(x):
        s += v
    return s


programs.add(from_generator, (ramp(4),), (mixed(9),), eager="a generator function")


def matched(x, command):
    match command:
        case ("scale", k):
            return x * k
        case ("shift", k) if k > 0:
            return x + k
        case _:
            return -x


programs.add(
    matched,
    (ramp(4), ("scale", 2.0)),
    (ramp(4), ("shift", 1.5)),
    (ramp(4), ("shift", -1.5)),
    (mixed(9), ("other",)),
    eager="`match` on what arguments hold",
)
