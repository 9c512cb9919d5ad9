"""Derivatives of convolutions, interpolation, order statistics and others, called through NumPy."""

import contextlib
from typing import Any

import numpy as np
import pytest
import scipy.special

import tracejit
from tests.ops.host.test_host_derivatives import (  # noqa: F401 - a fixture
    KINDS,
    RNG,
    F,
    check,
    gradient,
    numbers,
    same_numbers,
)
from tests.support.check_grads import check_grads
from tracejit.errors import Underivable
from tracejit.frontend.tracing.pytree import flatten
from tracejit.frontend.tracing.restarts import Refused
from tracejit.ir.graph import Graph
from tracejit.runtime.call.signature import History, specialize
from tracejit.runtime.compile.stages import trace_call

pytestmark = pytest.mark.sampled(14)


def apart(*shape: int) -> Any:
    """Numbers that lie apart from each other."""
    x = RNG.permutation(int(np.prod(shape))).reshape(shape) / 3 - 1.2
    return np.asarray(x)


LENGTHS = pytest.mark.parametrize(("m", "n"), [(7, 3), (3, 7), (6, 4), (4, 6), (5, 5), (4, 1)])


@pytest.mark.sampled(36, kind=lambda mode, **_: mode)
@KINDS
@LENGTHS
@pytest.mark.parametrize("mode", ["full", "same", "valid"])
def test_convolutions(m: int, n: int, mode: str, dtype: Any) -> None:
    a, v = numbers(m, dtype=dtype), numbers(n, dtype=dtype)
    check(lambda a, v: np.convolve(a, v, mode), a, v)
    check(lambda a, v: np.correlate(a, v, mode), a, v)
    check(lambda a: np.correlate(a, a, mode), a)


def test_convolutions_of_two_dtypes() -> None:
    a = numbers(5)
    check(lambda a, v: np.convolve(a, v), a, numbers(3, dtype=np.complex128))
    check(lambda a, v: np.correlate(a, v), a, numbers(3, dtype=np.complex128))


def test_interpolation() -> None:
    xp, fp = np.array([-1.0, 0.5, 1, 3]), numbers(4)
    x = np.array([[-2.0, -0.3, 0.7], [1.5, 2.9, 4]])
    check(lambda x, xp, fp: np.interp(x, xp, fp), x, xp, fp)
    check(lambda x, xp, fp: np.interp(x, xp, fp, left=2.0), x, xp, fp)
    check(lambda x, xp, fp: np.interp(x, xp, fp, right=0), x, xp, fp)
    check(lambda x, fp: np.interp(x, [-1.0, 0.5, 1, 3], fp), x, numbers(4, dtype=np.complex128))
    check(lambda x, xp, fp: np.interp(x[0, 1], xp, fp), x, xp, fp)
    assert gradient(lambda x, fp: np.interp(x, [0.0, 1.0], fp).sum(), np.ones(2), np.ones(2))[
        1
    ].tolist() == [0, 2]
    graph = tracejit.jit(lambda x, xp, fp: np.interp(x, xp, fp, period=4.5)).trace(x, xp, fp)
    check_grads(graph, [x, xp, fp])


def test_partitions() -> None:
    x = apart(4, 7)
    check(lambda x: np.partition(x, 2), x)
    check(lambda x: np.partition(x, 2, axis=0), x)
    check(lambda x: np.partition(x, (2, 9), axis=None), x)


QUANTILES: list[F] = [
    lambda x: np.percentile(x, 30),
    lambda x: np.percentile(x, [10, 62.5], axis=0),
    lambda x: np.quantile(x, 0.4, axis=1),
    lambda x: np.quantile(x, 0.4, axis=(0, 1), keepdims=True),
    lambda x: np.quantile(x, [0.0, 1.0, 0.5], axis=-1, keepdims=True),
    lambda x: np.median(x),
    lambda x: np.median(x, axis=0),
]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("k", range(len(QUANTILES)))
def test_quantiles(k: int) -> None:
    check(QUANTILES[k], apart(4, 5))
    check(QUANTILES[k], apart(5, 3))


def test_running_extremes() -> None:
    x = apart(4, 6)
    check(lambda x: np.maximum.accumulate(x), x)
    check(lambda x: np.minimum.accumulate(x, axis=1), x)


def test_others() -> None:
    x = numbers(6)
    check(lambda x: np.unwrap(x * 4), x)
    check(lambda x: np.sinc(x), x)
    check(lambda x: np.sinc(x), np.array([0.0, 1e-3, 0.3, 0.32, 2.5]))
    check(lambda x: np.sum(np.bincount(np.array([1, 0, 3, 1, 0, 0]), weights=x) ** 3), x)


