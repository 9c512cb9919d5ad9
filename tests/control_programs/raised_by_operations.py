"""Exceptions of Python's and NumPy's operations that the program itself handles."""

import dataclasses
import math

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, whole

programs = Programs("raised_by_operations")

BAILS = "what NumPy raises is raised in the call's repetition"

# What Python raises ------------------------------------------------------------------------------


def divided(a, b):
    n, total = 0, 0.0
    for i in range(len(a)):
        try:
            total += float(a[i]) / float(b[i])
        except ZeroDivisionError as e:
            n += len(e.args[0])
            continue
        total += 1
    return total, n


programs.add(divided, (ramp(3, 1, 2), ramp(3)), (ramp(3), np.ones(3)), (ramp(3), np.zeros(3)))


def remainders(a, b):
    try:
        return int(a) // int(b), int(a) % int(b)
    except ArithmeticError as e:
        return e.args


programs.add(remainders, (7.0, 2.0), (7.0, 0.0), (-7.0, 2.0))


def caught(x, i):
    try:
        y = x[i]
    except IndexError:
        y = -1.0
    return y * 2


programs.add(caught, (ramp(4), 2), (ramp(4), 9), (mixed(12), -12), (mixed(12), 12), (ramp(4), -5))


def looks_up(x, where):
    found = np.zeros(len(where))
    for k in range(len(where)):
        try:
            found[k] = x[where[k]]
        except IndexError:
            found[k] = np.nan
    return found


programs.add(looks_up, (ramp(6), whole(9)), (ramp(20), whole(9)), (ramp(3), whole(4)))


def domains(x):
    s = 0.0
    for v in x:
        try:
            s += math.sqrt(v) + math.log(v)
        except ValueError:
            s -= 1
    return s


programs.add(domains, (ramp(5, 1, 2),), (mixed(9),), (np.zeros(3),), parity="ulp", ulp=4)


def missing_key(x, table):
    try:
        k = table["scale"]
    except KeyError as e:
        print(e.args, str(e), repr(e))
        k = 7.0
    return x * k


programs.add(missing_key, (ramp(3), {"scale": 2.0}), (ramp(3), {"shift": 2.0}))


def length_or_one(x):
    try:
        n = len(x)
    except TypeError:
        n = 1
    return x * n


programs.add(length_or_one, (ramp(3),), (2.5,))


def parsed(x, text):
    try:
        k = float(text)
    except ValueError as e:
        print(e)
        k = 0.0
    return x + k


programs.add(parsed, (ramp(3), "2.5"), (ramp(3), "two"))


def attribute_or_default(x, options):
    try:
        k = options.scale
    except AttributeError:
        k = 3.0
    return x * k


@dataclasses.dataclass
class Options:
    """Options of a program."""


@dataclasses.dataclass
class Scaled(Options):
    """Options with a scale."""

    scale: float = 2.0


programs.add(attribute_or_default, (ramp(3), Options()), (ramp(3), Scaled()))


def has_no_such_attribute(x):
    try:
        return x.there_is_no_such_thing
    except AttributeError:
        return x + 1


programs.add(has_no_such_attribute, (ramp(3),), (mixed(9),))


def unpacks(x, pair):
    try:
        a, b = pair
    except ValueError as e:
        print(e)
        a, b = 1.0, 2.0
    return x * a + b


programs.add(unpacks, (ramp(3), (2.0, 3.0)), (ramp(3), (2.0, 3.0, 4.0)))


# What NumPy raises ------------------------------------------------------------------------------


def solved(a, b):
    try:
        return np.linalg.solve(a, b)
    except np.linalg.LinAlgError:
        return np.zeros_like(b)


programs.add(
    solved,
    (np.eye(3) * 2, ramp(3)),
    (np.zeros((3, 3)), ramp(3)),
    repeats=BAILS,
)


def shapes_do_not_fit(a, b):
    try:
        return a + b
    except ValueError:
        return a


programs.add(shapes_do_not_fit, (ramp(3), ramp(3)), (ramp(3), ramp(4)), (ramp(2), ramp(1)))


def any_exception(a, b):
    try:
        c = a[0] / b[0]
        d = float(a[1]) / float(b[1])
        return c + d
    except Exception:
        return None


programs.add(
    any_exception,
    (ramp(3), ramp(3, 1, 2)),
    (ramp(3), np.zeros(3)[:1]),
    (ramp(3, 1, 2), np.zeros(3)),
)
