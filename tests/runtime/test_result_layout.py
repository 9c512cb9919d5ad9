"""Memory of results: whose it is, how it is laid out, and whether it can be stored into."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.numpy.surface.cases import Case
from tests.frontend.numpy.surface.check import check
from tests.runtime.repeated_samples import SAMPLES

pytestmark = pytest.mark.sampled(9)

FORMS = ("plain", "fortran", "strided", "reversed", "transposed")
SINGLE = ("zero_d", "scalar", "number")


def assert_as_numpy(text: str, *forms: str) -> None:
    for form in forms:
        verdict = check(Case(text, form))
        assert (verdict.how, verdict.differences) == ("compiled", ()), f"{text} [{form}]"


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "mean"])
def test_a_reduction_over_no_axes_is_a_new_array(name: str) -> None:
    assert_as_numpy(f"r = np.{name}(a, axis=()); r[0] = 1; return r", *FORMS)
    assert_as_numpy(f"r = a.{name}(axis=(), keepdims=True); r[0] = 1; return r, a", *FORMS)


def test_the_argument_of_a_reduction_over_no_axes_keeps_its_elements() -> None:
    def total(a):
        s = a.sum(axis=())
        s += 1
        return s

    a = np.arange(4.0)
    assert tracejit.jit(total)(a).tolist() == [1, 2, 3, 4]
    assert a.tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize("name", ["sum", "mean", "prod", "nansum", "average"])
def test_sums_of_negative_zeros_have_the_sign_of_numpys(name: str) -> None:
    assert_as_numpy(f"np.{name}(a)", *SINGLE)
    assert_as_numpy(
        f"np.{name}(-0.0 * abs(a), axis=())" if name != "average" else "np.sum(v)", "plain"
    )
    for initial in ("-0.0", "0.0"):
        assert_as_numpy(f"np.sum(-0.0 * abs(a), axis=0, initial={initial})", "plain", "fortran")


COPIES = """
np.cumsum(t, axis=1)
np.cumprod(a, axis=0)
np.nancumsum(a, axis=0)
np.cumulative_sum(a, axis=0)
np.add.accumulate(a)
np.sort(t, axis=0)
np.median(t, axis=1)
np.gradient(a)
np.argwhere(t)
np.nonzero(a)
np.where(p)
np.unravel_index(i, (3, 4))
np.pad(a, 1)
np.pad(t, 1, mode="edge")
np.delete(a, 1, axis=0)
np.select([p], [a])
np.stack((a, b), axis=1)
np.concatenate((t, t[:, ::-1]), axis=2)
np.block([[a, b], [b, a]])
np.take_along_axis(a, j, axis=0)
a[j]
v[j]
t[i % 2]
t[:, j]
np.dot(2.0, a)
np.inner(a, 2.0)
np.matmul(h, h)
np.matmul(g, g)
np.linalg.inv(g)
np.linalg.det(g)
np.linalg.solve(g, g)
np.linalg.cholesky(g)
np.vecmat(g[..., 0], g)
np.linalg.trace(g)
np.array([a, b])
np.array(a, order="F")
np.copy(a, order="A")
np.asfortranarray(a)
np.asarray(a, order="C")
a.astype(np.float32, order="C")
a.astype(np.float64, order="F", copy=False)
a.copy("F")
a.ravel("K")
a.ravel("A")
np.round(t, 1)
np.cross(t[..., :3], t[..., 1:])
np.reshape(a, (3, 4), copy=True)
np.sum(t, axis=1, where=t > 0)
np.max(t, axis=0, where=t > 0, initial=-9.0)
np.any(t, axis=2, where=t > 0)
np.linspace(a, b, 4)
np.linspace(t[0], a, 4, axis=-1)
"""


@pytest.mark.sampled(24)
@pytest.mark.parametrize("text", COPIES.split("\n")[1:-1])
def test_new_arrays_are_laid_out_as_numpys(text: str) -> None:
    if text == 'a.ravel("K")':
        assert_as_numpy(text, "plain", "fortran")
        return
    assert_as_numpy(text, *FORMS)


def short_views(x, n):
    return x[None], x[:1, ::3], x[0:0:2], x[::5][:1, None], x[n:, ::2], np.expand_dims(x.T, 1)


def short_views_of_new_arrays(x, n):
    y = x * 2
    return y[None], y[:1].T, y.sum(1)[:, None], (x + 1)[0:0], (x + 2)[::2, :n]


def short_copies(x, n):
    t = x.T[..., None]
    return t * 2, t.copy(), x[:, :1].copy(), x[None, ::2].astype("f4"), np.zeros_like(x[:1, ::2].T)


def short_reductions(x, n):
    t = x.T[..., None]
    return t.sum(1, keepdims=True), t.mean(0, keepdims=True), x[n:].var(1, keepdims=True)


@pytest.mark.compiles
@pytest.mark.parametrize(
    "function", [short_views, short_views_of_new_arrays, short_copies, short_reductions]
)
def test_strides_of_axes_of_one_element_or_none(function: Any) -> None:
    x = np.arange(12.0).reshape(3, 4)
    odd = np.lib.stride_tricks.as_strided(x, (1, 4), (56, 8))
    jitted = tracejit.jit(function)
    empty = [] if function is short_reductions else [x[:0], np.zeros((0, 4))]
    for given in (x, x.T, x[::2], x[:1], x[::-3], x[:, 1:2], odd, *empty):
        for n in (1, 2):
            pairs = zip(jitted(given, n), function(given, n), strict=True)
            for k, (got, expected) in enumerate(pairs):
                assert got.strides == expected.strides, (k, given.shape, given.strides, n)
                assert got.tobytes() == expected.tobytes()
    assert not jitted.report().fallbacks


EINSUMS = """
np.einsum("ij,kj->ki", a, b)
np.einsum("ij,ij->ji", a, b)
np.einsum("ij,jik->ki", a[:2, :3], t[:, :3].swapaxes(0, 1))
np.einsum("j,i->ij", v, w)
np.einsum("i,j,k->kji", v, w, x)
np.einsum("i,jk,j->kj", v, a, i)
np.einsum("ijk->ki", t)
np.einsum("kij->ji", t)
np.einsum("ii,ij->ji", m, m)
np.einsum("...i,ij->j...", t[..., :3], m)
"""


@pytest.mark.sampled(5)
@pytest.mark.parametrize("text", EINSUMS.split("\n")[1:-1])
def test_sums_over_labels_are_laid_out_as_by_numpys_iterator(text: str) -> None:
    assert_as_numpy(text, *FORMS)


VIEWS = """
np.einsum("ii->i", m + 0)
q = a * 2; return q[0:2]
q = a * 2; return q[:, 1:3]
q = t * 2; return q[::-1, 1:, ::2]
q = t * 2; return q[:, 1]
q = a + 1; q[0] = 2; return q[1:]
q = np.sort(a); return q[:2]
a[i[:2]][:, 1:]
"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize("text", VIEWS.split("\n")[1:-1])
def test_views_of_new_arrays_have_the_strides_of_numpys(text: str) -> None:
    assert_as_numpy(text, *FORMS)


