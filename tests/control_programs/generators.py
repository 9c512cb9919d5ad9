"""Generators of the program, whose items are taken where they are made."""

import contextlib

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp

programs = Programs("generators")


def squares(x):
    for v in x:
        if v > 0:
            yield v * v


def from_generator(x):
    s = 0.0
    for v in squares(x):
        s += v
    return s


programs.add(from_generator, (ramp(4),), (mixed(9),))


def newton(a, x):
    while True:
        x = 0.5 * (x + a / x)
        yield x


def converged(a, tolerance):
    last, n = a, 0
    for x in newton(a, a):
        n += 1
        if abs(x - last) < tolerance:
            break
        last = x
    else:
        n = -1  # never
    return last, n


programs.add(converged, (2.0, 1e-6), (9.0, 1e-2))


def windows(x, size):
    n = len(x) - size + 1
    for i in range(n):
        yield i, x[i : i + size]


def largest_window(x):
    best, place = -np.inf, -1
    for i, w in windows(x, 3):
        s = w.sum()
        if s > best:
            best, place = s, i
    return best, place


programs.add(largest_window, (ramp(9),), (mixed(30),), (mixed(3),))


def returns_from_the_loop(x, limit):
    total = 0.0
    for v in squares(x):
        if v > limit:
            return v, total
        if v < 0.1:
            continue
        total += v
    return None, total


programs.add(returns_from_the_loop, (ramp(9), 100.0), (ramp(9), 2.0), (mixed(30), 9.0))


def pairs(x):
    for i in range(len(x)):
        for j in range(i):
            yield x[i], x[j]


def stores_for_pairs(x):
    out, k = np.zeros(100), 0
    for a, b in pairs(x):
        out[k] = a * b
        k += 1
    return out[:k]


programs.add(stores_for_pairs, (ramp(5),), (mixed(9),), (ramp(1),))


def ends_early(x):
    for v in x:
        if v > 1:
            return
        yield v
    yield 100.0


def with_return(x):
    s = 0.0
    for v in ends_early(x):
        s += v
    return s


programs.add(with_return, (ramp(5),), (ramp(5, -1, 0),))


def chained(x):
    yield 1.0
    yield from squares(x)
    yield from (2.0, 3.0)
    yield x[0]


def from_chained(x):
    s, n = 0.0, 0
    for v in chained(x):
        s = s * 0.5 + v
        n += 1
    return s, n


programs.add(from_chained, (ramp(5),), (mixed(12),))


def scaled(items, k):
    for v in items:
        yield v * k


def generator_of_a_generator(x):
    s = 0.0
    for v in scaled(squares(x), 2.0):
        s += v
    return s


programs.add(generator_of_a_generator, (ramp(5),), (mixed(12),))


def two_at_once(x):
    s = 0.0
    for a in squares(x):
        for b in squares(x + 1):
            s += a * b
            if s > 100:
                break
    return s


programs.add(two_at_once, (ramp(5),), (mixed(12),))


def of_all_items(x):
    total = sum(squares(x))
    return total, any(squares(x - 1)), all(squares(x)), max(squares(x + 5))


programs.add(of_all_items, (ramp(5),), (mixed(12),), (ramp(5, -3, -1),))


def few(x):
    yield x
    yield x * 2
    for k in range(3):
        yield x + k


def as_containers(x):
    a, b, *rest = tuple(few(x))
    return a, b, len(rest), np.array(list(few(x))), sum(few(x))


programs.add(as_containers, (ramp(5),), (mixed(12),))


def closures(x):
    scale = x[0]

    def items(n):
        for i in range(n):
            yield x[i] * scale

    s = 0.0
    for v in items(len(x)):
        s += v
        scale = scale * 0.5
    return s, scale


programs.add(closures, (ramp(5),), (mixed(12),))


def raises_inside(x):
    for v in x:
        if v > 3:
            raise ValueError("large", v)
        yield v


def handled_outside(x):
    s = 0.0
    try:
        for v in raises_inside(x):
            s += v
            if s < -5:
                raise KeyError(s)
    except ValueError as e:
        return e.args
    except KeyError:
        return -s
    return s


programs.add(handled_outside, (ramp(5),), (ramp(5, 2, 4),), (ramp(5, -4, -2),), (mixed(20),))


@contextlib.contextmanager
def noted(log, value):
    log[0] += 1
    try:
        yield value * 2
    except KeyError:
        log[1] += 1
    finally:
        log[2] += 1


def own_context(x, log):
    y = 0.0
    with noted(log, x) as twice:
        y = twice[0]
        if y > 2:
            raise KeyError
        if y > 1:
            raise ValueError("medium", y)
        if y > 0.5:
            return -1.0
        y = y + 1
    return y


programs.add(
    own_context,
    (ramp(5), np.zeros(3)),
    (ramp(5, 2, 3), np.zeros(3)),
    (ramp(5, 0.75, 3), np.zeros(3)),
    (ramp(5, 0.375, 3), np.zeros(3)),
)


def prints_in_turn(x):
    for i in range(len(x)):
        print("make", i)
        yield x[i]
    print("end")


def in_turn(x):
    for v in prints_in_turn(x):
        print("take", v)
        if v > 1:
            break
    return x


programs.add(in_turn, (ramp(4),), (ramp(3, -1, 0),))


def tree(depth, value):
    if depth > 0:
        yield from tree(depth - 1, value * 0.5)
        yield value
        yield from tree(depth - 1, value + 1)


def walked(x):
    s = 0.0
    for v in tree(3, x):
        s = s * 0.75 + v
    return s


programs.add(walked, (1.0,), (-2.5,))
