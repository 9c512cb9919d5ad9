"""Jacobians, products and batches by objects and containers, against differences and loops."""

from __future__ import annotations

import types
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.transforms.test_gradients_by_objects import MODES

W = np.array([[0.3, -0.2], [0.5, 0.1], [-0.4, 0.6]])
B = np.array([0.1, -0.3])
X = np.array([0.2, 0.7, -0.5])
XS = np.array([X, 2 * X, X - 1, 0 * X])
#: What an argument is moved along, and cotangents of the result.
DW, DB, CT = np.arange(6.0).reshape(3, 2), np.array([0.5, -1.0]), np.array([1.5, -0.5])


class Model:
    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b, self.name, self.n, self.on, self.none = w, b, "model", 3, True, None
        self.sizes, self.parent = [3, 2], self


class Slots:
    __slots__ = ("b", "name", "w")

    def __init__(self, w: Any, b: Any) -> None:
        self.w, self.b, self.name = w, b, "slots"


@dataclass(frozen=True)
class Frozen:
    w: Any
    b: Any
    name: str = "frozen"
    n: int = 3


class Nested:
    def __init__(self, w: Any, b: Any) -> None:
        self.layers = [Slots(w, None), {"b": types.SimpleNamespace(b=b)}, "end"]

    @property
    def w(self) -> Any:
        return self.layers[0].w  # type: ignore[attr-defined]

    @property
    def b(self) -> Any:
        return self.layers[1]["b"].b  # type: ignore[index]


Pair = namedtuple("Pair", "w b")
KINDS: dict[str, Callable[[Any, Any], Any]] = {
    "object": Model,
    "slots": Slots,
    "namespace": lambda w, b: types.SimpleNamespace(w=w, b=b, n=2),
    "frozen dataclass": Frozen,
    "nested": Nested,
    "namedtuple": Pair,
    "dataclass of objects": lambda w, b: Frozen(Slots(w, None), [Slots(b, None)]),
    "dict": lambda w, b: {"w": w, "b": b, "name": "dict", "none": None},
}


def parts(p: Any) -> tuple[Any, Any]:
    """The arrays w and b of any of these."""
    if isinstance(p, dict):
        return p["w"], p["b"]
    if isinstance(p, Frozen) and isinstance(p.w, Slots):
        return p.w.w, p.b[0].w
    return p.w, p.b


def layer(p: Any, x: Any) -> Any:
    w, b = parts(p)
    return np.tanh(x @ w + b)


def energy(p: Any, x: Any) -> Any:
    return (layer(p, x) ** 2).sum()


def differences(f: Callable[[Any], Any], a: Any, step: float = 1e-5) -> Any:
    """The Jacobian of a function of an array by central differences."""
    columns = []
    for k in range(a.size):
        move = np.zeros(a.shape)
        move.flat[k] = step
        columns.append((np.asarray(f(a + move)) - np.asarray(f(a - move))) / (2 * step))
    return np.stack(columns, axis=-1).reshape(*columns[0].shape, *a.shape)


BY_W = differences(lambda w: layer(Pair(w, B), X), W)
BY_B = differences(lambda b: layer(Pair(W, b), X), B)
BLOCKS = [slice(0, 6), slice(6, 8)]


def flat_gradient(v: Any) -> Any:
    slopes = tracejit.grad(energy)(Pair(v[:6].reshape(3, 2), v[6:]), X)
    return np.concatenate([x.ravel() for x in slopes])


HESSIAN = differences(flat_gradient, np.concatenate([W.ravel(), B]))


def jacobian(mode: str) -> Callable[[Any], Any]:
    return lambda p: tracejit.jacobian(layer, mode=mode)(p, X)


def pulled(p: Any) -> Any:
    y, pull = tracejit.vjp(layer, p, X)
    rows = tracejit.vmap(lambda ct: pull(ct)[0])(np.stack([CT, 0 * CT]))
    return y, pull(CT)[0], rows