REPEATED = """
np.broadcast_to(a[:1], a.shape) * a
a + np.broadcast_to(a[0], a.shape)
np.broadcast_arrays(a, a[0])[1] * a
np.where(np.broadcast_to(a[0], a.shape) > 1, a, 2.0)
np.broadcast_to(a[:, :1], a.shape) * a
"""


@pytest.mark.parametrize("text", REPEATED.split("\n")[1:-1])
def test_repeated_elements_have_no_say_in_the_layout_of_results(text: str) -> None:
    assert_as_numpy(text, *FORMS)


@pytest.mark.parametrize("f", SAMPLES, ids=lambda f: f.__name__)
def test_copies_of_repeated_elements_have_the_repeated_axis_inside(f: Any) -> None:
    compiled = tracejit.jit(f)
    for rows in (3, 4, 5):
        b = np.asfortranarray(np.arange(4.0 * rows).reshape(rows, 4))
        a = np.broadcast_to(np.array([2.0, -1.0, 0.5, 3.0]), b.shape)
        for got, want in zip(compiled(a, b), f(a, b), strict=True):
            assert (got.dtype, got.shape, got.strides) == (want.dtype, want.shape, want.strides)
            assert np.array_equal(got, want)


def test_an_average_of_no_numbers_raises_as_numpys() -> None:
    assert_as_numpy("np.average(a[:, :0], axis=0)", *FORMS)
    assert_as_numpy("np.average(t[:0], axis=1)", *FORMS)


FLAGS = """
a.imag
np.imag(a)
np.broadcast_arrays(a, b)
np.broadcast_arrays(a, a[0])
np.broadcast_arrays(a[:1], b)
np.broadcast_to(a, (2, 3, 4))
np.broadcast_to(123, ())
np.broadcast_to(1.5, (2, 2))
np.broadcast_arrays(1, [[1, 2]])
np.meshgrid(v, w, copy=False)
np.meshgrid(v, w, sparse=True, copy=False)
np.meshgrid(v, w, sparse=True)
"""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("text", FLAGS.split("\n")[1:-1])
def test_views_can_be_stored_into_where_numpys_can(text: str) -> None:
    assert_as_numpy(text, *FORMS)


def test_scalars_stay_scalars_through_methods_of_shape() -> None:
    for text in ("a.reshape(())", "np.reshape(a, ())", "a.squeeze()", "a.transpose()"):
        assert_as_numpy(text, "scalar", "zero_d")
