"""Derivatives of the functions of scipy.special, and the errors of those that have none."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special as sp

import tracejit
from tests.ops.host.eager_agreement import check_eagerly
from tests.support.check_grads import check_grads
from tracejit.frontend.tracing.concrete_trace import LostGradient

F = Callable[..., Any]

INSIDE = np.array([[0.15, 0.3, 0.45], [0.55, 0.7, 0.85]])
ABOVE = np.array([[1.3, 2.1, 0.7], [0.4, 3.2, 1.8]])
SIGNED = np.array([[-1.3, 0.8, 2.2], [0.35, -0.6, 1.7]])
COMPLEX = np.array([0.7 + 0.4j, 1.6 - 0.5j, 0.3 + 0.9j])


def check(f: F, *args: Any, order: int = 2) -> None:
    graph = tracejit.jit(f).trace(*args)
    check_grads(graph, list(args), order)
    check_eagerly(f, graph, *args)


#: Functions of one operand by where they are smooth.
UNARY: dict[str, tuple[Any, str]] = {
    "signed": (
        SIGNED,
        "expm1 exp2 exp10 cbrt cosm1 sindg cosdg tandg expit log_expit erf erfc erfi erfcx dawsn"
        " ndtr log_ndtr fresnel sici shichi wrightomega j0 j1 i0 i1 i0e i1e airy",
    ),
    "above": (ABOVE, "log1p gamma gammaln loggamma rgamma psi exp1 expi y0 y1 k0 k1 k0e k1e entr"),
    "inside": (INSIDE, "logit erfinv erfcinv ndtri spence cotdg ellipk ellipe lambertw"),
    "below": (-ABOVE, "ndtri_exp gammaln"),
}
CASES = [(name, x) for x, names in UNARY.values() for name in names.split()]

#: Functions of several operands, some of them constants.
FUNCTIONS: list[tuple[F, tuple[Any, ...]]] = [
    (sp.xlogy, (SIGNED, ABOVE)),
    (sp.xlog1py, (SIGNED, ABOVE[0])),
    (sp.rel_entr, (INSIDE, ABOVE)),
    (sp.kl_div, (INSIDE[:, :1], ABOVE)),
    (sp.huber, (ABOVE, SIGNED + 0.07)),
    (sp.pseudo_huber, (ABOVE, SIGNED)),
    (sp.beta, (ABOVE, ABOVE[0] + 0.5)),
    (sp.betaln, (ABOVE, ABOVE + 0.5)),
    (sp.binom, (ABOVE + 2, INSIDE)),
    (sp.poch, (ABOVE, INSIDE)),
    (sp.radian, (SIGNED, SIGNED[0], ABOVE)),
    (lambda x: sp.boxcox(x, 0.3), (ABOVE,)),
    (lambda x: sp.boxcox1p(x, -1.5), (ABOVE,)),
    (lambda x: sp.inv_boxcox(x, 0.3), (ABOVE,)),
    (lambda x: sp.polygamma(1, x), (ABOVE,)),
    (lambda x: sp.zeta(2.5, x), (ABOVE,)),
    (lambda x: sp.gammainc(1.7, x), (ABOVE,)),
    (lambda x: sp.gammaincc(np.array([1.5, 2.5, 0.5]), x), (ABOVE[0],)),
    (lambda p: sp.gammaincinv(1.7, p), (INSIDE,)),
    (lambda p: sp.gammainccinv(1.7, p), (INSIDE,)),
    (lambda x: sp.betainc(1.5, 2.5, x), (INSIDE,)),
    (lambda x: sp.betaincc(1.5, np.array([1.5, 2.5, 0.5]), x), (INSIDE,)),
    (lambda p: sp.betaincinv(1.5, 2.5, p), (INSIDE,)),
    (lambda p: sp.betainccinv(1.5, 2.5, p), (INSIDE,)),
    (lambda x: sp.chdtr(3.0, x), (ABOVE,)),
    (lambda x: sp.chdtrc(3.0, x), (ABOVE,)),
    (lambda t: sp.stdtr(4.0, t), (SIGNED,)),
    (lambda p: sp.stdtrit(4.0, p), (INSIDE,)),
    (lambda x: sp.expn(3, x), (ABOVE,)),
    (lambda x: sp.jv(1.5, x), (ABOVE,)),
    (lambda x: sp.jv(2, x), (SIGNED,)),
    (lambda x: sp.yv(0.5, x), (ABOVE,)),
    (lambda x: sp.yn(3, x), (ABOVE,)),
    (lambda x: sp.iv(1.5, x), (ABOVE,)),
    (lambda x: sp.ive(2.0, x), (SIGNED,)),
    (lambda x: sp.kv(1.5, x), (ABOVE,)),
    (lambda x: sp.kn(2, x), (ABOVE,)),
    (lambda x: sp.kve(1.5, x), (ABOVE,)),
    (lambda x: sp.hyp0f1(1.5, x), (SIGNED,)),
    (lambda x: sp.hyp1f1(0.5, 1.5, x), (SIGNED,)),
    (lambda x: sp.hyp2f1(0.5, 1.2, 1.5, x), (INSIDE,)),
    (np.i0, (SIGNED,)),
    (lambda x: sp.softmax(x), (SIGNED,)),
    (lambda x: sp.softmax(x, axis=0), (SIGNED,)),
    (lambda x: sp.softmax(x, axis=(0, -1)), (SIGNED,)),
    (lambda x: sp.log_softmax(x, axis=1), (SIGNED,)),
    (lambda x: sp.log_softmax(x), (SIGNED,)),
]


@pytest.mark.sampled(24)
@pytest.mark.parametrize(("name", "x"), CASES, ids=[name for name, _ in CASES])
def test_functions_of_one_number(name: str, x: Any) -> None:
    f = getattr(sp, name)
    check(lambda x: f(x), x)
    check(lambda x: f(x), x.astype(np.float32), order=1)
    check(lambda x: f(x[0, 1]), x)


@pytest.mark.sampled(10)
@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
def test_functions_of_several(k: int) -> None:
    f, args = FUNCTIONS[k]
    check(lambda *x: f(*x), *args)
    check(lambda *x: f(*x), *(a.astype(np.float32) for a in args), order=1)


HOLOMORPHIC: list[F] = [
    sp.expm1,
    sp.log1p,
    sp.erf,
    sp.erfc,
    sp.erfi,
    sp.erfcx,
    sp.dawsn,
    sp.wofz,
    sp.gamma,
    sp.loggamma,
    sp.exp1,
    sp.expi,
    sp.fresnel,
    sp.airy,
    lambda z: sp.xlogy(z, 1.5 * z),
    lambda z: sp.jv(1.5, z),
    lambda z: sp.yv(1.5, z),
    lambda z: sp.iv(1.5, z),
    lambda z: sp.kv(1.5, z),
    lambda z: sp.hankel1(1.5, z),
    lambda z: sp.hankel2(1, z),
    lambda z: sp.hyp0f1(1.5, z),
    lambda z: sp.hyp1f1(0.5, 1.5, z),
    lambda z: sp.hyp2f1(0.5, 1.2, 1.5, z / 3),
    lambda z: sp.lambertw(z),
    lambda z: sp.lambertw(z, 1),
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize("k", range(len(HOLOMORPHIC)))
def test_holomorphic_functions(k: int) -> None:
    f = HOLOMORPHIC[k]
    # Those that have no digamma function of complex numbers to its second order stop at the first.
    order = 1 if f in (sp.gamma, sp.loggamma) else 2
    check(lambda z: f(z), COMPLEX, order=order)
    check(lambda z: f(z[1]), COMPLEX, order=1)


def test_complex_results_of_real_numbers() -> None:
    check(lambda x: sp.lambertw(x), -ABOVE)
    check(lambda x: sp.hankel1(1.0, x), ABOVE)
    check(lambda x: sp.wofz(x.astype(complex)), SIGNED)


def test_operands_of_several_dtypes() -> None:
    check(lambda x, y: sp.xlogy(x, y), SIGNED.astype(np.float32), ABOVE, order=1)
    check(lambda x, y: sp.xlogy(x, y), SIGNED, ABOVE + 0j)

    check(lambda x: sp.jv(np.array([0, 1, 2]), x), ABOVE)
    check(lambda x: sp.xlogy(x, 3), SIGNED)


def test_edges() -> None:
    """Documented values where a formula is 0 / 0, and those of saturated functions."""
    grad = tracejit.grad
    assert grad(lambda x: sp.expit(x))(-800.0) == 0.0
    assert grad(lambda x: sp.expit(x))(0.0) == 0.25
    np.testing.assert_allclose(grad(lambda x: sp.log_expit(x))(-800.0), 1.0)
    np.testing.assert_allclose(grad(lambda x: sp.log_ndtr(x))(-1e4), 1e4, rtol=1e-7)
    np.testing.assert_allclose(grad(lambda x: sp.sici(x)[0])(0.0), 1.0)
    np.testing.assert_allclose(grad(lambda x: sp.shichi(x)[0])(0.0), 1.0)
    np.testing.assert_allclose(grad(lambda x: sp.spence(x))(1.0), -1.0)
    assert grad(lambda x: sp.huber(1.0, x))(3.0) == 1.0
    assert grad(lambda x: sp.huber(1.0, x))(0.25) == 0.25


def test_arrays_without_axes() -> None:
    """NumPy's results for them are scalars; their cotangents are arrays."""
    for f in (sp.j0, np.i0, np.sinc, lambda x: sp.beta(x, 0.4), lambda x: sp.jv(1.0, x)):
        for x in (np.array(0.3), np.array(0.3, np.float32)):
            alone = tracejit.grad(lambda x, f=f: 2 * f(x))(x[()])
            found = tracejit.grad(lambda x, f=f: 2 * f(x))(x)
            assert type(found) is np.ndarray and found.shape == () and found.dtype == x.dtype
            np.testing.assert_array_equal(found, alone)
    twice = tracejit.grad(tracejit.grad(lambda x: np.i0(x)))
    np.testing.assert_allclose(twice(0.3), sp.i0(0.3) - sp.i1(0.3) / 0.3, rtol=1e-14)
    np.testing.assert_allclose(twice(np.array(0.3)), twice(0.3), rtol=0)


