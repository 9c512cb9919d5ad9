"""Calls with numbers of the wrong kind, or of Python's: functions of no, one or two arguments."""

import numpy as np

ONES, THREE = np.ones((3, 3)), np.arange(3.0)
INF, NAN = np.inf, np.nan

CASES = (
    (lambda a, w: np.average(a, weights=w), THREE, np.array([1.0, -1.0, 0.0])),
    (lambda a, w: np.average(a, axis=1, weights=w), ONES, np.zeros(3)),
    (lambda a, w: np.average(a, weights=w), THREE, np.zeros(3, int)),
    (lambda a: np.triu(a, 1.5), ONES),
    (lambda a: np.tril(a, 0.5), ONES),
    (lambda a, k: np.tril(a, k), ONES, -0.5),
    *((lambda k=k: np.tri(3, k=k),) for k in (0.5, INF, NAN, True, np.uint8(1), (0, 1))),
    *((lambda k=k: np.eye(3, k=k),) for k in (1.5, INF, NAN, np.float64(1))),
    (lambda a: np.ediff1d(a), np.array([True, False])),
    (lambda a, b: np.isclose(a, b), 1e308, np.float32(INF)),
    (lambda a, b: np.isclose(a, b), np.array([0.1], np.float32), 0.1 + 1e-9),
    (lambda a, b: np.isclose(a, b), 3, 3),
    *((lambda z: (np.real(z), np.imag(z)), z) for z in (1 + 2j, 2.5, 2, True, np.float32(2))),
    *((lambda a, n=n: np.linspace(a, 1, n, retstep=True), 0.0) for n in (0, 1, 2)),
    (lambda a: np.round(a), np.array([0.3 - 0.2j, -0.3 - 0.0j])),
    (lambda a: np.round(a, 1), np.complex128(0.3 - 0.02j)),
    (lambda a, d: np.var(a, ddof=d), THREE, 7),
    (lambda a, d: np.std(a, ddof=d), THREE, INF),
    (lambda a: a.var(ddof=5), THREE),
    (lambda a: a.sum(axis=0.0), ONES),
    (lambda a: a.cumsum(axis=(0,)), ONES),
    (lambda a: np.sum(a, keepdims=1), ONES),
    (lambda a: np.sort(a, kind="x"), THREE),
    (lambda a: np.clip(a, 0), THREE),
    (lambda a: a.clip(1), THREE),
    (lambda a: np.linalg.outer(a, a), ONES),
    (lambda: np.indices(3),),
)
