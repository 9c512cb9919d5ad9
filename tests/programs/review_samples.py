"""Functions whose compiled forms once answered otherwise than NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np


def remainder_of_a_square(x: Any, n: int) -> Any:
    return x[n * n % 10]


def slice_to_a_square(x: Any, n: int) -> Any:
    return x[: n * n]


def square_beyond_a_size(x: Any, n: int) -> Any:
    return 1 if n * n > 5 else 2


def cube_of_a_length(x: Any) -> Any:
    n = len(x)
    return n * (n - 1) * (n - 2) % 7, n**3 // n, x[n**3 % 7], 6.5 / (n * (n**2 - 1))


def rolled(x: Any, n: int) -> Any:
    return np.roll(x, n)


def compared_with_more_than_64_bits(x: Any, n: int) -> Any:
    return n * 2 > 2**63
