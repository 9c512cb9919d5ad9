"""What a class lacks while a function is compiled, and has at a later call, and lacks again."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.frontend.capture.absence_samples import GIVEN, MADE
from tests.runtime.test_failing_calls import outcome

X = np.ones(2)


class Plain:
    v = 1.0


class Slots:
    __slots__ = ("q", "v")

    def __init__(self) -> None:
        self.v = 1.0


@dataclasses.dataclass(eq=False)
class Data:
    v: float = 1.0


class Derived(Plain):
    def __init__(self) -> None:
        self.v = 2.0


class Error(ValueError):
    v = 1.0


def by_argument(f: Callable[..., Any], given: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    return f, (X, given)


def by_closure(f: Callable[..., Any], given: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def run(x: Any) -> Any:
        return f(x, given)

    return run, (X,)


def by_attribute(f: Callable[..., Any], given: Any) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    def run(x: Any, holder: Any) -> Any:
        return f(x, holder.held)

    holder = Plain()
    holder.held = given  # type: ignore[attr-defined]
    return run, (X, holder)


def _copy(cls: type) -> Any:
    """A class of its own with the contents of `cls`."""
    dropped = {"__dict__", "__weakref__", *vars(cls).get("__slots__", ())}
    held = {k: v for k, v in vars(cls).items() if k not in dropped}
    return type(cls)(cls.__name__, cls.__bases__, held)


def _follow(cls: Any, f: Any, args: tuple[Any, ...], attributes: dict[str, Any]) -> None:
    own = {name: vars(cls)[name] for name in attributes if name in vars(cls)}
    for first in (False, True):
        compiled = tracejit.jit(f)
        for step in range(4):
            for name, value in attributes.items():
                if (step % 2 == 0) is first:
                    setattr(cls, name, value)
                elif name in own or name == "__doc__":
                    setattr(cls, name, own.get(name))
                elif name in vars(cls):
                    delattr(cls, name)
            assert outcome(compiled, *args) == outcome(f, *args), (step, first)


def cases(programs: dict[str, Any], classes: list[type], ways: list[Any]) -> list[Any]:
    return [
        pytest.param(name, cls, way, id=f"{name}-{cls.__name__}-{way.__name__}")
        for name in programs
        for cls in classes
        for way in ways
    ]


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("name", "cls", "way"),
    cases(GIVEN, [Plain, Slots, Data, Derived], [by_argument, by_closure, by_attribute]),
)
def test_objects_that_are_given(name: str, cls: type, way: Any) -> None:
    f, attributes = GIVEN[name]
    own = _copy(cls)
    _follow(own, *way(f, own()), attributes)


@pytest.mark.sampled(10)
@pytest.mark.parametrize(
    ("name", "cls", "way"),
    cases(MADE, [Plain, Slots, Data, Derived, Error], [by_argument, by_closure]),
)
def test_objects_that_are_made(name: str, cls: type, way: Any) -> None:
    f, attributes = MADE[name]
    own = _copy(cls)
    _follow(own, *way(f, own), attributes)
