"""Calls that run no Python code, and all that must still be seen at the next one."""

from __future__ import annotations

import builtins
import copy
import types
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import tracejit
from tests.programs import publishing as p
from tests.support.compare import assert_same
from tracejit.runtime import native

pytestmark = [
    pytest.mark.skipif(not native.available(), reason=native.why_not()),
    pytest.mark.compiles,
]

X = np.linspace(-1.0, 2.0, 4)


@contextmanager
def counting(f: Any) -> Iterator[list[str]]:
    """A list that grows with each call of the slow path of `f` within the block."""
    calls: list[str] = []
    slow = f._slow

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append("slow")
        return slow(*args, **kwargs)

    f._slow = counted
    yield calls
    f._slow = slow


def fresh(f: Callable[..., Any]) -> types.FunctionType:
    """A function like `f` with defaults and code of its own."""
    assert isinstance(f, types.FunctionType)
    made = types.FunctionType(f.__code__, f.__globals__, f.__name__, f.__defaults__, f.__closure__)
    made.__kwdefaults__ = copy.copy(f.__kwdefaults__)
    made.__module__ = f.__module__
    return made


FORMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = {
    "positions": (p.plain, (X, X), {}),
    "names": (p.plain, (), {"y": X, "x": X + 1}),
    "a name": (p.plain, (X,), {"y": 2.0}),
    "constants": (p.global_constants, (X,), {}),
    "an array": (p.global_array, (X,), {}),
    "a NumPy scalar": (p.global_scalar, (X,), {}),
    "helpers": (p.calls_helper, (X,), {}),
    "a compiled helper": (p.calls_compiled, (X,), {}),
    "a module and a builtin": (p.uses_numpy, (X + 1,), {}),
    "omitted constants": (p.constant_default, (X,), {}),
    "one omitted": (p.constant_default, (X,), {"mode": "add"}),
    "an omitted array": (p.array_default, (X,), {}),
    "omitted keywords": (p.keyword_default, (X,), {}),
    "one keyword omitted": (p.keyword_default, (X,), {"k": X}),
    "None": (p.flag, (X, None), {}),
    "text": (p.flag, (X, "one"), {}),
    "a bool": (p.flag, (X, "one", True), {}),
    "a named bool": (p.flag, (X,), {"deep": True, "mode": "two"}),
    "all kinds": (p.positions, (X, 2.0), {"d": X, "c": 1.0}),
    "variadic": (p.several, (X,), {"plus": X, "minus": 2.0}),
    "containers": (p.nested, ({"w": X, "layers": [1.5, (X + 1, 2)]}, X), {}),
    "named containers": (p.both, (), {"ys": [X], "xs": (X, None)}),
    "containers outside": (p.global_containers, (X,), {}),
    "many results": (p.many_results, (X,), {}),
    "a view": (p.tail, (X,), {}),
    "an argument itself": (p.with_itself, (X,), {}),
    "a dataclass": (p.layer, (p.Layer(X, 2.0), X), {}),
    "a namedtuple": (p.layer, (p.Pair(X, 2.0), X), {}),
    "a dataclass in one": (p.deep, (p.Slim(2.0, p.Layer(X, X)),), {"x": X}),
    "a cell": (p.closure(2.0)[0], (X,), {}),
    "an array in a cell": (p.closure(np.arange(4.0))[0], (X,), {}),
}


@pytest.mark.parametrize("name", FORMS)
def test_forms_of_calls_run_no_python(name: str) -> None:
    function, args, kwargs = FORMS[name]
    f = tracejit.jit(function)
    with counting(f) as calls:
        for _ in range(4):
            assert_same(function(*args, **kwargs), f(*args, **kwargs))
    assert len(calls) == 1, f.report()
    assert len(f.report().compiles) == 1


def test_methods_run_no_slow_path() -> None:
    first, second = p.Model(2.0), p.Model(np.arange(4.0))
    for method, compiles in (("doubled", 1), ("weighted", 2), ("scaled", 1)):
        f = tracejit.jit(getattr(p.Model, method).__wrapped__)
        with counting(f) as calls:
            for model in (first, second):
                for _ in range(3):
                    assert_same(f.__wrapped__(model, X), f(model, X))
        assert len(calls) == compiles


def test_each_form_of_a_call_is_published_once_it_was_used() -> None:
    f = tracejit.jit(p.plain)
    with counting(f) as calls:
        for _ in range(3):
            assert_same(f(X, X + 1), p.plain(X, X + 1))
            assert_same(f(X, y=X + 1), p.plain(X, X + 1))
            assert_same(f(y=X + 1, x=X), p.plain(X, X + 1))
    assert len(calls) == 3
    assert len(f.report().compiles) == 1


def test_a_structure_of_containers_is_not_taken_for_another() -> None:
    f = tracejit.jit(p.first_twice)
    for _ in range(3):
        assert_same(f(X, X + 1), X * 2)
        assert_same(f((X, X + 1)), (X, X + 1, X, X + 1))
        with pytest.raises(TypeError):
            f(None, X)
        assert_same(f(X), X * 2)