def test_functions_without_rules_are_named() -> None:
    with pytest.raises(Underivable, match=r"scipy\.special\.struve has no derivative"):
        gradient(lambda x: scipy.special.struve(1.0, x).sum(), numbers(3))
    with pytest.raises(Underivable, match=r"with initial= has no"):
        gradient(lambda x: np.logaddexp.reduce(x, where=x > 0, initial=0.0), numbers(3))
    with pytest.raises(Underivable, match=r"betainc has no derivative rule by x1"):
        gradient(lambda a, x: scipy.special.betainc(a, 2.0, x), numbers(5), 0.3)


# Sizes known at run time --------------------------------------------------------------------------

SYMBOLIC: list[tuple[F, tuple[tuple[int, ...], ...]]] = [
    (lambda x: np.fft.fft(x), ((5,),)),
    (lambda x: np.fft.rfft(x, axis=0), ((6, 2),)),
    (lambda x: np.fft.irfft(np.fft.rfft(x), len(x)), ((5,),)),
    (lambda x: np.fft.irfft(np.fft.rfft(x)), ((6,),)),
    (lambda x: np.fft.rfft2(x), ((3, 4),)),
    (lambda x: np.fft.fft(x, 8), ((5,),)),
    (lambda x: np.linalg.svd(x, full_matrices=False)[1], ((4, 3),)),
    (lambda x: np.linalg.svdvals(x @ x.T), ((3, 3),)),
    (lambda x: np.linalg.eigvalsh(x @ x.T), ((3, 4),)),
    (lambda x: np.linalg.qr(x)[1], ((4, 3),)),
    (lambda x: np.linalg.inv(x @ x.T), ((3, 4),)),
    (lambda x: np.linalg.cholesky(x @ x.T), ((3, 4),)),
    (lambda x: np.linalg.det(x @ x.T), ((3, 4),)),
    (lambda x, y: np.linalg.solve(x @ x.T, y), ((3, 4), (3,))),
    (lambda x: np.linalg.pinv(x), ((3, 4),)),
    (lambda x: np.convolve(x, x[:3]), ((5,),)),
    (lambda x, y: np.interp(x, np.linspace(-9, 9, len(y)), y), ((3,), (5,))),
    (lambda x: np.partition(x, 2), ((5,),)),
    (lambda x: np.percentile(x, 30, axis=0), ((5, 3),)),
    (lambda x: np.median(x), ((5,),)),
    (lambda x: np.maximum.accumulate(x), ((5,),)),
    (lambda x: np.sort(x, axis=0), ((5, 3),)),
    (lambda x: np.cumprod(x), ((5,),)),
    (lambda x: np.prod(x, axis=0), ((5, 3),)),
    (lambda x: np.max(x, axis=0), ((5, 3),)),
    (lambda x: x[::-2], ((5,),)),
    (lambda x: np.roll(x, 2), ((5,),)),
    (lambda x: np.outer(x, x), ((5,),)),
    (lambda x: np.linalg.norm(x, axis=0), ((5, 3),)),
    (lambda x: np.var(x, axis=1), ((5, 3),)),
    (lambda x: np.trace(x), ((5, 5),)),
    (lambda x: np.tril(x), ((5, 3),)),
    (lambda x: x[np.argsort(x)] * x, ((5,),)),
    (lambda x: np.gradient(x), ((5,),)),
    (lambda x: np.einsum("ij,kj->ik", x, x), ((5, 3),)),
    (lambda x: np.kron(x, x), ((2, 3),)),
    (lambda x: np.cov(x), ((3, 5),)),
]


def with_symbols(f: F, args: list[Any]) -> Graph:
    """The graph of a function that has been called with other sizes before."""
    history = History()
    chosen = None
    for calls in ([np.tile(x, (2,) * x.ndim) for x in args], args):
        leaves, tree = flatten(tuple(calls), {})
        chosen = specialize(leaves, history)
    with contextlib.suppress(Refused):
        # A form of a call that cannot be followed into the library is a call of the host then.
        trace_call(f, chosen, leaves, tree, {})
    graph = trace_call(f, chosen, leaves, tree, {}).graph
    assert graph.sizes
    return graph


