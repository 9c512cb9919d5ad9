"""`print` of traced values, in order, in branches and loops."""

import sys

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, table

programs = Programs("prints")


def one_line(x):
    print("x is", x)
    return x * 2


programs.add(one_line, (1.5,), (ramp(3),), (np.float64(2.0),), (7,), (ramp(9),))


def in_branch(x):
    if x > 0:
        print("positive", x)
    else:
        print("not positive")
    print("done")
    return -x


programs.add(in_branch, (1.5,), (-1.5,), (np.float64(2.0),), (np.float64(-2.0),))


def in_loop(x):
    s = 0.0
    for i in range(len(x)):
        s += x[i]
        print(i, x[i], s)
    return s


programs.add(in_loop, (ramp(3),), (mixed(7),), (np.zeros(0),))


def some_iterations(x, n):
    for i in range(n):
        x = x * 0.5
        if i % 3 == 1:
            print("step", i, "max", x.max(), sep=" | ")
        if x.max() < 0.1:
            print("small after", i)
            break
    else:
        print("never small")
    return x


programs.add(some_iterations, (ramp(4), 3), (ramp(4), 20), (mixed(9), 0), (mixed(9), 2))


def in_while(x):
    while x > 1:
        print("halve", x, end="; ")
        x /= 2
    print()
    return x


programs.add(in_while, (9.0,), (0.5,), (np.float64(70.0),))


def with_f_strings(x, n):
    for i in range(n):
        print(f"[{i}] x = {x} twice {x * 2:.3f} {i:>4d}|{n!r}")
        x = x + 0.25
    return x


programs.add(with_f_strings, (1.5, 2), (1.5, 5), (np.float64(-2.0), 3), (0.1, 0))


def helper(name, v):
    if v < 0:
        print(name, "is negative:", v)
        return 0.0
    return v


def from_helpers(x):
    return [helper("first", x[0]), helper("second", x[1]), helper("last", x[-1])]


programs.add(from_helpers, (ramp(3),), (mixed(8),), (-ramp(3),))


def arrays_and_rows(m):
    for row in m:
        if row[0] > 0:
            print(row)
    print(m.shape, m.dtype, m)
    return m.max()


programs.add(arrays_and_rows, (table(2, 2),), (table(5, 3),))


def before_error(x, i):
    print("reading", i)
    y = x[i]
    print("read", y)
    return y


programs.add(before_error, (ramp(3), 1), (ramp(3), 7), (ramp(9), -2), (ramp(9), -20))


def around_stores(x):
    print("before", x)
    for i in range(len(x)):
        x[i] = x[i] * 2
        if x[i] > 2:
            print("at", i, x)
    print("after", x)


programs.add(around_stores, (ramp(3),), (ramp(8),))


def keywords(x):
    print(x, x + 1, sep=",", end="\n--\n", file=sys.stdout)
    print("a", x, flush=True)
    print(end="")
    print(x > 0, None, (x, 1), [x])
    return x


programs.add(keywords, (1.5,), (np.float64(2.5),), (3,), (ramp(2),))


def kinds(n, x):
    print(n, n / 2, n > 1, x.astype("f4")[0], x.astype("i2"), complex(n, 1))
    return n


programs.add(kinds, (3, ramp(2)), (-4, ramp(2)), (0, ramp(5)))


def only_effects(x):
    for v in x:
        if v > 0:
            print("+", end="")
        else:
            print("-", end="")
    print()


programs.add(only_effects, (ramp(4),), (mixed(25),))
