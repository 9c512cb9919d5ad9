"""Derivatives of SciPy's functions of matrices and signals, and their batches."""

from typing import Any

import numpy as np
import pytest
import scipy.linalg as sl

import tracejit
from tests.ops.host.test_host_derivatives import (  # noqa: F401 - a fixture
    KINDS,
    F,
    check,
    numbers,
    same_numbers,
)
from tests.ops.host.test_host_formulas import check_all

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
    (lambda a, b: sl.solve_banded((1, 1), a + [[0], [4], [0]], b), ((3, 4), (4,)), "fc"),
    (lambda a, b: sl.solve_banded((1, 2), a + [[0], [0], [5], [0]], b), ((4, 5), (5, 2)), "f"),
    (lambda a, b: sl.solve_banded((2, 0), a + [[5], [0], [0]], b), ((3, 3), (3,)), "f"),
    (lambda a, q: sl.solve_continuous_lyapunov(strong(a), q), ((3, 3), (3, 3)), "fc"),
    (lambda a, q: sl.solve_discrete_lyapunov(a / 9, q), ((3, 3), (3, 3)), "fc"),
]


@pytest.mark.sampled(31)
@pytest.mark.parametrize("k", range(len(SYSTEMS)))
def test_systems(k: int) -> None:
    run_case(SYSTEMS[k])


def test_interchanges_out_of_range_while_tracing() -> None:
    """What a call gives is found without LAPACK seeing interchanges of rows that there are not."""
    (lu, piv), b = sl.lu_factor(strong(numbers(9, 9))), numbers(9)
    f = tracejit.jit(lambda lu, piv, b: sl.lu_solve((lu, piv), b))
    np.testing.assert_array_equal(f(lu, piv, b), sl.lu_solve((lu, piv), b))


# Decompositions and functions ---------------------------------------------------------------------


def apart(x: Any) -> Any:
    """Hermitian matrices whose eigenvalues lie apart."""
    return (x + np.conj(np.swapaxes(x, -1, -2))) / 4 + np.diag([1.0, 4.0, 9.0])


def eigen(f: F) -> F:
    """Eigenvalues, and the eigenvectors' part that does not depend on their phases."""

    def g(*args: Any) -> Any:
        w, v = f(*args)
        return w, v[:, None, :] * np.conj(v)[None, :, :]

    return g


DECOMPOSITIONS: list[Case] = [
    (eigen(lambda a: sl.eigh(apart(a))), ((3, 3),), "fc"),
    (eigen(lambda a: sl.eigh(apart(a), lower=False, driver="ev")), ((3, 3),), "f"),
    (lambda a: sl.eigh(apart(a), eigvals_only=True), ((3, 3),), "fc"),
    (lambda a: sl.eigvalsh(apart(a)), ((3, 3),), "fc"),
    (eigen(lambda a: sl.eig(apart(a) + a / 8)), ((3, 3),), "fc"),
    (lambda a: sl.eigvals(apart(a) + a / 8), ((3, 3),), "fc"),
    (lambda a: sl.svd(apart(a)[:2], full_matrices=False), ((3, 3),), "f"),
    (lambda a: sl.svd(apart(a), compute_uv=False), ((3, 3),), "fc"),
    (lambda a: sl.svdvals(apart(a)[:, :2]), ((3, 3),), "fc"),
    (lambda a: sl.qr(strong(a)), ((3, 3),), "fc"),
    (lambda a: sl.qr(strong(a)[:, :2], mode="economic"), ((3, 3),), "fc"),
    (lambda a: sl.qr(strong(a)[:2], mode="r")[0], ((3, 3),), "fc"),
    (lambda a: sl.pinv(strong(a)[:2]), ((3, 3),), "fc"),
    (lambda a: sl.pinvh(apart(a)), ((3, 3),), "fc"),
    (lambda a: sl.pinvh(apart(a), rtol=0.4), ((3, 3),), "fc"),
    (lambda a: sl.pinv(apart(a)[:2], rtol=0.4), ((3, 3),), "fc"),
    (lambda a: sl.pinv(apart(a), atol=0.1, rtol=0.4), ((3, 3),), "fc"),
    (lambda a, b: sl.lstsq(strong(a)[:, :2], b)[0], ((3, 3), (3,)), "fc"),
    (lambda a, b: sl.lstsq(strong(a)[:2], b[:2])[0], ((3, 3), (3, 2)), "fc"),
    (lambda a: sl.expm(a / 2), ((3, 3),), "fc"),
    (lambda a: sl.cosm(a / 2) + sl.sinm(a / 2), ((2, 2),), "fc"),
    (lambda a: sl.coshm(a / 2) + sl.sinhm(a / 2), ((2, 2),), "fc"),
    (lambda a: sl.tanm(a / 4) + sl.tanhm(a / 4), ((2, 2),), "f"),
    (lambda a: sl.sqrtm(positive(a)), ((3, 3),), "fc"),
    (lambda a: sl.sqrtm(strong(a)), ((3, 3),), "fc"),
]


@pytest.mark.sampled(22)
@pytest.mark.parametrize("k", range(len(DECOMPOSITIONS)))
def test_decompositions_and_functions(k: int) -> None:
    run_case(DECOMPOSITIONS[k])


STRUCTURED: list[Case] = [
    (lambda a, b: sl.block_diag(a, b, a), ((2, 3), (2, 2)), "fc"),
    (lambda a, b: sl.block_diag(a, [[1, 2]], b), ((3,), ()), "f"),
    (lambda a: sl.toeplitz(a), ((4,),), "fc"),
    (lambda a, b: sl.toeplitz(a, b), ((3,), (4,)), "fc"),
    (lambda a: sl.hankel(a), ((4,),), "fc"),
    (lambda a, b: sl.hankel(a, b), ((3,), (4,)), "fc"),
    (lambda a: sl.circulant(a), ((4,),), "fc"),
    (lambda a: sl.circulant([a, 2 * a, 1.0]), ((),), "f"),
    (lambda a: sl.convolution_matrix(a, 3), ((4,),), "fc"),
    (lambda a, b: sl.leslie(a, b), ((4,), (3,)), "f"),
    (lambda a: sl.companion(a + [3, 0, 0, 0]), ((4,),), "fc"),
    (lambda a, b: sl.khatri_rao(a, b), ((2, 3), (3, 3)), "fc"),
]


@pytest.mark.sampled(12)
@pytest.mark.parametrize("k", range(len(STRUCTURED)))
def test_structured_matrices(k: int) -> None:
    run_case(STRUCTURED[k])


NORMS: list[Case] = [
    (lambda a: sl.norm(a + 3), ((4,),), "fc"),
    (lambda a: sl.norm(a + 3), ((3, 4),), "fc"),
    (lambda a: sl.norm(a + 3, 3), ((4,),), "fc"),
    (lambda a: sl.norm(a + 3, 1), ((4,),), "fc"),
    (lambda a: sl.norm(a + 3, np.inf), ((4,),), "f"),
    (lambda a: sl.norm(a + 3, axis=1, keepdims=True), ((3, 4),), "fc"),
    (lambda a: sl.norm(a + 3, -np.inf), ((3, 4),), "f"),
    (lambda a: sl.norm(a + 3, 1), ((3, 4),), "fc"),
    (lambda a: sl.norm(a + 3, 2), ((3, 4),), "fc"),
    (lambda a: sl.norm(a + 3, "nuc"), ((3, 4),), "f"),
]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("k", range(len(NORMS)))
def test_norms(k: int) -> None:
    run_case(NORMS[k])
