"""Dataclasses whose methods are written late are those of `dataclasses`."""

import copy
import dataclasses
import importlib
import inspect
import pickle
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, ClassVar

import pytest

import tracejit
from tracejit.base.lazy_dataclass import _Later, dataclass


@dataclass(frozen=True)
class Point:
    """A frozen one."""

    x: int
    y: float = 2.0
    names: list[str] = dataclasses.field(default_factory=list, compare=False)
    count: ClassVar[int] = 7


@dataclass
class Open:
    x: int
    y: int = dataclasses.field(init=False)
    z: str = dataclasses.field(default="z", repr=False)

    def __post_init__(self) -> None:
        self.y = self.x + 1


@dataclass(frozen=True)
class Further(Point):
    """One whose base is another."""

    z: int = 3


@dataclasses.dataclass(frozen=True)
class Mixed(Further):
    """One of `dataclasses` whose base is ours."""

    w: int = 4


def test_values() -> None:
    a, b = Point(1), Point(1, names=["b"])
    assert a == b and hash(a) == hash(b) and a != Point(2) and a.names == []
    assert repr(a) == "Point(x=1, y=2.0, names=[])"
    assert Point.count == 7 and a != (1, 2.0)
    assert dataclasses.replace(a, x=3) == Point(3)
    assert [f.name for f in dataclasses.fields(Further)] == ["x", "y", "names", "z"]
    assert Mixed(1, 2, [], 5, 6) == Mixed(1, 2, [], 5, 6) != Mixed(1, 2, [], 5, 7)
    match Mixed(1):
        case Mixed(x, y, _, z, w):
            assert (x, y, z, w) == (1, 2.0, 3, 4)


def test_changes() -> None:
    for change in (lambda x: setattr(x, "y", 1), lambda x: delattr(x, "x")):
        for made in (Point(1), Further(1)):
            with pytest.raises(dataclasses.FrozenInstanceError):
                change(made)
    x = Open(1)
    x.x = 5
    assert repr(x) == "Open(x=5, y=2)" and x.z == "z"
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'x'"):
        Open()  # type: ignore[call-arg]


def test_objects_that_no_constructor_made() -> None:
    """The first use of a class may be a copy of an object that another process wrote."""
    code = (
        "import pickle, sys; x, y = pickle.loads(sys.stdin.buffer.read()); "
        "assert x == y and x is not y and hash(x) == hash(y), x"
    )
    from tests.base import test_lazy_dataclass as here  # As the other process imports it.

    done = subprocess.run(
        [sys.executable, "-c", code],
        input=pickle.dumps((here.Point(1), here.Point(1))),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    assert copy.copy(Further(1)) == Further(1)


def test_threads() -> None:
    """All threads may be the first."""
    for _ in range(50):

        @dataclass(frozen=True)
        class Fresh:
            x: int
            y: list[int] = dataclasses.field(default_factory=list)
            z: str = dataclasses.field(default="z", compare=False)

        made: list[Any] = []
        start = threading.Barrier(4)

        def work(start: Any = start, made: Any = made) -> None:
            start.wait()
            made.append((Fresh(1) == Fresh(1), repr(Fresh(2)), Fresh(3).y))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        name = Fresh.__qualname__
        assert made == [(True, f"{name}(x=2, y=[], z='z')", [])] * 4


def _classes() -> Iterator[type]:
    for found in pkgutil.walk_packages(tracejit.__path__, "tracejit."):
        if found.name.partition(".")[2].partition(".")[0] in ("cli", "demo", "view", "__main__"):
            continue
        try:
            module = importlib.import_module(found.name)
        except ImportError:
            continue
        for cls in list(vars(module).values()):
            if isinstance(cls, type) and cls.__module__ == module.__name__:
                if isinstance(cls.__dict__.get("__dataclass_params__"), _OURS):
                    yield cls


_OURS = type(Point.__dict__["__dataclass_params__"])


def test_every_class_is_as_dataclasses_makes_it() -> None:
    compared = 0
    for cls in _classes():
        contents = {f.name: f for f in dataclasses.fields(cls) if f.name in cls.__annotations__}
        fields = {
            f.name: dataclasses.field(
                **{k: getattr(f, k) for k in ("default", "default_factory", "init")},
                **{k: getattr(f, k) for k in ("repr", "hash", "compare")},
            )
            for f in contents.values()
        }
        explicit = {
            name: value
            for name in ("__init__", "__repr__", "__eq__", "__hash__", "__post_init__")
            if (value := cls.__dict__.get(name)) is not None
            and not isinstance(value, _Later)
            and getattr(value, "__code__", None) is not None
            and value.__code__.co_filename != "<string>"
        }
        parameters = cls.__dict__["__dataclass_params__"]
        names = {"__annotations__": dict(cls.__annotations__), "__module__": cls.__module__}
        bases = tuple(b for b in cls.__bases__ if "__dataclass_fields__" in b.__dict__)
        known = dataclasses.dataclass(eq=parameters.eq, frozen=parameters.frozen)(
            type(cls.__name__, bases or (object,), {**names, **fields, **explicit})
        )
        what = f"{cls.__module__}.{cls.__qualname__}"
        for ours, theirs in zip(dataclasses.fields(cls), dataclasses.fields(known), strict=True):
            assert (ours.name, ours.type) == (theirs.name, theirs.type), what
        ours, theirs = (inspect.signature(c.__init__).parameters for c in (cls, known))
        assert list(ours) == list(theirs), what
        empty = inspect.Parameter.empty
        for name, p in ours.items():
            assert (p.default is empty) == (theirs[name].default is empty), what
        assert cls.__match_args__ == known.__match_args__, what
        for name in ("__hash__", "__eq__", "__setattr__", "__delattr__"):
            plain = [getattr(c, name) is getattr(object, name) for c in (cls, known)]
            assert plain[0] == plain[1], f"{what}.{name}"
        assert (cls.__hash__ is None) == (known.__hash__ is None), what
        compared += 1
    assert compared > 150