@pytest.mark.sampled(18)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_derivatives(kind: str, mode: str) -> None:
    make, run = KINDS[kind], MODES[mode]

    def close(p: Any, by_w: Any, by_b: Any) -> None:
        assert type(p) is type(make(W, B))
        for found, expected in zip(parts(p), (by_w, by_b), strict=True):
            assert np.shape(found) == np.shape(expected)
            np.testing.assert_allclose(found, expected, atol=1e-7)

    for order in ("forward", "reverse"):
        close(run(jacobian(order), make(W, B)), BY_W, BY_B)
    y, back, rows = run(pulled, make(W, B))
    np.testing.assert_allclose(y, layer(Pair(W, B), X))
    close(back, np.tensordot(CT, BY_W, 1), CT @ BY_B)
    close(rows, np.stack([parts(back)[0], 0 * W]), np.stack([parts(back)[1], 0 * B]))
    y, tangent = run(lambda p, d: tracejit.jvp(layer, (p, X), (d, None)), make(W, B), make(DW, DB))
    np.testing.assert_allclose(tangent, np.tensordot(BY_W, DW, 2) + BY_B @ DB, atol=1e-7)
    product = run(lambda p, d: tracejit.hvp(energy)(p, X, d), make(W, B), make(DW, DB))
    along = HESSIAN @ np.concatenate([DW.ravel(), DB])
    close(product, along[:6].reshape(3, 2), along[6:])
    whole = run(lambda p: tracejit.hessian(energy)(p, X), make(W, B))
    for row, rows_of in zip(parts(whole), BLOCKS, strict=True):
        expected = HESSIAN[rows_of]
        close(
            row,
            expected[:, :6].reshape(*parts(row)[0].shape),
            expected[:, 6:].reshape(*parts(row)[1].shape),
        )


@pytest.mark.sampled(12)
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("kind", KINDS)
def test_batches(kind: str, mode: str) -> None:
    make, run = KINDS[kind], MODES[mode]
    ws, bs = np.stack([W, 2 * W, -W, W + 1]), np.stack([B, B, 2 * B, -B])
    expected = [layer(Pair(w, b), x) for w, b, x in zip(ws, bs, XS, strict=True)]
    found = run(lambda p: tracejit.vmap(layer)(p, XS), make(ws, bs))
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    found = run(lambda p: tracejit.vmap(layer, in_axes=(None, 0))(p, XS), make(W, B))
    np.testing.assert_allclose(found, layer(Pair(W, B), XS), rtol=1e-12)
    # Results are objects too.
    slopes = run(
        lambda p: tracejit.vmap(tracejit.grad(energy), in_axes=(None, 0))(p, XS), make(W, B)
    )
    assert type(slopes) is type(make(W, B))
    each = [tracejit.grad(energy)(Pair(W, B), x) for x in XS]
    for k in range(2):
        np.testing.assert_allclose(parts(slopes)[k], [g[k] for g in each], atol=1e-12)


AXES: dict[str, Any] = {
    "dict": {"w": 0},
    "object": types.SimpleNamespace(w=0, b=None),
    "same class": Model(0, None),
    "a map": tracejit.tree.map(lambda x: 0 if x.ndim > 2 else None, Model(np.ones((1, 1, 1)), B)),
}


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("axes", AXES)
def test_axes_of_an_object(axes: str, mode: str) -> None:
    model = Model(np.stack([W, 2 * W]), B)
    found = MODES[mode](lambda m: tracejit.vmap(layer, in_axes=(AXES[axes], None))(m, X), model)
    np.testing.assert_allclose(found, [layer(Pair(w, B), X) for w in model.w], rtol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_axes_that_do_not_fit_an_object(mode: str) -> None:
    model = Model(np.stack([W, 2 * W]), B)
    model.sizes = np.arange(3)  # type: ignore[assignment]
    for axes, message in (
        (0, "sizes 2 and 3, of p.sizes"),
        ({"w": "first"}, "in_axes='first' does not fit"),
        ({"b": 1}, "an array of 1 axes has no axis 1"),
        (Pair(0, 0), "does not fit"),
    ):
        with pytest.raises((TypeError, ValueError), match=message):
            MODES[mode](
                lambda m, axes=axes: tracejit.vmap(layer, in_axes=(axes, None))(m, X), model
            )


class Counter:
    def __init__(self) -> None:
        self.w, self.calls, self.seen = np.ones(3), 0, []

    def __call__(self, x: Any) -> Any:
        return (self.w * x).sum()

    def counted(self, x: Any) -> Any:
        self.calls += 1
        return (self.w * x).sum() * self.calls

    def decaying(self, x: Any) -> Any:
        self.w = self.w * 0.5
        return (self.w * x).sum()

    def noted(self, x: Any) -> Any:
        self.seen.append(x.sum())
        return (self.w * x).sum()

    def halving(self, x: Any) -> Any:
        self.w *= 0.5
        return (self.w * x).sum()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", ["__call__", "counted", "decaying", "noted", "halving"])
@pytest.mark.filterwarnings("ignore::tracejit.FallbackWarning")
def test_methods_that_store_state_do_so_once_for_each_element(name: str, mode: str) -> None:
    plain, model = Counter(), Counter()
    expected = [getattr(plain, name)(x) for x in XS]
    found = MODES[mode](lambda m, xs: tracejit.vmap(getattr(m, name))(xs), model, XS)
    np.testing.assert_allclose(found, expected)
    assert model.calls == plain.calls
    np.testing.assert_allclose(model.w, plain.w)
    np.testing.assert_allclose(model.seen, plain.seen)


@pytest.mark.parametrize("mode", MODES)
def test_state_of_an_object_that_is_mapped_over(mode: str) -> None:
    def batch() -> Any:
        model = Counter()
        model.w = np.ones((4, 3))
        return model

    for name in ("counted", "decaying"):
        with pytest.raises(
            TypeError, match=r"changes the attribute .* of a Counter that is mapped"
        ):
            MODES[mode](tracejit.vmap(getattr(Counter, name)), batch(), XS)
    with pytest.raises(TypeError, match="changes the entry 1 of a list that is mapped"):
        MODES[mode](tracejit.vmap(lambda xs: xs.append(1.0) or xs[0]), [XS])
    # Stores into arrays are in the arrays.
    model = batch()
    found = MODES[mode](tracejit.vmap(Counter.halving), model, XS)
    np.testing.assert_allclose(found, 0.5 * XS.sum(1))
    np.testing.assert_array_equal(model.w, np.full((4, 3), 0.5))


@pytest.mark.parametrize("mode", MODES)
def test_objects_that_a_batch_makes(mode: str) -> None:
    def made(x: Any) -> Any:
        return types.SimpleNamespace(a=2 * x, total=x.sum(), count=3, name="x", model=model)

    model = Model(W, B)
    found = MODES[mode](lambda xs: tracejit.vmap(made, out_axes={"a": 1, "total": 0})(xs), XS)
    np.testing.assert_array_equal(found.a, 2 * XS.T)
    np.testing.assert_allclose(found.total, XS.sum(1), atol=1e-15)
    assert (found.count, found.name) == (3, "x") and found.model is model
    for text in (lambda x: f"{x[0]}", lambda x: types.SimpleNamespace(x=x, name=f"{x[0]}")):
        with pytest.raises(TypeError, match="vmap"):
            MODES[mode](lambda xs, text=text: tracejit.vmap(text)(xs), XS)


@pytest.mark.parametrize("mode", MODES)
def test_what_holds_itself(mode: str) -> None:
    model = Model(W, B)
    model.sizes.append(model.sizes)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"p\.sizes\[2\] is a list"):
        MODES[mode](lambda m: tracejit.grad(energy)(m, X), model)
    with pytest.raises(ValueError, match="a list that holds itself"):
        MODES[mode](lambda m: tracejit.vmap(layer)(m, XS), model)
    with pytest.raises(ValueError, match="a list that holds itself"):
        tracejit.tree.leaves(model)