@pytest.mark.sampled(18)
@pytest.mark.parametrize("k", range(len(SYMBOLIC)))
def test_sizes_known_at_run_time(k: int) -> None:
    f, shapes = SYMBOLIC[k]
    inputs = [apart(*shape) for shape in shapes]
    check_grads(with_symbols(f, inputs), inputs)


# Compositions -------------------------------------------------------------------------------------

HOLES = np.array([[1.0, np.nan, 2.5, -3], [0.3, 4, np.nan, -1.5], [7, -2, 9, 5]])


FILLED = np.where(np.isnan(HOLES), 99, HOLES)
LEAVING_OUT: list[F] = [
    lambda x: (np.nansum(x), np.nansum(x, axis=1)),
    lambda x: (np.nanmean(x), np.nanmean(x, axis=0)),
    lambda x: (np.nanvar(x), np.nanvar(x, axis=0, keepdims=True)),
    lambda x: (np.nanstd(x), np.nanstd(x, axis=1)),
    lambda x: (np.nanmax(x), np.nanmax(x, axis=0)),
    lambda x: (np.nanmin(x), np.nanmin(x, axis=1, keepdims=True)),
    lambda x: (np.nanprod(x), np.nanprod(x, axis=0)),
]


@pytest.mark.parametrize("k", range(len(LEAVING_OUT)))
def test_functions_that_leave_out_nan(k: int) -> None:
    """Derivatives by the elements that are numbers; those by NaNs are 0."""
    f = LEAVING_OUT[k]
    check(lambda x: f(np.where(x < 90, x, np.nan)), FILLED)
    g = gradient(lambda x: f(x)[0], HOLES)
    assert (np.isnan(HOLES) <= (g == 0)).all()
    assert not np.isnan(g).any()


def test_polynomials() -> None:
    for x in (apart(3, 2), np.float64(0.7)):
        check(lambda p, x: np.polyval(p, x), numbers(4), x)
        check(lambda p, x: np.polyval(p, x), numbers(1), x)
    check(lambda x: np.polyval([1.0, -2, 0.5], x), apart(3))


LOG_SUMS: list[F] = [
    lambda x: np.logaddexp.reduce(x),
    lambda x: np.logaddexp.reduce(x, axis=1, keepdims=True),
    lambda x: scipy.special.logsumexp(x),
    lambda x: scipy.special.logsumexp(x, axis=0, keepdims=True),
    lambda x: scipy.special.expit(x),
]


@pytest.mark.parametrize("k", range(len(LOG_SUMS)))
def test_sums_of_exponentials(k: int) -> None:
    f = LOG_SUMS[k]
    check(f, apart(3, 4))
    g = gradient(lambda x: np.sum(f(x)), np.full((2, 2), -np.inf))
    assert (g == 0).all()


COMPOSED: list[F] = [
    lambda x: np.select([x > 1, x < -0.5], [x * x, np.sin(x)], 2.0),
    lambda x: np.linalg.vector_norm(x, axis=0),
    lambda x: np.linalg.matrix_norm(x),
    lambda x: np.corrcoef(x),
    lambda x: np.average(x, axis=0, weights=x[:, 0]),
    lambda x: np.ptp(x, axis=1),
    lambda x: np.cross(x[:, :3], x[:, 1:4]),
    lambda x: np.linalg.matrix_power(x[:3, :3], 3),
    lambda x: np.linalg.matrix_power(x[:3, :3] + 9 * np.eye(3), -2),
    lambda x: np.take_along_axis(x, np.argsort(x, 1), 1),
    lambda x: np.diag(x[0]) @ np.diag(x[:3, 0], 1),
    lambda x: np.tensordot(x, x, ((0, 1), (0, 1))),
    lambda x: np.trapezoid(x, axis=0),
    lambda x: np.repeat(x, 2, axis=0) * np.tile(x, (2, 1)),
    lambda x: np.append(x, x[:1], axis=0) ** 2,
    lambda x: np.block([[x, x * 2], [x, x]]),
    lambda x: np.rot90(x) ** 2,
    lambda x: np.delete(x, 1, axis=0) ** 2,
    lambda x: np.diff(x, 2) ** 2,
    lambda x: x[x > 0].sum() ** 2,
    lambda x: np.clip(x, -0.5, 1.0) ** 2,
    lambda x: np.einsum("ij,kj,kl->il", x, x, x),
    lambda x: np.vstack([x, x[::-1]]) ** 2,
    lambda x: np.logaddexp(x, x[::-1]),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("k", range(len(COMPOSED)))
def test_compositions(k: int) -> None:
    check(COMPOSED[k], apart(4, 4))
