"""Functions that call themselves and each other."""

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp

programs = Programs("recursion")


def factorial(n):
    if n <= 1:
        return 1
    return n * factorial(n - 1)


programs.add(factorial, (1,), (5,), (10,), (20,), (0,), (15,))


def gcd(a, b):
    return a if b == 0 else gcd(b, a % b)


programs.add(gcd, (12, 18), (7, 0), (1071, 462), (17, 5), (0, 4))


def power(x, n):
    if n == 0:
        return 1.0
    half = power(x, n // 2)
    if n % 2:
        return half * half * x
    return half * half


programs.add(power, (1.5, 3), (2.0, 10), (-1.5, 7), (3.0, 0), (0.5, 21))


def is_even(n):
    return True if n == 0 else is_odd(n - 1)


def is_odd(n):
    return False if n == 0 else is_even(n - 1)


programs.add(is_even, (4,), (7,), (0,), (20,))


def fibonacci(n):
    if n < 2:
        return n
    return fibonacci(n - 1) + fibonacci(n - 2)


programs.add(fibonacci, (1,), (7,), (10,), (0,))


def refine(f, a, b, depth):
    """Adaptive midpoint rule: the recursion's depth is a Python number, its decisions traced."""
    middle = (a + b) / 2
    whole = f(middle) * (b - a)
    parts = f((a + middle) / 2) * (middle - a) + f((middle + b) / 2) * (b - middle)
    if depth == 0 or abs(whole - parts) < 1e-3:
        return parts
    return refine(f, a, middle, depth - 1) + refine(f, middle, b, depth - 1)


def integrate(a, b):
    return refine(lambda x: x * x * x - x, a, b, 3)


programs.add(integrate, (0.0, 1.0), (0.0, 0.01), (-2.0, 3.0))


def evaluate_polynomial(c, x):
    """Splits the coefficients in halves."""
    if len(c) == 1:
        return c[0]
    h = len(c) // 2
    return evaluate_polynomial(c[:h], x) + x**h * evaluate_polynomial(c[h:], x)


programs.add(evaluate_polynomial, (ramp(4), 0.5), (ramp(4), -2.0), (mixed(7), 1.5), (ramp(1), 3.0))


def ackermann_row(m, n):
    if m == 0:
        return n + 1
    if n == 0:
        return ackermann_row(m - 1, 1)
    return ackermann_row(m - 1, ackermann_row(m, n - 1))


programs.add(ackermann_row, (0, 3), (1, 2), (2, 3))


def flatten(tree):
    """Walks a Python structure that holds arrays."""
    if isinstance(tree, (list, tuple)):
        total = 0.0
        for branch in tree:
            total = total + flatten(branch)
        return total
    if tree.max() > 1:
        return tree.max()
    return tree[0]


programs.add(
    flatten,
    ([ramp(3), (ramp(4), [ramp(2)])],),
    ([ramp(3, 0, 1), (ramp(4), [ramp(2)])],),
    ((mixed(5), mixed(6)),),
)


def digits_in_base(n, base):
    if n < base:
        return n
    return digits_in_base(n // base, base) * 10 + n % base


programs.add(digits_in_base, (5, 2), (100, 3), (0, 7), (255, 4))


def countdown(x):
    """The recursion ends by a traced float."""
    if x < 1:
        return x
    return countdown(x / 2) + 1


programs.add(countdown, (10.0,), (0.5,), (np.float64(300.0),))