@pytest.mark.parametrize(
    ("f", "x", "why"),
    [
        (lambda x: np.sum(sp.jv(x, 0.5)), ABOVE, "jv has no derivative rule by x1"),
        (lambda x: np.sum(sp.gammainc(x, 0.5)), ABOVE, "gammainc has no derivative rule by x1"),
        (lambda x: np.sum(sp.zeta(x, 2.0)), ABOVE, "zeta has no derivative rule by x"),
        (lambda x: np.sum(sp.ndtr(x).real), COMPLEX, "complex numbers"),
        (lambda x: np.sum(sp.dawsn(x, dtype="d")), SIGNED, "dtype"),
    ],
)
def test_no_rule_is_an_error_that_says_so(f: F, x: Any, why: str) -> None:
    with pytest.raises(LostGradient, match=why):
        tracejit.grad(f)(x)


def test_they_compose() -> None:
    x, n = ABOVE[0], ABOVE.shape[1]

    def f(x: Any) -> Any:
        return np.sum(sp.gammaln(x) * sp.erf(x)) + sp.logsumexp(sp.log_softmax(x) * x)

    hessian = tracejit.hessian(f)(x)
    h = 1e-5
    for k in range(n):
        e = h * np.eye(n)[k]
        difference = (tracejit.grad(f)(x + e) - tracejit.grad(f)(x - e)) / (2 * h)
        np.testing.assert_allclose(hessian[k], difference, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(hessian, hessian.T, rtol=1e-12)
    found = tracejit.vmap(tracejit.grad(f))(ABOVE)
    np.testing.assert_allclose(found, [tracejit.grad(f)(row) for row in ABOVE], rtol=1e-12)
