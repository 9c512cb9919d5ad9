"""Results in containers, and results that the run chooses, made by native entries."""

from __future__ import annotations

import dataclasses
import gc
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import tracejit
from tests.runtime.native.native_entries import F8, N, unary
from tests.runtime.native.test_native_publish import counting
from tests.runtime.native.test_native_views import assert_same_views
from tracejit.runtime import native
from tracejit.runtime.call.entry_spec import (
    ArrayLeaf,
    Choice,
    Container,
    OutArray,
    OutLeaf,
    OutObject,
    OutPyScalar,
    OutView,
)

pytestmark = pytest.mark.skipif(not native.available(), reason=native.why_not())

F = Callable[..., Any]
X = np.arange(24.0).reshape(4, 6).copy()


class Pair(NamedTuple):
    """A namedtuple of the tests."""

    left: Any
    right: Any = None


class Named(Pair):
    """One with a method, and a dict."""

    def both(self) -> Any:
        return self.left, self.right


@dataclasses.dataclass
class Plain:
    """A dataclass whose methods must not run."""

    a: Any
    b: Any = 1

    def __post_init__(self) -> None:
        self.b = (self.b, "seen")


@dataclasses.dataclass(frozen=True, slots=True)
class Slim:
    """One without a dict."""

    a: Any
    b: Any = None


def _either(x: Any, t: Any) -> Any:
    if t > 2:
        return x[1:]
    if t > 1:
        return x.T
    if t > 0:
        return x * t
    return x


def _in_containers(x: Any, t: Any) -> Any:
    a = x[1:] if t > 0 else x + 1
    b = x.T if t > 1 else x
    c = None if t > 0 else "text"
    return {"a": (a, [b]), "b": Pair(b, c), "t": t}


def _one_of_many(x: Any, t: Any) -> Any:
    return [x[:k] if t > k else x for k in range(8)]


def _first_above(x: Any, t: Any) -> Any:
    for i in range(x.shape[0]):
        if x[i, 0] > t:
            return x[i], i
    return x[0], -1


def _late_on_one_side(x: Any, t: Any) -> Any:
    if t > 0:
        return x[x > t][::-1]
    n = int(t) + 4
    return x[n], x[:n]


def _twice(x: Any, t: Any) -> Any:
    y = x * t
    if t > 0:
        return y, y.T
    return [y, y]


CONTAINERS: dict[str, F] = {
    "namedtuple": lambda x, t: Pair(x.T, x + t),
    "a default": lambda x, t: Pair(x * t),
    "nested namedtuples": lambda x, t: Pair(Pair(x, x[0]), [Named(t, x + 1)]),
    "dataclass": lambda x, t: Slim(x.T, x + t),
    "dataclasses": lambda x, t: {"a": Slim(Slim(x[1:])), "b": (Slim(t, x + t),)},
    "dicts of dicts": lambda x, t: {"a": {"b": {"c": x[1:]}}, 1: [], True + 1: ((), {})},
    "lists of constants": lambda x, t: (x + t, list(range(300)), [[k] * 9 for k in range(3)]),
    "one list of constants": lambda x, t: ((y := [None] * 9), {"y": y}, x + t),
    "the same in all": lambda x, t: ((y := x + t), [y, {"y": y}], Pair(y, y)),
}
CHOICES: dict[str, F] = {
    "either": _either,
    "in containers": _in_containers,
    "too many": _one_of_many,
    "an early return": _first_above,
    "a late size": _late_on_one_side,
    "shared by two": _twice,
}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("name", [*CONTAINERS, *CHOICES])
def test_results_are_pythons_without_python(name: str) -> None:
    f = CONTAINERS.get(name) or CHOICES[name]
    jitted = tracejit.jit(f)
    values = (-2.0, -0.5, 0.5, 1.5, 2.5, 7.0, 40.0)
    if name == "a late size":
        values = (-2.0, -1.5, 0.5, 40.0)
    with counting(jitted) as calls:
        for t in values:
            for _ in range(2):
                expected, got = f(X, t), jitted(X, t)
                assert type(got) is type(expected)
                assert_same_views(expected, got, X)
    assert len(calls) <= 2 and not jitted.report().fallbacks
    gc.collect()
    before, blocks = sys.getrefcount(X), sys.getallocatedblocks()
    for _ in range(3000):
        for t in values:
            jitted(X, t)
    assert sys.getrefcount(X) == before
    assert sys.getallocatedblocks() - blocks < 200


def test_a_list_of_constants_is_a_new_one_of_the_same_objects() -> None:
    a = list(range(1000, 1020))

    def f(x: Any) -> Any:
        return list(range(1000, 1020)), x + 1

    def among(x: Any) -> Any:
        b = ["a", (1, 2), 2.5, None, "a", (1, 2), 3, 10**20]
        return b, b, x + 1

    jitted, shared = tracejit.jit(f), tracejit.jit(among)
    for _ in range(3):
        got = jitted(X)[0]
        assert got == a
        got.append(0)
        first, second, _ = shared(X)
        assert first is second and first[0] is first[4]
        assert list(map(type, first)) == list(map(type, among(X)[0]))


