"""Programs on which derivatives and batches once gave something else than they promise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy.special import struve

import tracejit
from tests.support.capturing import Compiled

POINTS = np.linspace(0.5, 2.0, 4)
TABLE = np.arange(12.0).reshape(3, 4)


@pytest.fixture(params=["compiled", "eager"])
def run(request: pytest.FixtureRequest) -> Any:
    """Each test runs compiled and eagerly."""
    if request.param == "compiled":
        yield
    else:
        with tracejit.eager():
            yield


both = pytest.mark.usefixtures("run")


# Which arguments ---------------------------------------------------------------------------------


@both
def test_by_an_argument_and_by_names() -> None:
    def f(a: Any, *, k: Any = 2.0) -> Any:
        return a * a * k

    assert tracejit.grad(f, argnums=0, argnames=("k",))(3.0, k=5.0) == (30.0, 9.0)
    assert tracejit.grad(f, argnums=(0,), argnames="k")(3.0, k=5.0) == (30.0, 9.0)
    assert tracejit.grad(f, argnames=("k",))(3.0, k=5.0) == (9.0,)
    assert tracejit.grad(f, argnames="k")(3.0, k=5.0) == 9.0


@both
def test_by_an_argument_twice() -> None:
    for argnums in ((0, 0), (1, -1)):
        with pytest.raises(TypeError, match="named twice"):
            tracejit.grad(lambda a, b: a * b, argnums=argnums)(2.0, 3.0)


@dataclass
class Scaled:
    w: float

    def __call__(self, x: Any) -> Any:
        return self.w * x * x


@both
def test_objects_that_have_no_hash() -> None:
    assert tracejit.grad(Scaled(2.0))(3.0) == 12.0
    assert tracejit.grad(Scaled(2.0))(x=3.0) == 12.0


@both
def test_none_stands_for_the_tangent_of_a_part() -> None:
    def f(p: Any) -> Any:
        return p["a"] * p["b"][0] + p["b"][1] ** 2

    given = {"a": 3.0, "b": (5.0, 7.0)}
    for tangent, expected in (
        ({"a": 1.0, "b": (None, None)}, 5.0),
        ({"a": None, "b": (1.0, None)}, 3.0),
        ({"a": 1.0, "b": None}, 5.0),
        (None, 0.0),
    ):
        assert tracejit.jvp(f, (given,), (tangent,))[1] == expected
    with pytest.raises(TypeError, match="another structure"):
        tracejit.jvp(f, (given,), ({"a": 1.0},))


@both
def test_forward_jacobians_by_several_arguments() -> None:
    def f(x: Any, y: Any) -> Any:
        return {"a": np.outer(x, y), "b": (x @ x, y * 2)}

    forward = tracejit.jacobian(f, argnums=(0, 1), mode="forward")(POINTS, POINTS[:2])
    reverse = tracejit.jacobian(f, argnums=(0, 1))(POINTS, POINTS[:2])
    found = [(*x["a"], *x["b"][0]) for x in (forward, reverse)]
    for x, y in zip(*found, strict=True):
        np.testing.assert_allclose(x, y)


# Rules of the program's own ----------------------------------------------------------------------


@both
def test_a_rule_that_reads_only_tangents() -> None:
    @tracejit.custom_jvp
    def f(x: Any) -> Any:
        return x**3

    f.defjvp(lambda primals, tangents: (primals[0] ** 3, 10 * tangents[0]))
    assert tracejit.grad(f)(2.0) == 10.0
    np.testing.assert_array_equal(tracejit.vmap(tracejit.grad(f))(POINTS), np.full(4, 10.0))


# NumPy's functions -------------------------------------------------------------------------------


@both
def test_transforms_of_transforms_of_numpy_functions() -> None:
    x, n = POINTS, np.linalg.norm(POINTS)
    expected = (np.eye(4) - np.outer(x, x) / n**2) / n
    np.testing.assert_allclose(tracejit.hessian(np.linalg.norm)(x), expected)


@both
def test_calls_with_arrays_of_integers() -> None:
    def f(x: Any, places: Any) -> Any:
        return (np.bincount(places, weights=x) ** 2).sum()

    got = tracejit.grad(f)(POINTS, np.array([0, 1, 1, 2]))
    np.testing.assert_allclose(got, [1.0, 5.0, 5.0, 4.0])


@both
def test_what_has_no_derivative_is_said_once() -> None:
    def f(x: Any) -> Any:
        return struve(1.0, x).sum()

    for call in (
        lambda: tracejit.grad(f)(POINTS),
        lambda: tracejit.vjp(f, POINTS)[1](1.0),
        lambda: tracejit.hvp(f)(POINTS, POINTS),
    ):
        with pytest.raises(TypeError) as e:
            call()
        assert str(e.value).startswith("the gradient cannot pass through scipy.special.struve\n")
        assert str(e.value).count("cannot pass") == 1


# Batches -----------------------------------------------------------------------------------------


def first_is_last(a: Any) -> Any:
    a[0] = 5 * a[-1]
    return a.sum()


def larger_than_sum(a: Any) -> Any:
    for i in range(len(a)):
        if a[i] > 2:
            a[i] = a.sum()
    return a * 2


def gradient_of_doubled(a: Any) -> Any:
    def loss(a: Any) -> Any:
        a *= 2
        return (a**2).sum()

    return tracejit.grad(loss)(a)


@both
@pytest.mark.parametrize("f", [first_is_last, larger_than_sum, gradient_of_doubled])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stores_into_the_elements_of_a_batch(f: Callable[..., Any], axis: int) -> None:
    given, expected = TABLE.copy(), TABLE.copy()
    got = tracejit.vmap(f, in_axes=axis)(given)
    np.testing.assert_allclose(got, [f(row) for row in np.moveaxis(expected, axis, 0)])
    np.testing.assert_allclose(given, expected)


def test_stores_into_the_elements_of_a_view() -> None:
    def f(x: Any) -> Any:
        y = x * 1.0
        return tracejit.vmap(first_is_last)(y[1:]), y

    compiled = Compiled(f)
    got, y = compiled(TABLE)
    np.testing.assert_allclose(y[:, 0], [0.0, 35.0, 55.0])
    np.testing.assert_allclose(got, y[1:].sum(1))


@both
def test_results_that_do_not_differ() -> None:
    rows, one = tracejit.vmap(lambda a: (a, 1.0), out_axes=(0, None))(TABLE)
    np.testing.assert_array_equal(rows, TABLE)
    assert one == 1.0
    with pytest.raises(TypeError, match="differs between elements"):
        tracejit.vmap(lambda a: a, out_axes=None)(TABLE)


# Derivatives of derivatives ----------------------------------------------------------------------


def grown(a: Any) -> Any:
    while a < 20:
        a = np.exp(a)
    return a


def grown_by_sines(a: Any) -> Any:
    s = a
    while s < 20:
        s = np.sin(s) * a + s + 2.5
    return s


def grown_in_parts(a: Any) -> Any:
    y = np.ones(3) * a
    for i in range(3):
        while y[i] < 4 + i:
            y[i] = y[i] * 1.2 + 0.3 * np.sin(y[i - 1]) ** 2
            if y[i] > 5:
                break
    return np.prod(y)


@pytest.mark.parametrize("f", [grown, grown_by_sines, grown_in_parts])
@pytest.mark.parametrize("order", [2, 3])
def test_higher_derivatives_through_loops_that_data_ends(f: Any, order: int) -> None:
    derived = f
    for _ in range(order):
        derived = tracejit.grad(derived)
    with tracejit.eager():
        expected = derived(1.7)
    np.testing.assert_allclose(derived(1.7), expected, rtol=1e-9)


# Views -------------------------------------------------------------------------------------------


@both
def test_views_by_the_method_of_that_name() -> None:
    def seen(x: Any) -> Any:
        y = x * 1.0
        z = y.view()
        z[0] *= 3
        return (y.view(np.ndarray) ** 2).sum()

    np.testing.assert_allclose(tracejit.grad(seen)(POINTS), 2 * POINTS * [9.0, 1.0, 1.0, 1.0])

    def weighted_by_bits(x: Any) -> Any:
        return (x.view(np.int64) & 1).sum() * x.sum() + (x.view(dtype="i8") >> 62).sum() * x[0]

    count = (POINTS.view(np.int64) & 1).sum()
    high = (POINTS.view(np.int64) >> 62).sum()
    expected = np.full(4, float(count)) + [float(high), 0.0, 0.0, 0.0]
    np.testing.assert_allclose(tracejit.grad(weighted_by_bits)(POINTS), expected)
    with pytest.raises(TypeError, match="cannot pass through view"):
        tracejit.grad(lambda x: x.view(np.complex128).real.sum())(POINTS)


@both
def test_jacobians_of_a_function_that_stores_into_its_argument() -> None:
    def f(a: Any) -> Any:
        a += 1
        return a**2

    for mode in ("reverse", "forward"):
        given = POINTS.copy()
        got = tracejit.jacobian(f, mode=mode)(given)
        np.testing.assert_allclose(got, np.diag(2 * (POINTS + 1)))
        np.testing.assert_allclose(given, POINTS + 1)
    given = POINTS.copy()
    got = tracejit.hessian(lambda a: (f(a) * a).sum())(given)
    np.testing.assert_allclose(got, np.diag(6 * (POINTS + 1)))
    np.testing.assert_allclose(given, POINTS + 1)


HELD = np.arange(4.0)


def _reads_what_it_stores(a: np.ndarray) -> Any:
    a[0] = 5 * a[1]
    return (a * HELD[0]).sum()


def test_an_argument_that_is_stored_into_has_no_other_name_in_the_function() -> None:
    held = np.arange(4.0)

    def inner(a: np.ndarray) -> Any:
        a *= 2.0
        return (a * held[:4]).sum()

    for f, x in ((_reads_what_it_stores, HELD), (inner, held), (inner, held[:4])):
        with tracejit.eager(), pytest.raises(TypeError, match="another name"):
            tracejit.grad(f)(x)
        with pytest.raises(TypeError, match="another name"):
            tracejit.grad(f)(x)
        other = np.ones(4)
        assert tracejit.grad(f)(other).shape == (4,)
