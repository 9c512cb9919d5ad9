"""`next`, `enumerate`, `zip`, `map` and `filter` of generators of the program."""

import itertools

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table

programs = Programs("iterators_of_generators")


def doubled(x):
    for v in x:
        yield 2 * v


def told(x):
    for v in x:
        print("gives", v)
        yield v


def positive(x):
    for v in x:
        if v > 0:
            yield v


def fibonacci():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b


def first_above(x, limit):
    return next((v for v in x if v > limit), None), next((k for k in range(9) if k > limit), -1)


programs.add(first_above, (ramp(9), 0.5), (ramp(9), 99.0), (mixed(40), 1.0))


def place_of_the_first(x, limit):
    try:
        k = next(k for k, v in enumerate(x) if v > limit)
    except StopIteration:
        k = len(x)
    return k, x[:k].sum()


programs.add(place_of_the_first, (ramp(9), 0.5), (ramp(9), 99.0), parity="order")


def none_is_an_error(x, limit):
    return next(v * v for v in x if v > limit)


programs.add(none_is_an_error, (ramp(9), 0.5), (ramp(9), 99.0))


def roots(x):
    for k in range(len(x) - 1):
        if x[k] * x[k + 1] <= 0:
            yield k


def first_root(x):
    g = roots(x)
    k = next(g, -1)
    if k < 0:
        return None
    return k, x[k]


programs.add(first_root, (ramp(9),), (ramp(9, 1.0, 2.0),))


def first_row(a, limit):
    return next((r.sum() for r in a if r.max() > limit), 0.0)


programs.add(first_row, (table(4, 3), 1.0), (table(4, 3), 99.0), parity="order")


def enumerated(x):
    s, last = 0.0, -1
    for k, v in enumerate(positive(x), start=2):
        s += k * v
        last = k
    return s, last


programs.add(enumerated, (ramp(4),), (mixed(30),), (-np.ones(3),))


def stored_at_numbers(x):
    for k, v in enumerate(positive(x)):
        x[k] = v
    return x


programs.add(stored_at_numbers, (ramp(9),), (mixed(30),))


def left_early(x, limit):
    for k, v in enumerate(told(x)):
        print("takes", k, v)
        if v > limit:
            break
    else:
        k = -1
    return k


programs.add(left_early, (ramp(5), 0.0), (ramp(5), 9.0), (mixed(30), 2.0))


def beside_rows(x, y):
    s = 0.0
    for a, b in zip(y, told(x), strict=False):
        s += a * b
    for b, a in zip(told(x), y, strict=False):
        s -= a * b
    return s


programs.add(beside_rows, (ramp(5), ramp(3)), (ramp(3), ramp(5)), (ramp(4), ramp(4)[:0]))


def overwriting(x):
    for k in range(len(x)):
        x[k] = 10.0 * k
        yield x[k] + 1


def read_before_it_is_overwritten(x):
    return [a * b for a, b in zip(x, overwriting(x), strict=False)], x


programs.add(
    *(read_before_it_is_overwritten, (ramp(5),), (mixed(20),)),
    eager="the generator stores into what is read before it",
)


def read_after_it_is_overwritten(x):
    s = 0.0
    for b, a in zip(overwriting(x), x, strict=False):
        s += a * b
    return s


programs.add(read_after_it_is_overwritten, (ramp(5),), (mixed(20),))


def beside_several(x):
    s = 0.0
    for k, a, f in zip(range(99), doubled(x), [x[0], x[1]], strict=False):
        s += k * a * f
    for k, (v, f) in enumerate(zip(x, fibonacci(), strict=False)):
        s += k * f * v
    return s


programs.add(beside_several, (ramp(5),), (mixed(20),))


def mapped_and_filtered(x):
    large = filter(lambda v: v > 0.25, map(lambda v, w: v * w, doubled(x), x))
    return sum(large), list(map(abs, doubled(x)))[0], len(list(filter(None, doubled(x))))


programs.add(mapped_and_filtered, (ramp(5),), (mixed(20),))


