"""Functions of one array, and whether their programs call NumPy while they run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.fft
import scipy.special

import tracejit

INTS = np.arange(9).reshape(3, 3)
COMPLEX = INTS * (1 + 1j)
FLOATS = INTS + 0.5


def _squared(a):
    for _ in range(2):
        a = a @ a
    return a


def _one_side(a):
    return np.partition(a, 1) if a[0, 0] > 3 else a


SAMPLES: list[tuple[Callable[..., Any], Any, bool]] = [
    (lambda a: a @ a, INTS, False),
    (lambda a: a @ a, FLOATS, False),
    (lambda a: a @ a[0], INTS, False),
    (_squared, INTS, False),
    (lambda a: np.prod(a), COMPLEX, False),
    (lambda a: np.prod(a), FLOATS, False),
    (lambda a: np.clip(a, 0, 1), COMPLEX, False),
    (lambda a: np.clip(a, 0, 1), FLOATS, False),
    (lambda a: np.sort(a, axis=0), INTS.astype(np.uint8), False),
    (lambda a: np.argsort(a), INTS.astype(np.uint8), False),
    (lambda a: np.log1p(a), COMPLEX, False),
    (lambda a: np.log1p(a[0, 0]), COMPLEX, False),
    (lambda a: np.exp(a), COMPLEX, False),
    (_one_side, INTS, True),
    (lambda a: np.linalg.solve(a + 9 * np.eye(3), a), FLOATS, False),
    (lambda a: np.fft.fft(a), FLOATS, False),
    (lambda a: (scipy.fft.dct(a), a + 1)[1], FLOATS, True),
    (lambda a: a + np.random.standard_gamma(2.0), FLOATS, True),
    (lambda a: np.unique(a, axis=0), INTS, True),
    (lambda a: np.nonzero(a), INTS, False),
    (lambda a: a + np.sort(np.array([3, 1, 2])), INTS, False),
    (tracejit.grad(lambda a: np.sum(np.abs(scipy.fft.fft(scipy.special.rgamma(a))))), FLOATS, True),
    (tracejit.grad(lambda a: np.sum(a @ a)), FLOATS, False),
]