def test_nothing_of_a_dataclass_runs() -> None:
    def f(x: Any) -> Any:
        return Plain(x[1:], x + 1)

    jitted = tracejit.jit(f)
    for _ in range(3):
        expected, got = f(X), jitted(X)
        assert type(got) is Plain and got.a.base is X
        assert type(got.b) is type(expected.b) and got.b[1] == "seen"
        assert np.array_equal(got.b[0], expected.b[0])


def test_containers_are_collected() -> None:
    jitted = tracejit.jit(CONTAINERS["nested namedtuples"])
    for _ in range(2):
        result = jitted(X, 1.0)
    assert gc.is_tracked(result) and gc.is_tracked(result.left)
    result.right.append(result)
    result.right[0].me = result
    gc.collect()
    before = sys.getrefcount(X)
    del result
    gc.collect()
    # The leaf itself and the view of it, but the name of the test's.
    assert sys.getrefcount(X) == before - 2


def test_an_index_outside_is_an_error_on_its_side_only() -> None:
    jitted = tracejit.jit(_late_on_one_side)
    for t in (0.5, -2.0, 0.5):
        jitted(X, t)
    for t in (0.0, 9.0, -9.0, -2.0):
        if t == 0.0 or t == -9.0:
            for f in (_late_on_one_side, jitted):
                with pytest.raises(IndexError):
                    f(X, t)
        else:
            assert_same_views(_late_on_one_side(X, t), jitted(X, t), X)


def test_containers_and_choices_of_an_entry_are_those_of_its_definition() -> None:
    outputs = (
        *(OutArray(F8, (N, 2)), OutPyScalar("bool"), OutLeaf(0), OutObject("text")),
        OutView(0, None, (N,), (16,), 8),
        OutView(2, None, (N,), (-8,), N * 8 - 8),
    )
    made = Container(Pair, (4, Container(dict, (5, 5, 3), ("a", "b", "c"))))
    other = Container(Named, (2, Container(Slim, (4, Container(list, ())), ("a", "b"))))
    x = np.arange(4.0)
    for choice in (Choice(1, made, 5), Choice(1, other, made), Choice(1, 2, made)):
        linked = unary(ArrayLeaf(F8, ("n",)), *outputs, result=choice)
        # The program stores 2: true.
        result = linked.both(x)
        expected = choice.first if isinstance(choice.first, int) else choice.first.cls
        assert (result is x) if expected == 2 else type(result) is expected
        result = None
        gc.collect()
        watched = x, F8, Pair, Named, Slim
        before = [sys.getrefcount(obj) for obj in watched]
        blocks = sys.getallocatedblocks()
        for _ in range(2000):
            linked.native(x)
        assert [sys.getrefcount(obj) for obj in watched] == before
        assert sys.getallocatedblocks() - blocks < 200


@pytest.mark.compiles
def test_slices_and_ranges_are_known_by_what_they_hold() -> None:
    def cut(x: Any, at: Any, rest: Any = None) -> Any:
        return x[at] if isinstance(at, slice) else [x[k] for k in at]

    jitted = tracejit.jit(cut)
    given: list[Callable[[], Any]] = [
        lambda: slice(1, 3),
        lambda: slice(None, None, -1),
        lambda: slice(1, None),
        lambda: slice(1, True),
        lambda: range(0, 3, 2),
        lambda: range(2),
    ]
    for make in given:
        with counting(jitted) as calls:
            for _ in range(3):
                assert_same_views(cut(X, make()), jitted(X, make()), X)
                assert_same_views(cut(X, make()), jitted(X, make(), {"a": [make()]}), X)
        assert len(calls) == 2
    with counting(jitted) as calls:
        for make in given:
            assert_same_views(cut(X, make()), jitted(X, make()), X)
        assert not calls
    assert not jitted.report().fallbacks


def test_queries_that_the_program_knows_are_constants() -> None:
    def f(x: Any, s: Any) -> Any:
        seen = (x, s, x[0, 0], [x], "text", None, x.sum(), x[0, 0, ...])
        return [np.isscalar(v) for v in seen], [np.iterable(v) for v in seen]

    jitted = tracejit.jit(f)
    for s in (2.0, np.float32(1), 3, True):
        assert jitted(X, s) == f(X, s)
    assert not jitted.report().fallbacks and "host" not in str(jitted.report())


def tuples_in_what_is_filled_first(x: Any) -> Any:
    pair = (x + 1, x * 2)
    return {"pair": pair, "deep": {"again": [pair, (pair, x.sum())]}}


def test_tuples_in_dicts() -> None:
    f = tracejit.jit(tuples_in_what_is_filled_first)
    for n in (2, 3, 4, 2):
        x = np.arange(float(n))
        found, expected = f(x), tuples_in_what_is_filled_first(x)
        assert repr(expected) == repr(found)
        assert found["pair"] is found["deep"]["again"][0] is found["deep"]["again"][1][0]
    assert f.report().fallbacks == []
