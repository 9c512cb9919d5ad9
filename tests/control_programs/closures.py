"""Lambdas, closures over live cells, methods, partials and callable objects."""

import functools

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp

programs = Programs("closures")

RATE = 0.5
TABLE = np.array([1.0, -2.0, 4.0])


relu = lambda x: x if x > 0 else 0.0  # noqa: E731

programs.add(relu, (2.0,), (-2.0,), (np.float64(1.0),), (np.float64(-1.0),))

low, high = (lambda x: -1.0 if x < -1 else x), (lambda x: 1.0 if x > 1 else x)


def two_lambdas_on_one_line(x):
    return high(low(x))


programs.add(two_lambdas_on_one_line, (0.5,), (-3.0,), (3.0,), (np.float64(0.25),))
programs.add(low, (0.5,), (-3.0,))
programs.add(high, (0.5,), (3.0,))


def make_counter(step):
    def count(x, n):
        total = x
        for _ in range(n):
            if total > 10:
                total -= step
            else:
                total += 2 * step
        return total

    return count


programs.add(make_counter(1.5), (0.0, 3), (20.0, 4), (0.0, 40))
programs.add(make_counter(3), (0, 3), (20, 4), (0, 40), (1, 0))


def nonlocal_in_loop(x):
    total = 0.0
    calls = 0

    def add(v):
        nonlocal total, calls
        if v > 0:
            total += v
        calls += 1

    for i in range(len(x)):
        add(x[i])
    return total, calls


programs.add(
    nonlocal_in_loop,
    (ramp(4),),
    (mixed(19),),
    (-ramp(4, 1, 2),),
    eager="a closure that rebinds its variable",
)


def closure_made_in_branch(x, y):
    if x > 0:

        def f(v):
            return v + x
    else:

        def f(v):
            return v * y

    return f(10.0)


programs.add(closure_made_in_branch, (1.0, 2.0), (-1.0, 2.0), (np.float64(3.0), 4.0), (-3.0, 0.5))


def closure_over_loop_variable(x):
    s = 0.0
    for i in range(len(x)):
        f = lambda v: v * i  # noqa: B023, E731
        s += f(x[i])
    return s


programs.add(closure_over_loop_variable, (ramp(4),), (mixed(15),))


def globals_in_conditions(x):
    if x > RATE:
        return x - RATE
    k = 0
    while k < len(TABLE) and TABLE[k] < 3:
        x += TABLE[k]
        k += 1
    return x


programs.add(globals_in_conditions, (2.0,), (0.25,), (-7.0,), (np.float64(0.5),))


class Filter:
    """A model with parameters and a state."""

    def __init__(self, rate, limit):
        self.rate = rate
        self.limit = limit

    def step(self, state, value):
        if abs(value - state) > self.limit:
            return state
        return state + self.rate * (value - state)

    def run(self, x):
        state = x[0]
        for i in range(1, len(x)):
            state = self.step(state, x[i])
        return state

    def __call__(self, x):
        out = np.zeros(len(x))
        for i in range(len(x)):
            out[i] = self.step(0.0, x[i])
        return out

    @property
    def wide(self):
        return self.limit > 1

    @staticmethod
    def halve(x):
        return x / 2 if x > 1 else x

    @classmethod
    def make(cls, x):
        return cls(0.5, x).limit * 2


programs.add(Filter(0.5, 2.0).run, (ramp(5),), (mixed(23),), (np.array([0.0, 5.0]),))
programs.add(Filter(0.25, 0.5), (ramp(5),), (mixed(23),))
programs.add(Filter.halve, (3.0,), (0.5,), (np.float64(2.5),))


def uses_objects(x):
    f = Filter(0.5, 3.0)
    s = 0.0
    for v in x:
        if f.wide:
            s = f.step(s, v)
        else:
            s = 0.0  # never
    return s, Filter.halve(s), Filter.make(s)


programs.add(uses_objects, (ramp(5),), (mixed(20),), (ramp(5, 9, 10),))