def test_results_that_share_memory() -> None:
    f, g = tracejit.jit(p.many_results), tracejit.jit(p.with_itself)
    for size in (4, 4, 5, 6, 6):
        x = np.arange(float(size))
        result = f(x)
        assert_same(p.many_results(x), result)
        first, second, third = result["same"]
        assert first is x
        assert second is third
        assert np.shares_memory(result["view"], x)
        assert np.shares_memory(result["of"][0], second)
        assert np.shares_memory(result["of"][1], x)
        assert g(x)[0] is x
        x = x.reshape(-1, 1)
        assert_same(p.many_results(x, 3.0), f(x, 3.0))
    with counting(f) as calls:
        f(np.arange(7.0))
    assert not calls


def test_constants_among_the_arguments() -> None:
    f = tracejit.jit(p.flag)
    for _ in range(2):
        for mode in ("one", "two", None, "".join(["o", "ne"]), 1, b"one", Ellipsis, p.flag):
            agree(f, X, mode)
            agree(f, X, mode=mode)
        for deep in (True, False, 1, 0, None, "", 0.0):
            agree(f, X, "one", deep)
            agree(f, X, deep=deep, mode="two")
    g = tracejit.jit(p.both)
    for last in (None, "a", (), (None,), True):
        agree(g, (X, last), [X])


def test_containers_that_change() -> None:
    f = tracejit.jit(p.nested)
    params: dict[str, Any] = {"w": X, "layers": [1.5, (X + 1, 2)]}
    agree(f, params, X)
    changes: list[tuple[Any, Any, Any]] = [
        (params, "w", X[:1]),
        (params, "w", 2.0),
        (params, "layers", [2.5, (X, 3), None]),
        (params, "layers", ([2.5], (X, 3))),
        (params, "layers", [2.5, [X, 3]]),
        (params, "more", X),
        (params, "w", X),
    ]
    for container, key, value in changes:
        container[key] = value
        agree(f, params, X)
    agree(f, {"layers": params["layers"], "w": params["w"]}, X)


def test_containers_outside_that_change(monkeypatch: pytest.MonkeyPatch) -> None:
    params: dict[str, Any] = {"w": X, "layers": [1.5, (X + 1, 2)]}
    monkeypatch.setattr(p, "PARAMETERS", params)
    f = tracejit.jit(p.global_containers)
    agree(f, X)
    for value in (X + 1, np.ones((2, 4)), 3.0, np.float32(3), X):
        params["w"] = value
        agree(f, X)
    params["layers"][1] = (X, 5)
    agree(f, X)
    params["layers"].append(1)
    agree(f, X)
    params["layers"] = tuple(params["layers"])
    agree(f, X)
    p.PARAMETERS = {"w": X, "layers": [0.5, (X, 2)]}
    agree(f, X)
    del params["w"]
    p.PARAMETERS = params
    with pytest.raises(KeyError):
        f(X)


def test_dataclasses_that_change() -> None:
    f = tracejit.jit(p.deep)
    inner = p.Layer(X, 1.5)
    outer = p.Slim(2.0, inner)
    agree(f, outer, X)
    inner.w = np.ones((2, 4))
    agree(f, outer, X)
    inner.b = X
    agree(f, outer, X)
    outer.inner = p.Pair(X, X)
    agree(f, outer, X)
    outer.inner = inner
    inner.more = 1.0  # type: ignore[attr-defined]
    agree(f, outer, X)
    del inner.more  # type: ignore[attr-defined]
    agree(f, outer, X)
    del inner.b  # A default of the class takes its place.
    agree(f, outer, X)
    del outer.w
    with pytest.raises(AttributeError):
        f(outer, X)

    class Other(p.Layer):
        b = 7.0

    g = tracejit.jit(p.layer)
    agree(g, p.Layer(X, 2.0), X)
    agree(g, Other(X, 3.0), X)
    both = p.Layer(X)
    both.w = both.b = X
    agree(g, both, X)


def test_one_list_in_two_places() -> None:
    f = tracejit.jit(p.both)
    xs = [X]
    agree(f, xs, [X + 1])
    agree(f, xs, xs)
    # The graph was made for two lists: one alone is not traced.
    assert len(f.report().fallbacks) == 1
    agree(f, xs, [X + 1])


def test_names_are_bound_by_the_present_code() -> None:
    f = tracejit.jit(fresh(p.plain))
    for _ in range(2):
        assert_same(f(x=X, y=2.0), X + 2.0)

    def swapped(y: Any, x: Any) -> Any:
        return x - y

    f.__wrapped__.__code__ = swapped.__code__
    for _ in range(2):
        assert_same(f(x=X, y=2.0), X - 2.0)
        assert_same(f(2.0, X), X - 2.0)


@pytest.mark.parametrize("args", [(), (X,), (X, X, X)])
def test_calls_that_do_not_bind_raise_as_python_does(args: tuple[Any, ...]) -> None:
    f = tracejit.jit(p.plain)
    f(X, X)
    for kwargs in ({}, {"x": X}, {"z": X}, {"y": X, "z": X}):
        try:
            expected = p.plain(*args, **kwargs)
        except TypeError as error:
            with pytest.raises(TypeError) as raised:
                f(*args, **kwargs)
            assert str(raised.value) == str(error)
        else:
            assert_same(expected, f(*args, **kwargs))


