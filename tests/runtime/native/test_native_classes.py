"""Methods that run no Python code, and changes of objects and classes that they must see."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from types import MethodType
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import publishing as p
from tests.runtime.native.test_native_publish import X, counting
from tests.support.compare import assert_same
from tracejit.runtime import native

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())


def test_attributes() -> None:
    model = p.Model(2.0)
    f = p.Model.weighted
    for weight in (3.0, np.arange(4.0), np.ones((4, 1)), np.ones(4, "f4"), [1.0] * 4, 2.0):
        model.weight = weight
        assert_same(f.__wrapped__(model, X), model.weighted(X))
        assert_same(f.__wrapped__(model, X, bias=X), model.weighted(X, bias=X))
    del model.weight
    with pytest.raises(AttributeError):
        model.weighted(X)


def test_attributes_of_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = p.Model(2.0)
    assert_same(model.scaled(X), X * 2.0)
    monkeypatch.setattr(p.Model, "factor", 3.0)
    assert_same(model.scaled(X), X * 3.0)
    model.factor = 4.0
    assert_same(model.scaled(X), X * 4.0)

    class Other(p.Model):
        factor = 5.0

    del model.factor
    model.__class__ = Other
    assert_same(model.scaled(X), X * 5.0)


def agree(model: Any, x: Any = X) -> None:
    """Two calls of `run` give what the plain function gives now."""
    expected = p.Derived.run.__wrapped__(model, x)
    for _ in range(2):
        assert_same(expected, model.run(x))


@pytest.mark.compiles
def test_methods_properties_and_class_attributes_run_no_python() -> None:
    model = p.Derived(2.0)
    agree(model)
    entries = [entry.keep[1] for entry in p.Derived.run._entries]
    assert entries[-1].reread is None
    with counting(p.Derived.run) as calls:
        agree(model)
    assert not calls


def negate(self: Any, x: Any) -> Any:
    return -x


CHANGES: dict[str, Callable[[Any, Any, pytest.MonkeyPatch], None]] = {
    "an attribute": lambda model, cls, patch: patch.setattr(model, "shift", X),
    "a constant of the class": lambda model, cls, patch: patch.setattr(p.Base, "rate", 4.0),
    "a constant of the instance": lambda model, cls, patch: patch.setattr(model, "rate", 4.0),
    "a constant in between": lambda model, cls, patch: setattr(cls, "rate", 5.0),
    "an array of the class": lambda model, cls, patch: patch.setattr(p.Base, "table", np.ones(4)),
    "an array of another dtype": lambda model, cls, patch: patch.setattr(
        p.Base, "table", np.ones((2, 4), "f4")
    ),
    "a method of the class": lambda model, cls, patch: setattr(cls, "act", negate),
    "a method of a base": lambda model, cls, patch: patch.setattr(p.Base, "act", negate),
    "a method of the instance": lambda model, cls, patch: patch.setattr(
        model, "act", lambda x: -x, raising=False
    ),
    "the code of a method": lambda model, cls, patch: patch.setattr(
        p.Base.act, "__code__", negate.__code__
    ),
    "a static method": lambda model, cls, patch: patch.setattr(
        p.Base, "double", staticmethod(lambda x: -x)
    ),
    "a static method that is none": lambda model, cls, patch: patch.setattr(
        p.Base, "double", negate
    ),
    "a class method": lambda model, cls, patch: patch.setattr(p.Base, "rated", classmethod(negate)),
    "a property": lambda model, cls, patch: patch.setattr(
        p.Base, "shifted", property(lambda self: self.shift * 5)
    ),
    "a property that is none": lambda model, cls, patch: setattr(cls, "shifted", 3.0),
    "the class": lambda model, cls, patch: setattr(
        model, "__class__", type("Last", (cls,), {"rate": 9.0})
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_changes_of_classes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    cls: Any = type("Middle", (p.Derived,), {})
    model = cls(2.0)
    agree(model)
    CHANGES[name](model, cls, monkeypatch)
    agree(model)
    monkeypatch.undo()
    agree(model)


def test_bases_that_change() -> None:
    class Before:
        rate = 11.0

        def act(self, x: Any) -> Any:
            return -x

    class Middle(p.Derived):
        pass

    class Last(Middle):
        pass

    model = Last(2.0)
    agree(model)
    Last.__bases__ = (Before, Middle)
    agree(model)
    Last.__bases__ = (Middle, Before)
    agree(model)


def test_bound_methods_of_instances() -> None:
    model, other = p.Derived(2.0), p.Derived(3.0)

    def twice(self: Any, x: Any) -> Any:
        return x * self.shift + self.shift

    for function in (negate, twice, p.Base.act, negate):
        for owner in (model, other, model):
            model.act = MethodType(function, owner)
            agree(model)
    del model.act
    agree(model)


@dataclasses.dataclass
class Wider(p.Layer):
    """A layer with one more field."""

    more: Any = 5.0


class Halved(p.Layer):
    """A layer that is read in another way."""

    def __getattribute__(self, name: str) -> Any:
        value = object.__getattribute__(self, name)
        return value / 2 if name == "w" else value


@dataclasses.dataclass
class Ordered(p.Layer):
    """A layer that differs in its class alone."""


def test_dataclasses_of_other_classes() -> None:
    f = tracejit.jit(p.layer)
    layers = [cls(X, 2.0) for cls in (p.Layer, Wider, Halved, Ordered, p.Layer)]
    for layer in [*layers, *reversed(layers)]:
        for _ in range(2):
            assert_same(p.layer(layer, X), f(layer, X))
    extended = p.Layer(X, 2.0)
    extended.extra = 1.0  # type: ignore[attr-defined]
    assert_same(p.layer(extended, X), f(extended, X))
    with counting(f) as calls:
        f(layers[0], X)
    assert not calls


def test_dataclasses_whose_class_changes() -> None:
    f = tracejit.jit(p.layer)
    layer = p.Layer(X, 2.0)
    for cls in (p.Layer, Ordered, Halved, p.Layer):
        layer.__class__ = cls
        for _ in range(2):
            assert_same(p.layer(layer, X), f(layer, X))