def in_each_other(x):
    s = 0.0
    for k, v in enumerate(positive(x)):
        for j, w in enumerate(positive(x)):
            if w > v:
                continue
            s += k * v * j * w
    return s


programs.add(in_each_other, (ramp(5),), (mixed(12),))


def found_by_a_search(x, y):
    return (
        any(a > b for a, b in zip(doubled(x), y, strict=False)),
        max(enumerate(doubled(x)), key=lambda p: p[1]),
        next(filter(lambda v: v > 0.5, doubled(x)), None),
        next(enumerate(doubled(x))),
    )


programs.add(found_by_a_search, (ramp(5), mixed(5)), (-ramp(5), ramp(9)))


def a_part_of_them(x, n):
    s = 0.0
    for v in itertools.islice(told(x), n):
        s += v
    return s, sum(itertools.islice(fibonacci(), 9))


programs.add(a_part_of_them, (ramp(5), 2), (mixed(9), 0), (mixed(9), 20), (ramp(5), -1))


def as_long_as(x, limit):
    for k, v in enumerate(itertools.takewhile(lambda v: v < limit, told(x))):
        print(k, v)
    return sum(itertools.takewhile(lambda v: v < limit, doubled(x)))


programs.add(as_long_as, (ramp(5), 0.5), (mixed(20), 3.0), (ramp(4), 9.0))


def in_order(x):
    return sorted(positive(x))[-1], sorted(doubled(x), key=lambda v: -v)[0]


programs.add(in_order, (ramp(5),), (mixed(20),))


def unpacked(x):
    a, b, *rest = doubled(x[:4])
    return a * b, rest


programs.add(unpacked, (ramp(5),), (mixed(9),))


def taken_twice(x):
    g = doubled(x)
    return next(g) + 10 * next(g) + sum(g)


programs.add(taken_twice, (ramp(5),), (mixed(9),), eager="a generator that goes on later")


def one_for_each_turn(x):
    g, s = doubled(x), 0.0
    for k in range(len(x)):
        s += k * next(g)
    return s


programs.add(one_for_each_turn, (ramp(5),), (mixed(9),), eager="a generator that goes on later")


def two_at_once(x):
    return [a * b for a, b in zip(doubled(x), positive(x), strict=False)]


programs.add(two_at_once, (ramp(5),), (mixed(9),), eager="two generators in turns")


def closed(x):
    g = doubled(x)
    first = next(g)
    g.close()
    return first, hasattr(g, "send")


programs.add(closed, (ramp(5),), (mixed(9),), eager="a method of a generator")


class Rows:
    """An object of which each loop asks for a generator of its own."""

    def __init__(self, x):
        self.x, self.asked = x, 0

    def __iter__(self):
        self.asked += 1
        for v in self.x:
            if v < -50:
                raise ValueError("too low")
            yield v * 2


class Pair:
    """An object that is no generator's, but iterated over as well."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def __iter__(self):
        return iter((self.a, self.b))


def functions_of_an_object(x):
    rows = Rows(x)
    return sum(rows), max(rows), any(v > 3 for v in rows), list(rows), rows.asked


def loops_over_an_object(x):
    rows, pair, total = Rows(x), Pair(x, 2.0), 0.0
    for v in rows:
        for k, w in enumerate(rows):
            total += v * w * k
    for v, k in zip(rows, range(4), strict=False):
        total -= v * k
    a, b = pair
    return total, [v + 1 for v in rows if v > 0], list(map(abs, rows)), sum(a) * b, rows.asked


def an_object_raises(x):
    rows, total = Rows(x), 0.0
    try:
        for v in rows:
            total += v
    except ValueError as e:
        return str(e), total, rows.asked
    return "", total, rows.asked


programs.add(functions_of_an_object, (ramp(9),), (mixed(40),), (mixed(17),), parity="ulp", ulp=8)
programs.add(loops_over_an_object, (ramp(9),), (mixed(40),), (mixed(17),), parity="ulp", ulp=64)
programs.add(an_object_raises, (ramp(9),), (mixed(40) * 100,), (mixed(17),), parity="ulp", ulp=8)