# What is seen at the next call -------------------------------------------------------------------


def agree(f: Any, *args: Any, **kwargs: Any) -> None:
    """Two calls give what the plain function gives now."""
    expected = f.__wrapped__(*args, **kwargs)
    for _ in range(2):
        assert_same(expected, f(*args, **kwargs))


@pytest.mark.parametrize(
    ("function", "name", "values"),
    [
        (p.global_constants, "SCALE", [2.5, 0.0, -0.0, float("nan"), 3, True, 2.5, 1 + 2j]),
        (p.global_constants, "COUNT", [3, 4, 3.0, 2**70, np.int32(3), 3]),
        (p.global_constants, "MODE", ["".join(["ad", "d"]), "sub", None, "add"]),
        (p.global_constants, "NOTHING", [0, None]),
        (
            p.global_array,
            "WEIGHTS",
            [np.ones(4), np.ones(4, "f4"), np.ones((4, 4)), 2.0, np.ones(1)],
        ),
        (p.global_array, "WEIGHTS", [np.ones(8)[::2], np.float32(3), np.ones(4, ">f8"), [1.0] * 4]),
        (p.global_scalar, "UNIT", [np.float32(3), np.float64(3), 3.0, np.ones(4, "f4")]),
        (p.calls_helper, "quarter", [lambda x: x + 1, np.sin, p.half, abs]),
        (p.calls_helper, "half", [lambda x: x + 1, np.negative]),
        (p.calls_compiled, "compiled_half", [p.half, tracejit.jit(p.quarter)]),
        (p.uses_numpy, "np", [types.SimpleNamespace(sqrt=np.square), np]),
        (p.uses_numpy, "len", [lambda shape: 7]),
    ],
)
def test_global_names(
    monkeypatch: pytest.MonkeyPatch, function: Any, name: str, values: list[Any]
) -> None:
    f = tracejit.jit(function)
    agree(f, X + 1)
    for value in values:
        monkeypatch.setitem(function.__globals__, name, value)
        agree(f, X + 1)
    monkeypatch.undo()
    agree(f, X + 1)
    if name not in vars(builtins):
        monkeypatch.delitem(function.__globals__, name)
        with pytest.raises(NameError, match=name):
            f(X + 1)


def test_contents_of_a_captured_array(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(p, "WEIGHTS", np.arange(4.0))
    f = tracejit.jit(p.global_array)
    agree(f, X)
    with counting(f) as calls:
        p.WEIGHTS[:] = 7.0
        agree(f, X)
        assert not calls
        p.WEIGHTS.shape = (2, 2)
        with pytest.raises(ValueError, match="broadcast"):
            f(X)
        p.WEIGHTS.shape = (4,)
        agree(f, X)
        assert len(calls) == 1


def test_cells() -> None:
    function, change = p.closure(2.0)
    f = tracejit.jit(function)
    agree(f, X)
    for value in (3.0, np.arange(4.0), np.ones((4, 1)), np.float32(2), 2, 2.0):
        change(value)
        agree(f, X)
    del function.__closure__[0].cell_contents
    with pytest.raises(NameError):
        f(X)


def test_defaults() -> None:
    f = tracejit.jit(fresh(p.constant_default))
    agree(f, X)
    for defaults in ((4, "mul"), (3, "add"), (3, "".join(["mu", "l"])), (1, 3, "mul"), ("mul",)):
        f.__wrapped__.__defaults__ = defaults
        if len(defaults) > 1:
            agree(f, X)
        else:
            with pytest.raises(TypeError):
                f(X)
        agree(f, X, 3)
    f.__wrapped__.__defaults__ = None
    with pytest.raises(TypeError):
        f(X)
    agree(f, X, 3, "add")
    g = tracejit.jit(fresh(p.array_default))
    agree(g, X)
    for w in (np.ones(4), np.ones(4, "f4"), np.ones((4, 4)), 2.0):
        g.__wrapped__.__defaults__ = (w,)
        agree(g, X)


def test_keyword_defaults() -> None:
    f = tracejit.jit(fresh(p.keyword_default))
    agree(f, X)
    named = f.__wrapped__.__kwdefaults__
    named["k"] = 5.0
    agree(f, X)
    named["w"] = np.ones((2, 4))
    agree(f, X)
    f.__wrapped__.__kwdefaults__ = {"k": 1.0, "w": X}
    agree(f, X)
    del f.__wrapped__.__kwdefaults__["w"]
    with pytest.raises(TypeError):
        f(X)
    f.__wrapped__.__kwdefaults__ = None
    agree(f, X, k=2.0, w=X)


def test_code_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    helper = fresh(p.half)
    monkeypatch.setattr(p, "half", helper)
    f, g = tracejit.jit(fresh(p.plain)), tracejit.jit(p.calls_helper)
    agree(f, X, X)
    agree(g, X)
    f.__wrapped__.__code__ = (lambda x, y: x - y).__code__
    helper.__code__ = (lambda x: x + 100.0).__code__
    agree(f, X, X)
    agree(g, X)
