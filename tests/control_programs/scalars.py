"""Iterations over float state, escape times and state machines."""

# ruff: noqa: B007

import math

import numpy as np

from tests.control_programs.program import Programs, mixed, ramp, whole

programs = Programs("scalars")


def newton_cube_root(a):
    x = a if a > 1 else 1.0
    for step in range(60):
        y = (2 * x + a / (x * x)) / 3
        if abs(y - x) <= 1e-14 * abs(y):
            return y, step
        x = y
    return x, -1


programs.add(newton_cube_root, (27.0,), (0.001,), (1e9,), (1.0,), (-8.0,), (math.nan,))


def bisection(low, high, tolerance):
    def f(x):
        return x * x * x - x - 6

    if f(low) * f(high) > 0:
        raise ValueError("no change of sign")
    n = 0
    while high - low > tolerance:
        middle = 0.5 * (low + high)
        if f(middle) == 0:
            return middle, n
        if f(low) * f(middle) < 0:
            high = middle
        else:
            low = middle
        n += 1
    return 0.5 * (low + high), n


programs.add(bisection, (1.0, 2.5, 1e-9), (0.0, 1.0, 1e-9), (1.0, 3.0, 5.0), (0.0, 4.0, 0.5))


def exact_bisection(target):
    low, high = 0.0, 16.0
    while True:
        middle = (low + high) / 2
        if middle * middle == target:
            return middle
        if middle * middle < target:
            low = middle
        else:
            high = middle
        if high - low < 1e-6:
            return -1.0


programs.add(exact_bisection, (4.0,), (2.0,), (225.0,))


def julia_escape(re, im, most):
    """Escape time of one point; real arithmetic."""
    n = 0
    while n < most and re * re + im * im <= 4.0:
        re, im = re * re - im * im - 0.8, 2 * re * im + 0.156
        n += 1
    return n


programs.add(julia_escape, (0.0, 0.0, 50), (1.5, 0.5, 50), (3.0, 0.0, 50), (0.1, 0.1, 0))


def julia_image(height, width, most):
    image = np.zeros((height, width), dtype=np.int64)
    for i in range(height):
        for j in range(width):
            x = -1.5 + 3.0 * j / width
            y = -1.0 + 2.0 * i / height
            for n in range(most):
                if x * x + y * y > 4.0:
                    break
                x, y = x * x - y * y - 0.4, 2.0 * x * y + 0.6
            image[i, j] = n
    return image


programs.add(julia_image, (3, 4, 12), (5, 6, 20), (2, 2, 1))


def mandelbrot_complex(c, most):
    z = 0j
    for n in range(most):
        if z.real * z.real + z.imag * z.imag > 4:
            return n
        z = z * z + c
    return most


programs.add(mandelbrot_complex, (0.5 + 0.5j, 30), (-1 + 0j, 30), (2 + 2j, 5))


def state_machine(symbols):
    """Counts words in 0 = space, 1 = letter, 2 = quote."""
    state = 0
    words = 0
    for s in symbols:
        if state == 0:
            if s == 1:
                state = 1
                words += 1
            elif s == 2:
                state = 2
        elif state == 1:
            if s == 0:
                state = 0
            elif s == 2:
                state = 2
        else:
            if s == 2:
                state = 0
    return words, state


programs.add(
    state_machine,
    (np.array([0, 1, 1, 0, 2, 1, 0, 2, 1]),),
    (whole(50, 0, 3),),
    (np.array([1, 2]),),
)


def exponential_series(x):
    term = total = 1.0
    n = 1
    while abs(term) > 1e-17 * abs(total):
        term = term * x / n
        total += term
        n += 1
        if n > 200:
            break
    return total, n


programs.add(exponential_series, (1.0,), (0.0,), (-3.5,), (500.0,))


def continued_fraction(x, n):
    terms = np.zeros(n, dtype=np.int64)
    for i in range(n):
        whole_part = int(x // 1)
        terms[i] = whole_part
        rest = x - whole_part
        if rest < 1e-9:
            return terms, i
        x = 1 / rest
    return terms, n


programs.add(continued_fraction, (3.245, 4), (2.5, 6), (0.7, 3))


def golden_section(low, high):
    ratio = (5**0.5 - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    fa, fb = (a - 2) * (a - 2), (b - 2) * (b - 2)
    while high - low > 1e-5:
        if fa < fb:
            high, b, fb = b, a, fa
            a = high - ratio * (high - low)
            fa = (a - 2) * (a - 2)
        else:
            low, a, fa = a, b, fb
            b = low + ratio * (high - low)
            fb = (b - 2) * (b - 2)
    return (low + high) / 2


programs.add(golden_section, (0.0, 5.0), (-10.0, 30.0), (1.0, 1.0))


def secant(x0, x1, most):
    def f(x):
        return x * x - 612.0

    for n in range(most):
        if f(x1) == f(x0):
            return x1, n
        x0, x1 = x1, x1 - f(x1) * (x1 - x0) / (f(x1) - f(x0))
    return x1, most


programs.add(secant, (10.0, 30.0, 5), (10.0, 30.0, 60), (-1.0, 1.0, 3))


def float_state_with_bound(x, most):
    """A logistic map until it comes near a point, or `most` steps."""
    n = 0
    while n < most and abs(x - 0.75) > 1e-3:
        x = 3.7 * x * (1.0 - x)
        n += 1
    return x, n


programs.add(float_state_with_bound, (0.5, 10), (0.1, 300), (0.75, 10), (0.3, 0))


def clamp_walk(x, low, high):
    position = 0.0
    hits = 0
    for step in x:
        position += step
        if position > high:
            position, hits = high, hits + 1
        elif position < low:
            position, hits = low, hits + 1
    return position, hits


programs.add(clamp_walk, (mixed(9), -3.0, 3.0), (mixed(60), -5.0, 5.0), (ramp(3), -99.0, 99.0))
