"""Warm calls run no Python, however their functions are reached and whatever they are given."""

from __future__ import annotations

import copy
import functools
import pickle
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.support.python_calls import calls_of
from tracejit import jit, runtime
from tracejit.link.cpython.own_attributes import offset

assert runtime

X = np.linspace(0.5, 2.0, 2000).reshape(50, 40)


class Model:
    scale = 2.0

    def __init__(self, factor: float = 1.0) -> None:
        self.w = np.full((40, 3), factor)

    def loss(self, x: Any) -> Any:
        return (np.tanh(x @ self.w) ** 2).mean()

    def other(self, x: Any) -> Any:
        return (np.tanh(x @ self.w) ** 3).mean()

    @classmethod
    def of_class(cls, x: Any) -> Any:
        return np.tanh(x).sum() * cls.scale

    @jit
    def compiled(self, x: Any) -> Any:
        return (x @ self.w).sum()

    __call__ = loss


class Other(Model):
    scale = 3.0


class NoWeakReference:
    __slots__ = ("w",)

    def __init__(self, factor: float) -> None:
        self.w = np.full((40, 3), factor)

    def loss(self, x: Any) -> Any:
        return (np.tanh(x @ self.w) ** 2).mean()


@dataclass
class Weights:
    w: Any
    scale: float


MODEL = Model()
METHOD = MODEL.other
DRAW = np.random.default_rng(0).normal


def by_method(x: Any) -> Any:
    return METHOD(x) * 3


def drawn(x: Any) -> Any:
    return x + DRAW(size=40)


def drawn_globally(x: Any) -> Any:
    return x + np.random.normal(size=40)


def called(f: Any, x: Any) -> Any:
    return f(x) * 2


@jit
def compiled(x: Any) -> Any:
    return np.tanh(x) * 2


def by_compiled(x: Any) -> Any:
    return compiled(x).sum()


def by_compiled_method(model: Any, x: Any) -> Any:
    return model.compiled(x)


def weighted(p: Any, x: Any) -> Any:
    return (np.tanh(x @ p.w) * p.scale).sum()


def in_dict(p: Any, x: Any, scale: float = 1.0, *, offset: float = 0.0) -> Any:
    return (np.tanh(x @ p["w"]) * scale + offset).sum()


def counted(model: Any, x: Any) -> Any:
    model.count = getattr(model, "count", 0) + 1
    model.w = model.w * 0.5
    return model.loss(x)


def read(model: Any) -> Any:
    vars(model)
    return model


