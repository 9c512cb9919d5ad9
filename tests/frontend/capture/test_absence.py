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


def _read_of_class(x: Any, holder: Any) -> Any:
    return x + type(holder).held.v


def _read(x: Any, holder: Any) -> Any:
    return x + holder.held.v


def _stored(x: Any, holder: Any) -> Any:
    holder.held = Derived()
    return x + holder.held.v


def _deleted(x: Any, holder: Any) -> Any:
    try:
        del holder.held
    except AttributeError:
        return x + 9
    return x + 8


@pytest.mark.parametrize("f", [_read_of_class, _read, _stored, _deleted])
@pytest.mark.parametrize("name", ["__get__", "__set__", "__delete__"])
@pytest.mark.parametrize("inherited", [False, True])
def test_what_a_class_holds_becomes_a_descriptor(f: Any, name: str, inherited: bool) -> None:
    """And is none again: what it holds is an object of a class of the program's own."""
    own = _copy(Plain)
    base = type("Base", (), {"held": own()})
    cls = type("Holder", (base,), {}) if inherited else base
    compiled = tracejit.jit(f)
    for step in range(4):
        if step % 2:
            setattr(own, name, lambda *args: Derived())
        elif name in vars(own):
            delattr(own, name)
        assert outcome(compiled, X, cls()) == outcome(f, X, cls()), step


class Given:
    first: Any = None
    second: Any = None


GIVEN_DTYPES = Given()


def _one_dtype(x: Any) -> Any:
    return x + (GIVEN_DTYPES.first is GIVEN_DTYPES.second)


def _shown_dtype(x: Any) -> Any:
    return x, repr(GIVEN_DTYPES.second)


FIELDS = {"names": ["a", "b"], "formats": ["i1", "f8"], "offsets": [0, 8], "itemsize": 16}
DTYPES = [
    (np.dtype("f8"), np.dtype("f8", copy=True)),
    (np.dtype("f8"), np.dtype("f8", metadata={"a": 1})),
    (np.dtype("U5"), np.dtype("U5")),
    (np.dtype("M8[s]"), np.dtype("M8[s]")),
    (np.dtype(">f8"), np.dtype(">f8")),
    (np.dtype([("a", "i1"), ("b", "f8")], align=True), np.dtype(FIELDS)),
]


@pytest.mark.parametrize("f", [_one_dtype, _shown_dtype])
@pytest.mark.parametrize("pair", DTYPES, ids=str)
@pytest.mark.parametrize("first", [0, 1])
def test_equal_dtypes(f: Any, pair: Any, first: int) -> None:
    """Which may be one object or two, and may show other things."""
    compiled = tracejit.jit(f)
    for step in range(4):
        GIVEN_DTYPES.first, GIVEN_DTYPES.second = pair[0], pair[(first + step) % 2]
        assert outcome(compiled, X) == outcome(f, X), step
