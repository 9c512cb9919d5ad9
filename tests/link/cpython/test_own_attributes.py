"""Attributes of instances are looked at where they lie: nobody's `__dict__` is made for it."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

import tracejit
from tracejit.link.cpython import own_attributes
from tracejit.link.cpython.own_attributes import has_only, has_own


@dataclass
class Pair:
    first: float
    second: Any = None


class Plain:
    def __init__(self, x: Any) -> None:
        self.x = x

    def act(self, v: Any) -> Any:
        return np.tanh(v)

    def forward(self, v: Any) -> Any:
        return self.act(v * self.x)


class Odd(list):  # type: ignore[type-arg]
    pass


class Slots:
    __slots__ = ("a", "b")


class Finalised:
    def __del__(self) -> None: ...


class Colour(enum.Enum):
    RED = 1


class Setting:
    held: Any

    def __set_name__(self, owner: Any, name: str) -> None: ...

    def __set__(self, obj: Any, value: Any) -> None:
        raise AssertionError("nothing is stored here")

    def __get__(self, obj: Any, cls: Any) -> Any:
        return 1


class Described:
    setting = Setting()


def instances() -> list[Any]:
    slots = Slots()
    slots.a = 1
    found = [Pair(1.0), Plain(2), Odd([1]), slots, Finalised(), Colour.RED, Described(), 1.5]
    shrunk, grown, asked = Pair(1.0), Pair(1.0), Pair(1.0)
    del shrunk.first
    grown.third = 3  # type: ignore[attr-defined]
    vars(asked)
    return [*found, shrunk, grown, asked, type("Empty", (), {})(), Pair, np.sum]


def test_as_the_dict_says() -> None:
    names = ("first", "second", "x", "third", "a", "_value_", "setting", "forward")
    for x in instances():
        found = {name: has_own(x, name) for name in names}
        only = [has_only(x, names[:k]) for k in range(4)]
        own = getattr(x, "__dict__", {})
        assert found == {name: name in own for name in names}
        assert only == [set(own) == set(names[:k]) for k in range(4)]


def test_many_names() -> None:
    cls = type("Many", (), {})
    x = cls()
    for k in range(60):
        assert not has_own(x, f"absent{k}")
        setattr(x, f"name{k}", k)
        assert has_own(x, f"name{k}") and not has_own(cls(), f"name{k}")
    assert has_only(x, tuple(f"name{k}" for k in range(60)))


def has_values(x: Any) -> bool:
    """Whether nobody has asked for the dict of an object."""
    at = own_attributes.offset()
    assert at is not None
    return own_attributes._values(x, at) != 0


@pytest.mark.skipif(own_attributes.offset() is None, reason="attributes are kept elsewhere")
def test_calls_leave_attributes_where_they_are() -> None:
    def swapped(p: Pair) -> Any:
        return Pair(p.second, p.first)

    forward, jitted = tracejit.jit(Plain.forward), tracejit.jit(swapped)
    for k in range(4):
        plain, pair = Plain(np.arange(3.0) + k), Pair(1.0 + k, 2.0)
        np.testing.assert_array_equal(forward(plain, 2.0), np.tanh((np.arange(3.0) + k) * 2.0))
        assert jitted(pair) == Pair(2.0, 1.0 + k)
        assert has_values(plain) and has_values(pair)
    assert not forward.report().fallbacks and not jitted.report().fallbacks


def test_own_attributes_that_come_later_are_seen() -> None:
    forward = tracejit.jit(Plain.forward)
    for dict_first in (False, True):
        plain = Plain(2.0)
        if dict_first:
            vars(plain)
        assert forward(plain, 0.5) == np.tanh(1.0)
        plain.act = lambda v: v + 1.0  # type: ignore[method-assign]
        assert forward(plain, 0.5) == 2.0
        del plain.act
        assert forward(plain, 0.5) == np.tanh(1.0)


@dataclass
class Holder:
    x: float = 1.0
    history: Any = field(default_factory=list)


def test_fields_that_are_not_the_only_attributes() -> None:
    def read(h: Holder) -> Any:
        return h.x * 2.0

    jitted = tracejit.jit(read)
    for change in ("none", "extra", "none", "deleted", "replaced"):
        h = Holder(3.0)
        if change == "extra":
            h.other = 1  # type: ignore[attr-defined]
        if change == "deleted":
            del h.x
        if change == "replaced":
            del h.x
            h.other = 1  # type: ignore[attr-defined]
        assert jitted(h) == read(h)
