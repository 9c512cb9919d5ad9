"""Gradients by objects: objects of the same class, and what the function stores stays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.transforms.gradient_objects import Dense, Model, loss, loss_and_aux
from tests.transforms.gradient_objects import step as train_step

X = np.linspace(0, 1, 6).reshape(2, 3)


def eagerly(f: Callable[..., Any], *args: Any) -> Any:
    with tracejit.eager():
        return f(*args)


MODES: dict[str, Callable[..., Any]] = {
    "compiled": lambda f, *args: f(*args),
    "jitted": lambda f, *args: tracejit.jit(lambda *a: f(*a))(*args),
    "eager": eagerly,
}


def held(x: Any) -> Any:
    """What an object holds, for comparisons."""
    if isinstance(x, np.ndarray):
        return x.round(10).tolist()
    if isinstance(x, (list, tuple)):
        return type(x), [held(v) for v in x]
    if isinstance(x, dict):
        return {k: held(v) for k, v in x.items()}
    return (type(x), held(vars(x))) if hasattr(x, "__dict__") else x


def by_differences(name: str, layer: int) -> Any:
    """The gradient by the array `name` of a layer."""
    shape = getattr(Model().layers[layer], name).shape
    out = np.zeros(shape)
    for at in np.ndindex(shape):
        values = []
        for step in (1e-6, -1e-6):
            model = Model()
            getattr(model.layers[layer], name)[at] += step
            values.append(loss(model, X))
        out[at] = (values[0] - values[1]) / 2e-6
    return out


@pytest.mark.parametrize("mode", MODES)
def test_the_gradient_is_an_object_of_the_same_class(mode: str) -> None:
    model = Model()
    slopes = MODES[mode](tracejit.grad(loss), model, X)
    assert type(slopes) is Model and type(slopes.layers[1]) is Dense
    for layer in range(2):
        for name in ("w", "b"):
            found = getattr(slopes.layers[layer], name)
            np.testing.assert_allclose(found, by_differences(name, layer), atol=1e-7)
    # What has no derivative is carried along, and one array of two attributes has one gradient.
    assert slopes.name == "model" and slopes.sizes is model.sizes and slopes.rate == 0.1
    assert slopes.tied is slopes.layers[0].w and slopes.layers is not model.layers


@pytest.mark.parametrize("mode", MODES)
def test_what_the_function_stores_stays(mode: str) -> None:
    plain, model = Model(), Model()
    arrays = [layer.w for layer in model.layers]
    value, _ = MODES[mode](tracejit.value_and_grad(loss), model, X)
    np.testing.assert_allclose(value, loss(plain, X), rtol=1e-14)
    assert held(plain) == held(model)
    assert all(a is layer.w for a, layer in zip(arrays, model.layers, strict=True))


@pytest.mark.parametrize("mode", MODES)
def test_other_transforms(mode: str) -> None:
    slopes = MODES[mode](tracejit.grad(loss), Model(), X)
    (first, second), aux = MODES[mode](
        lambda m, x: tracejit.grad(loss_and_aux, argnums=(0, 1), has_aux=True)(m, x), Model(), X
    )
    assert held(first.layers) == held(slopes.layers) and second.shape == X.shape and aux == 3
    result, (by_model, by_x) = MODES[mode](
        lambda m, x: (lambda y, pull: (y, pull(1.0)))(*tracejit.vjp(loss, m, x)), Model(), X
    )
    assert held(by_model.layers[1].w) == held(slopes.layers[1].w)
    np.testing.assert_allclose(by_x, second, rtol=1e-12)
    _, slope = MODES[mode](
        lambda m, x, t: tracejit.jvp(loss, (m, x), (t, None)), Model(), X, slopes
    )
    expected = (slopes.layers[0].w ** 2).sum() + sum(
        (getattr(layer, n) ** 2).sum()
        for layer, n in [(slopes.layers[0], "b"), (slopes.layers[1], "w"), (slopes.layers[1], "b")]
    )
    expected += (slopes.extra["gain"] ** 2).sum()
    np.testing.assert_allclose(slope, expected, rtol=1e-10)


def test_a_compiled_step_of_training() -> None:
    models = Model(), Model()
    step = tracejit.jit(train_step)
    losses = [(train_step(models[0], X), step(models[1], X)) for _ in range(5)]
    np.testing.assert_allclose(*zip(*losses, strict=True), rtol=1e-9)
    assert losses[-1][0] < losses[0][0]
    np.testing.assert_allclose(models[0].layers[0].w, models[1].layers[0].w, rtol=1e-9)
    assert step.report().fallbacks == [] and len(step.report().compiles) <= 2, str(step.report())
    # Another model is served by the same code.
    before = len(step.report().compiles)
    step(Model(), X)
    assert len(step.report().compiles) == before


@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_results_of_one_element(shape: tuple[int, ...]) -> None:
    def f(x: Any) -> Any:
        return (x * x).sum().reshape(shape)

    np.testing.assert_array_equal(tracejit.grad(f)(X), 2 * X)
    with tracejit.eager():
        np.testing.assert_array_equal(tracejit.grad(f)(X), 2 * X)
    with pytest.raises(TypeError, match="one real floating-point number"):
        tracejit.grad(lambda x: x * x)(X)
