"""Arguments that a function never reads: labels, files, options that others look at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import tracejit

X = np.arange(3.0)
TEXTS = [f"run {k}" for k in range(6)]
ODD = [None, [1], {"a": X}, object(), range(3), b"x", (1, "b"), np.arange(2), 3, np.str_("s"), "t"]


def labelled(x: Any, label: Any) -> Any:
    return x * 2


def first(label: Any, x: Any) -> Any:
    return x - 1


def named(x: Any, *rest: Any, mode: Any = "a", **others: Any) -> Any:
    return x + others.get("z", 1.0)


def with_default(x: Any, a: Any = None, label: Any = "b") -> Any:
    return x + (1 if a is None else 2)


def in_a_closure(x: Any, label: Any) -> Any:
    def size() -> int:
        return len(label)

    return x + size()


def by_locals(x: Any, label: Any) -> Any:
    return x + len(locals()) + len(locals()["label"])


def bound_again(x: Any, label: Any) -> Any:
    label = "abc"
    return x * len(label)


def returned(x: Any, label: Any) -> Any:
    return x, label


def calls_of(f: Any) -> list[tuple[tuple[Any, ...], dict[str, Any]]]:
    if f is named:
        return [((X, *TEXTS[:n]), {"mode": t}) for n in range(2) for t in TEXTS]
    if f is with_default:
        return [((X,), {"label": t}) for t in TEXTS] + [((X, 1, t), {}) for t in TEXTS]
    if f is first:
        return [((t, X), {}) for t in ODD] + [((), {"x": X, "label": t}) for t in ODD]
    return [((X, t), {}) for t in TEXTS] + [((X,), {"label": t}) for t in TEXTS]


FUNCTIONS = [labelled, first, named, with_default, in_a_closure, by_locals, bound_again, returned]


@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_results_are_those_of_the_function(f: Any) -> None:
    compiled = tracejit.jit(f)
    for args, kwargs in calls_of(f):
        assert repr(compiled(*args, **kwargs)) == repr(f(*args, **kwargs))


@pytest.mark.compiles
@pytest.mark.parametrize("f", [labelled, first], ids=lambda f: f.__name__)
def test_one_compile_serves_all(f: Any) -> None:
    compiled = tracejit.jit(f)
    for args, kwargs in calls_of(f):
        compiled(*args, **kwargs)
    assert len(compiled.report().compiles) == 1


def test_an_argument_is_missed_all_the_same() -> None:
    compiled = tracejit.jit(labelled)
    compiled(X, "a")
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'label'"):
        compiled(X)
    with pytest.raises(TypeError, match="takes 2 positional arguments but 3 were given"):
        compiled(X, "a", "b")


def test_code_that_is_replaced_may_read_it() -> None:
    def plain(x: Any, label: Any) -> Any:
        return x * 2

    def reads(x: Any, label: Any) -> Any:
        return x * len(label)

    compiled = tracejit.jit(plain)
    for t in TEXTS[:2]:
        np.testing.assert_array_equal(compiled(X, t), X * 2)
    plain.__code__ = reads.__code__
    for t in ("ab", "abc", "ab"):
        np.testing.assert_array_equal(compiled(X, t), X * len(t))


# Parts of arguments ---------------------------------------------------------------------------


@dataclass
class Shape:
    length: Any
    name: str = "s"
    tags: Any = None

    def area(self) -> Any:
        return self.length * self.length

    def described(self) -> Any:
        return self.length * len(self.name)

    @property
    def letters(self) -> int:
        return len(self.name)

    def by_property(self) -> Any:
        return self.length * self.letters

    def by_method(self) -> Any:
        return self.described() + self.length

    def stores(self) -> Any:
        self.length = self.length + 1
        return self.length


@dataclass(slots=True)
class Slotted:
    length: Any
    name: str = "s"


@dataclass
class Watching(Shape):
    def __getattribute__(self, name: str) -> Any:
        found = object.__getattribute__(self, name)
        return found + len(object.__getattribute__(self, "name")) if name == "length" else found


class Descriptor:
    def __get__(self, owner: Any, cls: Any) -> Any:
        return 1.0 if owner is None else owner.__dict__["length"] + len(owner.name)

    def __set__(self, owner: Any, value: Any) -> None:
        owner.__dict__["length"] = value


@dataclass
class Described:
    length: Any = Descriptor()
    name: str = "s"


def attribute(shape: Any) -> Any:
    return shape.length * 2


def attribute_by_name(*, shape: Any) -> Any:
    return shape.length * 2


def item_of_dict(table: Any) -> Any:
    return table["length"] * 2


def item_or_keys(table: Any) -> Any:
    return table["length"] * len(table)


def item_by_name(table: Any, key: str) -> Any:
    return table["length"] * len(table[key])


def iterated(table: Any) -> Any:
    return sum(len(v) for v in table.values() if isinstance(v, str)) * table["length"]


def replaced(shape: Any) -> Any:
    length = shape.length
    shape = Shape(length, "abc")
    return length * len(shape.name)


def enclosed(shape: Any) -> Any:
    def letters() -> int:
        return len(shape.name)

    return shape.length * letters()


def passed_on(shape: Any) -> Any:
    return shape.length + Shape.described(shape)


def returned_whole(shape: Any) -> Any:
    return shape.length, shape


def two_of_them(shape: Any, other: Any) -> Any:
    return shape.length * len(other.name)


def positions_alone(x: Any, label: Any = "", table: Any = None, /, **others: Any) -> Any:
    length = x if table is None else table["length"]
    text, other = others.values()
    return length * len(text) * len(other["name"])


def table(name: str) -> dict[str, Any]:
    return {"length": X, "name": name}


#: Function -> arguments for a text; whether one compile serves all texts.
PARTS: dict[Any, tuple[Any, bool]] = {
    Shape.area: (lambda t: ((Shape(X, t, [t]),), {}), True),
    attribute: (lambda t: ((Slotted(X, t),), {}), True),
    attribute_by_name: (lambda t: ((), {"shape": Shape(X, t)}), True),
    item_of_dict: (lambda t: ((table(t),), {}), True),
    Shape.described: (lambda t: ((Shape(X, t),), {}), False),
    Shape.by_property: (lambda t: ((Shape(X, t),), {}), False),
    Shape.by_method: (lambda t: ((Shape(X, t),), {}), False),
    Shape.stores: (lambda t: ((Shape(X, t),), {}), False),
    item_or_keys: (lambda t: ((table(t),), {}), False),
    item_by_name: (lambda t: ((table(t), "name"), {}), False),
    iterated: (lambda t: ((table(t),), {}), False),
    replaced: (lambda t: ((Shape(X, t),), {}), False),
    enclosed: (lambda t: ((Shape(X, t),), {}), False),
    passed_on: (lambda t: ((Shape(X, t),), {}), False),
    returned_whole: (lambda t: ((Shape(X, t),), {}), False),
    two_of_them: (lambda t: ((Shape(X, t), Shape(X, t)), {}), False),
    positions_alone: (lambda t: ((X,), {"label": t, "table": table(t)}), False),
}
LENGTHS = ["a" * k for k in range(1, 5)]


@pytest.mark.compiles
@pytest.mark.parametrize("f", PARTS, ids=lambda f: f.__name__)
def test_parts_that_are_not_read(f: Any) -> None:
    made, serves_all = PARTS[f]
    compiled = tracejit.jit(f)
    for text in (*LENGTHS, *LENGTHS):
        (args, kwargs), (own_args, own_kwargs) = made(text), made(text)
        assert repr(compiled(*args, **kwargs)) == repr(f(*own_args, **own_kwargs))
        assert repr((args, kwargs)) == repr((own_args, own_kwargs))
    assert not serves_all or len(compiled.report().compiles) == 1


@pytest.mark.parametrize("cls", [Watching, Described], ids=lambda c: c.__name__)
def test_attributes_that_code_of_the_class_reads(cls: Any) -> None:
    compiled = tracejit.jit(attribute)
    for text in LENGTHS:
        assert repr(compiled(cls(X, text))) == repr(attribute(cls(X, text)))


@pytest.mark.parametrize("given", [Shape(X), Slotted(X), table("a"), [X], (X,), {0: X, 1: "b"}])
def test_other_containers_in_turn(given: Any) -> None:
    def either(x: Any) -> Any:
        return x[0] * 2

    for f in (attribute, item_of_dict, either):
        compiled, results = tracejit.jit(f), []
        for call in (compiled, f, compiled):
            try:
                results.append(repr(call(given)))
            except (AttributeError, KeyError, TypeError) as e:
                results.append(repr(e))
        assert results[0] == results[1] == results[2]
