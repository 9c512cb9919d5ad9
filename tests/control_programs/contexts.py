"""`with`: contexts of NumPy and Python, and of the program's own classes."""

import contextlib
import warnings

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp

programs = Programs("contexts")


def ignores_errors(x):
    with np.errstate(divide="ignore", invalid="ignore"):
        y = 1 / x
        z = np.log(np.abs(x))
    return y + z


programs.add(ignores_errors, (ramp(4, 1, 2),), (ramp(9, 1, 3),), parity="ulp", ulp=4)


def returns_inside(x):
    with np.errstate(all="ignore"):
        if x[0] > 0:
            return x + 1
        y = -x
    return y


programs.add(returns_inside, (ramp(4),), (ramp(4, 1, 2),))


def suppressed(x):
    y = 0.0
    with contextlib.suppress(ZeroDivisionError, KeyError):
        y = 1 / x
        if y > 1:
            raise KeyError(y)
        y = -y
    return y


programs.add(suppressed, (2.0,), (0.0,), (0.25,))


def suppressed_in_a_loop(x):
    s, n = 0.0, 0
    for v in x:
        with contextlib.suppress(ValueError):
            if v < 0:
                raise ValueError
            if v > 3:
                break
            s += v
        n += 1
    return s, n


programs.add(suppressed_in_a_loop, (ramp(5),), (mixed(30),))


def nothing_special(x):
    with contextlib.nullcontext(x * 2) as y, contextlib.nullcontext():
        z = y + 1
    return z


programs.add(nothing_special, (ramp(5),), (mixed(3),))


def filters(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y = np.sqrt(x)
    return y.sum()


programs.add(filters, (ramp(5, 1, 2),), (ramp(3, 0, 2),))


class Counted:
    """Notes what happens to it, and takes KeyErrors."""

    def __init__(self, log):
        self.log = log

    def __enter__(self):
        self.log[0] += 1
        return self.log

    def __exit__(self, cls, error, traceback):
        self.log[1] += 1
        if cls is not None:
            print("left by", cls.__name__, error)
            self.log[2] += len(error.args)
        return cls is KeyError


def own_context(x, log):
    y = 0.0
    with Counted(log) as entered:
        y = x[0] + entered[0]
        if y > 2:
            raise KeyError("large", y)
        if y > 1:
            raise ValueError("medium")
        y = -y
    return y


programs.add(
    own_context,
    (ramp(4), np.zeros(3)),
    (ramp(4, 2, 3), np.zeros(3)),
    (ramp(4, 0.5, 3), np.zeros(3)),
)


def own_context_and_jumps(x, log):
    n = 0
    for v in x:
        with Counted(log):
            if v < -2:
                continue
            if v > 3:
                break
            n += 1
    else:
        return -1
    return n


programs.add(own_context_and_jumps, (ramp(4), np.zeros(3)), (mixed(30), np.zeros(3)))


def two_contexts(x, log, more):
    try:
        with Counted(log), Counted(more):
            if x[0] > 1:
                raise KeyError("inner")
            if x[0] > 0:
                raise ValueError("both")
    except ValueError as e:
        return str(e)
    return "ended"


programs.add(
    two_contexts,
    (ramp(4), np.zeros(3), np.zeros(3)),
    (ramp(4, 0.5, 2), np.zeros(3), np.zeros(3)),
    (ramp(4, 2, 3), np.zeros(3), np.zeros(3)),
)
