"""Trees: leaves, paths and maps of containers and objects, plain and in compiled functions."""

from __future__ import annotations

from collections import OrderedDict, deque, namedtuple
from typing import Any

import numpy as np
import pytest

import tracejit
import tracejit.optim
from tests.transforms.gradient_objects import Model, Momentum, descend

Pair = namedtuple("Pair", "a b")
X = np.linspace(0, 1, 6).reshape(2, 3)


def test_leaves_and_paths_of_containers() -> None:
    given = {"a": 1, "b": [2.0, None, "x"], "c": Pair(np.ones(2), (True,))}
    assert [path for path, _ in tracejit.tree.paths(given)] == [
        *("['a']", "['b'][0]", "['c'].a", "['c'].b[0]"),
    ]
    leaves, structure = tracejit.tree.flatten(given)
    assert leaves[:2] == [1, 2.0] and leaves[2] is given["c"].a and leaves[3] is True
    again = tracejit.tree.unflatten(structure, leaves)
    assert again["b"] == given["b"] and again["b"] is not given["b"] and type(again["c"]) is Pair
    assert tracejit.tree.flatten(again)[1] == structure
    assert tracejit.tree.flatten({"a": 1})[1] != structure
    with pytest.raises(ValueError, match="3 leaves for a tree of 4"):
        tracejit.tree.unflatten(structure, leaves[:3])
    doubled = tracejit.tree.map(lambda x, y: x + y, {"a": 1, "n": None}, {"a": 2, "n": None})
    assert doubled == {"a": 3, "n": None}
    with pytest.raises(ValueError, match="a tree of 1 leaves, and one of 2"):
        tracejit.tree.map(lambda x, y: x, [1], [1, 2])


def test_leaves_of_objects_are_their_arrays() -> None:
    model = Model()
    named = tracejit.tree.paths(model)
    assert [path for path, _ in named] == [
        *(".layers[0].w", ".layers[0].b", ".layers[1].w", ".layers[1].b"),
        *(".extra['gain']", ".mean"),
    ]
    assert named[0][1] is model.layers[0].w
    twice = tracejit.tree.map(lambda x: 2 * x, model)
    assert type(twice) is Model and twice.tied is twice.layers[0].w and twice.sizes == [3, 4, 2]
    assert twice.name == "model" and twice.layers[0].calls == 0
    np.testing.assert_array_equal(twice.tied, 2 * model.tied)


def test_paths_in_compiled_functions() -> None:
    """Of arguments and of what the function makes: the same paths, leaves and errors."""

    def named(model: Any, x: Any) -> Any:
        made = {"a": x + 1, "b": [x * 2, None, "text"], "c": Pair(x, (3.0,)), "i": x > 0}
        both = [model, made]
        return [(path, leaf) for path, leaf in tracejit.tree.paths(both)]

    model = Model()
    (plain, found) = named(model, X), tracejit.jit(named, strict=True)(model, X)
    assert [path for path, _ in found] == [path for path, _ in plain]
    assert all(np.array_equal(a, b) for (_, a), (_, b) in zip(found, plain, strict=True))
    assert all(a is b for (_, a), (_, b) in zip(found[:6], plain[:6], strict=True))


@pytest.mark.parametrize("hides", [OrderedDict, lambda pairs: deque(v for _, v in pairs)])
@pytest.mark.filterwarnings("ignore::tracejit.FallbackWarning")
def test_arrays_that_paths_leave_out_are_an_error_in_compiled_functions(hides: Any) -> None:
    def inside(x: Any) -> Any:
        return len(tracejit.tree.paths([x, hides([("a", x)])]))

    def outside(x: Any, held: Any) -> Any:
        return len(tracejit.tree.paths({"x": x, "held": held}))

    for f, args in ((inside, (X,)), (outside, (X, hides([("a", X)])))):
        for g in (f, tracejit.jit(f)):
            with pytest.raises(TypeError, match="which is no part of a tree"):
                g(*args)


@pytest.mark.parametrize("name", ["SGD", "Momentum", "AdaGrad", "RMSProp", "Adam", "AdamW", "Lion"])
def test_an_optimiser_that_the_function_makes(name: str) -> None:
    make = getattr(tracejit.optim, name)

    def trained(x: Any, y: Any) -> Any:
        weights = {"w": x[0] * 0.0, "b": y[:1] * 0.0}
        opt = make(weights, 0.1)
        for _ in range(3):
            grads = tracejit.grad(lambda p: ((x @ p["w"] + p["b"] - y) ** 2).mean())(weights)
            opt.update(weights, grads)
        return weights["w"], weights["b"]

    x, y = np.random.default_rng(0).standard_normal((5, 3)), np.arange(5.0)
    for found, plain in zip(tracejit.jit(trained, strict=True)(x, y), trained(x, y), strict=True):
        np.testing.assert_allclose(found, plain, rtol=1e-9)


def test_a_gradient_by_rows_is_one_leaf() -> None:
    """It stands for an array: leaves of parameters and of gradients are pairs."""

    def loss(tables: Any, idx: Any) -> Any:
        return (tables["a"][idx] * tables["b"][idx]).sum()

    def shapes(tables: Any, idx: Any) -> Any:
        slopes = tracejit.grad(loss, sparse_rows=True)(tables, idx)
        pairs = zip(tracejit.tree.leaves(tables), tracejit.tree.leaves(slopes), strict=True)
        return [g.shape == p.shape for p, g in pairs], tracejit.tree.map(
            lambda g: g.shape[0], slopes
        )

    tables = {"a": np.ones((5, 2)), "b": np.ones((4, 2))}
    for f in (shapes, tracejit.jit(shapes, strict=True)):
        assert f(tables, np.array([1, 3])) == ([True, True], {"a": 5, "b": 4})
    rows = tracejit.RowGradient(np.array([1]), np.ones((1, 2)), (5, 2))
    assert tracejit.tree.paths([rows]) == [("[0]", rows)]


def test_compiled_training_with_trees() -> None:
    models = [Model(), Model()]
    optimisers = [Momentum(model) for model in models]
    step = tracejit.jit(descend)
    for _ in range(4):
        x = X.copy(), X.copy()
        values = descend(models[0], optimisers[0], x[0]), step(models[1], optimisers[1], x[1])
        np.testing.assert_allclose(*values, rtol=1e-9)
    pairs: Any = zip(*(tracejit.tree.leaves(m) for m in models), strict=True)
    for a, b in pairs:
        np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-12)
    assert optimisers[1].steps == 4
    assert step.report().fallbacks == [], str(step.report())


def test_structures_in_compiled_functions() -> None:
    def f(given: Any) -> Any:
        leaves, structure = tracejit.tree.flatten(given)
        return tracejit.tree.unflatten(structure, [x * 2 for x in leaves])

    given = {"a": X, "b": [1.5, (X[0], None)], "c": "text"}
    expected, found = f(given), tracejit.jit(f)(given)
    assert found.keys() == expected.keys() and found["c"] == "text" and found["b"][0] == 3.0
    np.testing.assert_array_equal(found["b"][1][0], expected["b"][1][0])
    assert found["b"][1][1] is None
    with tracejit.eager():
        slopes = tracejit.grad(lambda x: f({"x": x})["x"].sum())(X)
    np.testing.assert_array_equal(slopes, np.full_like(X, 2))