class Shape:
    def area(self, x):
        return x * 0

    def double(self, x):
        if x > 3:
            return self.area(x)
        return 2 * self.area(x)


class Square(Shape):
    def area(self, x):
        return super().area(x) + x * x


programs.add(Square().double, (2.0,), (4.0,), (np.float64(1.5),), (np.float64(-9.0),))


def power_mean(p, x, start=0.0):
    s = start
    for v in x:
        if v > 0:
            s += v**p
    return s / len(x)


programs.add(functools.partial(power_mean, 2), (ramp(4),), (mixed(19),), (ramp(4), 1.5))
programs.add(functools.partial(power_mean, 3, start=2.0), (ramp(4),), (mixed(19),))


def partial_inside(x):
    f = functools.partial(power_mean, start=1.0)
    return f(2, x) if x[0] > 0 else f(1, x)


programs.add(partial_inside, (ramp(4),), (ramp(4, 1, 2),), (mixed(12),), (-mixed(12),))


def default_arguments(x, rate=0.5, table=TABLE):
    for v in table:
        if v > 0:
            x = x + rate * v
    return x


programs.add(default_arguments, (1.0,), (1.0, 2.0), (np.float64(3.0), 0.25, ramp(7)))


def conditional_function(x, y):
    f = np.maximum if x[0] > y[0] else np.minimum
    return f(x, y)


programs.add(
    conditional_function, (ramp(4), -ramp(4)), (-ramp(4), ramp(4)), (mixed(9), mixed(9, 1))
)


def immediately_called(x):
    return (lambda v: v + 1 if v < 0 else v - 1)((lambda v: v * 2)(x))


programs.add(immediately_called, (2.0,), (-2.0,), (np.float64(0.0),))


def shared_by_functions(a, state=1.0):
    """Inner functions bind names of the function around them, a parameter among these."""
    best, count = a[0], 0

    def step(x):
        nonlocal state
        state = state * x + 1
        return state

    def look():
        def at(x):
            nonlocal best, count
            count += 1
            if x > best:
                best = x

        for x in a:
            at(x)

    out = np.zeros(len(a))
    for i in range(len(a)):
        out[i] = step(a[i])
    look()
    return out, state, best, count


programs.add(shared_by_functions, (ramp(5),), (mixed(9),), (mixed(30), 2.0))


def shared_in_a_recursion(a):
    total = 0.0

    def walk(low, high):
        nonlocal total
        if high - low == 1:
            total += a[low] * low
            return
        middle = (low + high) // 2
        walk(low, middle)
        walk(middle, high)

    walk(0, len(a))
    return total


programs.add(shared_in_a_recursion, (ramp(5),), (mixed(40),), (ramp(1),))


def hidden_by_inner_names(a):
    x, y = 3, a * 2

    def change():
        nonlocal x, y
        x += 1
        y = y + x
        return [x * i for i in range(3)], sum([x + 1 for x in range(4)])

    def other(x):
        x += 1
        return x

    first = change()
    if a[0] > 0:
        change()
    return first, x, y, other(x)


programs.add(hidden_by_inner_names, (ramp(3),), (-ramp(3),), (mixed(8),))


def unlike_on_two_sides(a):
    def more():
        nonlocal q
        q += 1

    if a[0] > 0:
        q = 1
    else:
        q = 2.5
    more()
    return q


programs.add(unlike_on_two_sides, (ramp(3),), (-ramp(3),))


def given_by_position_alone(x):
    """Parameters that have only a position keep their defaults."""

    def g(a, b=1, /, c=2):
        return a + 10 * b + 100 * c

    return g(x[0], c=3), g(x[0], 4, c=5), g(x[0])


programs.add(given_by_position_alone, (ramp(3),), (-ramp(3),))


def returning_differs(x):
    """A list that both sides of a branch change before they return is read after the call."""
    values = [0.0]

    def choose():
        if x[0] > 0:
            values[0] = 1.0
            return 1
        else:
            values[0] = 2.0
            return 2

    k = choose()
    return values[0] + k


programs.add(returning_differs, (ramp(3),), (-ramp(3),))