W = {"w": np.ones((40, 3))}
CALLS: dict[str, tuple[Any, ...]] = {
    "arrays": (jit(np.tanh), X),
    "keywords": (functools.partial(jit(in_dict), offset=1.0, scale=2.0), W, X),
    "defaults": (jit(in_dict), W, X),
    "an object": (jit(called), MODEL, X),
    "an object whose dict was asked for": (jit(called), read(Model()), X),
    "a copied object": (jit(called), copy.deepcopy(MODEL), X),
    "an object from a pickle": (jit(called), pickle.loads(pickle.dumps(MODEL)), X),
    "a dataclass": (jit(weighted), Weights(W["w"], 2.0), X),
    "a dataclass whose dict was asked for": (jit(weighted), read(Weights(W["w"], 2.0)), X),
    "stores": (jit(counted), Model(), X),
    "stores into a copied object": (jit(counted), copy.copy(MODEL), X),
    "a callable object": (jit(MODEL), X),
    "a bound method": (jit(MODEL.loss), X),
    "a bound method of a class": (jit(Model.of_class), X),
    "a partial of a method": (jit(functools.partial(MODEL.loss)), X),
    "a method as an argument": (jit(called), MODEL.loss, X),
    "a class method as an argument": (jit(called), Model.of_class, X),
    "a method by a name": (jit(by_method), X),
    "a bound method of NumPy's by a name": (jit(drawn), X),
    "a global stream": (jit(drawn_globally), X),
    "a compiled function by a name": (jit(by_compiled), X),
    "a compiled function as an argument": (jit(called), jit(np.cosh), X),
    "a compiled method": (jit(by_compiled_method), MODEL, X),
    "a gradient": (tracejit.grad(in_dict), W, X),
    "a gradient for an object": (tracejit.grad(called, argnums=1), MODEL, X),
    "a gradient of a bound method": (jit(tracejit.grad(MODEL.loss)), X),
    "a map": (tracejit.vmap(lambda row: np.tanh(row).sum()), X),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_warm_call_runs_no_python(name: str) -> None:
    f, *args = CALLS[name]
    for _ in range(3):
        f(*args)
    assert calls_of(f, *args) == []


def methods() -> Iterator[Any]:
    one, two, three = Model(), Model(0.1), Other()
    yield from (one.loss, two.loss, one.other, Model.of_class, Other.of_class, three.of_class)
    yield from (one.compiled, two.compiled, NoWeakReference(1.0).loss, NoWeakReference(0.1).loss)
    yield from (types.MethodType(Model.loss, two), types.MethodType(np.multiply, 3.0))
    yield from (types.MethodType(one.loss.__func__, three), types.MethodType(np.add, X))
    for k in range(4):
        yield Model(k / 4).loss  # dies at once, so that another one may lie at its place


def test_other_bound_methods_are_noticed() -> None:
    f: Callable[..., Any] = jit(called)
    for _ in range(3):
        for method in methods():
            np.testing.assert_allclose(f(method, X), called(method, X), rtol=1e-9)


def test_a_bound_method_by_a_name_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    f: Callable[..., Any] = jit(by_method)
    for method in (METHOD, *methods(), METHOD):
        monkeypatch.setitem(globals(), "METHOD", method)
        for _ in range(2):
            np.testing.assert_allclose(f(X), by_method(X), rtol=1e-9)


@pytest.mark.parametrize("make", [Model, lambda: NoWeakReference(1.0)])
def test_what_a_compiled_method_reads_of_its_object_is_noticed(make: Any) -> None:
    model = make()
    f, plain = jit(model.loss), model.loss
    f(X)
    model.w = model.w * 0.1
    np.testing.assert_allclose(f(X), plain(X), rtol=1e-9)
    model.w = model.w.astype(np.float32)
    np.testing.assert_allclose(f(X), plain(X), rtol=1e-6)
    model.w = model.w[:, :2]
    np.testing.assert_allclose(f(X), plain(X), rtol=1e-6)
    if make is Model:
        model.__class__ = Other
        np.testing.assert_allclose(f(X), plain(X), rtol=1e-6)
    del model.w
    with pytest.raises(AttributeError):
        f(X)


class OddKey:
    def __hash__(self) -> int:
        return hash("loss")

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("compared")


class PlainDict(dict[str, Any]):
    pass


def _shadow(model: Any) -> None:
    model.loss = lambda x: x.sum()


def _shadow_in_another_dict(model: Any) -> None:
    model.__dict__ = PlainDict(vars(model), loss=lambda x: x.sum())


def _clear(model: Any) -> None:
    vars(model).clear()


def _drop(model: Any) -> None:
    del model.__dict__
    model.w = np.ones((40, 3)) / 2


def _add_odd_key(model: Any) -> None:
    vars(model)[OddKey()] = 1


def by_loss(model: Any, x: Any) -> Any:
    return model.loss(x)


@pytest.mark.parametrize("make", [Model, lambda: read(Model()), lambda: copy.copy(MODEL)])
@pytest.mark.parametrize("change", [_shadow, _shadow_in_another_dict, _clear, _drop, _add_odd_key])
def test_what_an_object_has_itself_is_noticed(make: Any, change: Any) -> None:
    f: Callable[..., Any] = jit(by_loss)
    found: list[Any] = []
    for run in (f, by_loss):
        model = make()
        run(model, X)
        change(model)
        try:
            found.append(run(model, X))
        except Exception as e:
            found.append(type(e).__name__)
    if isinstance(found[1], str):
        assert found[0] == found[1]
    else:
        np.testing.assert_allclose(*found, rtol=1e-9)


@pytest.mark.skipif(offset() is None, reason="instances keep attributes in another way")
def test_a_trace_leaves_the_array_of_an_object_that_it_stores_into() -> None:
    from tracejit.link.cpython.own_attributes import _values

    model = Model()
    jit(counted)(model, X)
    assert model.count == 1 and _values(model, offset() or 0)
