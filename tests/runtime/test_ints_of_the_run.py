"""Ints that lead another way through a function at each call: numbers of the run, in the end."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit


def collatz(n: Any) -> Any:
    steps, largest = 0, n
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
        largest = max(largest, n)
    return steps, largest


def happy(n: Any) -> Any:
    seen = 0
    while n != 1 and n != 4:
        total = 0
        while n:
            total += (n % 10) ** 2
            n //= 10
        n = total
        seen += 1
    return n == 1, seen


def power_modulo(n: Any) -> Any:
    b, e, result = n, n + 3, 1
    while e > 0:
        if e & 1:
            result = result * b % 1009
        b = b * b % 1009
        e >>= 1
    return result


def doubling(n: Any) -> Any:
    k = 0
    while n != 1 and k < 40:
        n = (n // 2) * (n // 3 + 1) % 1009
        k += 1
    return n, k


def mixing(n: Any) -> Any:
    a, b = n, n + 1
    for _ in [1] * 25:
        a, b = (a + b) // 2, (a * b) // 3 % 101
    return a, b


def halves(n: Any) -> Any:
    x, sums = np.arange(100.0), []
    while n > 1:
        n //= 2
        sums.append(float(x[:n].sum()))
    return sums


def shapes(n: Any) -> Any:
    if n > 50:
        return np.ones(n // 10)
    return np.zeros(n) if n > 20 else np.full(n, 2.0)


@pytest.mark.parametrize("f", [collatz, happy, power_modulo, doubling, mixing, halves, shapes])
def test_a_value_of_its_own_at_each_call(f: Any) -> None:
    jitted = tracejit.jit(f, strict=True)
    for n in (6, 27, 97, *range(1, 100)):
        expected, given = f(n), jitted(n)
        assert np.array_equal(expected, given) and type(expected) is type(given), n
    assert len(jitted.report().variants) <= 9
