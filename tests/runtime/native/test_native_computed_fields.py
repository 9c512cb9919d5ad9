"""Attributes that code of the program gives, once their class has changed: it runs where the
function reads them, and in no check before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit

READS: list[str] = []


class Computed:
    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        READS.append("b")
        if instance is not None:
            instance.__dict__["a"] = np.full(3, 7.0)
        return 5.0

    def __set__(self, instance: Any, value: Any) -> None:
        raise AttributeError


def noted(x: Any, name: str) -> Any:
    if name == "b":
        READS.append(name)
        x.__dict__["a"] = np.full(3, 9.0)
    return object.__getattribute__(x, name)


def computed(cls: Any) -> None:
    cls.b = Computed()


def inherited(cls: Any) -> None:
    cls.__bases__[0].b = Computed()
    del cls.b


def attributes(cls: Any) -> None:
    cls.__getattribute__ = noted


def new_class() -> Any:
    class Base:
        pass

    @dataclass
    class Pair(Base):
        a: Any
        b: Any = 1.0

    return Pair


def new(cls: Any) -> Any:
    x = cls.__new__(cls)
    x.__dict__.update(a=np.ones(3), b=2.0)
    return x


def reads_one(x: Any) -> Any:
    return x.a * 2


def reads_both(x: Any) -> Any:
    return x.a * 2, x.b, x.a * 3


def outcome(f: Callable[..., Any], x: Any) -> tuple[str, list[str]]:
    READS.clear()
    result = f(x)
    return repr(result), [*READS]


class Plain:
    a: Any
    b: Any


def new_plain_class() -> Any:
    return type("Child", (type("Base", (Plain,), {}),), {"b": 1.0})


OBJECT: Any = None


def reads_global(_: Any) -> Any:
    return OBJECT.a * 2, OBJECT.b, OBJECT.a * 3


@pytest.mark.parametrize("change", [computed, inherited, attributes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("f", [reads_both, reads_global], ids=lambda f: f.__name__)
@pytest.mark.parametrize("make", [new_class, new_plain_class], ids=lambda f: f.__name__)
def test_computed_attributes_of_known_objects(f: Any, change: Any, make: Any) -> None:
    global OBJECT
    cls, compiled = make(), tracejit.jit(f)
    for k in range(6):
        if k == 3:
            change(cls)
        OBJECT = x = new(cls) if k == 0 else OBJECT
        x.__dict__.update(a=np.ones(3), b=2.0)
        result = outcome(compiled, x)
        x.__dict__.update(a=np.ones(3), b=2.0)
        assert result == outcome(f, x)


@pytest.mark.parametrize("change", [computed, inherited, attributes], ids=lambda f: f.__name__)
@pytest.mark.parametrize("f", [reads_one, reads_both], ids=lambda f: f.__name__)
@pytest.mark.parametrize("is_late", [False, True])
def test_computed_fields(f: Any, change: Callable[[Any], None], is_late: bool) -> None:
    cls, compiled = new_class(), tracejit.jit(f)
    if is_late:
        for _ in range(3):
            assert outcome(compiled, new(cls)) == outcome(f, new(cls))
    change(cls)
    for _ in range(3):
        assert outcome(compiled, new(cls)) == outcome(f, new(cls))
