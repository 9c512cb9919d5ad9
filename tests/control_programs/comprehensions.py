"""Comprehensions, and `sum`, `any`, `all`, `max` over them."""

# ruff: noqa: B905, C419

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table, whole

programs = Programs("comprehensions")


def over_range(x):
    return [x * i for i in range(3)]


programs.add(over_range, (ramp(3),), (mixed(9),), (2.5,))


def with_condition_on_index(x):
    return [x[i] for i in range(6) if i % 2]


programs.add(with_condition_on_index, (ramp(6),), (mixed(11),))


def with_ternary(x):
    return np.array([v * 2 if v > 0 else -v for v in (x[0], x[1], x[2])])


programs.add(with_ternary, (ramp(3),), (mixed(8),), (-ramp(3),))


def over_rows(m):
    return [row.max() for row in m]


programs.add(over_rows, (table(3, 4),), (table(5, 2),))


def array_from_rows(m):
    return np.stack([row / row.max() if row.max() > 1 else row for row in m])


programs.add(array_from_rows, (table(3, 4),), (table(6, 3) / 2,))


def nested(x):
    return [[a * b for a in (x[0], x[1])] for b in (1.0, x[1], x[2])]


programs.add(nested, (ramp(3),), (mixed(9),))


def dict_of_results(x):
    return {name: x * k for k, name in enumerate(("none", "one", "two"))}


programs.add(dict_of_results, (ramp(3),), (mixed(9),))


def sum_of_generator(x):
    return sum(x[i] * i for i in range(4))


programs.add(sum_of_generator, (ramp(4),), (mixed(9),))


def sum_over_array(x):
    return sum(v * v for v in x if v > 0)


programs.add(sum_over_array, (ramp(5),), (mixed(9),), (-ramp(5, 1, 2),))


def any_of(x):
    if any(v > 2 for v in x):
        return x.max()
    return 0.0


programs.add(any_of, (ramp(4),), (ramp(4, 2, 3),), (mixed(9),))


def all_of(x, y):
    if all([a < b for a, b in zip(x, y)]):
        return y - x
    return x - y


programs.add(all_of, (ramp(3), ramp(3) + 1), (ramp(3), -ramp(3)), (mixed(8), mixed(8, 1)))


def max_of(x):
    return max([abs(x[i]) for i in range(3)]), min(x[i] for i in range(3))


programs.add(max_of, (ramp(3),), (mixed(9),), (-ramp(3),))


def captured_in_comprehension(x, k):
    scaled = [v * k for v in (x[0], x[1])]
    k = k + 1
    return scaled, [v * k for v in (x[0], x[1])]


programs.add(captured_in_comprehension, (ramp(3), 2.0), (mixed(9), -1.5))


def inside_a_loop(x, n):
    a = x[0]
    b = x[1]
    for i in range(n):
        a, b = [v * 0.5 + i for v in (b, a)]
    return a, b


programs.add(inside_a_loop, (ramp(3), 3), (ramp(3), 0), (mixed(8), 11))


def filtered_by_value(x):
    return [v for v in x if v > 0]


programs.add(
    filtered_by_value,
    (ramp(4),),
    (mixed(9),),
    eager="the length of the list depends on the numbers",
)


def walrus_in_comprehension(x):
    doubled = [(last := x[i] * 2) for i in range(3)]
    return doubled, last


programs.add(walrus_in_comprehension, (ramp(3),), (mixed(9),))


def count_in_set(x):
    return len({k % 3 for k in range(7)}) * x


programs.add(count_in_set, (ramp(3),), (1.5,), (whole(9),))
