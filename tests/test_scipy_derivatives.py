"""Derivatives of SciPy's functions of matrices and signals, and their batches."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import tracejit
from tests.test_host_derivatives import (  # noqa: F401 - a fixture
    KINDS,
    F,
    check,
    numbers,
    same_numbers,
)
from tests.test_host_formulas import check_all

DTYPES = {"f": np.float64, "c": np.complex128}
Case = tuple[F, tuple[tuple[int, ...], ...], str]


def run_case(case: Case) -> None:
    f, shapes, kinds = case
    for kind in kinds:
        check_all(f, *(numbers(*shape, dtype=DTYPES[kind]) for shape in shapes))


def positive(x: Any) -> Any:
    return x @ np.conj(x.T) + 4 * np.eye(len(x))


def strong(x: Any) -> Any:
    """Matrices far from singular."""
    return x + 4 * np.eye(x.shape[-1])


SYSTEMS: list[Case] = [
    (lambda a, b: sl.solve(strong(a), b), ((3, 3), (3,)), "fc"),
    (lambda a, b: sl.solve(strong(a), b), ((3, 3), (3, 2)), "fc"),
    (lambda a, b: sl.solve(strong(a), b, transposed=True), ((3, 3), (3, 2)), "f"),
    (lambda a, b: sl.solve(a + a.T, b, assume_a="sym"), ((3, 3), (3,)), "fc"),
    (lambda a, b: sl.solve(strong(a + np.conj(a.T)), b, assume_a="her"), ((3, 3), (3,)), "fc"),
    (lambda a, b: sl.solve(positive(a), b, assume_a="pos", lower=True), ((3, 3), (3, 1)), "fc"),
    (lambda a, b: sl.solve(strong(a), b, assume_a="upper triangular"), ((3, 3), (3,)), "f"),
    (lambda a: sl.inv(strong(a)), ((3, 3),), "fc"),
    (lambda a: sl.det(strong(a)), ((3, 3),), "fc"),
    (lambda a, b: sl.solve_triangular(strong(a), b), ((3, 3), (3,)), "fc"),
    (lambda a, b: sl.solve_triangular(strong(a), b, lower=True, trans=1), ((3, 3), (3, 2)), "fc"),
    (lambda a, b: sl.solve_triangular(strong(a), b, trans="C"), ((3, 3), (3, 2)), "fc"),
    (lambda a, b: sl.solve_triangular(a, b, lower=True, unit_diagonal=True), ((3, 3), (3,)), "fc"),
    (lambda a: sl.cholesky(positive(a)), ((3, 3),), "fc"),
    (lambda a: sl.cholesky(positive(a), lower=True), ((3, 3),), "fc"),
    (lambda a: sl.cho_factor(positive(a))[0], ((3, 3),), "fc"),
    (lambda a: sl.cho_factor(positive(a), lower=True)[0], ((3, 3),), "fc"),
    (lambda a, b: sl.cho_solve(sl.cho_factor(positive(a)), b), ((3, 3), (3,)), "fc"),
    (lambda a, b: sl.cho_solve((sl.cholesky(positive(a), True), True), b), ((3, 3), (3, 2)), "fc"),
    (lambda a, b: sl.cho_solve((sl.cholesky(positive(a)), False), b), ((3, 3), (3, 2)), "f"),
    (lambda a: sl.lu_factor(a)[0], ((3, 3),), "fc"),
    (lambda a: sl.lu(a)[1:], ((3, 3),), "fc"),
    (lambda a, b: sl.lu_solve(sl.lu_factor(a), b), ((3, 3), (3,)), "fc"),
    (lambda a, b: sl.lu_solve(sl.lu_factor(a), b, trans=1), ((3, 3), (3, 2)), "fc"),
    (lambda a, b: sl.lu_solve(sl.lu_factor(a), b, trans=2), ((3, 3), (3, 2)), "fc"),
    (
        lambda a, b, q: sl.solve_sylvester(strong(a), strong(b), q),
        ((3, 3), (2, 2), (3, 2)),
        "fc",
    ),
    (lambda a, q: sl.solve_continuous_lyapunov(strong(a), q), ((3, 3), (3, 3)), "fc"),
    (lambda a, q: sl.solve_discrete_lyapunov(a / 9, q), ((3, 3), (3, 3)), "fc"),
]


@pytest.mark.parametrize("k", range(len(SYSTEMS)))
def test_systems(k: int) -> None:
    run_case(SYSTEMS[k])


def test_interchanges_out_of_range_while_tracing() -> None:
    """What a call gives is found without LAPACK seeing interchanges of rows that there are not."""
    (lu, piv), b = sl.lu_factor(strong(numbers(9, 9))), numbers(9)
    f = tracejit.jit(lambda lu, piv, b: sl.lu_solve((lu, piv), b))
    np.testing.assert_array_equal(f(lu, piv, b), sl.lu_solve((lu, piv), b))