class Stateful:
    def __init__(self) -> None:
        self.calls, self.log, self.scale = 0, [], np.ones(3)

    def __call__(self, x: Any) -> Any:
        self.calls += 1
        self.log.append(self.calls)
        self.scale = self.scale * 2
        return self.scale * x * x


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("order", ["forward", "reverse"])
def test_a_jacobian_calls_its_function_once(order: str, mode: str) -> None:
    model = Stateful()
    matrix = MODES[mode](lambda m, x: tracejit.jacobian(m, mode=order)(x), model, X)
    np.testing.assert_allclose(matrix, np.diag(4 * X))
    assert (model.calls, model.log) == (1, [1])
    np.testing.assert_array_equal(model.scale, np.full(3, 2.0))
    # All rows see the same draws.
    drawn = MODES[mode](
        lambda x, rng: tracejit.jacobian(lambda x: rng.normal(size=3) * x, mode=order)(x),
        X,
        np.random.default_rng(1),
    )
    np.testing.assert_allclose(drawn, np.diag(np.random.default_rng(1).normal(size=3)))


COMPILED: dict[str, Callable[[Any], Any]] = {
    "rows": lambda p: tracejit.jacobian(layer)(p, X),
    "columns": lambda p: tracejit.jacobian(layer, mode="forward")(p, X),
    "hessian": lambda p: tracejit.hessian(energy)(p, X),
    "hvp": lambda p: tracejit.hvp(energy)(p, X, p),
    "pullback": lambda p: tracejit.vjp(layer, p, X)[1](CT)[0],
    "tangent": lambda p: tracejit.jvp(layer, (p, X), (p, None))[1],
    "gradients of samples": lambda p: tracejit.vmap(tracejit.grad(energy), (None, 0))(p, XS),
    "gradient of a batch": lambda p: tracejit.grad(
        lambda p: tracejit.vmap(energy, (None, 0))(p, XS).sum()
    )(p),
    "Jacobians of samples": lambda p: tracejit.vmap(lambda x: tracejit.jacobian(layer)(p, x))(XS),
}


@pytest.mark.parametrize("name", COMPILED)
def test_transforms_by_objects_are_compiled(name: str) -> None:
    for kind in ("nested", "dataclass of objects"):
        tracejit.jit(COMPILED[name], strict=True)(KINDS[kind](W, B))
